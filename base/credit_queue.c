/* SPDX-License-Identifier: BSD-3-Clause */
#include "credit_queue.h"

#include <assert.h>

/* Every credit that came has left, was dropped or waits, within the limit. */
static inline __attribute__((unused)) bool adds_up(const struct credit_queue *q)
{
	return q->waiting <= q->limit && q->injected == q->sent + q->dropped + q->waiting;
}

static uint16_t bounded(uint32_t n)
{
	return (uint16_t)(n == 0 ? 1 : n > CREDIT_QUEUE_MAX ? (uint32_t)CREDIT_QUEUE_MAX : n);
}

void credit_queue_init(struct credit_queue *q, uint32_t limit, uint32_t refresh)
{
	*q = (struct credit_queue){
		.next = CREDIT_QUEUE_NEVER,
		.interval = CREDIT_QUEUE_NEVER,
		.limit = bounded(limit),
		.refresh = bounded(refresh),
	};
}

uint64_t credit_queue_interval(uint32_t cycle_bytes, uint64_t bps, uint64_t units)
{
	unsigned __int128 span = (unsigned __int128)cycle_bytes * 8 * units << CREDIT_QUEUE_SHIFT;

	bps = bps ? bps : 1;
	span = (span + bps - 1) / bps;
	return span < CREDIT_QUEUE_NEVER ? (uint64_t)span : CREDIT_QUEUE_NEVER;
}

static uint64_t later(uint64_t at, uint64_t span)
{
	return at < CREDIT_QUEUE_NEVER - span ? at + span : CREDIT_QUEUE_NEVER;
}

void credit_queue_set_interval(struct credit_queue *q, uint64_t interval, uint64_t now)
{
	bool first = q->interval == CREDIT_QUEUE_NEVER;
	uint64_t soonest = first ? 0 : later(now, interval >> CREDIT_QUEUE_SHIFT);

	if (q->next > soonest) {
		q->next = soonest;
		q->next_frac = 0;
	}
	q->interval = interval;
}

bool credit_queue_push(struct credit_queue *q)
{
	bool full = q->waiting == q->limit;

	q->injected++;
	q->dropped += full;
	q->round_drops += full;
	q->waiting += !full;
	if (++q->round >= q->refresh) {
		q->last_drops = q->round_drops;
		q->round = q->round_drops = 0;
	}
	assert(adds_up(q) && q->round < q->refresh && q->round_drops <= q->round);
	return !full;
}

/* From the departure that was due, or one interval ago if that is later. */
static void advance(struct credit_queue *q, uint64_t now)
{
	uint64_t span = q->interval >> CREDIT_QUEUE_SHIFT;

	if (now > span && q->next < now - span) {
		q->next = now - span;
		q->next_frac = 0;
	}
	uint64_t frac = q->next_frac + (q->interval & ((1 << CREDIT_QUEUE_SHIFT) - 1));
	q->next = later(q->next, span + (frac >> CREDIT_QUEUE_SHIFT));
	q->next_frac = (uint16_t)frac;
}

bool credit_queue_pop(struct credit_queue *q, uint64_t now, uint32_t draw)
{
	bool mark = (uint64_t)draw * q->refresh < (uint64_t)q->last_drops << 32;

	assert(credit_queue_due(q, now));
	q->waiting--;
	q->sent++;
	q->marked += mark;
	advance(q, now);
	assert(adds_up(q));
	return mark;
}

void credit_queue_set_back(struct credit_queue *q, uint64_t by)
{
	if (q->next != CREDIT_QUEUE_NEVER)
		q->next = q->next > by ? q->next - by : 0;
}

void credit_queue_clear(struct credit_queue *q)
{
	q->dropped += q->waiting;
	q->waiting = 0;
	assert(adds_up(q));
}
