/* SPDX-License-Identifier: BSD-3-Clause */
/* Head and tail run freely over 32 bits; their difference is the fill. Each side reads the other's line only when its
 * copy of it says full or empty. */
#include "spsc.h"

#include <assert.h>
#include <string.h>

size_t spsc_bytes(uint32_t entries, uint32_t elem_bytes)
{
	return (size_t)entries * elem_bytes;
}

void spsc_init(struct spsc *r, void *slots, uint32_t entries, uint32_t elem_bytes)
{
	assert(entries > 0 && (entries & (entries - 1)) == 0 && elem_bytes > 0);
	memset(r, 0, sizeof *r);
	r->mask = entries - 1;
	r->elem_bytes = elem_bytes;
	r->slots = slots;
}

static uint8_t *slot_at(const struct spsc *r, uint32_t index)
{
	return r->slots + (size_t)(index & r->mask) * r->elem_bytes;
}

bool spsc_push(struct spsc *r, const void *elem)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	assert(head - r->tail_seen <= r->mask + 1);
	if (head - r->tail_seen > r->mask) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head - r->tail_seen > r->mask)
			return false;
	}
	memcpy(slot_at(r, head), elem, r->elem_bytes);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return true;
}

bool spsc_pop(struct spsc *r, void *elem)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	assert(r->head_seen - tail <= r->mask + 1);
	if (tail == r->head_seen) {
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail == r->head_seen)
			return false;
	}
	memcpy(elem, slot_at(r, tail), r->elem_bytes);
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

uint32_t spsc_space(const struct spsc *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	return r->mask + 1 - (head - tail);
}
