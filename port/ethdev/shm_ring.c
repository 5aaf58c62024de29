/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ring.h"

#include <assert.h>

/* A slot: times written (12 bits), buffer (20), offset (16), bytes (16). */
enum { TIMES_SHIFT = 52, BUF_SHIFT = 32, OFFSET_SHIFT = 16, TIMES_MASK = 0xfff };

/* What the slot of descriptor `number` says once that is there. Memory that was never written says 0, as does the
 * 4096th time, which follows upon the 4095th. */
static uint64_t times(uint32_t number)
{
	return (number / SHM_SLOTS + 1) & TIMES_MASK;
}

uint32_t shm_ring_room(struct shm_end *e, uint32_t want)
{
	uint32_t filled = e->next - e->taken;
	assert(filled <= SHM_SLOTS && want <= SHM_SLOTS);
	if (SHM_SLOTS - filled >= want)
		return SHM_SLOTS - filled;
	uint32_t left = e->next - atomic_load_explicit(&e->shared->taken, memory_order_acquire);
	if (left > filled)
		return UINT32_MAX;
	e->taken = e->next - left;
	return SHM_SLOTS - left;
}

void shm_ring_put(struct shm_end *e, struct shm_desc desc)
{
	assert(e->next - e->taken < SHM_SLOTS && desc.buf < SHM_BUFS_MAX);
	uint64_t slot = times(e->next) << TIMES_SHIFT | (uint64_t)desc.buf << BUF_SHIFT |
			(uint64_t)desc.offset << OFFSET_SHIFT | desc.bytes;
	atomic_store_explicit(&e->shared->slots[e->next++ % SHM_SLOTS], slot, memory_order_release);
}

bool shm_ring_has(const struct shm_end *e)
{
	uint64_t slot = atomic_load_explicit(&e->shared->slots[e->next % SHM_SLOTS], memory_order_acquire);
	return slot >> TIMES_SHIFT == times(e->next);
}

bool shm_ring_get(struct shm_end *e, struct shm_desc *desc)
{
	/* Once: it may change. */
	uint64_t slot = atomic_load_explicit(&e->shared->slots[e->next % SHM_SLOTS], memory_order_acquire);
	if (slot >> TIMES_SHIFT != times(e->next))
		return false;
	*desc = (struct shm_desc){.buf = (uint32_t)(slot >> BUF_SHIFT) & (SHM_BUFS_MAX - 1),
				  .offset = (uint16_t)(slot >> OFFSET_SHIFT),
				  .bytes = (uint16_t)slot};
	e->next++;
	return true;
}

void shm_ring_release(struct shm_end *e)
{
	atomic_store_explicit(&e->shared->taken, e->next, memory_order_release);
}

bool shm_ring_wants_wake(const struct shm_end *e)
{
	return atomic_load_explicit(&e->shared->sleeps, memory_order_relaxed) != 0 &&
	       atomic_exchange_explicit(&e->shared->sleeps, 0, memory_order_relaxed) != 0;
}
