/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT: sender-based, window-based congestion control from ECN marks, RTTs and trimmed packets (paper section III,
 * Algorithms 1-4, equations 1-3). Names in quotes are the paper's. doc/algorithms.md lists the constants the paper
 * leaves open and every place where this differs from its pseudo-code, with reasons. */
#include <stdbool.h>

#include "bdp.h"
#include "cc_ops.h"

enum {
	RTT_SHIFT = 3,                /* fraction bits of the average RTT: units of 1/8 ns */
	RTT_MAX_NS = (1 << 29) - 1,   /* larger samples count as this; above every target, and fits with the fraction */
	TRTT_MAX_NS = 1 << 28,        /* 2 CC_BRTT_MAX_NS */
	REFERENCE_BDP_BYTES = 150000, /* 100 Gb/s x 12 us: where fi and pi have their nominal values (sec. III-J) */
	PENDING_SHIFT = 15,           /* unit of `pending`: 2^15 byte^2 percent */
	PENDING_PERCENT = 100,
};

enum smartt_flags {
	MEASURING = 1, /* a QuickAdapt window has begun ("end" != 0) */
	TRIGGER = 2,   /* "trigger_qa" */
	FAST = 4,      /* "increase": fast increase is active */
};

/* Per connection. Times are the low 32 bits of nanoseconds; only differences are used, see window_over. */
struct smartt {
	uint32_t acked_bytes; /* "acked": acknowledged in the current QuickAdapt window */
	/* >= 0: "count", contiguous bytes without congestion. < 0: bytes still to be ignored after a QuickAdapt,
	 * "bytes_to_ignore" - "bytes_ignored". Nothing is counted while ignoring. */
	int32_t streak_bytes;
	uint32_t window_end_ns; /* "end" */
	uint32_t decreased_ns;  /* last multiplicative decrease */
	uint32_t avg_rtt;       /* "avg_rtt", 2^-RTT_SHIFT ns */
	uint32_t pending;       /* window growth times window that is not applied yet, PENDING_SHIFT */
	/* Derived from the base RTT by rescale(). */
	uint32_t brtt_ns;
	uint32_t trtt_ns;
	uint32_t max_cwnd_bytes;
	uint32_t gain_bytes; /* one packet x BDP / REFERENCE_BDP_BYTES: growth per RTT for fi = 1 */
	uint16_t quick_adapts, fast_increases, decreases; /* for traces, modulo 2^16 */
	uint8_t flags;                                    /* enum smartt_flags */
	uint8_t ewma_shift;                               /* weight of an RTT sample is 2^-ewma_shift */
};
_Static_assert(sizeof(struct smartt) <= 48, "state budget");
_Static_assert(sizeof(struct smartt) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct smartt *state(struct weft_cc *cc)
{
	return (struct smartt *)cc->state;
}

static const struct smartt_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

/* The average spans a quarter of a BDP of samples, between 8 and 64: with few packets per RTT a fixed weight would
 * remember congestion that ended many RTTs ago, with many it would follow single paths. */
static uint8_t ewma_shift(const struct weft_cc *cc, uint64_t bdp_bytes)
{
	uint64_t samples = bdp_bytes / cc->params->mtu_bytes / 4;
	uint8_t shift = 3;

	if (tune(cc)->ewma_shift)
		return (uint8_t)tune(cc)->ewma_shift;
	while (shift < 6 && samples >> (shift + 1))
		shift++;
	return shift;
}

/* Everything that depends on the base RTT (sec. III-J). */
static __attribute__((noinline)) void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct smartt *s = state(cc);

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	uint64_t trtt_ns = (uint64_t)s->brtt_ns * tune(cc)->target_pct / 100;
	s->trtt_ns = trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
	if (s->trtt_ns == s->brtt_ns)
		s->trtt_ns++;
	uint64_t bdp_bytes = cc_bdp_bytes(cc->params->link_bps, s->brtt_ns);
	s->max_cwnd_bytes = cc_window_bytes(cc->params, bdp_bytes, tune(cc)->max_cwnd_pct);
	uint64_t gain = bdp_bytes < CC_CWND_MAX_BYTES ? bdp_bytes : CC_CWND_MAX_BYTES;
	gain = (gain * cc->params->mtu_bytes + REFERENCE_BDP_BYTES / 2) / REFERENCE_BDP_BYTES;
	s->gain_bytes = gain < CC_CWND_MAX_BYTES ? (uint32_t)gain : CC_CWND_MAX_BYTES;
	s->ewma_shift = ewma_shift(cc, bdp_bytes);
}

/* Every change of the window ends here (sec. III-J, Algorithm 4 line 23). */
static void set_cwnd(struct weft_cc *cc, uint64_t bytes)
{
	uint32_t max_bytes = state(cc)->max_cwnd_bytes;

	if (bytes > max_bytes)
		bytes = max_bytes;
	cc->cwnd_bytes = bytes < cc->params->mtu_bytes ? cc->params->mtu_bytes : (uint32_t)bytes;
}

static void shrink(struct weft_cc *cc, uint64_t bytes)
{
	set_cwnd(cc, bytes < cc->cwnd_bytes ? cc->cwnd_bytes - bytes : 0);
}

/* Congestion ends the run of clean bytes and with it the fast increase (Algorithm 3 lines 10-11). */
static void end_streak(struct smartt *s)
{
	s->streak_bytes = 0;
	s->flags &= (uint8_t)~FAST;
}

static void init(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);

	*s = (struct smartt){.window_end_ns = (uint32_t)now, .decreased_ns = (uint32_t)now - (1u << 31)};
	rescale(cc, cc->params->brtt_ns);
	s->avg_rtt = s->brtt_ns << RTT_SHIFT;
	cc->pace = 0;
	set_cwnd(cc, s->max_cwnd_bytes);
}

/* The RTT to act on: the sample, which enters the average, or the average when there is no valid sample. */
static uint32_t take_sample(struct smartt *s, weft_ns rtt_ns)
{
	if (rtt_ns == 0)
		return s->avg_rtt >> RTT_SHIFT;
	uint32_t rtt32_ns = rtt_ns < RTT_MAX_NS ? (uint32_t)rtt_ns : RTT_MAX_NS;
	int64_t diff = ((int64_t)rtt32_ns << RTT_SHIFT) - s->avg_rtt;
	s->avg_rtt += (uint32_t)(diff >> s->ewma_shift);
	return rtt32_ns;
}

/* True when the QuickAdapt window that ends at `window_end_ns` is over or none has begun. A running window ends at
 * most one trtt from now; any other distance lies in the past, however often the 32-bit time wrapped since. */
static bool window_over(const struct smartt *s, weft_ns now)
{
	uint32_t left_ns = s->window_end_ns - (uint32_t)now;

	return left_ns - 1 >= s->trtt_ns;
}

/* Algorithm 4 lines 3 and 6: true while `bytes` belong to what was in flight when QuickAdapt acted. */
static bool ignoring(struct smartt *s, uint32_t bytes)
{
	if (s->streak_bytes >= 0)
		return false;
	int64_t left = (int64_t)s->streak_bytes + bytes;
	s->streak_bytes = left < 0 ? (int32_t)left : 0;
	return left < 0;
}

/* Algorithm 2 line 4. Without trimming (sec. III-E a) losses are heard of too late, so a high RTT together with few
 * acknowledged bytes triggers. `rtt_ns` is 0 when there was no ACK. */
static bool triggered(const struct weft_cc *cc, const struct smartt *s, uint32_t rtt_ns)
{
	if (!(s->flags & MEASURING))
		return false;
	if (cc->params->trimming)
		return s->flags & TRIGGER;
	return rtt_ns > (uint64_t)s->brtt_ns * tune(cc)->qa_rtt_pct / 100 &&
	       s->acked_bytes < (uint64_t)cc->cwnd_bytes * tune(cc)->qa_acked_pct / 100;
}

/* Algorithm 2, at the end of a window: true when the window was set to what got through in one trtt. */
static __attribute__((noinline)) bool quick_adapt(struct weft_cc *cc, uint32_t rtt_ns, uint64_t inflight_bytes,
						  weft_ns now)
{
	struct smartt *s = state(cc);
	bool adapt = triggered(cc, s, rtt_ns);

	if (adapt) {
		s->flags &= (uint8_t) ~(TRIGGER | FAST);
		set_cwnd(cc, (uint64_t)s->acked_bytes * tune(cc)->qa_scaling_pct / 100);
		s->streak_bytes = inflight_bytes < CC_CWND_MAX_BYTES ? -(int32_t)inflight_bytes : -CC_CWND_MAX_BYTES;
		s->pending = 0;
		s->quick_adapts++;
	}
	s->flags |= MEASURING;
	s->window_end_ns = (uint32_t)now + s->trtt_ns;
	s->acked_bytes = 0;
	return adapt;
}

/* Algorithm 3. The paper grows by k packets per ACK of one packet; bytes make it hold for coalesced ACKs too. */
static bool fast_increase(struct weft_cc *cc, struct smartt *s, const struct weft_cc_ack *ev, uint32_t rtt_ns)
{
	if (ev->ce || rtt_ns > s->brtt_ns + (s->brtt_ns >> tune(cc)->fast_rtt_shift)) {
		end_streak(s);
		return false;
	}
	if (!(s->flags & FAST)) {
		uint64_t streak = (uint64_t)s->streak_bytes + ev->bytes;
		if (streak <= cc->cwnd_bytes) {
			s->streak_bytes = (int32_t)streak;
			return false;
		}
		s->flags |= FAST;
		s->fast_increases++;
	}
	set_cwnd(cc, cc->cwnd_bytes + (uint64_t)ev->bytes * tune(cc)->fast_k);
	return true;
}

/* Equation 1, at most once per base RTT. While the average is below the target the equation's factor exceeds one;
 * that is no decrease. */
static __attribute__((noinline)) void decrease(struct weft_cc *cc, struct smartt *s, weft_ns now)
{
	uint32_t trtt = s->trtt_ns << RTT_SHIFT;

	if ((uint32_t)now - s->decreased_ns < s->brtt_ns || s->avg_rtt <= trtt)
		return;
	uint64_t excess_bytes = (uint64_t)cc->cwnd_bytes * (s->avg_rtt - trtt) / s->avg_rtt;
	uint64_t cut = excess_bytes * tune(cc)->md_gain_pct / 100;
	uint64_t max_cut = (uint64_t)cc->cwnd_bytes * tune(cc)->md_max_cut_pct / 100;
	shrink(cc, cut < max_cut ? cut : max_cut);
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
}

/* Divides the collected growth by the window, once per packet of growth (sec. III-G). */
static __attribute__((noinline)) void apply(struct weft_cc *cc, struct smartt *s, uint64_t pending)
{
	uint64_t bytes = (pending << PENDING_SHIFT) / ((uint64_t)cc->cwnd_bytes * PENDING_PERCENT);

	set_cwnd(cc, cc->cwnd_bytes + bytes);
	s->pending = 0;
}

/* Equation 3 without its factor p.size / cwnd, in bytes percent. With pi = brtt / (trtt - brtt) it is one gain at the
 * base RTT and falls to nothing at the target. The bound keeps the growth below the size acknowledged. */
static uint64_t proportional(const struct weft_cc *cc, const struct smartt *s, uint32_t rtt_ns)
{
	uint64_t share_q8 =
		((uint64_t)s->brtt_ns * (s->trtt_ns - rtt_ns) << 8) / ((uint64_t)(s->trtt_ns - s->brtt_ns) * rtt_ns);
	uint64_t growth = (uint64_t)s->gain_bytes * tune(cc)->pi_pct * share_q8 >> 8;
	uint64_t bound = (uint64_t)cc->cwnd_bytes * PENDING_PERCENT;

	return growth < bound ? growth : bound;
}

/* Equations 2 and 3: above the target a fair increase, below it a proportional and then a fair increase. */
static void increase(struct weft_cc *cc, struct smartt *s, uint32_t bytes, uint32_t rtt_ns)
{
	if (cc->cwnd_bytes >= s->max_cwnd_bytes)
		return;
	uint64_t growth = (uint64_t)s->gain_bytes * tune(cc)->fi_pct;
	if (rtt_ns < s->trtt_ns)
		growth += proportional(cc, s, rtt_ns);
	uint64_t pending = s->pending + (bytes * growth >> PENDING_SHIFT);
	uint64_t packet = (uint64_t)cc->cwnd_bytes * cc->params->mtu_bytes * PENDING_PERCENT >> PENDING_SHIFT;
	if (pending >= packet || pending > UINT32_MAX)
		apply(cc, s, pending);
	else
		s->pending = (uint32_t)pending;
}

/* Algorithm 1. A marked ACK below the target is left to the load balancer. */
static void core_cases(struct weft_cc *cc, struct smartt *s, const struct weft_cc_ack *ev, uint32_t rtt_ns, weft_ns now)
{
	if (!ev->ce)
		increase(cc, s, ev->bytes, rtt_ns);
	else if (rtt_ns >= s->trtt_ns)
		decrease(cc, s, now);
}

/* A measurement that an idle time interrupted says nothing about the network. */
static void on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->inflight_bytes == ev->bytes && window_over(s, now))
		s->flags &= (uint8_t) ~(MEASURING | TRIGGER);
}

/* Algorithm 4 lines 2-13. */
static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->brtt_ns != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	uint32_t rtt_ns = take_sample(s, ev->rtt_ns);
	s->acked_bytes += ev->bytes;
	if (ignoring(s, ev->bytes))
		return;
	if (window_over(s, now) && quick_adapt(cc, rtt_ns, ev->inflight_bytes, now))
		return;
	if (!fast_increase(cc, s, ev, rtt_ns))
		core_cases(cc, s, ev, rtt_ns, now);
}

/* Algorithm 4 lines 3 and 15-22 for a trimmed packet; other losses only cost their size. */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->kind == WEFT_CC_LOSS_TRIM)
		s->flags |= TRIGGER;
	if (ignoring(s, ev->bytes))
		return;
	shrink(cc, ev->bytes);
	end_streak(s);
	if (ev->kind == WEFT_CC_LOSS_TRIM && window_over(s, now))
		quick_adapt(cc, 0, ev->inflight_bytes, now);
}

static void view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	const struct smartt *s = (const struct smartt *)cc->state;

	*view = (struct weft_cc_view){.avg_rtt_ns = s->avg_rtt >> RTT_SHIFT,
				      .target_rtt_ns = s->trtt_ns,
				      .quick_adapts = s->quick_adapts,
				      .fast_increases = s->fast_increases,
				      .decreases = s->decreases};
}

#define TUNE(name, help, def, min, max)                                                                                \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct smartt_tune, name), WEFT_PARAM_U32                         \
	}

static const struct weft_param tunes[] = {
	TUNE(target_pct, "target RTT, percent of the base RTT", 150, 101, 400),
	TUNE(max_cwnd_pct, "largest and initial window, percent of the BDP", 150, 1, 10000),
	TUNE(fi_pct, "fair increase, percent of a packet per RTT at a BDP of 150,000 bytes", 25, 0, 10000),
	TUNE(pi_pct, "proportional increase, percent of brtt / (trtt - brtt)", 100, 0, 10000),
	TUNE(fast_k, "fast increase, window growth per acknowledged byte", 2, 0, 64),
	TUNE(fast_rtt_shift, "fast increase, RTTs up to brtt + brtt / 2^n count as idle", 3, 0, 31),
	TUNE(qa_scaling_pct, "QuickAdapt, new window in percent of the bytes acknowledged in a target RTT", 100, 1,
	     1000),
	TUNE(qa_rtt_pct, "QuickAdapt without trimming, RTT needed in percent of the base RTT", 175, 100, 10000),
	TUNE(qa_acked_pct, "QuickAdapt without trimming, when less than this percent of the window was acknowledged",
	     50, 0, 100),
	TUNE(md_gain_pct, "multiplicative decrease, percent of the excess delay", 80, 0, 100),
	TUNE(md_max_cut_pct, "multiplicative decrease, largest cut in percent of the window", 50, 0, 100),
	TUNE(ewma_shift, "average RTT, a sample weighs 1/2^n; 0: from the BDP, 1/8 to 1/64", 0, 0, 16),
	{NULL},
};

const struct weft_cc_ops weft_cc_smartt = {
	.name = "smartt",
	.help = "SMaRTT: ECN, delay and trimming, with QuickAdapt and FastIncrease",
	.tunes = tunes,
	.tune_size = sizeof(struct smartt_tune),
	.state_size = sizeof(struct smartt),
	.init = init,
	.on_sent = on_sent,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
