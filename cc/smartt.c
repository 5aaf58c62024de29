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
	GAIN_SHIFT = 7,               /* fraction bits of the gains */
	PENDING_SHIFT = 8,            /* `pending` counts 2^8 byte^2 */
	FAST = INT32_MAX,             /* streak: longer than any window, "increase" is true */
};

/* smartt.flags; bits 0..5 are the weight of an RTT sample, 2^-n. */
enum smartt_flags {
	EWMA_SHIFT = 63,
	MEASURING = 64, /* a QuickAdapt window has begun ("end" != 0) */
	TRIGGER = 128,  /* "trigger_qa" */
};

/* Per connection. Times are the low 32 bits of nanoseconds; only differences are used, see window_over. */
struct smartt {
	uint32_t acked_bytes; /* "acked": acknowledged in the current QuickAdapt window */
	/* >= 0: "count", contiguous bytes without congestion, or FAST. < 0: bytes still to be ignored after a
	 * QuickAdapt, "bytes_to_ignore" - "bytes_ignored"; nothing is counted meanwhile. */
	int32_t streak_bytes;
	uint32_t window_end_ns; /* "end" */
	uint32_t decreased_ns;  /* last multiplicative decrease */
	uint32_t avg_rtt;       /* "avg_rtt", 2^-RTT_SHIFT ns */
	uint32_t pending;       /* window growth times window that is not applied yet, PENDING_SHIFT */
	/* Derived from the base RTT by rescale(). */
	uint32_t brtt_ns;
	uint32_t trtt_ns;
	uint32_t max_cwnd_bytes;
	uint32_t fi_gain, pi_gain; /* "mtu fi" and "mtu pi" scaled to the BDP, 2^-GAIN_SHIFT bytes */
	uint8_t flags;             /* enum smartt_flags */
	uint8_t quick_adapts, fast_increases, decreases; /* for traces, modulo 256 */
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

/* Every change of the window ends within these bounds (sec. III-J, Algorithm 4 line 23). */
static void set_cwnd(struct weft_cc *cc, uint64_t bytes)
{
	cc->cwnd_bytes = cc_clamp_bytes(cc, bytes, state(cc)->max_cwnd_bytes);
}

static void grow(struct weft_cc *cc, uint64_t bytes)
{
	uint64_t cwnd_bytes = cc->cwnd_bytes + bytes;
	uint32_t max_bytes = state(cc)->max_cwnd_bytes;

	cc->cwnd_bytes = cwnd_bytes < max_bytes ? (uint32_t)cwnd_bytes : max_bytes;
}

/* Divides the collected growth by the window, once per packet of growth (sec. III-G). */
static __attribute__((noinline)) void apply(struct weft_cc *cc, uint64_t pending)
{
	state(cc)->pending = 0;
	grow(cc, (pending << PENDING_SHIFT) / cc->cwnd_bytes);
}

/* Growth was collected for the window as it is; divided by a much smaller one it would count many times over. */
static void shrink(struct weft_cc *cc, uint64_t bytes)
{
	apply(cc, state(cc)->pending);
	set_cwnd(cc, bytes < cc->cwnd_bytes ? cc->cwnd_bytes - bytes : 0);
}

/* The largest window: `pending` must be able to hold a packet of growth at it. */
static uint32_t max_cwnd(const struct weft_cc *cc, uint64_t bdp_bytes)
{
	uint64_t limit = ((uint64_t)UINT32_MAX << PENDING_SHIFT) / cc->params->mtu_bytes;
	uint32_t window = cc_window_bytes(cc->params, bdp_bytes, tune(cc)->max_cwnd_pct);

	return window < limit ? window : (uint32_t)limit;
}

/* Everything that depends on the base RTT (sec. III-J). pi = brtt / (trtt - brtt). */
static __attribute__((noinline)) void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct smartt *s = state(cc);
	uint32_t brtt32_ns = cc_brtt_ns(brtt_ns);
	uint64_t trtt_ns = (uint64_t)brtt32_ns * tune(cc)->target_pct / 100;
	uint64_t bdp_bytes = cc_bdp_bytes(cc->params->link_bps, brtt32_ns);

	s->brtt_ns = brtt32_ns;
	s->trtt_ns = trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
	if (s->trtt_ns == s->brtt_ns)
		s->trtt_ns++;
	s->max_cwnd_bytes = max_cwnd(cc, bdp_bytes);
	bdp_bytes = bdp_bytes < CC_CWND_MAX_BYTES ? bdp_bytes : CC_CWND_MAX_BYTES;
	uint64_t gain = ((bdp_bytes * cc->params->mtu_bytes) << GAIN_SHIFT) / REFERENCE_BDP_BYTES;
	s->fi_gain = cc_clamp32(cc_clamp32(gain) * (uint64_t)tune(cc)->fi_pct / 100);
	uint64_t pi_gain = cc_clamp32(cc_clamp32(gain) * (uint64_t)tune(cc)->pi_pct / 100);
	s->pi_gain = cc_clamp32(pi_gain * s->brtt_ns / (s->trtt_ns - s->brtt_ns));
	set_cwnd(cc, cc->cwnd_bytes);
}

static void init(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);

	*s = (struct smartt){.window_end_ns = (uint32_t)now,
			     .decreased_ns = (uint32_t)now - (1u << 31),
			     .flags = (uint8_t)tune(cc)->ewma_shift};
	cc->pace = 0;
	cc->cwnd_bytes = UINT32_MAX; /* rescale brings it down to the largest window */
	rescale(cc, cc->params->brtt_ns);
	s->avg_rtt = s->brtt_ns << RTT_SHIFT;
}

/* True when the QuickAdapt window that ends at `window_end_ns` is over or none has begun. A running window ends at
 * most one trtt from now; any other distance lies in the past, however often the 32-bit time wrapped since. */
static bool window_over(const struct smartt *s, weft_ns now)
{
	uint32_t left_ns = s->window_end_ns - (uint32_t)now;

	return left_ns - 1 >= s->trtt_ns;
}

/* Algorithm 2 lines 11-12. */
static void measure(struct smartt *s, weft_ns now)
{
	s->flags |= MEASURING;
	s->window_end_ns = (uint32_t)now + s->trtt_ns;
	s->acked_bytes = 0;
}

/* Algorithm 4 lines 3 and 6: true while `bytes` belong to what was in flight when QuickAdapt acted. After that a new
 * measurement begins: one that had run on would cover several trtt, and QuickAdapt would raise the window. */
static bool ignoring(struct smartt *s, uint32_t bytes, weft_ns now)
{
	if (s->streak_bytes >= 0)
		return false;
	int64_t left = (int64_t)s->streak_bytes + bytes;
	s->streak_bytes = left < 0 ? (int32_t)left : 0;
	if (left < 0)
		return true;
	measure(s, now);
	return false;
}

/* Algorithm 2 line 4 at the end of a window. Without trimming (sec. III-E a) losses are heard of too late, so a high
 * RTT together with few acknowledged bytes triggers. */
static bool triggered(const struct weft_cc *cc, const struct smartt *s, weft_ns rtt_ns)
{
	if (!(s->flags & MEASURING))
		return false;
	if (cc->params->trimming || s->flags & TRIGGER)
		return s->flags & TRIGGER;
	return rtt_ns > (uint64_t)s->brtt_ns * tune(cc)->qa_rtt_pct / 100 &&
	       s->acked_bytes < (uint64_t)cc->cwnd_bytes * tune(cc)->qa_acked_pct / 100;
}

/* Algorithm 2 lines 5-12: the window becomes what got through in one trtt. */
static void adapt(struct weft_cc *cc, uint64_t inflight_bytes, weft_ns now)
{
	struct smartt *s = state(cc);

	set_cwnd(cc, (uint64_t)s->acked_bytes * tune(cc)->qa_scaling_pct / 100);
	s->streak_bytes = inflight_bytes < CC_CWND_MAX_BYTES ? -(int32_t)inflight_bytes : -CC_CWND_MAX_BYTES;
	s->pending = 0;
	s->quick_adapts++;
	s->flags &= (uint8_t)~TRIGGER;
	measure(s, now);
}

/* Algorithm 3 lines 2-4 for an uncongested ACK: true when fast increase is active or to begin. */
static inline bool lengthen_streak(struct weft_cc *cc, uint32_t bytes)
{
	struct smartt *s = state(cc);
	uint64_t streak_bytes = (uint64_t)s->streak_bytes + bytes;

	if (streak_bytes > cc->cwnd_bytes)
		return true;
	s->streak_bytes = (int32_t)streak_bytes;
	return false;
}

/* Algorithm 3 lines 5-6. The paper grows by k packets per ACK of one packet; bytes make it hold for coalesced ACKs
 * too. */
static __attribute__((noinline)) void grow_fast(struct weft_cc *cc, uint64_t bytes)
{
	struct smartt *s = state(cc);

	s->fast_increases += s->streak_bytes != FAST;
	s->streak_bytes = FAST;
	grow(cc, bytes * tune(cc)->fast_k);
}

/* Equation 1, at most once per base RTT. While the average is below the target the equation's factor exceeds one;
 * that is no decrease. */
static __attribute__((noinline)) void decrease(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);
	uint32_t trtt = s->trtt_ns << RTT_SHIFT;

	if ((uint32_t)now - s->decreased_ns < s->brtt_ns || s->avg_rtt <= trtt)
		return;
	uint64_t wanted = ((uint64_t)(s->avg_rtt - trtt) << 16) * tune(cc)->md_gain_pct / s->avg_rtt;
	uint64_t allowed = (uint64_t)tune(cc)->md_max_cut_pct << 16;
	uint64_t cut_q16 = (wanted < allowed ? wanted : allowed) / 100;
	set_cwnd(cc, cc->cwnd_bytes - (cc->cwnd_bytes * cut_q16 >> 16));
	s->pending -= (uint32_t)(s->pending * cut_q16 >> 16);
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
}

/* Equation 3 without its factor p.size / cwnd, in 2^-GAIN_SHIFT bytes. The bound keeps the growth of the window below
 * the size acknowledged. */
static inline uint64_t proportional(const struct weft_cc *cc, const struct smartt *s, uint32_t rtt_ns)
{
	uint64_t growth = (uint64_t)s->pi_gain * (s->trtt_ns - rtt_ns) / rtt_ns;
	uint64_t bound = (uint64_t)cc->cwnd_bytes << GAIN_SHIFT;

	return growth < bound ? growth : bound;
}

/* Equations 2 and 3: above the target a fair increase, below it a proportional and then a fair increase. */
static inline void increase(struct weft_cc *cc, uint32_t bytes, uint32_t rtt_ns)
{
	struct smartt *s = state(cc);

	if (cc->cwnd_bytes >= s->max_cwnd_bytes)
		return;
	uint64_t growth = s->fi_gain;
	if (rtt_ns < s->trtt_ns)
		growth += proportional(cc, s, rtt_ns);
	uint64_t pending = s->pending + (bytes * growth >> (GAIN_SHIFT + PENDING_SHIFT));
	uint64_t packet = (uint64_t)cc->cwnd_bytes * cc->params->mtu_bytes >> PENDING_SHIFT;
	if (pending >= packet)
		apply(cc, pending);
	else
		s->pending = (uint32_t)pending;
}

/* Algorithm 1. A marked ACK below the target is left to the load balancer. */
static inline void core_cases(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (!ev->ce)
		increase(cc, ev->bytes, (uint32_t)ev->rtt_ns);
	else if (ev->rtt_ns >= state(cc)->trtt_ns)
		decrease(cc, now);
}

/* A measurement that an idle time interrupted says nothing about the network. */
static void on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->inflight_bytes == ev->bytes && window_over(s, now))
		s->flags &= (uint8_t) ~(MEASURING | TRIGGER);
}

/* Algorithm 4 lines 10-14. Congestion ends the streak and with it the fast increase (Algorithm 3 lines 10-11). */
static inline void react(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	uint32_t idle_rtt_ns = s->brtt_ns + (s->brtt_ns >> tune(cc)->fast_rtt_shift);

	if (ev->ce || ev->rtt_ns > idle_rtt_ns)
		s->streak_bytes = 0;
	else if (lengthen_streak(cc, ev->bytes)) {
		grow_fast(cc, ev->bytes);
		return;
	}
	core_cases(cc, ev, now);
}

static __attribute__((noinline)) void on_ignore_phase(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (!ignoring(state(cc), ev->bytes, now))
		react(cc, ev, now);
}

static __attribute__((noinline)) void on_window_end(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (triggered(cc, s, ev->rtt_ns)) {
		adapt(cc, ev->inflight_bytes, now);
		return;
	}
	measure(s, now);
	react(cc, ev, now);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now);

/* An ACK with another base RTT, without an RTT sample or with an enormous one. Without a sample the average stands
 * in, which leaves the average as it is. */
static __attribute__((noinline)) void on_odd_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	struct weft_cc_ack even = *ev;

	if (ev->brtt_ns != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	even.brtt_ns = s->brtt_ns;
	if (ev->rtt_ns == 0)
		even.rtt_ns = s->avg_rtt >> RTT_SHIFT;
	else if (ev->rtt_ns > RTT_MAX_NS)
		even.rtt_ns = RTT_MAX_NS;
	on_ack(cc, &even, now);
}

/* Algorithm 4 lines 2-13. The rare cases are calls in last position, which keeps the common ones free of saved
 * registers. */
static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->brtt_ns != s->brtt_ns || ev->rtt_ns - 1 >= RTT_MAX_NS) {
		on_odd_ack(cc, ev, now);
		return;
	}
	int64_t diff = ((int64_t)ev->rtt_ns << RTT_SHIFT) - s->avg_rtt;
	s->avg_rtt += (uint32_t)(diff >> (s->flags & EWMA_SHIFT));
	s->acked_bytes += ev->bytes;
	if (s->streak_bytes < 0)
		on_ignore_phase(cc, ev, now);
	else if (window_over(s, now))
		on_window_end(cc, ev, now);
	else
		react(cc, ev, now);
}

/* Algorithm 4 lines 3 and 15-22. A trimmed packet always costs its size, also in the ignore phase (line 16 stands
 * before the test); other losses, which are heard of later, only outside of it (sec. III-E a). */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	bool trim = ev->kind == WEFT_CC_LOSS_TRIM;
	bool ignored = ignoring(s, ev->bytes, now);

	if (trim)
		s->flags |= TRIGGER;
	if (trim || !ignored)
		shrink(cc, ev->bytes);
	if (ignored)
		return;
	s->streak_bytes = 0;
	if (!trim || !window_over(s, now))
		return;
	if (s->flags & MEASURING)
		adapt(cc, ev->inflight_bytes, now);
	else
		measure(s, now);
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
	TUNE(fi_pct, "fair increase, percent of a packet per RTT at a BDP of 150,000 bytes", 100, 0, 10000),
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
	TUNE(ewma_shift, "average RTT, a sample weighs 1/2^n", 6, 1, 16),
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
