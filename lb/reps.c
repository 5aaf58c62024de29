/* SPDX-License-Identifier: BSD-3-Clause */
/* REPS: recycled entropy packet spraying (paper section 3, Algorithms 1 and 2). Entropies whose ACK came back without
 * a congestion mark are kept in a small ring and used once more, oldest first; without one the choice is random. A
 * suspected path failure freezes exploring: the ring is then walked in circles until the freeze timer has run out.
 *
 * Where it departs from the pseudo-code (doc/algorithms.md gives the reasons):
 *  - the validity bits are not stored: the valid entries are always the `valid` ones before `head`;
 *  - a frozen walk visits written entries only, and an entropy outside the entropy set is never cached;
 *  - the explore counter has 32 bits, a BDP of 800 Gb/s does not fit the paper's 8;
 *  - with `evict` an entropy that timed out leaves the ring. */
#include <stdbool.h>

#include "lb_ops.h"
#include "rng.h"

enum { REPS_RING = 8, REPS_TICK_SHIFT = 10 }; /* the freeze timer counts units of 1,024 ns: 2^32 of them are 73 min */

struct reps {
	struct rng rng;
	uint16_t ring[REPS_RING]; /* cachedEV; the first `stored` are written */
	/* Frozen: when it froze, in ticks. Else exploreCounter: packets still to be sent at random. Both are never
	 * needed at once: freezing takes a counter of 0, and the counter is set when the freeze ends. */
	uint32_t timer;
	uint8_t head;        /* where the next good entropy goes */
	uint8_t valid;       /* numberValidEVs */
	uint8_t stored;      /* entries written so far, at most `entries` */
	uint8_t frozen : 1;  /* isFreezingMode */
	uint8_t freezes : 7; /* times frozen, modulo 128 */
};
_Static_assert(sizeof(struct reps) <= 32, "state budget");

static const struct reps_tune *tune(const struct weft_lb *lb)
{
	return lb->params->tune;
}

static uint32_t ticks(weft_ns ns)
{
	return (uint32_t)(ns >> REPS_TICK_SHIFT);
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	struct reps *s = weft_lb_state(lb);

	*s = (struct reps){.rng = {seed}};
}

/* Algorithm 2 lines 8-9: nothing fresh, so the ring is reused in circles. */
static uint16_t walk(struct reps *s, uint32_t entries)
{
	uint32_t at = s->head < s->stored ? s->head : 0;

	s->head = at + 1 < entries ? (uint8_t)(at + 1) : 0;
	return s->ring[at];
}

/* Algorithm 2 line 16, and lines 8-9 when frozen. */
static uint16_t pick_stale(struct weft_lb *lb, struct reps *s)
{
	if (s->frozen && s->stored)
		return walk(s, tune(lb)->entries);
	if (!s->frozen && s->timer)
		s->timer--;
	return (uint16_t)rng_below(&s->rng, lb->params->evs_size);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct reps *s = weft_lb_state(lb);
	bool exploring = s->timer && !s->frozen;

	if (!s->valid || exploring)
		return pick_stale(lb, s);
	uint32_t oldest = s->head >= s->valid ? s->head : s->head + tune(lb)->entries;
	return s->ring[oldest - s->valid--];
}

/* Algorithm 1 lines 15-18. The time since the freeze is compared, so the 32-bit tick counter may wrap. */
static __attribute__((noinline)) void try_thaw(struct weft_lb *lb, struct reps *s, weft_ns now)
{
	if (ticks(now) - s->timer <= ticks(tune(lb)->freeze_ns))
		return;
	s->frozen = 0;
	s->timer = lb->params->bdp_pkts;
}

/* Algorithm 1 lines 9-18. */
static void cache(struct weft_lb *lb, struct reps *s, uint16_t ev, weft_ns now)
{
	uint32_t entries = tune(lb)->entries;

	if (ev >= lb->params->evs_size)
		return;
	s->ring[s->head++] = ev;
	s->valid += s->valid < entries;
	if (s->stored < s->head)
		s->stored = s->head;
	if (s->head == entries)
		s->head = 0;
	if (s->frozen)
		try_thaw(lb, s, now);
}

/* Overwrites `ev` by the newest other entry; empties the ring when there is no other. The acknowledged entropies that
 * keep arriving push out old ones, but an entropy cached just before its path died could be walked for a whole
 * freeze when few of them arrive. */
static void evict(struct reps *s, uint16_t ev)
{
	uint32_t good = UINT32_MAX;

	for (uint32_t i = 0; i < s->stored; i++) {
		uint16_t other = s->ring[(s->head + i) % s->stored];
		good = other == ev ? good : other;
	}
	if (good == UINT32_MAX) {
		s->head = s->valid = s->stored = 0;
		return;
	}
	for (uint32_t i = 0; i < s->stored; i++) {
		if (s->ring[i] == ev)
			s->ring[i] = (uint16_t)good;
	}
}

/* Algorithm 1 lines 21-26. */
static __attribute__((noinline)) void on_failure(struct weft_lb *lb, struct reps *s, uint16_t ev, weft_ns now)
{
	if (tune(lb)->evict)
		evict(s, ev);
	if (s->frozen || s->timer)
		return;
	s->frozen = 1;
	s->freezes++;
	s->timer = ticks(now);
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct reps *s = weft_lb_state(lb);

	if (fb == WEFT_LB_OK)
		cache(lb, s, ev, now);
	else if (fb == WEFT_LB_TIMEOUT)
		on_failure(lb, s, ev, now);
}

static void view(const struct weft_lb *lb, struct weft_lb_view *view)
{
	const struct reps *s = (const struct reps *)(lb + 1);

	*view = (struct weft_lb_view){.cached_evs = s->stored, .frozen = s->frozen, .freezes = s->freezes};
}

static const struct weft_param tunes[] = {
	{"freeze_ns", "nanoseconds without exploring after a suspected path failure", 20000000, 0, 1000000000000,
	 offsetof(struct reps_tune, freeze_ns), WEFT_PARAM_U64},
	{"ring_entries", "entropies remembered", REPS_RING, 1, REPS_RING, offsetof(struct reps_tune, entries),
	 WEFT_PARAM_U32},
	{"evict", "forget an entropy that timed out", 1, 0, 1, offsetof(struct reps_tune, evict), WEFT_PARAM_BOOL},
	{NULL},
};

const struct weft_lb_ops weft_lb_reps = {
	.name = "reps",
	.help = "recycled entropy packet spraying with freezing",
	.tunes = tunes,
	.tune_size = sizeof(struct reps_tune),
	.state_size = sizeof(struct reps),
	.init = init,
	.pick = pick,
	.feedback = feedback,
	.view = view,
};
