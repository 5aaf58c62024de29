/* SPDX-License-Identifier: BSD-3-Clause */
/* Hierarchical timing wheel: O(1) add, move and cancel; the next deadline by bit scan. Nodes live in their owners. */
#ifndef WEFT_WHEEL_H
#define WEFT_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "weft/time.h"

enum {
	WHEEL_LEVELS = 6,
	WHEEL_SLOT_BITS = 6,
	WHEEL_SLOTS = 1 << WHEEL_SLOT_BITS,
	WHEEL_TICK_BITS = 8
}; /* tick: 256 ns */

struct wheel_node {
	struct list link;
	weft_ns at;    /* deadline; WEFT_NEVER while not in the wheel */
	uint16_t slot; /* level * WHEEL_SLOTS + index while in the wheel */
};

struct wheel {
	weft_ns now;                 /* the present: time of the last wheel_expire, or of the slot it is emptying */
	weft_ns wake;                /* what wheel_next returns: nothing to do before */
	uint64_t used[WHEEL_LEVELS]; /* bit per non-empty slot */
	uint32_t count;              /* nodes in the wheel */
	struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, weft_ns now);
void wheel_node_init(struct wheel_node *n);

/* Puts the node at deadline `at` (moved if it is in already). A deadline in the past expires at the next wheel_expire;
 * WEFT_NEVER takes it out. */
void wheel_set(struct wheel *w, struct wheel_node *n, weft_ns at);

/* Harmless for a node that is not in the wheel. */
void wheel_cancel(struct wheel *w, struct wheel_node *n);

/* wheel_expire when something may be due. */
struct wheel_node *wheel_expire_due(struct wheel *w, weft_ns now);

/* Takes out one node whose deadline is <= now, or NULL when there is none left. Never returns a node early: a node's
 * exact `at` is compared, whatever slot it sits in. Call until NULL. Order: by tick of the deadline; within a tick the
 * same in every run. A `now` before an earlier one is allowed and expires nothing new. One comparison when nothing is
 * due. */
static inline struct wheel_node *wheel_expire(struct wheel *w, weft_ns now)
{
	if (w->wake <= now)
		return wheel_expire_due(w, now);
	if (now > w->now)
		w->now = now;
	return NULL;
}

/* A time <= the earliest deadline, exact when that deadline is less than WHEEL_SLOTS ticks away (otherwise the start of
 * its slot, where a poll only moves nodes down a level); WEFT_NEVER when empty. Always > the `now` last given to
 * wheel_expire once that returned NULL. */
static inline weft_ns wheel_next(const struct wheel *w)
{
	return w->wake;
}

#endif
