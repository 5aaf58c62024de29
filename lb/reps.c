/* SPDX-License-Identifier: BSD-3-Clause */
/* REPS: recycled entropy packet spraying (paper section 3, Algorithms 1 and 2). Entropies whose ACK came back without
 * a congestion mark are kept in a small ring and used once more, oldest first; without one the choice is random. A
 * suspected path failure freezes exploring: the ring is then walked in circles until the freeze timer has run out.
 *
 * Where it departs from the pseudo-code (doc/reference/algorithms.md gives the reasons):
 *  - the validity bits are not stored: the valid entries are always the `valid` ones before `head`;
 *  - a frozen walk visits written entries only, and an entropy outside the entropy set is never cached;
 *  - the explore counter has 16 bits, a BDP of 800 Gb/s does not fit the paper's 8;
 *  - with `evict` an entropy that timed out leaves the ring;
 *  - an entropy only known to get there (WEFT_LB_COVERED) is cached, too, but does not outlive a freeze's beginning;
 *  - with `refreeze` exploring is over when a failure comes more than a base RTT after it began.
 * reps2.c goes by how long packets waited, too. */
#include <assert.h>
#include <string.h>

#include "likely.h"
#include "reps.h"

enum { EXPLORE_MAX = UINT16_MAX }; /* packets */

/* Entries of the ring with these parameters. */
static uint32_t ring_size(const struct weft_lb_params *params)
{
	const struct reps_tune *t = params->tune;

	return t->ring > 1 ? 1u << (32 - __builtin_clz(t->ring - 1)) : 1;
}

size_t reps_state_bytes(const struct weft_lb_params *params)
{
	return (sizeof(struct reps) + ring_size(params) * sizeof(uint16_t) + 7) / 8 * 8;
}

void reps_init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	*reps_state(lb) =
		(struct reps){.random = rng_mix(seed), .filling = 1, .mask = (uint8_t)(ring_size(lb->params) - 1)};
	memset(reps_state(lb)->ring, 0, reps_state_bytes(lb->params) - sizeof(struct reps));
}

/* A uniform draw from the entropies in use. The upper half of a 64-bit linear congruential generator (Knuth's MMIX
 * multiplier): a third of the instructions of rng_next, and good enough to choose paths with. */
static inline uint16_t draw(struct weft_lb *lb)
{
	struct reps *s = reps_state(lb);

	s->random = s->random * 6364136223846793005u + 1;
	return (uint16_t)((s->random >> 32) * lb->params->evs_size >> 32);
}

/* Algorithm 2 lines 4-6: the oldest entropy not used since it was cached. */
static inline uint16_t pop(struct reps *s)
{
	assert(s->valid > 0 && s->valid <= s->mask + 1u);
	return s->ring[(unsigned)(s->head - s->valid--) & s->mask];
}

/* Entries of the ring that hold an entropy. */
static uint32_t entries(const struct reps *s)
{
	return s->filling ? s->head : s->mask + 1u;
}

/* Algorithm 2 lines 8-9: nothing fresh, so the ring is reused in circles; one that is not full yet by PSN, because
 * its head must stay behind its last entry. */
static uint16_t walk(struct weft_lb *lb, uint32_t psn)
{
	struct reps *s = reps_state(lb);

	if (entries(s) == 0)
		return draw(lb);
	if (s->filling)
		return s->ring[psn % entries(s)];
	uint16_t ev = s->ring[s->head];
	s->head = (uint8_t)((s->head + 1) & s->mask);
	return ev;
}

static void end_exploring(struct reps *s)
{
	assert(!s->frozen);
	s->exploring = 0;
	s->covered = 0;
}

/* Algorithm 2 lines 15-20 when exploring or frozen. */
static __attribute__((noinline)) uint16_t pick_unusual(struct weft_lb *lb, uint32_t psn)
{
	struct reps *s = reps_state(lb);

	if (s->exploring) {
		if (--s->explore.left_pkts == 0)
			end_exploring(s);
		return draw(lb);
	}
	return s->valid ? pop(s) : walk(lb, psn);
}

uint16_t reps_pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct reps *s = reps_state(lb);

	if (s->exploring || s->frozen)
		return pick_unusual(lb, psn);
	return s->valid ? pop(s) : draw(lb);
}

/* Algorithm 1 lines 15-18. The time since the freeze is compared, so the 32-bit tick counter may wrap. */
static void try_thaw(struct weft_lb *lb, weft_ns now)
{
	struct reps *s = reps_state(lb);

	if (reps_ticks(now) - s->frozen_ticks <= reps_ticks(reps_tune(lb)->freeze_ns))
		return;
	s->frozen = 0;
	s->exploring = 1;
	s->explore.left_pkts = (uint16_t)(lb->params->bdp_pkts < EXPLORE_MAX ? lb->params->bdp_pkts : EXPLORE_MAX);
	s->explore.ticks = (uint16_t)reps_ticks(now);
}

/* Notes whether entry `at` is an entropy that no ACK came back with. Entries that share a bit set it for good. */
static void note_covered(struct reps *s, uint32_t at, bool covered)
{
	uint32_t bit = UINT32_C(1) << at % 32;

	if (covered)
		s->covered |= bit;
	else if (s->mask < 32)
		s->covered &= ~bit;
}

static bool was_covered(const struct reps *s, uint32_t at)
{
	return s->covered >> at % 32 & 1;
}

/* After an entropy was cached while frozen, in a ring that is not full, or one with entropies that were only covered.
 */
static __attribute__((noinline)) void note_cached(struct weft_lb *lb, bool covered, weft_ns now)
{
	struct reps *s = reps_state(lb);

	if (s->head == 0)
		s->filling = 0;
	if (s->frozen)
		try_thaw(lb, now);
	else if (s->some_covered)
		note_covered(s, (s->head + s->mask) & s->mask, covered);
}

/* A packet that another ACK covered was taken for unmarked; its own ACK, which that one overtook, has the mark. The
 * oldest entropy takes the place of the packet's, unless that was used meanwhile. */
static __attribute__((noinline)) void forget_marked(struct reps *s, uint16_t ev)
{
	uint32_t oldest = (uint32_t)(s->head - s->valid) & s->mask;

	for (uint32_t i = 0; i < s->valid; i++) {
		uint32_t at = (oldest + i) & s->mask;
		if (s->ring[at] != ev)
			continue;
		s->ring[at] = s->ring[oldest];
		note_covered(s, at, was_covered(s, oldest));
		s->valid--;
		return;
	}
}

/* Leaves the entries that were seen on a way back, in their order. What is frozen is walked for long, and ACKs that all
 * went a dead way would be missed until everything has timed out. */
static void drop_covered(struct reps *s)
{
	uint16_t old[RING_MAX];
	uint32_t count = entries(s), first = s->filling ? 0 : s->head, kept = 0;

	s->some_covered = 0;
	memcpy(old, s->ring, count * sizeof *old);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (first + i) & s->mask;
		if (!was_covered(s, at))
			s->ring[kept++] = old[at];
	}
	s->head = (uint8_t)(kept & s->mask);
	s->valid = 0;
	s->filling |= kept <= s->mask;
}

/* Overwrites `ev` by the last other entry before `head`; empties the ring when there is no other. The acknowledged
 * entropies that keep arriving push out old ones, but an entropy cached just before its path died could be walked for a
 * whole freeze when few of them arrive. */
static void evict(struct weft_lb *lb, uint16_t ev)
{
	struct reps *s = reps_state(lb);
	uint32_t count = entries(s);
	uint32_t good = UINT32_MAX;

	for (uint32_t i = count; i-- > 0 && good == UINT32_MAX;) {
		uint16_t other = s->ring[(s->head + i) % count];
		good = other == ev ? good : other;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (s->ring[i] == ev)
			s->ring[i] = (uint16_t)good;
	}
	if (good == UINT32_MAX) {
		s->head = s->valid = 0;
		s->filling = 1;
	}
}

/* Exploring is meant to take a BDP of packets, a round trip, in which no failure can be known of yet but those of the
 * freeze before. With a collapsed window it takes a timeout per packet; what fails then was explored. */
static bool explores_long(const struct weft_lb *lb, const struct reps *s, weft_ns now)
{
	uint16_t since = (uint16_t)(reps_ticks(now) - s->explore.ticks);

	return reps_tune(lb)->refreeze && since > reps_ticks(lb->params->brtt_ns);
}

/* Algorithm 1 lines 21-26. */
static __attribute__((noinline)) void on_failure(struct weft_lb *lb, uint16_t ev, weft_ns now)
{
	struct reps *s = reps_state(lb);

	assert(!s->frozen || !s->exploring);
	bool freezes = !s->frozen && (!s->exploring || explores_long(lb, s, now));

	if (freezes && s->some_covered)
		drop_covered(s);
	if (reps_tune(lb)->evict)
		evict(lb, ev);
	if (!freezes)
		return;
	s->exploring = 0;
	s->frozen = 1;
	s->freezes++;
	s->frozen_ticks = reps_ticks(now);
}

void reps_feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct reps *s = reps_state(lb);

	if (fb != WEFT_LB_OK) {
		if (fb == WEFT_LB_TIMEOUT)
			on_failure(lb, ev, now);
		if (fb == WEFT_LB_CE && s->some_covered)
			forget_marked(s, ev);
		if (fb != WEFT_LB_COVERED || (s->frozen || s->exploring))
			return;
		s->some_covered = 1;
	}
	if (ev >= lb->params->evs_size)
		return;
	uint32_t head = s->head;
	s->head = (uint8_t)((head + 1) & s->mask);
	s->ring[head] = ev;
	s->valid += s->valid <= s->mask;
	if (s->frozen || s->filling || s->some_covered)
		note_cached(lb, fb == WEFT_LB_COVERED, now);
}

void reps_view(const struct weft_lb *lb, struct weft_lb_view *view)
{
	const struct reps *s = (const struct reps *)(lb + 1);

	*view = (struct weft_lb_view){.cached_evs = entries(s), .frozen = s->frozen, .freezes = s->freezes};
}

static const struct weft_param tunes[] = {REPS_TUNES, {NULL}};
const struct weft_lb_ops weft_lb_reps = {
	.name = "reps",
	.help = "recycled entropy packet spraying with freezing",
	.tunes = tunes,
	.tune_size = sizeof(struct reps_tune),
	.state_size = sizeof(struct reps) + RING * sizeof(uint16_t),
	.state_bytes = reps_state_bytes,
	.init = reps_init,
	.pick = reps_pick,
	.feedback = reps_feedback,
	.view = reps_view,
};
