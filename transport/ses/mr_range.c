/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr_range.h"

#include <errno.h>
#include <string.h>

#include "engine_int.h"

/* Different regions collide with probability 2^-64, so users compare what they find. */
static uint64_t mr_hash(uint32_t scope, uint64_t key)
{
	return rng_mix(key + rng_mix((uint64_t)scope + 1));
}

static struct weft_mr *mr_get(const struct weft_engine *e, uint32_t scope, uint64_t key)
{
	struct weft_mr *mr = u64map_get(&e->mrs, mr_hash(scope, key));
	return mr && mr->attr.key == key && mr->attr.scope == scope ? mr : NULL;
}

int weft_mr_add(struct weft_engine *e, const struct weft_mr_attr *attr, struct weft_mr **out)
{
	uint64_t hash = mr_hash(attr->scope, attr->key);
	size_t segs_bytes = attr->segs ? attr->seg_count * sizeof *attr->segs : 0;
	if (u64map_get(&e->mrs, hash))
		return -EEXIST;
	struct weft_mr *mr = weft_mem_alloc(&e->mem, sizeof *mr + segs_bytes);
	if (!mr || !u64map_put(&e->mrs, hash, mr)) {
		weft_mem_free(&e->mem, mr);
		return -ENOMEM;
	}
	mr->e = e;
	mr->attr = *attr;
	mr->serial = ++e->mr_serial;
	if (segs_bytes) {
		mr->attr.segs = memcpy(mr + 1, attr->segs, segs_bytes);
		mr->attr.bytes = 0;
		for (uint32_t i = 0; i < attr->seg_count; i++)
			mr->attr.bytes += attr->segs[i].bytes;
	}
	*out = mr;
	return 0;
}

void weft_mr_del(struct weft_mr *mr)
{
	struct weft_engine *e = mr->e;
	u64map_del(&e->mrs, mr_hash(mr->attr.scope, mr->attr.key));
	rma_answers_detach(e, mr);
	weft_mem_free(&e->mem, mr);
}

void weft_mr_events(struct weft_mr *mr)
{
	mr->attr.access |= WEFT_MR_EVENTS;
}

void *weft_mr_find(const struct weft_engine *e, uint32_t scope, uint64_t key)
{
	const struct weft_mr *mr = mr_get(e, scope, key);
	return mr ? mr->attr.context : NULL;
}

struct weft_mr *mr_check(const struct weft_engine *e, uint32_t scope, uint64_t key, struct mr_range range,
			 uint8_t access, uint8_t *rc)
{
	struct weft_mr *mr = mr_get(e, scope, key);
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
	*rc = WIRE_RC_OK;
	return mr;
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
	if (*len > seg->bytes - at)
		*len = seg->bytes - at;
	return (uint8_t *)seg->base + at;
}

uint8_t *mr_at(const struct weft_mr *mr, struct mr_range range)
{
	uint64_t len = 0, at = range.raddr - mr->attr.start;
	if (!range.bytes)
		return NULL;
	uint8_t *p = piece(mr, at, range.bytes, &len);
	return len == range.bytes ? p : NULL;
}

void mr_store(const struct weft_mr *mr, uint64_t raddr, const uint8_t *from, uint64_t bytes)
{
	uint64_t len, at = raddr - mr->attr.start;
	for (; bytes && from; bytes -= len, at += len, from += len) {
		uint8_t *p = piece(mr, at, bytes, &len);
		memmove(p, from, len);
	}
}

void mr_load(const struct weft_mr *mr, uint64_t raddr, uint8_t *to, uint64_t bytes)
{
	uint64_t len, at = raddr - mr->attr.start;
	for (; bytes && to; bytes -= len, at += len, to += len) {
		const uint8_t *p = piece(mr, at, bytes, &len);
		memmove(to, p, len);
	}
}

void mrs_fini(struct weft_engine *e)
{
	for (uint32_t i = 0; e->mrs.slots && i <= e->mrs.mask; i++)
		weft_mem_free(&e->mem, e->mrs.slots[i].value);
	u64map_fini(&e->mrs);
}
