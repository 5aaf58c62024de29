/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr_range.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "likely.h"
#include "rng.h"
#include "wire.h"

/* Different regions collide with probability 2^-64, so users compare what they find. */
static uint64_t mr_hash(uint32_t scope, uint64_t key)
{
	return rng_mix(key + rng_mix((uint64_t)scope + 1));
}

struct weft_mr *mr_get(const struct mrs *mrs, uint32_t scope, uint64_t key)
{
	struct weft_mr *mr = u64map_get(&mrs->map, mr_hash(scope, key));
	return mr && mr->attr.key == key && mr->attr.scope == scope ? mr : NULL;
}

void mrs_init(struct mrs *mrs, const struct weft_mem *mem)
{
	u64map_init(&mrs->map, mem);
	mrs->mem = mem;
}

int mr_add(struct mrs *mrs, const struct weft_mr_attr *attr, struct weft_mr **out)
{
	uint64_t hash = mr_hash(attr->scope, attr->key);
	size_t segs_bytes = attr->segs ? attr->seg_count * sizeof *attr->segs : 0;
	if (u64map_get(&mrs->map, hash))
		return -EEXIST;
	struct weft_mr *mr = weft_mem_alloc(mrs->mem, sizeof *mr + segs_bytes);
	if (!mr || !u64map_put(&mrs->map, hash, mr)) {
		weft_mem_free(mrs->mem, mr);
		return -ENOMEM;
	}
	mr->attr = *attr;
	mr->serial = ++mrs->serial;
	if (segs_bytes) {
		mr->attr.segs = memcpy(mr + 1, attr->segs, segs_bytes);
		mr->attr.bytes = 0;
		for (uint32_t i = 0; i < attr->seg_count; i++)
			mr->attr.bytes += attr->segs[i].bytes;
	}
	*out = mr;
	return 0;
}

void mr_forget(struct mrs *mrs, const struct weft_mr *mr)
{
	assert(mr_get(mrs, mr->attr.scope, mr->attr.key) == mr);
	u64map_del(&mrs->map, mr_hash(mr->attr.scope, mr->attr.key));
}

void weft_mr_events(struct weft_mr *mr)
{
	mr->attr.access |= WEFT_MR_EVENTS;
}

/* What becomes of an access. */
static uint8_t copied(const struct weft_mr *mr)
{
	return mr->broken ? WIRE_RC_HOST_UNSUCCESS_CMPL : WIRE_RC_OK;
}

struct weft_mr *mr_check(const struct mrs *mrs, uint32_t scope, uint64_t key, struct mr_range range, uint8_t access,
			 uint8_t *rc)
{
	struct weft_mr *mr = mr_get(mrs, scope, key);
	*rc = WIRE_RC_BAD_MKEY;
	if (!mr)
		return NULL;
	*rc = WIRE_RC_PERM_VIOLATION;
	if ((mr->attr.access & access) != access)
		return NULL;
	*rc = WIRE_RC_AT_OUT_OF_RANGE;
	uint64_t at = range.raddr - mr->attr.start; /* before the start: beyond any end */
	if (at > mr->attr.bytes || range.bytes > mr->attr.bytes - at)
		return NULL;
	*rc = copied(mr);
	return mr->broken ? NULL : mr;
}

/* The next piece of a range: where it lies and how much of it, at most `bytes`. */
static uint8_t *piece(const struct weft_mr *mr, uint64_t at, uint64_t bytes, uint64_t *len)
{
	const struct weft_mr_seg *seg = mr->attr.segs;
	*len = bytes;
	if (!seg)
		return (uint8_t *)((uintptr_t)mr->attr.base + at);
	while (at >= seg->bytes)
		at -= seg++->bytes;
	assert(seg < mr->attr.segs + mr->attr.seg_count);
	if (*len > seg->bytes - at)
		*len = seg->bytes - at;
	return (uint8_t *)seg->base + at;
}

uint8_t *mr_at(const struct weft_mr *mr, struct mr_range range)
{
	uint64_t len = 0, at = range.raddr - mr->attr.start;
	if (!range.bytes || mr->attr.move)
		return NULL;
	uint8_t *p = piece(mr, at, range.bytes, &len);
	return len == range.bytes ? p : NULL;
}

static void move(struct weft_mr *mr, uint8_t *at, uint8_t *other, uint64_t bytes, bool to_region)
{
	if (mr->broken || mr->attr.move(mr->attr.context, at, other, bytes, to_region))
		return;
	mr->broken = true;
	++*mr->broken_count;
}

static void copy(struct weft_mr *mr, uint8_t *at, uint8_t *other, uint64_t bytes, bool to_region)
{
	if (unlikely(mr->attr.move != NULL))
		move(mr, at, other, bytes, to_region);
	else
		memmove(to_region ? at : other, to_region ? other : at, bytes);
}

uint8_t mr_store(struct weft_mr *mr, uint64_t raddr, const uint8_t *from, uint64_t bytes)
{
	uint64_t len, at = raddr - mr->attr.start;
	assert(at <= mr->attr.bytes && bytes <= mr->attr.bytes - at);
	for (; bytes && from; bytes -= len, at += len, from += len) {
		uint8_t *p = piece(mr, at, bytes, &len);
		copy(mr, p, (uint8_t *)(uintptr_t)from, len, true);
	}
	return copied(mr);
}

uint8_t mr_load(struct weft_mr *mr, uint64_t raddr, uint8_t *to, uint64_t bytes)
{
	uint64_t len, at = raddr - mr->attr.start;
	assert(at <= mr->attr.bytes && bytes <= mr->attr.bytes - at);
	for (; bytes && to; bytes -= len, at += len, to += len) {
		uint8_t *p = piece(mr, at, bytes, &len);
		copy(mr, p, to, len, false);
	}
	return copied(mr);
}

void mrs_fini(struct mrs *mrs)
{
	for (uint32_t i = 0; mrs->map.slots && i <= mrs->map.mask; i++)
		weft_mem_free(mrs->mem, mrs->map.slots[i].value);
	u64map_fini(&mrs->map);
}
