/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT with options: what its paper compares it with, and what "smartt2" does otherwise. Options that concern only
 * the end of a measurement, losses and the ignore phase leave common ACKs to the published steps. */
#include "smartt_core.h"

enum {
	CROWD_PART = 3, /* part of the gate below which so many share a link that a first QuickAdapt is one again */
	WHOLE_OF = 16,  /* a share within a 16th of the link is all of it */
};

bool smartt_varies_each_ack(const struct smartt_tune *t)
{
	return t->signals != SMARTT_BOTH || t->sample_acks > 1 || t->sample_rtt || t->ecn_decrease || t->pace_below ||
	       !t->fast_increase;
}

bool smartt_varies(const struct smartt_tune *t)
{
	return smartt_varies_each_ack(t) || t->burst_target || t->qa_gate_pct || !t->quick_adapt ||
	       t->ignore_phase != SMARTT_IGNORE_ALL || t->first_qa_pct || t->share_start || t->from_flight;
}

/* The window, which may be below a packet. */
static uint32_t window_bytes(struct weft_cc *cc)
{
	return cc->pace ? smartt_more(cc)->below_bytes : cc->cwnd_bytes;
}

/* A window of a packet or less cannot give one: it is halved, at most once per average RTT as Swift's is, for what was
 * in flight before was sent at another window. */
static void halve_below(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	bool early = (uint32_t)now - s->decreased_ns < s->avg_rtt >> RTT_SHIFT;
	uint32_t bytes = cc->pace ? window_bytes(cc) : cc->params->mtu_bytes;

	if (!early)
		s->decreased_ns = (uint32_t)now;
	smartt_set_window(cc, early ? bytes : bytes / 2);
}

/* Growth was collected for the window as it is; divided by a much smaller one it would count many times over. */
static void shrink(struct weft_cc *cc, uint64_t bytes, weft_ns now)
{
	smartt_apply(cc, smartt_state(cc)->pending);
	if (smartt_tune(cc)->pace_below && cc->cwnd_bytes < bytes + cc->params->mtu_bytes)
		halve_below(cc, now);
	else
		smartt_set_window(cc, bytes < cc->cwnd_bytes ? cc->cwnd_bytes - bytes : 0);
}

/* qa_gate_pct: less than a `part`-th of the gate got through. */
static bool is_below_gate(const struct weft_cc *cc, const struct smartt *s, uint32_t part)
{
	return (uint64_t)s->acked_bytes * part < (uint64_t)s->max_cwnd_bytes * smartt_tune(cc)->qa_gate_pct / 100;
}

/* first_qa_pct: the first QuickAdapt differs from those that follow, so as to give way to who was there. Below the
 * gate there are many, who began together: what all of them leave, the link lacks. Far below it they are so many that
 * what got through and more of it overruns the queue once again. */
static bool is_first_adapt(const struct weft_cc *cc, const struct smartt *s)
{
	if (!smartt_tune(cc)->first_qa_pct || ((const struct smartt_more *)cc->state)->adapted)
		return false;
	return !is_below_gate(cc, s, 1) || is_below_gate(cc, s, CROWD_PART);
}

/* True at the end of a measurement, unless an option forbids QuickAdapt: always, or while congestion is not severe. */
static bool may_adapt(const struct weft_cc *cc, const struct smartt *s)
{
	const struct smartt_tune *t = smartt_tune(cc);

	return s->measuring && t->quick_adapt && (!t->qa_gate_pct || is_first_adapt(cc, s) || is_below_gate(cc, s, 1));
}

/* What got through in one trtt, as the window that carries it: on a path that is shorter than samples count as, less of
 * it is under way at a time. */
static uint64_t measured_window(const struct weft_cc *cc, const struct smartt *s)
{
	const struct smartt_tune *t = smartt_tune(cc);
	uint32_t pct = is_first_adapt(cc, s) ? t->first_qa_pct : t->qa_scaling_pct;

	return (uint64_t)s->acked_bytes * pct / 100 * smartt_own_target_ns(cc, s) / s->trtt_ns;
}

/* Algorithm 2 lines 5-12. */
static void adapt(struct weft_cc *cc, uint64_t bytes, uint64_t inflight_bytes, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	const struct smartt_tune *t = smartt_tune(cc);

	smartt_set_window(cc, bytes);
	smartt_more(cc)->adapted = 1;
	s->streak_bytes = t->ignore_phase == SMARTT_IGNORE_NONE ? 0 : smartt_ignored_bytes(inflight_bytes);
	if (cc->pace) /* nothing acknowledged is no measurement (line 7: at least a packet) */
		smartt_set_window(cc, cc->params->mtu_bytes);
	s->pending = 0;
	s->quick_adapts++;
	s->trigger = 0;
	smartt_measure(s, now);
}

/* Equation 1 for a window that may fall below a packet. */
static void decrease_below(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	if (!smartt_decrease_due(s, smartt_base_ns(cc), now))
		return;
	s->pending = 0;
	smartt_set_window(cc, window_bytes(cc) - (window_bytes(cc) * smartt_cut_q16(cc, s) >> 16));
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
}

/* One signal alone, or an answer to marks below the target too: what figures 5 and 11 compare with. Without delays a
 * mark costs what it does MPRDMA (sec. III-B), and an increase cannot be proportional. */
static void variant_cases(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	const struct smartt_tune *t = smartt_tune(cc);
	uint32_t trtt_ns = smartt_state(cc)->trtt_ns, rtt_ns = (uint32_t)ev->rtt_ns;
	bool late = rtt_ns >= trtt_ns, marked = ev->ce && t->signals != SMARTT_DELAY;

	if (marked && (t->signals == SMARTT_ECN || (!late && t->ecn_decrease)))
		shrink(cc, cc->params->mtu_bytes / 2, now);
	else if (late && t->signals != SMARTT_ECN && (marked || t->signals == SMARTT_DELAY))
		t->pace_below ? decrease_below(cc, now) : smartt_decrease(cc, smartt_base_ns(cc), now);
	else if (cc->pace && !marked)
		smartt_set_window(cc, window_bytes(cc) + (uint64_t)ev->bytes *
								 (smartt_state(cc)->fi_gain >> GAIN_SHIFT) /
								 cc->params->mtu_bytes);
	else if (!marked)
		smartt_increase(cc, ev->bytes, t->signals == SMARTT_ECN ? trtt_ns : rtt_ns);
}

/* Algorithm 4 lines 10-14, with options. */
static __attribute__((noinline)) void react(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	uint32_t base_ns = smartt_base_ns(cc), idle_rtt_ns = base_ns + (base_ns >> smartt_tune(cc)->fast_rtt_shift);

	if (ev->ce || ev->rtt_ns > idle_rtt_ns)
		s->streak_bytes = 0;
	else if (smartt_lengthen_streak(cc, ev->bytes) && smartt_tune(cc)->fast_increase && !cc->pace) {
		smartt_grow_fast(cc, ev->bytes);
		return;
	}
	variant_cases(cc, ev, now);
}

/* Sec. III-G: adds the ACK to those since the last adjustment; true when it adjusts the window: every n-th, or the
 * first after an RTT. It stands for all bytes since the last, once per RTT for average delay and majority's marks.
 * QuickAdapt measures at every ACK. */
static bool take_sample(struct weft_cc *cc, struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt_more *m = smartt_more(cc);
	const struct smartt_tune *t = smartt_tune(cc);

	m->held_bytes += ev->bytes;
	m->held_acks++;
	m->held_marks += ev->ce;
	if (t->sample_rtt ? (uint32_t)now - m->adjusted_ns < m->s.avg_rtt >> RTT_SHIFT && m->held_acks < HELD_MAX
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

static __attribute__((noinline)) void react_sampled(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack sample = *ev;

	if (take_sample(cc, &sample, now))
		react(cc, &sample, now);
}

static __attribute__((noinline)) void on_ignored(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (!smartt_ignore(smartt_state(cc), ev->bytes, now))
		react_sampled(cc, ev, now);
	else if (smartt_tune(cc)->ignore_phase == SMARTT_IGNORE_MARKED && !ev->ce)
		variant_cases(cc, ev, now);
}

/* burst_target: an ACK for several packets releases as many at once, and they queue behind each other on any link like
 * ours. That is no congestion: the target is higher by the time the link takes for all but one of them. Sampled at the
 * end of QuickAdapt's windows. */
static void follow_bursts(struct weft_cc *cc, uint32_t bytes)
{
	struct smartt_more *m = smartt_more(cc);
	uint32_t sample = bytes / BURST_UNIT < UINT16_MAX ? bytes / BURST_UNIT : UINT16_MAX;

	m->burst = (uint16_t)(m->burst + ((int32_t)(sample - m->burst) >> BURST_SHIFT));
	uint32_t burst_bytes = (uint32_t)m->burst * BURST_UNIT, mtu_bytes = cc->params->mtu_bytes;
	uint64_t extra_bytes = burst_bytes > mtu_bytes ? burst_bytes - mtu_bytes : 0;
	uint64_t trtt_ns =
		smartt_target_ns(cc, smartt_base_ns(cc)) + extra_bytes * 8 * WEFT_S(1) / cc->params->link_bps;
	m->s.trtt_ns = trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
}

static __attribute__((noinline)) void on_window_end(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	if (smartt_triggered(cc, s, ev->rtt_ns, smartt_base_ns(cc), may_adapt(cc, s))) {
		adapt(cc, measured_window(cc, s), ev->inflight_bytes, now);
		return;
	}
	smartt_measure(s, now);
	if (smartt_tune(cc)->burst_target && ev->bytes)
		follow_bursts(cc, ev->bytes);
	react_sampled(cc, ev, now);
}

/* ---- share_pct: what the receiver says of its link ---- */

/* Without trimming nobody hears of what a queue that is too full drops. */
static bool heeds_share(const struct weft_cc *cc, uint64_t share_bps)
{
	return share_bps && smartt_tune(cc)->share_pct && cc->params->trimming;
}

/* The window that goes with a share of the link. Each of N that share it alike has (share_pct - 1/N) / N of the BDP:
 * alone that is about the BDP. Together they fill the link and the queue before it, so that it has something to send
 * until those that stay have heard that others ended. The receiver's link may be faster than ours. */
static uint64_t share_window(const struct weft_cc *cc, uint64_t share_bps)
{
	const struct weft_cc_params *p = cc->params;
	share_bps = share_bps < p->link_bps ? share_bps : p->link_bps;
	uint64_t pct = smartt_tune(cc)->share_pct, part_pct = share_bps * 100 / p->link_bps;

	return cc_bdp_bytes(share_bps, cc_brtt_ns(p->brtt_ns)) * (pct > part_pct ? pct - part_pct : 0) / 100;
}

/* The link is full: the window is the share's at once, and near and far have the same. A congested path may allow less.
 */
static void take_share(struct weft_cc *cc, uint64_t bytes, bool congested)
{
	struct smartt *s = smartt_state(cc);

	s->shares = 1;
	s->pending = 0;
	if (s->streak_bytes > 0)
		s->streak_bytes = 0;
	if (cc->cwnd_bytes > bytes || !congested)
		smartt_set_window(cc, bytes);
}

/* It has room again: who had a share may have a larger one, until it is all of the link. */
static void enlarge_share(struct weft_cc *cc, uint64_t share_bps)
{
	uint64_t bytes = share_window(cc, share_bps);

	if (cc->cwnd_bytes < bytes)
		smartt_set_window(cc, bytes);
	smartt_state(cc)->shares = share_bps < cc->params->link_bps / WHOLE_OF * (WHOLE_OF - 1);
}

/* After the ACK's other effects. */
static __attribute__((noinline)) void follow_share(struct weft_cc *cc, const struct weft_cc_ack *ev)
{
	const struct smartt *s = smartt_state(cc);
	uint32_t base_ns = smartt_base_ns(cc), idle_ns = base_ns + (base_ns >> smartt_tune(cc)->fast_rtt_shift);

	if (!ev->has_room)
		take_share(cc, share_window(cc, ev->share_bps),
			   ev->ce && ev->rtt_ns >= (uint64_t)base_ns * smartt_tune(cc)->share_pct / 100);
	else if (s->shares && !ev->ce && ev->rtt_ns <= idle_ns)
		enlarge_share(cc, ev->share_bps);
}

/* A packet had no room in the receiver's link. The first QuickAdapt of a connection takes the receiver's word for what
 * there is for it. Later ones act when much less got through: the link is slower than the receiver knows. */
static void lose_to_sharers(struct weft_cc *cc, const struct weft_cc_loss *ev, bool ignored, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	uint64_t bytes = share_window(cc, ev->share_bps);

	take_share(cc, bytes, true);
	if (!smartt_more(cc)->adapted && smartt_tune(cc)->quick_adapt)
		adapt(cc, bytes, ev->inflight_bytes, now);
	else if (ignored || !smartt_window_over(s, now))
		return;
	else if (may_adapt(cc, s) && s->acked_bytes < bytes / 2)
		adapt(cc, measured_window(cc, s), ev->inflight_bytes, now);
	else
		smartt_measure(s, now);
}

/* ---- handlers ---- */

/* The sample as it counts. Where there was none it is the average, which counts so already. */
static weft_ns shifted(const struct weft_cc *cc, const struct weft_cc_ack *ev, const struct weft_cc_ack *even)
{
	weft_ns rtt_ns = even->rtt_ns + (ev->rtt_ns ? smartt_shift_ns(cc) : 0);

	return rtt_ns < RTT_MAX_NS ? rtt_ns : RTT_MAX_NS;
}

void smartt_each_on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack even = smartt_make_common(cc, ev);

	even.rtt_ns = shifted(cc, ev, &even);
	if (smartt_tune(cc)->signals == SMARTT_DELAY)
		even.ce = false; /* nor does a mark end a fast increase */
	smartt_handle_ack(cc, &even, now, on_ignored, on_window_end, react_sampled);
	if (heeds_share(cc, ev->share_bps))
		follow_share(cc, &even);
}

void smartt_common_on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack even = smartt_is_odd(cc, ev) ? smartt_make_common(cc, ev) : *ev;

	even.rtt_ns = shifted(cc, ev, &even);
	smartt_handle_ack(cc, &even, now, on_ignored, on_window_end, react);
	if (heeds_share(cc, ev->share_bps))
		follow_share(cc, &even);
}

static __attribute__((noinline)) void on_odd_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack even = smartt_make_common(cc, ev);

	smartt_handle_ack(cc, &even, now, on_ignored, on_window_end, smartt_react);
}

void smartt_rare_on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (smartt_is_odd(cc, ev))
		on_odd_ack(cc, ev, now);
	else
		smartt_handle_ack(cc, ev, now, on_ignored, on_window_end, smartt_react);
}

/* share_start: a host that sends to many at once would begin with a window of a BDP and more to each, which its own
 * link and the fabric have to hold. */
void smartt_variant_on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct smartt_more *m = smartt_more(cc);
	const uint32_t *busy = cc->params->busy_conns;

	smartt_on_sent(cc, ev, now);
	if (m->started)
		return;
	m->started = 1;
	if (smartt_tune(cc)->share_start && busy && *busy > 1)
		smartt_set_cwnd(cc, cc->cwnd_bytes / *busy);
}

/* from_flight: what of the window was not in use has not been tried (RFC 7661). A short message lost at once would else
 * be sent again at once. */
static void drop_unused(struct weft_cc *cc, uint64_t flight_bytes)
{
	if (flight_bytes < cc->cwnd_bytes)
		smartt_set_cwnd(cc, flight_bytes);
}

void smartt_variant_on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	bool trim = ev->kind == WEFT_CC_LOSS_TRIM;
	bool ignored = smartt_ignore(s, ev->bytes, now);

	if (heeds_share(cc, ev->share_bps)) {
		lose_to_sharers(cc, ev, ignored, now);
		return;
	}
	if (trim)
		s->trigger = 1;
	if (ignored)
		return;
	if (smartt_tune(cc)->from_flight)
		drop_unused(cc, ev->inflight_bytes + ev->bytes);
	shrink(cc, ev->bytes, now);
	s->streak_bytes = 0;
	if (!trim || !smartt_window_over(s, now))
		return;
	if (may_adapt(cc, s))
		adapt(cc, measured_window(cc, s), ev->inflight_bytes, now);
	else
		smartt_measure(s, now);
}
