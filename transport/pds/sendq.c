/* SPDX-License-Identifier: BSD-3-Clause */
#include "sendq.h"

#include <string.h>

#include "bitmap.h"

static size_t ring_bytes(uint32_t entries)
{
	return entries * sizeof(struct sent) + entries / 8;
}

void sendq_mem_init(struct sendq_mem *m, const struct weft_mem *mem)
{
	m->mem = mem;
	pool_init(&m->small, mem, ring_bytes(SENDQ_MIN), 4);
}

void sendq_mem_fini(struct sendq_mem *m)
{
	pool_fini(&m->small);
}

void sendq_init(struct sendq *q, uint32_t psn)
{
	*q = (struct sendq){.una = psn, .nxt = psn};
}

static void ring_free(void *ring, uint32_t entries, struct sendq_mem *m)
{
	if (!ring)
		return;
	if (entries == SENDQ_MIN)
		pool_put(&m->small, ring);
	else
		weft_mem_free(m->mem, ring);
}

void sendq_release(struct sendq *q, struct sendq_mem *m)
{
	ring_free(q->ring, q->mask + 1, m);
	q->ring = NULL;
	q->acked = NULL;
	q->mask = 0;
}

bool sendq_grow(struct sendq *q, struct sendq_mem *m)
{
	uint32_t old = q->ring ? q->mask + 1 : 0;
	uint32_t entries = old ? old * 2 : SENDQ_MIN;
	assert(sendq_len(q) <= old);
	if (entries > SENDQ_MAX)
		return false;
	struct sent *ring = entries == SENDQ_MIN ? pool_get(&m->small) : weft_mem_alloc(m->mem, ring_bytes(entries));
	if (!ring)
		return false;
	uint64_t *acked = (uint64_t *)(ring + entries);
	memset(acked, 0, entries / 8);
	for (uint32_t psn = q->una; psn != q->nxt; psn++) {
		ring[psn & (entries - 1)] = *sendq_at(q, psn);
		if (bitmap_test(q->acked, q->mask, psn))
			bitmap_set(acked, entries - 1, psn);
	}
	ring_free(q->ring, old, m);
	q->ring = ring;
	q->acked = acked;
	q->mask = entries - 1;
	return true;
}

uint32_t sendq_acked_beyond(const struct sendq *q, uint32_t psn, uint32_t max)
{
	assert(sendq_has(q, psn));
	uint32_t n = 0;
	for (uint32_t at = psn + 1; n < max && psn_before(at, q->nxt); at += 64) {
		uint32_t room = q->nxt - at;
		uint64_t bits = bitmap_get64(q->acked, q->mask, at);
		n += (uint32_t)__builtin_popcountll(room < 64 ? bits & ~(UINT64_MAX << room) : bits);
	}
	return n < max ? n : max;
}

static void list_prepend(struct sendq *q, struct sendq_list *l, uint32_t psn, struct sent *s)
{
	assert(l->count > 0 && l->count <= q->mask);
	l->count++;
	sendq_at(q, l->head)->prev = (uint16_t)psn;
	s->next = l->head;
	l->head = (uint16_t)psn;
}

static bool is_unsent(const struct sent *s)
{
	return s->sent_at == WEFT_NEVER;
}

void sendq_lose(struct sendq *q, uint32_t psn, enum sent_cause cause)
{
	struct sent *s = sendq_at(q, psn);
	assert(sendq_has(q, psn) && s->state == SENT_INFLIGHT);
	sendq_list_remove(q, &q->inflight, psn, s);
	if (q->lost.count && is_unsent(sendq_at(q, q->lost.tail)) && !is_unsent(s))
		list_prepend(q, &q->lost, psn, s);
	else
		sendq_list_append(q, &q->lost, psn, s);
	s->state = (uint8_t)(SENT_LOST + cause);
}

void sendq_lead(struct sendq *q, uint32_t psn)
{
	struct sendq_list *l = &q->lost;
	const struct sent *s = sendq_at(q, psn);
	assert(sendq_has(q, psn) && sent_is_lost(s) && l->count > 0);
	if (l->head == (uint16_t)psn || is_unsent(sendq_at(q, l->tail)))
		return;
	sendq_at(q, l->tail)->next = l->head;
	sendq_at(q, l->head)->prev = l->tail;
	l->tail = s->prev;
	l->head = (uint16_t)psn;
}

void sendq_resend(struct sendq *q, uint32_t psn, weft_ns now)
{
	struct sent *s = sendq_at(q, psn);
	assert(sendq_has(q, psn) && sent_is_lost(s));
	sendq_list_remove(q, &q->lost, psn, s);
	sendq_list_append(q, &q->inflight, psn, s);
	s->state = SENT_INFLIGHT;
	if (!is_unsent(s) && s->tries < SENT_TRIES_MAX)
		s->tries++;
	s->sent_at = now;
}

void sendq_rewind(struct sendq *q)
{
	q->inflight.count = q->lost.count = 0;
	for (uint32_t psn = q->una; psn != q->nxt; psn++) {
		struct sent *s = sendq_at(q, psn);
		if (s->state == SENT_ACKED)
			continue;
		if (s->state == SENT_INFLIGHT)
			s->state = SENT_LOST + CAUSE_REWIND;
		sendq_list_append(q, &q->lost, psn, s);
	}
	assert(q->lost.count <= sendq_len(q));
}
