/* SPDX-License-Identifier: BSD-3-Clause */
#include "local_ring.h"

#include <assert.h>
#include <string.h>

#include "likely.h"
#include "wire_peek.h"

enum { HALF = LOCAL_SLOTS / 2, IP_BYTES_MIN = 20, CRC_BYTES = 4 };

static struct local_slot *slot_of(const struct local_end *e, uint32_t number)
{
	return (struct local_slot *)(e->slots + (uint64_t)(number & (LOCAL_SLOTS - 1)) * e->stride);
}

/* Packets in the ring, no fewer than there are; more than LOCAL_SLOTS: the receiver says nonsense. What was seen last
 * is good enough while it says that there is much room. */
static uint32_t fill(struct local_end *e)
{
	uint32_t filled = e->next - e->emptied;
	if (likely(filled < HALF))
		return filled;
	uint32_t left = e->next - atomic_load_explicit(&e->shared->taken, memory_order_acquire);
	if (unlikely(left > filled))
		return LOCAL_SLOTS + 1;
	e->emptied = e->next - left;
	return left;
}

static void slot_fill(struct local_slot *s, const struct weft_pkt *pkt)
{
	uint8_t *p = s->packet;
	memcpy(p, pkt->head, pkt->head_len);
	p += pkt->head_len;
	if (pkt->payload != NULL)
		memcpy(p, pkt->payload, pkt->payload_len);
	else
		memset(p, 0, pkt->payload_len);
	p += pkt->payload_len;
	for (int i = 0; pkt->flags & WEFT_PKT_TRAILER && i < CRC_BYTES; i++)
		p[i] = (uint8_t)(pkt->trailer >> (8 * i));
}

enum local_put local_ring_put(struct local_end *e, struct weft_pkt *pkt)
{
	uint32_t filled = fill(e);
	uint32_t bytes = (uint32_t)pkt->head_len + pkt->payload_len + (pkt->flags & WEFT_PKT_TRAILER ? CRC_BYTES : 0);
	if (unlikely(filled > LOCAL_SLOTS))
		return LOCAL_BROKEN;
	if (filled == LOCAL_SLOTS || bytes > e->mtu_bytes)
		return LOCAL_FULL;
	bool marks = filled > HALF && (pkt->ecn == WEFT_ECN_ECT0 || pkt->ecn == WEFT_ECN_ECT1);
	if (marks)
		wire_mark_ce(pkt);
	struct local_slot *s = slot_of(e, e->next);
	slot_fill(s, pkt);
	atomic_store_explicit(&s->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&s->number, ++e->next, memory_order_release);
	__builtin_prefetch(slot_of(e, e->next), 1);
	return marks ? LOCAL_PUT_MARKED : LOCAL_PUT;
}

uint32_t local_ring_get(struct local_end *e, uint8_t *head, uint32_t room)
{
	const struct local_slot *s = slot_of(e, e->next++);
	uint32_t bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed); /* once: it may change */
	__builtin_prefetch(slot_of(e, e->next));
	if (bytes < IP_BYTES_MIN || bytes > e->mtu_bytes || bytes > room)
		return 0;
	memcpy(head, s->packet, bytes);
	return bytes;
}

void local_ring_release(struct local_end *e)
{
	assert(e->next - e->emptied <= LOCAL_SLOTS);
	e->emptied = e->next;
	atomic_store_explicit(&e->shared->taken, e->next, memory_order_release);
}

bool local_ring_wants_wake(const struct local_end *e)
{
	return atomic_load_explicit(&e->shared->sleeps, memory_order_relaxed) != 0 &&
	       atomic_exchange_explicit(&e->shared->sleeps, 0, memory_order_relaxed) != 0;
}
