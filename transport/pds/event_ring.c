/* SPDX-License-Identifier: BSD-3-Clause */
#include "event_ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int recorder_init(struct recorder *r, void *buffer, size_t bytes, const struct weft_ip *ip)
{
	struct event_ring *ring = buffer;
	uint64_t capacity = WEFT_RECORDER_EVENTS_MAX;
	while (capacity >= WEFT_RECORDER_EVENTS_MIN && bytes < sizeof *ring + capacity * sizeof *ring->events)
		capacity /= 2;
	if (capacity < WEFT_RECORDER_EVENTS_MIN || (uintptr_t)buffer % _Alignof(struct event_ring))
		return -EINVAL;
	memset(ring, 0, sizeof *ring);
	ring->capacity = (uint32_t)capacity;
	ring->peers = EVENT_RING_PEERS;
	ring->ip = *ip;
	ring->magic = EVENT_RING_MAGIC;
	*r = (struct recorder){ring, (capacity - 1) * sizeof *ring->events};
	return 0;
}

void recorder_name(const struct recorder *r, uint16_t conn, const struct weft_ip *ip)
{
	assert(r->ring);
	struct event_peer *p = &r->ring->peer[conn % EVENT_RING_PEERS];
	p->conn = conn;
	p->ip = *ip;
	p->sum = event_peer_sum(p);
}

weft_ns recorder_newest_ns(const struct recorder *r)
{
	uint64_t written = atomic_load_explicit(&r->ring->written, memory_order_relaxed);
	if (!written)
		return 0;
	return r->ring->events[((written - sizeof *r->ring->events) & r->mask) / sizeof *r->ring->events].time_ns;
}
