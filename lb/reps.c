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
 *
 * "reps2" goes by how long packets waited, too. It also leaves out entropies whose packets came late without a mark,
 * the stricter the fewer packets are left: queues of random spraying grow for as long as a link is full, and where a
 * BDP has hundreds of packets they are long before switches mark. And it keeps entropies whose packets were marked and
 * came as early as others: a random path would be no better. */
#include <assert.h>
#include <string.h>

#include "lb_ops.h"
#include "likely.h"

enum {
	RING = 8, /* REPS_BUFFER_SIZE, by the paper's Theorem 5.1 */
	RING_MAX = 128,
	TICK_SHIFT = 10,          /* the freeze timer counts units of 1,024 ns: 2^32 of them are 73 min */
	EXPLORE_MAX = UINT16_MAX, /* packets */
	MEAN_SHIFT = 4,           /* reps2: the mean wait counts 2^-4 ns, and a sample weighs as much */
	WAIT_MAX_NS = 1 << 26,
	END_PKTS = 8, /* reps2: what chance and the last hop have in a queue */
};

struct reps {
	uint64_t random; /* see draw() */
	union {
		uint32_t frozen_ticks; /* frozen: when it froze */
		struct {
			uint16_t left_pkts; /* exploreCounter: packets still to be sent at random */
			uint16_t ticks;     /* when exploring began, modulo 2^16 */
		} explore;                  /* exploring */
		uint32_t covered; /* otherwise: bit i, no ACK may have come back with entry i (modulo 32) of the ring */
	};
	uint8_t head;             /* where the next good entropy goes */
	uint8_t valid;            /* numberValidEVs */
	uint8_t frozen : 1;       /* isFreezingMode */
	uint8_t exploring : 1;    /* exploreCounter > 0; not while frozen */
	uint8_t filling : 1;      /* only the ring's entries before `head` are written yet */
	uint8_t some_covered : 1; /* `covered` may have bits; neither while frozen nor exploring */
	uint8_t freezes : 4;      /* times frozen, modulo 16 */
	uint8_t mask;             /* entries of the ring - 1; it is a power of two */
	uint16_t ring[];          /* cachedEV */
};
_Static_assert(sizeof(struct reps) + RING * 2 <= 32, "state budget");

/* What reps2 has behind the ring. */
struct waits {
	uint32_t mean;          /* of what was measured, 2^-MEAN_SHIFT ns */
	uint32_t trimmed_ticks; /* when the last NACK came for a packet trimmed before the last hop; 0: none did */
};
_Static_assert(sizeof(struct waits) % 8 == 0, "the state stays a multiple of 8");

static struct reps *state(struct weft_lb *lb)
{
	return weft_lb_state(lb);
}

static const struct reps_tune *tune(const struct weft_lb *lb)
{
	return lb->params->tune;
}

static uint32_t ticks(weft_ns ns)
{
	return (uint32_t)(ns >> TICK_SHIFT);
}

/* Entries of the ring with these parameters. */
static uint32_t ring_size(const struct weft_lb_params *params)
{
	const struct reps_tune *t = params->tune;

	return t->ring > 1 ? 1u << (32 - __builtin_clz(t->ring - 1)) : 1;
}

static size_t state_bytes(const struct weft_lb_params *params)
{
	return (sizeof(struct reps) + ring_size(params) * sizeof(uint16_t) + 7) / 8 * 8;
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	*state(lb) = (struct reps){.random = rng_mix(seed), .filling = 1, .mask = (uint8_t)(ring_size(lb->params) - 1)};
	memset(state(lb)->ring, 0, state_bytes(lb->params) - sizeof(struct reps));
}

static size_t state2_bytes(const struct weft_lb_params *params)
{
	return state_bytes(params) + sizeof(struct waits);
}

static inline struct waits *waits(struct reps *s)
{
	return (struct waits *)(void *)&s->ring[(s->mask + 2u) & ~1u];
}

static void init2(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	init(lb, seed, now);
	*waits(state(lb)) = (struct waits){0};
}

/* A uniform draw from the entropies in use. The upper half of a 64-bit linear congruential generator (Knuth's MMIX
 * multiplier): a third of the instructions of rng_next, and good enough to choose paths with. */
static inline uint16_t draw(struct weft_lb *lb)
{
	struct reps *s = state(lb);

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
	struct reps *s = state(lb);

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
	struct reps *s = state(lb);

	if (s->exploring) {
		if (--s->explore.left_pkts == 0)
			end_exploring(s);
		return draw(lb);
	}
	return s->valid ? pop(s) : walk(lb, psn);
}

static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct reps *s = state(lb);

	if (s->exploring || s->frozen)
		return pick_unusual(lb, psn);
	return s->valid ? pop(s) : draw(lb);
}

/* Algorithm 1 lines 15-18. The time since the freeze is compared, so the 32-bit tick counter may wrap. */
static void try_thaw(struct weft_lb *lb, weft_ns now)
{
	struct reps *s = state(lb);

	if (ticks(now) - s->frozen_ticks <= ticks(tune(lb)->freeze_ns))
		return;
	s->frozen = 0;
	s->exploring = 1;
	s->explore.left_pkts = (uint16_t)(lb->params->bdp_pkts < EXPLORE_MAX ? lb->params->bdp_pkts : EXPLORE_MAX);
	s->explore.ticks = (uint16_t)ticks(now);
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
	struct reps *s = state(lb);

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
	struct reps *s = state(lb);
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
	uint16_t since = (uint16_t)(ticks(now) - s->explore.ticks);

	return tune(lb)->refreeze && since > ticks(lb->params->brtt_ns);
}

/* Algorithm 1 lines 21-26. */
static __attribute__((noinline)) void on_failure(struct weft_lb *lb, uint16_t ev, weft_ns now)
{
	struct reps *s = state(lb);

	assert(!s->frozen || !s->exploring);
	bool freezes = !s->frozen && (!s->exploring || explores_long(lb, s, now));

	if (freezes && s->some_covered)
		drop_covered(s);
	if (tune(lb)->evict)
		evict(lb, ev);
	if (!freezes)
		return;
	s->exploring = 0;
	s->frozen = 1;
	s->freezes++;
	s->frozen_ticks = ticks(now);
}

static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct reps *s = state(lb);

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

/* Far above the mean, so that most paths are better, and by more packets than chance and the last hop have in a queue.
 * Where the latter is long against a base RTT, marks come earlier. */
static inline bool is_late(const struct weft_lb *lb, uint32_t mean, uint32_t wait_ns)
{
	const struct weft_lb_params *params = lb->params;

	return ((uint64_t)wait_ns << MEAN_SHIFT) * 100 > (uint64_t)mean * tune(lb)->late_pct &&
	       (uint64_t)wait_ns * params->bdp_pkts > params->brtt_ns * tune(lb)->late_pkts;
}

/* Whether the next packet on that path may be the one that the end of the message waits for: what the packets behind it
 * take to leave hides how late it is, up to that; half of it, as paths grow no better meanwhile. */
static __attribute__((noinline)) bool is_late_for_end(const struct weft_lb *lb, uint32_t mean_ns, uint32_t wait_ns,
						      weft_ns left_ns)
{
	const struct weft_lb_params *params = lb->params;
	uint64_t share = tune(lb)->late_left_pct;
	uint64_t hidden_ns = params->brtt_ns * END_PKTS / params->bdp_pkts + left_ns * share / 100;

	return share && wait_ns > mean_ns && wait_ns - mean_ns > hidden_ns;
}

/* Some path is so bad that packets are trimmed on it. Then a random one is likelier to be bad than a late one is. The
 * time is compared modulo 73 min, so a trim may count again after that. */
static bool trimmed_lately(const struct weft_lb *lb, const struct waits *w, weft_ns now)
{
	return w->trimmed_ticks &&
	       ticks(now) - w->trimmed_ticks <= ticks(lb->params->brtt_ns * tune(lb)->late_trim_brtts);
}

/* Whether a mark says something of the path. Where all paths have queues a mark is a matter of chance, and the random
 * path in place of a marked one would unbalance what recycling has balanced. */
static bool mark_counts(const struct weft_lb *lb, uint32_t mean, uint32_t wait_ns)
{
	return ((uint64_t)wait_ns << MEAN_SHIFT) * 100 > (uint64_t)mean * tune(lb)->mark_wait_pct;
}

/* A frozen ring takes what is alive, late or not. */
static void answered2(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns wait_ns, weft_ns left_ns,
		      weft_ns now)
{
	struct reps *s = state(lb);
	struct waits *w = waits(s);
	uint32_t wait = wait_ns < WAIT_MAX_NS ? (uint32_t)wait_ns : WAIT_MAX_NS;

	if (unlikely(fb == WEFT_LB_CE)) {
		feedback(lb, ev, mark_counts(lb, w->mean, wait) ? WEFT_LB_CE : WEFT_LB_OK, now);
		return;
	}
	w->mean += wait - (w->mean >> MEAN_SHIFT);
	bool late = is_late(lb, w->mean, wait) ||
		    (unlikely(left_ns != WEFT_NEVER) && is_late_for_end(lb, w->mean >> MEAN_SHIFT, wait, left_ns));
	if (likely(!late) || s->frozen || trimmed_lately(lb, w, now))
		feedback(lb, ev, WEFT_LB_OK, now);
}

/* Where no wait was measured. */
static void feedback2(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	if (unlikely(fb == WEFT_LB_TRIM))
		waits(state(lb))->trimmed_ticks = ticks(now);
	feedback(lb, ev, fb, now);
}

static void view(const struct weft_lb *lb, struct weft_lb_view *view)
{
	const struct reps *s = (const struct reps *)(lb + 1);

	*view = (struct weft_lb_view){.cached_evs = entries(s), .frozen = s->frozen, .freezes = s->freezes};
}

#define TUNE(name, type, field, help, def, min, max)                                                                   \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct reps_tune, field), WEFT_PARAM_##type                       \
	}
#define TUNES                                                                                                          \
	TUNE(freeze_ns, U64, freeze_ns, "nanoseconds without exploring after a suspected path failure", 20000000, 0,   \
	     1000000000000),                                                                                           \
		TUNE(reps_ring, U32, ring,                                                                             \
		     "entropies remembered, two bytes of state each; rounded up to a power of two", RING, 1,           \
		     RING_MAX),                                                                                        \
		TUNE(evict, BOOL, evict, "forget an entropy that timed out", 1, 0, 1),                                 \
		TUNE(refreeze, BOOL, refreeze,                                                                         \
		     "a failure more than a base RTT after a freeze ends exploring and freezes again", 1, 0, 1)

static const struct weft_param tunes[] = {TUNES, {NULL}};
static const struct weft_param tunes2[] = {
	TUNES,
	TUNE(late_pct, U32, late_pct,
	     "an entropy is not used again after a packet that waited longer than this share of the mean wait, %, "
	     "and late_pkts",
	     200, 0, 1000000),
	TUNE(late_pkts, U32, late_pkts, "... and longer than so many full packets take on the link", 24, 0, 65536),
	TUNE(late_left_pct, U32, late_left_pct,
	     "... or, in a message's last round trip, longer than the mean wait by 8 full packets and this share of "
	     "the time in which what is left leaves, %; 0: no such bound",
	     50, 0, 1000),
	TUNE(late_trim_brtts, U32, late_trim_brtts,
	     "... but neither bound counts for so many base RTTs after a packet was trimmed before the last hop", 4, 0,
	     1000000),
	TUNE(mark_wait_pct, U32, mark_wait_pct,
	     "an entropy is used again after a marked packet that waited no longer than this share of the mean "
	     "wait, %; 0: only if it did not wait",
	     120, 0, 1000000),
	{NULL},
};

const struct weft_lb_ops weft_lb_reps = {
	.name = "reps",
	.help = "recycled entropy packet spraying with freezing",
	.tunes = tunes,
	.tune_size = sizeof(struct reps_tune),
	.state_size = sizeof(struct reps) + RING * sizeof(uint16_t),
	.state_bytes = state_bytes,
	.init = init,
	.pick = pick,
	.feedback = feedback,
	.view = view,
};

const struct weft_lb_ops weft_lb_reps2 = {
	.name = "reps2",
	.help = "REPS that goes by how long packets waited, too",
	.tunes = tunes2,
	.tune_size = sizeof(struct reps_tune),
	.state_size = sizeof(struct reps) + RING * sizeof(uint16_t) + sizeof(struct waits),
	.state_bytes = state2_bytes,
	.init = init2,
	.pick = pick,
	.feedback = feedback2,
	.answered = answered2,
	.view = view,
};
