/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of credits: how many wait, when the next may leave, which ones tell of losses (SprayPass sec. III-B-1,
 * ExpressPass sec. 3.2). Credits leave one per interval, which is the time that what each of them triggers takes on the
 * slower direction of the cable: the data in the other direction, the credit and an acknowledgement in this one. The
 * packets themselves are the owner's, in a list as long as `waiting`.
 *
 * Times are the caller's, ns or ps, as long as the interval is in the same unit. No clock, no memory, no randomness:
 * draws are arguments. */
#ifndef WEFT_CREDIT_QUEUE_H
#define WEFT_CREDIT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CREDIT_QUEUE_MAX = UINT16_MAX,    /* credits; and refresh, injected credits */
	CREDIT_QUEUE_REFRESH_DEFAULT = 4, /* N_cdt of the paper */
	CREDIT_QUEUE_SHIFT = 16,          /* intervals are in 2^-16 units of time */
};

#define CREDIT_QUEUE_NEVER UINT64_MAX

struct credit_queue {
	uint64_t next;        /* earliest departure of the next credit */
	uint64_t interval;    /* between departures, in 2^-16 units of time */
	uint64_t injected;    /* credits that came; = sent + dropped + waiting */
	uint64_t dropped;     /* that found the queue full, or waited when it was cleared */
	uint64_t sent;        /* that left */
	uint64_t marked;      /* of these, with the mark */
	uint16_t next_frac;   /* of `next`, in 2^-16 units */
	uint16_t limit;       /* credits that may wait; 1.. */
	uint16_t waiting;     /* credits now */
	uint16_t refresh;     /* N_cdt: injected credits after which the share of losses is taken anew; 1.. */
	uint16_t round;       /* injected in the running round of `refresh` */
	uint16_t round_drops; /* dropped in it */
	uint16_t last_drops;  /* dropped in the round before: P_d = last_drops / refresh (eq. 1) */
};

_Static_assert(sizeof(struct credit_queue) == 64, "one cache line");

/* Empty, counters 0, the first credit may leave at once. `limit` and `refresh` of 0 stand for 1, those beyond
 * CREDIT_QUEUE_MAX for that. No credit leaves before credit_queue_set_interval was called, which may follow at any
 * time. */
void credit_queue_init(struct credit_queue *q, uint32_t limit, uint32_t refresh);

/* Interval in which `cycle_bytes` of wire pass at `bps` bits per second, with `units` of time per second (10^9: ns,
 * 10^12: ps), rounded up. Saturates; `bps` of 0 stands for 1. */
uint64_t credit_queue_interval(uint32_t cycle_bytes, uint64_t bps, uint64_t units);

/* The rate changed: the next credit leaves no later than one new interval from now. */
void credit_queue_set_interval(struct credit_queue *q, uint64_t interval, uint64_t now);

/* A credit comes. True: it waits, at the end of the owner's list. False: the queue is full, it is dropped and counted.
 */
bool credit_queue_push(struct credit_queue *q);

/* When the first credit may leave; in the past: at once. CREDIT_QUEUE_NEVER: none waits. */
static inline uint64_t credit_queue_next(const struct credit_queue *q)
{
	return q->waiting ? q->next : CREDIT_QUEUE_NEVER;
}

static inline bool credit_queue_due(const struct credit_queue *q, uint64_t now)
{
	return q->waiting && q->next <= now;
}

/* The first credit leaves at `now`; one must be due. `draw` is uniform over all 32-bit numbers. True: the credit gets
 * the mark, with probability P_d. One that had to wait for the link takes nothing from those behind it, up to one
 * interval: the share is kept when each departure finds the link busy, and two credits at most leave together. */
bool credit_queue_pop(struct credit_queue *q, uint64_t now, uint32_t draw);

/* The caller's times are `by` less from now on. */
void credit_queue_set_back(struct credit_queue *q, uint64_t by);

/* What waits is lost, and counted as dropped; P_d stays as it is, for it speaks of congestion. */
void credit_queue_clear(struct credit_queue *q);

#endif
