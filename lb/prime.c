/* SPDX-License-Identifier: BSD-3-Clause */
/* PRIME: pseudo-random round robin over entropies made of parts, one per tier of switches (paper section III). Every
 * part is walked in a random order that changes each round; a part moves on when the one below it begins a round, so
 * that a full turn meets every path once. Paths answered with congestion rest for a number of packets; the congestion
 * history holds when they are over.
 *
 * How it differs from Algorithms 1 and 2 (doc/reference/algorithms.md has the reasons):
 *  - the Fisher-Yates shuffle is done one step per packet, while the round is walked;
 *  - penalties are kept as the packet count at which they end, so that sending a packet lowers all of them by one;
 *  - after a timeout it prefers paths that answer, as REPS does when it freezes; the paper has no failures without
 * NACKs.
 *
 * "prime2" passes over congested paths only while they are few. When all are congested, senders that share a queue hear
 * of it alike, and the path with the smallest penalty is the same for all of them. Where switches read digits, its
 * orders do not change and begin where the host's address says (init2). */
#include <string.h>

#include "lb_ops.h"

enum {
	PENALTY_MAX = 8000, /* packets; more than a turn through all paths */
	TRIES_MAX = 128,    /* paths looked at for one packet: two turns meet all of 64 */
	TICK_SHIFT = 10,    /* times of failures count units of 1,024 ns */
	COUNTS = 1 << 15,   /* the packet count is compared modulo this */
	FRESH = 8,          /* answered entropies remembered, as many as REPS */
	RESTING_SHIFT = 5,  /* the share of resting paths: a path in turn weighs 1/32 */
};

/* A path's turn comes in each round of all, and its penalty is renewed then. */
_Static_assert((1 << WEFT_LB_COUNTED_BITS) < PENALTY_MAX && (1 << WEFT_LB_COUNTED_BITS) + PENALTY_MAX < COUNTS / 2,
	       "a penalty that ended is met before the packet count wraps");

/* A path in the history. A penalty that ended is renewed whenever its path's turn comes. */
struct path {
	uint16_t penalty_end : 15; /* packet count at which it ends, modulo COUNTS */
	uint16_t failed : 1;       /* a timeout, lately */
};

union cell {
	struct path path; /* of the history */
	uint16_t digit;   /* of a part's permutation, at its place in an entropy */
};
_Static_assert(sizeof(union cell) == sizeof(uint16_t), "what a state of so many paths takes");

struct part {
	uint16_t values; /* of its digit: 0..values-1 */
	uint16_t at;     /* position in the round */
	uint16_t order;  /* of its permutation in `cells` */
	uint16_t digit;  /* the present one, at its place in an entropy */
};

struct prime {
	struct rng rng;
	uint32_t failed_ticks; /* when a path failed last */
	uint16_t count;        /* packets sent */
	uint16_t history_len;  /* entries of the history; 0: congestion is ignored */
	uint8_t frozen;        /* a path failed lately */
	uint8_t freezes;       /* times frozen, modulo 256 */
	uint8_t sparse;        /* more paths than packets in flight: most are unproven when one fails */
	uint8_t fresh_count, fresh_at;
	uint8_t fresh_valid;               /* ... and not used since */
	uint8_t recycles : 1;              /* switches hash: those come first */
	uint8_t in_turn : 1;               /* the orders are the host's and stay */
	uint8_t fresh_covered;             /* bit i: of fresh[i] no ACK came back */
	uint16_t ce_penalty, nack_penalty; /* penalties, packets */
	uint16_t fresh[FRESH];             /* entropies answered last */
	uint16_t resting;                  /* prime2: share of the paths whose turn came that rest, 2^-16 ... */
	uint16_t resting_max;              /* ... above which congestion is general and no path is passed over for it */
	struct part part[WEFT_LB_PARTS];
	union cell cells[]; /* history, then the permutation of each part */
};

static inline struct prime *state(struct weft_lb *lb)
{
	return weft_lb_state(lb);
}

static inline const struct prime_tune *tune(const struct weft_lb_params *params)
{
	return params->tune;
}

static uint32_t log2_floor(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

/* Where switches hash, the digits of a small tree are too few entropies for an even load: a further part multiplies
 * them up to `bits` in all. Without a known shape it is two parts of that size together. */
static void widen(struct weft_lb_digits *d, uint32_t bits)
{
	uint32_t values[WEFT_LB_PARTS], used = 0, last = 0;

	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++) {
		values[i] = d->values[i];
		used += d->bits[i];
		last = d->bits[i] ? i + 1 : last;
	}
	if (used >= bits || last == WEFT_LB_PARTS)
		return;
	if (last == 0) {
		values[last++] = 1u << bits / 2;
		used = bits / 2;
	}
	values[last] = 1u << (bits - used);
	weft_lb_digits_init(d, values);
}

/* Takes away values of the highest parts until `bits` suffice. */
static void narrow(struct weft_lb_digits *d, uint32_t bits)
{
	uint32_t values[WEFT_LB_PARTS];

	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++) {
		uint32_t room = bits > d->shift[i] ? bits - d->shift[i] : 0;
		values[i] = d->values[i] < 1u << room ? d->values[i] : 1u << room;
	}
	weft_lb_digits_init(d, values);
}

/* The parts of the entropies: given, or the fabric's. */
static void layout(const struct weft_lb_params *params, struct weft_lb_digits *d)
{
	const struct prime_tune *t = tune(params);
	uint32_t bits = log2_floor(params->evs_size), values[WEFT_LB_PARTS];

	*d = params->digits;
	if (t->part[0] | t->part[1] | t->part[2]) {
		memcpy(values, t->part, sizeof values);
		weft_lb_digits_init(d, values);
	} else if (!params->digits_read) {
		widen(d, log2_floor(t->classes));
	}
	narrow(d, bits < WEFT_LB_COUNTED_BITS ? bits : WEFT_LB_COUNTED_BITS);
}

static uint32_t history_size(const struct weft_lb_digits *d)
{
	return 1u << (d->bits[0] + d->bits[1] + d->bits[2]);
}

static size_t state_size(const struct weft_lb_params *params, bool history)
{
	struct weft_lb_digits d;

	layout(params, &d);
	uint32_t cells = history ? history_size(&d) : 0;
	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++)
		cells += d.values[i] > 1 ? d.values[i] : 1;
	return (sizeof(struct prime) + cells * sizeof(union cell) + 7) / 8 * 8;
}

static size_t state_bytes(const struct weft_lb_params *params)
{
	return state_size(params, true);
}

static size_t co_state_bytes(const struct weft_lb_params *params)
{
	return state_size(params, false);
}

/* A penalty: the next turn of the path and `pct` percent of the packets of a BDP. */
static uint16_t penalty(const struct weft_lb_params *params, uint32_t turn, uint32_t pct)
{
	uint64_t pkts = turn + (uint64_t)params->bdp_pkts * pct / 100;

	return (uint16_t)(pkts < PENALTY_MAX ? pkts : PENALTY_MAX);
}

/* The full turn begins with path number `first`, counted from the leaves' digit up. */
static void start(struct weft_lb *lb, uint64_t seed, bool history, uint32_t first)
{
	struct weft_lb_digits d;
	struct prime *s = state(lb);

	memset(s, 0, state_size(lb->params, history));
	layout(lb->params, &d);
	s->rng.state = seed;
	s->history_len = history ? (uint16_t)history_size(&d) : 0;
	s->ce_penalty = penalty(lb->params, s->history_len, tune(lb->params)->ce_pct);
	s->nack_penalty = penalty(lb->params, s->history_len, tune(lb->params)->nack_pct);
	s->recycles = !lb->params->digits_read && tune(lb->params)->recycle;
	s->resting_max = UINT16_MAX;
	s->sparse = 2 * s->history_len > lb->params->bdp_pkts;
	uint16_t cell = s->history_len;
	for (uint32_t i = 0; i < WEFT_LB_PARTS; i++) {
		uint16_t values = d.values[i] > 1 ? d.values[i] : 1;
		s->part[i] = (struct part){.values = values, .order = cell};
		for (uint32_t v = 0; v < values; v++)
			s->cells[cell++].digit = (uint16_t)((first % values + v) % values << d.shift[i]);
		first /= values;
	}
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	start(lb, seed, true, 0);
}

/* In turn, hosts of a leaf that begin together never meet at an uplink, nor hosts of a pod at one of the next tier.
 * Where hosts of a leaf send more than its uplinks carry, some meet whatever they do, and with fixed orders always the
 * same. */
static void init2(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	const struct weft_lb_params *params = lb->params;
	bool in_turn = params->digits_read && !params->oversubscribed && tune(params)->in_turn;

	start(lb, seed, true, in_turn ? params->host - 1 : 0); /* addresses of a leaf begin with 1, as a rule */
	state(lb)->in_turn = in_turn;
	state(lb)->resting_max = (uint16_t)(tune(params)->rest_pct * UINT16_MAX / 100);
}

static void co_init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	start(lb, seed, false, 0);
}

/* The next digit of a part, one that this round has not had: by one step of the shuffle, or in turn. True at a round's
 * start. */
static inline bool draw_digit(struct prime *s, struct part *p)
{
	uint16_t at = p->at, *order = &s->cells[p->order].digit;
	uint32_t other = s->in_turn ? at : at + rng_below(&s->rng, (uint32_t)(p->values - at));
	uint16_t digit = order[other];

	order[other] = order[at];
	order[at] = p->digit = digit;
	p->at = at + 1 < p->values ? (uint16_t)(at + 1) : 0;
	return at == 0;
}

/* Algorithm 2, with dependent counters. */
static inline uint16_t next_ev(struct prime *s)
{
	struct part *p = s->part;

	if (draw_digit(s, p) && (p[1].values | p[2].values) > 1 && draw_digit(s, p + 1) && p[2].values > 1)
		draw_digit(s, p + 2);
	return (uint16_t)(p[0].digit | p[1].digit | p[2].digit);
}

/* Twice the packets that are left of a path's penalty; not positive: none. */
static inline int16_t penalty_left(const struct prime *s, struct path path)
{
	return (int16_t)(2 * (path.penalty_end - s->count));
}

static uint32_t ticks(weft_ns ns)
{
	return (uint32_t)(ns >> TICK_SHIFT);
}

/* prime2: so many paths rest that those that do not are no better. */
static inline bool congestion_is_general(const struct prime *s)
{
	return s->resting > s->resting_max;
}

/* Every path in turn until one is good, else the one with the smallest penalty; a failed one is the last resort. */
static __attribute__((noinline)) uint16_t pick_around(struct prime *s, uint16_t ev)
{
	uint32_t tries = 2 * s->history_len < TRIES_MAX ? 2 * s->history_len : TRIES_MAX;
	uint16_t best = ev;
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < tries; i++, ev = next_ev(s)) {
		struct path path = s->cells[ev].path;
		int32_t rest = path.failed ? INT16_MAX + 1 : congestion_is_general(s) ? 0 : penalty_left(s, path);
		if (rest <= 0)
			return ev;
		if (rest < least) {
			least = rest;
			best = ev;
		}
	}
	return best;
}

static void thaw(struct prime *s)
{
	s->frozen = 0;
	for (uint32_t i = 0; i < s->history_len; i++) {
		if (s->cells[i].path.failed)
			s->cells[i].path = (struct path){.penalty_end = s->count};
	}
}

/* After a failure only the paths heard of last are known to be good. With many paths that stays so; with few, each of
 * them has packets under way, and those that fail with it are all known within a round trip. Compares distances, the
 * tick counter may wrap. */
static __attribute__((noinline)) uint16_t pick_frozen(struct weft_lb *lb, uint16_t ev, weft_ns now)
{
	struct prime *s = state(lb);
	uint32_t since = ticks(now) - s->failed_ticks;

	if (since > ticks(tune(lb->params)->failed_ns))
		thaw(s);
	if (s->frozen && s->fresh_count && (s->sparse || since <= ticks(lb->params->brtt_ns)))
		return s->fresh[s->count % COUNTS % s->fresh_count];
	return pick_around(s, ev);
}

/* A penalty that ended ends now: half of the packet count is the future. */
static inline void renew(struct prime *s, uint32_t ev)
{
	if (penalty_left(s, s->cells[ev].path) <= 0)
		s->cells[ev].path.penalty_end = s->count;
}

/* A packet takes the path; a call in last position, which keeps the common pick free of a second test. */
static __attribute__((noinline)) uint16_t take(struct prime *s, uint16_t ev)
{
	s->count++;
	renew(s, ev);
	return ev;
}

/* A packet takes a path whose turn it is not, and another one's penalty is renewed in its place. */
static __attribute__((noinline)) uint16_t take_out_of_turn(struct prime *s, uint16_t ev)
{
	renew(s, s->count % s->history_len);
	return take(s, ev);
}

/* Where switches hash, counting through classes is no more even over links than drawing them, but what came back
 * without a mark is good (REPS section 3.1). */
static uint16_t pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct prime *s = state(lb);

	if (s->recycles && s->fresh_valid && !s->frozen)
		return take_out_of_turn(s, s->fresh[(s->fresh_at + FRESH - s->fresh_valid--) % FRESH]);
	uint16_t ev = next_ev(s);
	if (s->frozen)
		return take_out_of_turn(s, pick_frozen(lb, ev, now));
	if (penalty_left(s, s->cells[ev].path) > 0)
		return take(s, pick_around(s, ev));
	s->cells[ev].path.penalty_end = ++s->count;
	return ev;
}

/* A full turn meets every path once, so the paths in turn are a fair sample of all. */
static inline void note_resting(struct prime *s, bool rests)
{
	int32_t diff = (rests ? UINT16_MAX : 0) - s->resting;

	s->resting = (uint16_t)(s->resting + (diff >> RESTING_SHIFT));
}

static uint16_t pick2(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	struct prime *s = state(lb);

	if (s->recycles && s->fresh_valid && !s->frozen)
		return take_out_of_turn(s, s->fresh[(s->fresh_at + FRESH - s->fresh_valid--) % FRESH]);
	uint16_t ev = next_ev(s);
	bool rests = penalty_left(s, s->cells[ev].path) > 0;
	note_resting(s, rests);
	if (s->frozen)
		return take_out_of_turn(s, pick_frozen(lb, ev, now));
	return take(s, rests && !congestion_is_general(s) ? pick_around(s, ev) : ev);
}

static uint16_t co_pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	return next_ev(state(lb));
}

/* Like REPS's ring. */
static void note_answered(struct prime *s, uint16_t ev, bool covered)
{
	if (covered && s->frozen)
		return;
	s->fresh[s->fresh_at] = ev;
	s->fresh_covered = (uint8_t)((s->fresh_covered & ~(1u << s->fresh_at)) | (unsigned)covered << s->fresh_at);
	s->fresh_at = (s->fresh_at + 1) % FRESH;
	s->fresh_count += s->fresh_count < FRESH;
	s->fresh_valid += s->fresh_valid < FRESH;
}

/* Forgets that `ev` was answered once, and what no ACK came back with: all ACKs could go a dead way. */
static void forget(struct prime *s, uint16_t ev)
{
	uint8_t kept = 0;

	for (uint32_t i = 0; i < s->fresh_count; i++) {
		if (s->fresh[i] != ev && !(s->fresh_covered >> i & 1))
			s->fresh[kept++] = s->fresh[i];
	}
	s->fresh_count = kept;
	s->fresh_at = kept % FRESH;
	s->fresh_valid = s->fresh_covered = 0;
}

static void on_failure(struct weft_lb *lb, uint16_t ev, weft_ns now)
{
	struct prime *s = state(lb);

	s->cells[ev].path.failed = 1;
	forget(s, ev);
	s->freezes += !s->frozen;
	s->frozen = 1;
	s->failed_ticks = ticks(now);
}

/* Section III-D: a mark counts only on a path without penalty; a NACK sets the penalty to its own. */
static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct prime *s = state(lb);

	if (ev >= s->history_len)
		return;
	if (fb <= WEFT_LB_COVERED) {
		note_answered(s, ev, fb == WEFT_LB_COVERED);
	} else if (fb == WEFT_LB_TIMEOUT) {
		on_failure(lb, ev, now);
	} else {
		struct path *path = &s->cells[ev].path;
		if (fb != WEFT_LB_CE)
			path->penalty_end = s->count + s->nack_penalty;
		else if (penalty_left(s, *path) <= 0)
			path->penalty_end = s->count + s->ce_penalty;
	}
}

static void co_feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

static void view(const struct weft_lb *lb, struct weft_lb_view *view)
{
	const struct prime *s = (const struct prime *)(lb + 1);
	uint32_t good = 0;

	for (uint32_t i = 0; i < s->history_len; i++)
		good += !s->cells[i].path.failed && penalty_left(s, s->cells[i].path) <= 0;
	*view = (struct weft_lb_view){.cached_evs = good, .frozen = s->frozen, .freezes = s->freezes};
}

/* Of parts of 32, 32 and one value. */
#define STATE_CELLS(history) (((history) + 32 + 32 + 1 + 3) / 4 * 4)

const struct weft_lb_ops weft_lb_prime = {
	.name = "prime",
	.counts_paths = 1,
	.help = "pseudo-random round robin over all paths, with a congestion history",
	.tunes = prime_tunes,
	.tune_size = sizeof(struct prime_tune),
	.state_size = sizeof(struct prime) + STATE_CELLS(PRIME_CLASSES) * sizeof(union cell),
	.state_bytes = state_bytes,
	.init = init,
	.pick = pick,
	.feedback = feedback,
	.view = view,
};

const struct weft_lb_ops weft_lb_prime2 = {
	.name = "prime2",
	.counts_paths = 1,
	.help = "PRIME that heeds congestion only where few paths have it",
	.tunes = prime2_tunes,
	.tune_size = sizeof(struct prime_tune),
	.state_size = sizeof(struct prime) + STATE_CELLS(PRIME_CLASSES) * sizeof(union cell),
	.state_bytes = state_bytes,
	.init = init2,
	.pick = pick2,
	.feedback = feedback,
	.view = view,
};

const struct weft_lb_ops weft_lb_co_prime = {
	.name = "co-prime",
	.counts_paths = 1,
	.help = "PRIME without the congestion history: congestion is ignored",
	.tunes = prime_tunes,
	.tune_size = sizeof(struct prime_tune),
	.state_size = sizeof(struct prime) + STATE_CELLS(0) * sizeof(union cell),
	.state_bytes = co_state_bytes,
	.init = co_init,
	.pick = co_pick,
	.feedback = co_feedback,
};
