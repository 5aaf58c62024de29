/* SPDX-License-Identifier: BSD-3-Clause */
#include "rate.h"

#include <assert.h>
#include <string.h>

#include "likely.h"

enum {
	FULL_ROUNDS = 2,   /* rounds without a clearly higher rate that end doubling (BBR: 3, of 25 %) */
	WINDOW_ROUNDS = 8, /* the estimate is the highest rate of so many rounds or twice as many */
	LOST_SHARE = 16,   /* one byte lost or trimmed in so many: what was in flight was too much */
	CHANGE_SHARE = 16, /* smaller changes upwards are not passed on */
	LEAST_PKTS = 4,    /* of a BDP: a window of one packet cannot grow by a share of itself (BBR: 4) */
	CHANGE_MASK = 7,   /* bits of a base RTT, ns, that tell changes of the rate */
	CWND_MAX_BYTES = 1 << 30,
};

#define RATE_MIN_BPS UINT64_C(100000)
#define RATE_MAX_BPS UINT64_C(10000000000000)

weft_ns rate_floor_ns(uint64_t link_bps, uint32_t mtu_bytes, uint32_t pkts)
{
	assert(link_bps > 0);
	return (uint64_t)pkts * mtu_bytes * 8 * WEFT_S(1) / link_bps;
}

static struct rate *rate_of(const struct weft_cc *cc)
{
	return (struct rate *)cc->params;
}

_Static_assert(offsetof(struct rate, params) == 0, "weft_cc.params leads to the whole");

static weft_ns at_least(weft_ns a, weft_ns b)
{
	return a > b ? a : b;
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Without pacing, packets of one connection wait behind those of others in our port, and so do ACKs of what we receive:
 * RTTs of a near peer are as long as those of a far one. So all get the room of the longest path. */
static weft_ns longest_ns(const struct rate *r)
{
	weft_ns ns = at_least(r->longest_ns[0], r->longest_ns[1]);
	return ns ? ns : r->brtt_ns;
}

/* The floor is that of the link; where many share it, what we get of it is less, and no packet takes that long. */
static weft_ns floor_ns(const struct rate *r)
{
	weft_ns floor_ns = rate_floor_ns(r->bps, r->params.mtu_bytes, r->floor_pkts);
	weft_ns round_ns = r->round.until_ns - r->round.from_ns;
	return floor_ns < round_ns ? floor_ns : round_ns;
}

/* What algorithms derive windows from. */
static void derive(struct rate *r)
{
	uint64_t before_bps = r->params.link_bps;
	r->params.brtt_ns = at_least(at_least(longest_ns(r), r->knee_rtt_ns), floor_ns(r));
	uint64_t least_bps = (uint64_t)LEAST_PKTS * r->params.mtu_bytes * 8 * WEFT_S(1) / r->params.brtt_ns;
	r->params.link_bps = highest(r->bps, least_bps < r->bound_bps ? least_bps : r->bound_bps);
	r->changes += r->params.link_bps != before_bps;
}

static void set_rate(struct rate *r, uint64_t bps)
{
	bps = bps < r->bound_bps ? bps : r->bound_bps;
	r->bps = highest(bps, RATE_MIN_BPS);
}

/* Algorithms follow the base RTT and read the rate when it changes; so both change together, if only by some ns. */
static weft_ns base_rtt(const struct rate *r, weft_ns brtt_ns)
{
	return (at_least(brtt_ns, r->params.brtt_ns) & ~(weft_ns)CHANGE_MASK) | (r->changes & CHANGE_MASK);
}

/* ---- rounds ---- */

static void begin_round(struct rate_round *n, weft_ns from_ns, weft_ns rtt_ns)
{
	*n = (struct rate_round){
		.from_ns = from_ns, .until_ns = from_ns + rtt_ns, .heard_ns = from_ns, .min_rtt_ns = WEFT_NEVER};
}

static uint64_t round_bps(const struct rate_round *n)
{
	assert(n->heard_ns > n->from_ns);
	return n->acked_bytes * (8 * WEFT_MS(1)) / (n->heard_ns - n->from_ns) * 1000; /* no overflow below a terabyte */
}

/* No more doubling: the algorithm takes over, with windows for this rate. */
static void learn(struct rate *r, uint64_t bps)
{
	assert(r->starting);
	r->starting = r->leaving = r->left = false;
	r->best_bps[0] = bps;
	r->best_bps[1] = 0;
	set_rate(r, bps);
}

/* Packets wait, if only in our own port, which may hold more of them than any window. */
static bool is_queued(const struct rate *r)
{
	return r->knee_rtt_ns && r->round.min_rtt_ns != WEFT_NEVER && r->round.min_rtt_ns > 2 * r->knee_rtt_ns;
}

/* While windows double, so does the rate, until the link is full. A round may bring more than the link carries (a
 * shaper's burst): so where the network said that it is full, the rate of one more round is learnt. */
static void end_start_round(struct rate *r, uint64_t bps)
{
	uint64_t full_bps = highest(bps, r->round_bps);
	if (r->leaving && r->left) {
		learn(r, bps);
		return;
	}
	r->left = r->leaving;
	if (r->leaving)
		return;
	if (!r->round.limited && !is_queued(r))
		return;
	if (bps >= r->full_bps + r->full_bps / 4) {
		r->full_bps = bps;
		r->full_rounds = 0;
		r->knee_rtt_ns = r->round.min_rtt_ns != WEFT_NEVER ? r->round.min_rtt_ns : 0;
	} else if (++r->full_rounds >= FULL_ROUNDS) {
		learn(r, full_bps);
	}
}

/* A window of rounds is over. Only losses show that less gets through than was thought: without them the sender, the
 * receiver or their CPUs may just have been slow. */
static void end_window(struct rate *r, uint64_t bps)
{
	if (r->window_lost_bytes * LOST_SHARE > r->window_acked_bytes) {
		r->best_bps[1] = r->best_bps[0];
		r->best_bps[0] = bps;
		r->knee_rtt_ns = 0;
	}
	r->rounds = 0;
	r->longest_ns[1] = r->longest_ns[0];
	r->longest_ns[0] = 0;
	r->window_acked_bytes = r->window_lost_bytes = 0;
}

/* `bps` got through in two rounds in a row: one alone may have got a shaper's burst, or ACKs that had piled up. */
static void end_steady_round(struct rate *r, uint64_t bps)
{
	r->best_bps[0] = highest(r->best_bps[0], bps);
	if (r->round.limited && ++r->rounds >= WINDOW_ROUNDS)
		end_window(r, bps);
	uint64_t best_bps = highest(r->best_bps[0], r->best_bps[1]), now_bps = r->bps;
	best_bps = best_bps < r->bound_bps ? best_bps : r->bound_bps;
	if (best_bps < now_bps || best_bps > now_bps + now_bps / CHANGE_SHARE)
		set_rate(r, best_bps);
}

static void end_round(struct rate *r)
{
	struct rate_round *n = &r->round;
	uint64_t bps = round_bps(n);
	r->window_acked_bytes += n->acked_bytes;
	r->longest_ns[0] = at_least(r->longest_ns[0], n->longest_ns);
	if (r->starting)
		end_start_round(r, bps);
	else
		end_steady_round(r, bps < r->round_bps ? bps : r->round_bps);
	r->round_bps = bps;
	begin_round(n, n->heard_ns, n->max_rtt_ns ? n->max_rtt_ns : n->until_ns - n->from_ns);
	derive(r);
}

/* An ACK after a time without any says when the sender began again, and nothing of the rate. */
static bool was_silent(const struct rate_round *n, weft_ns now)
{
	return !n->from_ns || now - n->heard_ns > 2 * (n->until_ns - n->from_ns);
}

/* Rounds end between polls: ACKs that one poll finds belong together. */
static void measure(struct rate *r, const struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct rate_round *n = &r->round;
	if (was_silent(n, now)) {
		begin_round(n, now, at_least(ev->rtt_ns, 1));
		n->max_rtt_ns = ev->rtt_ns;
		return;
	}
	if (now > n->heard_ns && n->heard_ns >= n->until_ns)
		end_round(r);
	n->acked_bytes += ev->bytes;
	n->marked_bytes += ev->ce ? ev->bytes : 0;
	n->limited |= ev->inflight_bytes + ev->bytes + r->params.mtu_bytes > cc->cwnd_bytes;
	if (ev->bytes >= r->params.mtu_bytes)
		n->longest_ns = at_least(n->longest_ns, ev->brtt_ns);
	n->heard_ns = now;
	if (!ev->rtt_ns)
		return;
	n->min_rtt_ns = ev->rtt_ns < n->min_rtt_ns ? ev->rtt_ns : n->min_rtt_ns;
	n->max_rtt_ns = at_least(n->max_rtt_ns, ev->rtt_ns);
}

/* ---- once the rate is known ---- */

static void steady_on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct rate *r = rate_of(cc);
	measure(r, cc, ev, now);
	struct weft_cc_ack seen = *ev;
	seen.brtt_ns = base_rtt(r, ev->brtt_ns);
	r->chosen->on_ack(cc, &seen, now);
}

static void steady_on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct rate *r = rate_of(cc);
	r->window_lost_bytes += ev->bytes;
	r->chosen->on_loss(cc, ev, now);
}

/* The algorithm begins. Its init may choose among tables by its parameters, so for every connection the same. */
static void begin_algorithm(struct rate *r, struct weft_cc *cc, weft_ns now)
{
	cc->ops = r->cc;
	r->cc->init(cc, now);
	assert(!r->chosen || cc->ops == r->chosen);
	if (!r->chosen) {
		r->chosen = cc->ops;
		r->steady = *cc->ops;
		r->steady.on_ack = steady_on_ack;
		r->steady.on_loss = steady_on_loss;
	}
	cc->ops = &r->steady;
}

/* ---- while it is looked for ---- */

/* What was just found to fit is kept: windows for the rate would be a burst to where many senders meet. */
static void end_start(struct rate *r, struct weft_cc *cc, weft_ns now)
{
	uint32_t cwnd_bytes = cc->cwnd_bytes;
	begin_algorithm(r, cc, now);
	if (cwnd_bytes < cc->cwnd_bytes)
		cc->cwnd_bytes = cwnd_bytes > r->params.mtu_bytes ? cwnd_bytes : r->params.mtu_bytes;
}

/* Most of a round's packets were marked: queues are full of them. */
static bool is_marked(const struct rate_round *n, const struct weft_cc *cc)
{
	return 2 * n->marked_bytes > n->acked_bytes && 2 * n->acked_bytes > cc->cwnd_bytes;
}

static void start_on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct rate *r = rate_of(cc);
	measure(r, cc, ev, now);
	if (!r->starting) {
		end_start(r, cc, now);
		return;
	}
	r->leaving |= is_marked(&r->round, cc);
	bool in_use = 2 * (ev->inflight_bytes + ev->bytes) >= cc->cwnd_bytes;
	if (in_use && !r->leaving && cc->cwnd_bytes < CWND_MAX_BYTES)
		cc->cwnd_bytes += ev->bytes;
}

/* Timeouts before anything was heard say that nobody listens yet. */
static void start_on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct rate *r = rate_of(cc);
	if (!r->starting) {
		end_start(r, cc, now);
		return;
	}
	if (ev->kind == WEFT_CC_LOSS_TIMEOUT && !r->round.from_ns)
		return;
	r->leaving = true;
	uint32_t least = r->params.mtu_bytes;
	cc->cwnd_bytes = cc->cwnd_bytes > least + ev->bytes ? cc->cwnd_bytes - ev->bytes : least;
}

static void start_init(struct weft_cc *cc, weft_ns now)
{
	rate_open(rate_of(cc), cc, now);
}

/* ---- set-up ---- */

void rate_init(struct rate *r, const struct weft_cc_ops *cc, const struct weft_cc_params *params, enum rate_known known,
	       uint32_t floor_pkts, uint32_t first_bytes)
{
	assert(first_bytes > 0 && first_bytes <= params->mtu_bytes);
	assert(known != RATE_TOLD && cc && params->brtt_ns > 0 && params->mtu_bytes > 0);
	assert(known == RATE_UNKNOWN || params->link_bps > 0);
	*r = (struct rate){.params = *params,
			   .cc = cc,
			   .start = *cc,
			   .brtt_ns = params->brtt_ns,
			   .floor_pkts = floor_pkts,
			   .start_cwnd_bytes = RATE_START_PKTS * first_bytes};
	r->start.init = start_init;
	r->start.on_sent = NULL;
	r->start.on_ack = start_on_ack;
	r->start.on_loss = start_on_loss;
	r->start.view = NULL;
	r->bound_bps = params->link_bps ? params->link_bps : RATE_MAX_BPS;
	r->starting = known == RATE_UNKNOWN;
	r->best_bps[0] = r->starting ? (uint64_t)RATE_START_PKTS * params->mtu_bytes * 8 * WEFT_S(1) / params->brtt_ns
				     : r->bound_bps;
	set_rate(r, r->best_bps[0]);
	derive(r);
}

void rate_open(struct rate *r, struct weft_cc *cc, weft_ns now)
{
	cc->params = &r->params;
	if (!r->starting) {
		begin_algorithm(r, cc, now);
		return;
	}
	memset(cc->state, 0, sizeof cc->state);
	cc->ops = &r->start;
	cc->pace = 0;
	cc->cwnd_bytes = r->start_cwnd_bytes;
}

/* A faster link is tried at once: losses will tell. */
void rate_set_bound(struct rate *r, uint64_t link_bps)
{
	uint64_t before_bps = r->bound_bps;
	r->bound_bps = link_bps ? link_bps : RATE_MAX_BPS;
	if (r->starting || r->bound_bps == before_bps)
		return;
	if (link_bps > before_bps)
		r->best_bps[0] = r->bound_bps;
	if (link_bps)
		set_rate(r, highest(r->best_bps[0], r->best_bps[1]));
	derive(r);
}
