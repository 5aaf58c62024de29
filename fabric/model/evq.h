/* SPDX-License-Identifier: BSD-3-Clause */
/* Event queue: at most one pending event per source (an id), in order of time, then of insertion. A wheel of buckets,
 * each a sorted ring of ids, holds what is near; a heap holds what lies beyond it and feeds the wheel as time passes.
 * No allocation after init. */
#ifndef WEFT_EVQ_H
#define WEFT_EVQ_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/time.h"

#define EVQ_NONE UINT32_MAX

enum {
	EVQ_WORDS_LOG2 = 10, /* words of the lowest bitmap level */
	EVQ_BUCKETS_LOG2 = EVQ_WORDS_LOG2 + 6,
	EVQ_BUCKETS = 1 << EVQ_BUCKETS_LOG2,
	EVQ_SOON_MAX = 64
};

struct evq_node {
	weft_ps at;
	uint32_t next;  /* in its bucket's ring */
	uint32_t where; /* EVQ_IDLE, EVQ_WHEEL, EVQ_SOON, or its place in the heap */
};

struct evq_soon {
	weft_ps at;
	uint32_t id;
};

struct evq_far {
	weft_ps at;
	uint64_t seq; /* insertion number */
	uint32_t id;
};

struct evq {
	weft_ps now;        /* time of the last event taken */
	uint32_t lookahead; /* soon events to hold, refilled at three quarters of that */
	weft_ps soon_end;   /* of the last soon event, 0 without any: nothing in wheel and heap is earlier */
	uint32_t soon_first, soon_last;
	struct evq_soon soon[EVQ_SOON_MAX]; /* soon_first..soon_last-1, sorted */
	uint64_t tick;                      /* now's bucket, not wrapped */
	uint32_t shift;                     /* a bucket is 2^shift ps wide */
	uint32_t ids;
	struct evq_node *nodes;                    /* by id */
	uint32_t *tail;                            /* by bucket: last id of its ring, or EVQ_NONE */
	uint64_t *used;                            /* a bit per bucket that is not empty */
	uint64_t used1[1 << (EVQ_WORDS_LOG2 - 6)]; /* a bit per word of `used` that is not 0 */
	uint64_t used2;                            /* a bit per word of `used1` that is not 0 */
	struct evq_far *heap;                      /* room for all ids */
	uint32_t heap_len;
	uint64_t seq;
};

/* For ids 0..ids-1; `span`: how far ahead most events lie; `lookahead` (1..EVQ_SOON_MAX/2): how many evq_peek can see,
 * at a cost for each. -ENOMEM. */
int evq_init(struct evq *q, uint32_t ids, weft_ps now, weft_ps span, uint32_t lookahead);
void evq_fini(struct evq *q);

bool evq_pending(const struct evq *q, uint32_t id);
weft_ps evq_at(const struct evq *q, uint32_t id); /* of a pending event */

/* Puts the event of `id`, which must not be pending, at `at`; times in the past are now. */
void evq_set(struct evq *q, uint32_t id, weft_ps at);
void evq_cancel(struct evq *q, uint32_t id); /* no-op when it is not pending */

/* Takes the next event if its time is <= until: its id, or EVQ_NONE. q->now is its time then. */
uint32_t evq_pop(struct evq *q, weft_ps until);

/* Times can be set back by multiples of this: every event stays in its bucket. */
static inline weft_ps evq_turn(const struct evq *q)
{
	return (weft_ps)EVQ_BUCKETS << q->shift;
}
/* It is `now`, and no event is earlier; then that time and those of all events are `by` less. */
void evq_set_back(struct evq *q, weft_ps now, weft_ps by);

/* The id of the event after `k` others, if it is among the soon ones, or EVQ_NONE. A hint: events may still come before
 * it. */
static inline uint32_t evq_peek(const struct evq *q, uint32_t k)
{
	return q->soon_first + k < q->soon_last ? q->soon[q->soon_first + k].id : EVQ_NONE;
}

/* Fetches what setting the event of `id` will touch. */
static inline __attribute__((always_inline)) void evq_prefetch(const struct evq *q, uint32_t id)
{
	__builtin_prefetch(&q->nodes[id], 1);
}

/* Time of the next event, or WEFT_NEVER. */
weft_ps evq_next(const struct evq *q);

#endif
