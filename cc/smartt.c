/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT: sender-based, window-based congestion control from ECN marks, RTTs and trimmed packets (paper section III,
 * Algorithms 1-4, equations 1-3). Names in quotes are the paper's. doc/reference/algorithms.md lists the constants the
 * paper leaves open and every place where this differs from its pseudo-code, with reasons. */
#include <stdbool.h>

#include "bdp.h"
#include "cc_ops.h"
#include "smartt_state.h"

static struct smartt *state(struct weft_cc *cc)
{
	return (struct smartt *)cc->state;
}

static struct smartt_more *more(struct weft_cc *cc)
{
	return (struct smartt_more *)cc->state;
}

static const struct smartt_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

/* Below a packet the window is one packet and a pace of one per average RTT / window (sec. III-J; Swift sec. 3.4). */
static void set_below(struct weft_cc *cc, uint64_t bytes)
{
	struct smartt_more *m = more(cc);
	uint32_t mtu_bytes = cc->params->mtu_bytes, min_bytes = (mtu_bytes + BELOW_MIN - 1) / BELOW_MIN;

	bytes = bytes < min_bytes ? min_bytes : bytes;
	m->below_bytes = (uint16_t)(bytes < mtu_bytes ? bytes : mtu_bytes);
	cc->pace = 0;
	if (bytes >= mtu_bytes || !bytes)
		return;
	m->s.pending = 0;
	cc->pace = cc_clamp32(((uint64_t)m->s.avg_rtt << (PACE_FRAC - RTT_SHIFT)) / bytes);
}

/* Every change of the window ends within these bounds (sec. III-J, Algorithm 4 line 23). */
static void set_cwnd(struct weft_cc *cc, uint64_t bytes)
{
	cc->cwnd_bytes = cc_clamp_bytes(cc, bytes, state(cc)->max_cwnd_bytes);
	if (state(cc)->flags & VARIANT && tune(cc)->pace_below)
		set_below(cc, bytes);
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

/* The window, which may be below a packet. */
static uint32_t window_bytes(struct weft_cc *cc)
{
	return cc->pace ? more(cc)->below_bytes : cc->cwnd_bytes;
}

/* A window of a packet or less cannot give one: it is halved, at most once per average RTT as Swift's is, for what was
 * in flight before was sent at another window. */
static __attribute__((noinline)) void halve_below(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);
	bool early = (uint32_t)now - s->decreased_ns < s->avg_rtt >> RTT_SHIFT;
	uint32_t bytes = cc->pace ? window_bytes(cc) : cc->params->mtu_bytes;

	if (!early)
		s->decreased_ns = (uint32_t)now;
	set_cwnd(cc, early ? bytes : bytes / 2);
}

/* Growth was collected for the window as it is; divided by a much smaller one it would count many times over. */
static void shrink(struct weft_cc *cc, uint64_t bytes, weft_ns now)
{
	apply(cc, state(cc)->pending);
	if (state(cc)->flags & VARIANT && tune(cc)->pace_below && cc->cwnd_bytes < bytes + cc->params->mtu_bytes)
		halve_below(cc, now);
	else
		set_cwnd(cc, bytes < cc->cwnd_bytes ? cc->cwnd_bytes - bytes : 0);
}

/* The largest window: `pending` must be able to hold a packet of growth at it. */
static uint32_t max_cwnd(const struct weft_cc *cc, uint64_t bdp_bytes)
{
	uint64_t limit = ((uint64_t)UINT32_MAX << PENDING_SHIFT) / cc->params->mtu_bytes;
	uint32_t window = cc_window_bytes(cc->params, bdp_bytes, tune(cc)->max_cwnd_pct);

	return window < limit ? window : (uint32_t)limit;
}

/* A packet per RTT for a BDP of REFERENCE_BDP_BYTES, scaled to that of `brtt_ns` (sec. III-J). */
static uint64_t scaled_gain(const struct weft_cc *cc, uint32_t brtt_ns)
{
	uint64_t bdp_bytes = cc_bdp_bytes(cc->params->link_bps, brtt_ns);

	bdp_bytes = bdp_bytes < CC_CWND_MAX_BYTES ? bdp_bytes : CC_CWND_MAX_BYTES;
	return cc_clamp32(((bdp_bytes * cc->params->mtu_bytes) << GAIN_SHIFT) / REFERENCE_BDP_BYTES);
}

/* The target RTT without what burst_target adds. Its queue is a share of the connection's BDP, or of the longest
 * path's, for which queues and marking thresholds are made. */
static uint32_t target_ns(const struct weft_cc *cc, uint32_t brtt_ns)
{
	uint32_t queue_ns = tune(cc)->longest_target ? cc_brtt_ns(cc->params->brtt_ns) : brtt_ns;
	uint64_t trtt_ns = brtt_ns + (uint64_t)queue_ns * (tune(cc)->target_pct - 100) / 100;
	trtt_ns += trtt_ns == brtt_ns;
	return trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
}

/* What depends on the base RTT (sec. III-J). fi without fair increase: the longest path's (fig. 6). */
static __attribute__((noinline)) void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct smartt *s = state(cc);
	uint32_t brtt32_ns = cc_brtt_ns(brtt_ns);
	uint64_t gain = scaled_gain(cc, brtt32_ns);
	uint64_t fi = tune(cc)->fair_increase ? gain : scaled_gain(cc, cc_brtt_ns(cc->params->brtt_ns));

	s->brtt_ns = brtt32_ns;
	s->trtt_ns = target_ns(cc, brtt32_ns);
	s->max_cwnd_bytes = max_cwnd(cc, cc_bdp_bytes(cc->params->link_bps, brtt32_ns));
	s->fi_gain = cc_clamp32(fi * tune(cc)->fi_pct / 100);
	s->pi_gain = cc_clamp32(cc_clamp32(gain * tune(cc)->pi_pct / 100) * (uint64_t)s->brtt_ns /
				(s->trtt_ns - s->brtt_ns));
	set_cwnd(cc, cc->cwnd_bytes);
}

/* Options that concern every ACK, and those that concern only what happens now and then. */
static bool wants_divert(const struct smartt_tune *t)
{
	return t->signals != SMARTT_BOTH || t->sample_acks > 1 || t->sample_rtt || t->ecn_decrease || t->pace_below ||
	       !t->fast_increase;
}

static bool wants_variant(const struct smartt_tune *t)
{
	return wants_divert(t) || t->burst_target || t->qa_gate_pct || !t->quick_adapt ||
	       t->ignore_phase != SMARTT_IGNORE_ALL;
}

static __attribute__((noinline)) void init_variant(struct weft_cc *cc, weft_ns now)
{
	struct smartt_more *m = more(cc);

	m->below_bytes = (uint16_t)cc->params->mtu_bytes;
	m->burst = (uint16_t)(cc->params->mtu_bytes / BURST_UNIT);
	m->held_bytes = m->held_acks = m->held_marks = 0;
	m->adjusted_ns = (uint32_t)now;
	m->s.flags |= VARIANT;
	if (wants_divert(tune(cc)))
		m->s.brtt_ns |= DIVERT;
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
	if (tune(cc)->start_pct)
		set_cwnd(cc, (uint64_t)s->max_cwnd_bytes * tune(cc)->start_pct / tune(cc)->max_cwnd_pct);
	s->avg_rtt = s->brtt_ns << RTT_SHIFT;
	if (wants_variant(tune(cc)))
		init_variant(cc, now);
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

/* True at the end of a measurement, unless an option forbids QuickAdapt: altogether, or but for severe congestion. */
static inline bool may_adapt(const struct weft_cc *cc, const struct smartt *s)
{
	if (!(s->flags & VARIANT))
		return s->flags & MEASURING;
	return s->flags & MEASURING && tune(cc)->quick_adapt &&
	       (!tune(cc)->qa_gate_pct || s->acked_bytes < (uint64_t)s->max_cwnd_bytes * tune(cc)->qa_gate_pct / 100);
}

/* Algorithm 2 line 4 at the end of a window. Without trimming (sec. III-E a) losses are heard of too late, so a high
 * RTT together with few acknowledged bytes triggers. */
static bool triggered(const struct weft_cc *cc, const struct smartt *s, weft_ns rtt_ns)
{
	if (!may_adapt(cc, s))
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
	if (s->flags & VARIANT) {
		if (tune(cc)->ignore_phase == SMARTT_IGNORE_NONE)
			s->streak_bytes = 0;
		if (cc->pace) /* nothing acknowledged is no measurement (line 7: at least a packet) */
			set_cwnd(cc, cc->params->mtu_bytes);
	}
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

/* Equation 1 is applied at most once per base RTT. While the average is below the target its factor exceeds one; that
 * is no decrease. */
static inline bool decrease_due(const struct smartt *s, weft_ns now)
{
	return (uint32_t)now - s->decreased_ns >= s->brtt_ns && s->avg_rtt > s->trtt_ns << RTT_SHIFT;
}

/* What equation 1 takes off the window, in 2^-16. */
static inline uint64_t cut_q16(const struct weft_cc *cc, const struct smartt *s)
{
	uint32_t trtt = s->trtt_ns << RTT_SHIFT;
	uint64_t wanted = ((uint64_t)(s->avg_rtt - trtt) << 16) * tune(cc)->md_gain_pct / s->avg_rtt;
	uint64_t allowed = (uint64_t)tune(cc)->md_max_cut_pct << 16;

	return (wanted < allowed ? wanted : allowed) / 100;
}

static __attribute__((noinline)) void decrease(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);

	if (!decrease_due(s, now))
		return;
	uint64_t cut = cut_q16(cc, s);
	uint32_t bytes = cc->cwnd_bytes - (uint32_t)(cc->cwnd_bytes * cut >> 16);
	cc->cwnd_bytes = bytes < cc->params->mtu_bytes ? cc->params->mtu_bytes : bytes;
	s->pending -= (uint32_t)(s->pending * cut >> 16);
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
}

/* The same for a window that may fall below a packet. */
static void decrease_below(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = state(cc);

	if (!decrease_due(s, now))
		return;
	s->pending = 0;
	set_cwnd(cc, window_bytes(cc) - (window_bytes(cc) * cut_q16(cc, s) >> 16));
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

/* One signal alone, or an answer to marks below the target too: what figures 5 and 11 compare with. Without delays a
 * mark costs what it does MPRDMA (sec. III-B), and an increase cannot be proportional. */
static __attribute__((noinline)) void variant_cases(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	const struct smartt_tune *t = tune(cc);
	uint32_t trtt_ns = state(cc)->trtt_ns, rtt_ns = (uint32_t)ev->rtt_ns;
	bool late = rtt_ns >= trtt_ns, marked = ev->ce && t->signals != SMARTT_DELAY;

	if (marked && (t->signals == SMARTT_ECN || (!late && t->ecn_decrease)))
		shrink(cc, cc->params->mtu_bytes / 2, now);
	else if (late && t->signals != SMARTT_ECN && (marked || t->signals == SMARTT_DELAY))
		t->pace_below ? decrease_below(cc, now) : decrease(cc, now);
	else if (cc->pace && !marked)
		set_cwnd(cc, window_bytes(cc) +
				     (uint64_t)ev->bytes * (state(cc)->fi_gain >> GAIN_SHIFT) / cc->params->mtu_bytes);
	else if (!marked)
		increase(cc, ev->bytes, t->signals == SMARTT_ECN ? trtt_ns : rtt_ns);
}

/* A measurement that an idle time interrupted says nothing about the network. */
static void on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (ev->inflight_bytes == ev->bytes && window_over(s, now))
		s->flags &= (uint8_t) ~(MEASURING | TRIGGER);
}

/* Algorithm 4 lines 10-14. Congestion ends the streak and with it the fast increase (Algorithm 3 lines 10-11). */
static inline void react(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now, bool variant)
{
	struct smartt *s = state(cc);
	uint32_t idle_rtt_ns = s->brtt_ns + (s->brtt_ns >> tune(cc)->fast_rtt_shift);

	if (ev->ce || ev->rtt_ns > idle_rtt_ns)
		s->streak_bytes = 0;
	else if (lengthen_streak(cc, ev->bytes) && (!variant || (tune(cc)->fast_increase && !cc->pace))) {
		grow_fast(cc, ev->bytes);
		return;
	}
	if (variant)
		variant_cases(cc, ev, now);
	else
		core_cases(cc, ev, now);
}

/* Sec. III-G: true when this ACK adjusts the window: every n-th, or the first after an RTT. It stands for all bytes
 * since the last, once per RTT for average delay and majority's marks. QuickAdapt measures at every ACK. */
static bool sampled(struct weft_cc *cc, struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt_more *m = more(cc);
	const struct smartt_tune *t = tune(cc);

	m->held_bytes += ev->bytes;
	m->held_acks++;
	m->held_marks += ev->ce;
	if (t->sample_rtt ? (uint32_t)now - m->adjusted_ns < m->s.avg_rtt >> RTT_SHIFT && m->held_acks < UINT16_MAX
			  : m->held_acks < t->sample_acks)
		return false;
	ev->bytes = m->held_bytes;
	if (t->sample_rtt) {
		ev->rtt_ns = m->s.avg_rtt >> RTT_SHIFT;
		ev->ce = 2 * m->held_marks > m->held_acks;
	}
	m->held_bytes = m->held_acks = m->held_marks = 0;
	m->adjusted_ns = (uint32_t)now;
	return true;
}

static __attribute__((noinline)) void react_variant(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack sample = *ev;

	if (sampled(cc, &sample, now))
		react(cc, &sample, now, true);
}

static __attribute__((noinline)) void on_ignore_phase(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	bool variant = s->flags & VARIANT;
	bool over = !ignoring(s, ev->bytes, now);
	if (over && !variant)
		react(cc, ev, now, false);
	else if (over)
		react_variant(cc, ev, now);
	else if (variant && tune(cc)->ignore_phase == SMARTT_IGNORE_MARKED && !ev->ce)
		variant_cases(cc, ev, now);
}

/* burst_target: an ACK for several packets releases as many at once, and they queue behind each other on any link like
 * ours. That is no congestion: the target is higher by the time the link takes for all but one of them. Sampled at the
 * end of QuickAdapt's windows. */
static void follow_bursts(struct weft_cc *cc, uint32_t bytes)
{
	struct smartt_more *m = more(cc);
	uint32_t sample = bytes / BURST_UNIT < UINT16_MAX ? bytes / BURST_UNIT : UINT16_MAX;

	m->burst = (uint16_t)(m->burst + ((int32_t)(sample - m->burst) >> BURST_SHIFT));
	uint32_t burst_bytes = (uint32_t)m->burst * BURST_UNIT, mtu_bytes = cc->params->mtu_bytes;
	uint64_t extra_bytes = burst_bytes > mtu_bytes ? burst_bytes - mtu_bytes : 0;
	uint64_t trtt_ns = target_ns(cc, m->s.brtt_ns) + extra_bytes * 8 * WEFT_S(1) / cc->params->link_bps;
	m->s.trtt_ns = trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
}

static __attribute__((noinline)) void react_after_window(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (tune(cc)->burst_target && ev->bytes)
		follow_bursts(cc, ev->bytes);
	react_variant(cc, ev, now);
}

static __attribute__((noinline)) void on_window_end(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (triggered(cc, s, ev->rtt_ns)) {
		adapt(cc, ev->inflight_bytes, now);
		return;
	}
	measure(s, now);
	if (s->flags & VARIANT)
		react_after_window(cc, ev, now);
	else
		react(cc, ev, now, false);
}

/* Algorithm 4 lines 2-13. The rare cases are calls in last position, which keeps the common ones free of saved
 * registers. */
static inline void handle_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now, bool variant)
{
	struct smartt *s = state(cc);
	int64_t diff = ((int64_t)ev->rtt_ns << RTT_SHIFT) - s->avg_rtt;

	s->avg_rtt += (uint32_t)(diff >> (s->flags & EWMA_SHIFT));
	s->acked_bytes += ev->bytes;
	if (s->streak_bytes < 0)
		on_ignore_phase(cc, ev, now);
	else if (window_over(s, now))
		on_window_end(cc, ev, now);
	else if (variant)
		react_variant(cc, ev, now);
	else
		react(cc, ev, now, false);
}

static __attribute__((noinline)) void on_variant_ack(struct weft_cc *cc, struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);

	if (tune(cc)->signals == SMARTT_DELAY)
		ev->ce = false; /* nor does a mark end a fast increase */
	handle_ack(cc, ev, now, true);
	s->brtt_ns |= DIVERT;
}

/* An ACK with another base RTT, without an RTT sample or with an enormous one, or for a variant. Without a sample the
 * average stands in, which leaves the average as it is. */
static __attribute__((noinline)) void on_odd_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	struct weft_cc_ack even = *ev;

	bool diverted = s->brtt_ns & DIVERT;
	s->brtt_ns &= ~DIVERT;
	if (ev->brtt_ns != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	even.brtt_ns = s->brtt_ns;
	if (ev->rtt_ns == 0)
		even.rtt_ns = s->avg_rtt >> RTT_SHIFT;
	else if (ev->rtt_ns > RTT_MAX_NS)
		even.rtt_ns = RTT_MAX_NS;
	if (diverted)
		on_variant_ack(cc, &even, now);
	else
		handle_ack(cc, &even, now, false);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (ev->brtt_ns != state(cc)->brtt_ns || ev->rtt_ns - 1 >= RTT_MAX_NS)
		on_odd_ack(cc, ev, now);
	else
		handle_ack(cc, ev, now, false);
}

/* Algorithm 4 lines 3 and 15-22. In the ignore phase no loss costs anything: sec. III-E ignores all congestion
 * information about what was in flight, although line 16 stands before the test. */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct smartt *s = state(cc);
	bool trim = ev->kind == WEFT_CC_LOSS_TRIM;
	bool ignored = ignoring(s, ev->bytes, now);

	if (trim)
		s->flags |= TRIGGER;
	if (ignored)
		return;
	shrink(cc, ev->bytes, now);
	s->streak_bytes = 0;
	if (!trim || !window_over(s, now))
		return;
	if (may_adapt(cc, s))
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

const struct weft_cc_ops weft_cc_smartt = {
	.name = "smartt",
	.help = "SMaRTT: ECN, delay and trimming, with QuickAdapt and FastIncrease",
	.tunes = smartt_tunes,
	.tune_size = sizeof(struct smartt_tune),
	.state_size = sizeof(struct smartt_more),
	.init = init,
	.on_sent = on_sent,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};

/* The same code; what differs is in smartt_tune.c. */
const struct weft_cc_ops weft_cc_smartt2 = {
	.name = "smartt2",
	.help = "SMaRTT with a faster ramp, no ignore phase and a target that knows coalesced ACKs",
	.tunes = smartt2_tunes,
	.tune_size = sizeof(struct smartt_tune),
	.state_size = sizeof(struct smartt_more),
	.init = init,
	.on_sent = on_sent,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
