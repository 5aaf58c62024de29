/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of one direction of a channel. The other process may write anything at any time to what is shared. */
#ifndef LOCAL_RING_H
#define LOCAL_RING_H

#include <stdbool.h>

#include "local_shm.h"
#include "weft/spi/pkt.h"

/* One end; all but `shared` and `slots` is our own memory. */
struct local_end {
	struct local_ring *shared;
	uint8_t *slots;
	uint32_t stride;    /* between slots, bytes */
	uint32_t mtu_bytes; /* largest packet in a slot */
	uint32_t next;      /* packets sent, or received, so far; wraps */
	uint32_t emptied;   /* sender: what was seen of shared->taken; receiver: what it is */
};

enum local_put {
	LOCAL_PUT,        /* the packet was copied, and is there for the receiver */
	LOCAL_PUT_MARKED, /* likewise, with a congestion mark: the ring is more than half full */
	LOCAL_FULL,       /* or the packet is too large */
	LOCAL_BROKEN,     /* the receiver has taken what was not there */
};

/* Copies a packet into the ring; it may be marked. */
enum local_put local_ring_put(struct local_end *e, struct weft_pkt *pkt);

/* Whether a packet is there. */
static inline bool local_ring_has(const struct local_end *e)
{
	const struct local_slot *s =
		(const struct local_slot *)(e->slots + (uint64_t)(e->next & (LOCAL_SLOTS - 1)) * e->stride);
	return atomic_load_explicit(&s->number, memory_order_acquire) == e->next + 1;
}

/* Copies the packet that is there to `head` and goes on to the next one. Returns its bytes, of which nothing is known
 * but that they are at most `room`; 0: it does not fit, or is shorter than an IP header. */
uint32_t local_ring_get(struct local_end *e, uint8_t *head, uint32_t room);

/* The sender may use again what was emptied. */
void local_ring_release(struct local_end *e);

/* True: the receiver sleeps and is to be woken, by the caller. After all packets of a burst. */
bool local_ring_wants_wake(const struct local_end *e);

#endif
