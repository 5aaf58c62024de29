/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT's longer steps, and what they derive from the base RTT (paper section III-J). What an ACK may end in is not
 * inlined: the common ACK saves no registers for it. */
#include "smartt_core.h"

/* Below a packet the window is one packet and a pace of one per average RTT / window (sec. III-J; Swift sec. 3.4). */
static void set_below(struct weft_cc *cc, uint64_t bytes)
{
	struct smartt_more *m = smartt_more(cc);
	uint32_t mtu_bytes = cc->params->mtu_bytes, min_bytes = (mtu_bytes + BELOW_MIN - 1) / BELOW_MIN;

	bytes = bytes < min_bytes ? min_bytes : bytes;
	m->below_bytes = (uint16_t)(bytes < mtu_bytes ? bytes : mtu_bytes);
	cc->pace = 0;
	if (bytes >= mtu_bytes || !bytes)
		return;
	m->s.pending = 0;
	cc->pace = cc_clamp32(((uint64_t)m->s.avg_rtt << (PACE_FRAC - RTT_SHIFT)) / bytes);
}

void smartt_set_window(struct weft_cc *cc, uint64_t bytes)
{
	smartt_set_cwnd(cc, bytes);
	if (smartt_tune(cc)->pace_below)
		set_below(cc, bytes);
}

__attribute__((noinline)) void smartt_apply(struct weft_cc *cc, uint64_t pending)
{
	smartt_state(cc)->pending = 0;
	smartt_grow(cc, (pending << PENDING_SHIFT) / cc->cwnd_bytes);
}

/* The largest window: `pending` must be able to hold a packet of growth at it. */
static uint32_t max_cwnd(const struct weft_cc *cc, uint64_t bdp_bytes)
{
	uint64_t limit = ((uint64_t)UINT32_MAX << PENDING_SHIFT) / cc->params->mtu_bytes;
	uint32_t window = cc_window_bytes(cc->params, bdp_bytes, smartt_tune(cc)->max_cwnd_pct);

	return window < limit ? window : (uint32_t)limit;
}

/* A packet per RTT for a BDP of REFERENCE_BDP_BYTES, scaled to that of `brtt_ns` (sec. III-J). */
static uint64_t scaled_gain(const struct weft_cc *cc, uint32_t brtt_ns)
{
	uint64_t bdp_bytes = cc_bdp_bytes(cc->params->link_bps, brtt_ns);

	bdp_bytes = bdp_bytes < CC_CWND_MAX_BYTES ? bdp_bytes : CC_CWND_MAX_BYTES;
	return cc_clamp32(((bdp_bytes * cc->params->mtu_bytes) << GAIN_SHIFT) / REFERENCE_BDP_BYTES);
}

/* The queue that it leaves is a share of the connection's BDP, or of the longest path's, for which queues and marking
 * thresholds are made. */
uint32_t smartt_target_ns(const struct weft_cc *cc, uint32_t brtt_ns)
{
	uint32_t queue_ns = smartt_tune(cc)->longest_target ? cc_brtt_ns(cc->params->brtt_ns) : brtt_ns;
	uint64_t trtt_ns = brtt_ns + (uint64_t)queue_ns * (smartt_tune(cc)->target_pct - 100) / 100;
	trtt_ns += trtt_ns == brtt_ns;
	return trtt_ns < TRTT_MAX_NS ? (uint32_t)trtt_ns : TRTT_MAX_NS;
}

/* The largest window: that of a connection with the base RTT that samples count from, without what is under way where
 * our path is shorter. */
static uint32_t max_own_cwnd(const struct weft_cc *cc, uint32_t shift_ns)
{
	uint32_t mtu_bytes = cc->params->mtu_bytes;
	uint32_t window = max_cwnd(cc, cc_bdp_bytes(cc->params->link_bps, smartt_base_ns(cc)));
	uint64_t shift_bytes = cc_bdp_bytes(cc->params->link_bps, shift_ns);

	return window > shift_bytes + mtu_bytes ? window - (uint32_t)shift_bytes : mtu_bytes;
}

/* Of a gain for the base RTT that samples count from: the same growth of the window in the same time, though it turns
 * over sooner on our shorter path. At the target RTT. */
static uint64_t own_gain(const struct smartt *s, uint64_t gain, uint32_t shift_ns)
{
	return gain * (s->trtt_ns - shift_ns) / s->trtt_ns;
}

/* fi without fair increase: the longest path's (fig. 6). */
__attribute__((noinline)) void smartt_rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct smartt *s = smartt_state(cc);

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	uint32_t shift_ns = smartt_shift_ns(cc), base_ns = smartt_base_ns(cc);
	uint64_t gain = scaled_gain(cc, base_ns);
	uint64_t fi = smartt_tune(cc)->fair_increase ? gain : scaled_gain(cc, cc_brtt_ns(cc->params->brtt_ns));

	s->trtt_ns = smartt_target_ns(cc, base_ns);
	s->max_cwnd_bytes = max_own_cwnd(cc, shift_ns);
	s->fi_gain = cc_clamp32(own_gain(s, fi, shift_ns) * smartt_tune(cc)->fi_pct / 100);
	s->pi_gain = cc_clamp32(cc_clamp32(own_gain(s, gain, shift_ns) * smartt_tune(cc)->pi_pct / 100) *
				(uint64_t)base_ns / (s->trtt_ns - base_ns));
	smartt_set_window(cc, cc->cwnd_bytes);
	assert(s->trtt_ns > base_ns && s->max_cwnd_bytes >= cc->params->mtu_bytes);
}

/* What only some options read. */
static void start_more(struct weft_cc *cc, weft_ns now)
{
	struct smartt_more *m = smartt_more(cc);

	m->below_bytes = (uint16_t)cc->params->mtu_bytes;
	m->burst = (uint16_t)(cc->params->mtu_bytes / BURST_UNIT);
	m->held_bytes = 0;
	m->held_acks = m->held_marks = 0;
	m->adapted = m->started = 0;
	m->adjusted_ns = (uint32_t)now;
}

void smartt_start(struct weft_cc *cc, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	*s = (struct smartt){.window_end_ns = (uint32_t)now,
			     .decreased_ns = (uint32_t)now - (1u << 31),
			     .ewma_shift = smartt_tune(cc)->ewma_shift & 31};
	start_more(cc, now);
	cc->pace = 0;
	cc->cwnd_bytes = UINT32_MAX; /* rescale brings it down to the largest window */
	smartt_rescale(cc, cc->params->brtt_ns);
	if (smartt_tune(cc)->start_pct)
		smartt_set_cwnd(cc, (uint64_t)s->max_cwnd_bytes * smartt_tune(cc)->start_pct /
					    smartt_tune(cc)->max_cwnd_pct);
	s->avg_rtt = smartt_base_ns(cc) << RTT_SHIFT;
	assert(cc->cwnd_bytes >= cc->params->mtu_bytes && cc->cwnd_bytes <= s->max_cwnd_bytes);
}

/* The paper grows by k packets per ACK of one packet; bytes make it hold for coalesced ACKs
 * too. */
__attribute__((noinline)) void smartt_grow_fast(struct weft_cc *cc, uint64_t bytes)
{
	struct smartt *s = smartt_state(cc);

	s->fast_increases += s->streak_bytes != FAST;
	s->streak_bytes = FAST;
	smartt_grow(cc, bytes * smartt_tune(cc)->fast_k);
}

__attribute__((noinline)) void smartt_decrease(struct weft_cc *cc, uint32_t base_ns, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	if (!smartt_decrease_due(s, base_ns, now))
		return;
	uint64_t cut = smartt_cut_q16(cc, s);
	uint32_t bytes = cc->cwnd_bytes - (uint32_t)(cc->cwnd_bytes * cut >> 16);
	cc->cwnd_bytes = bytes < cc->params->mtu_bytes ? cc->params->mtu_bytes : bytes;
	s->pending -= (uint32_t)(s->pending * cut >> 16);
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
}

/* A measurement that an idle time interrupted says nothing about the network. */
void smartt_on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	if (ev->inflight_bytes == ev->bytes && smartt_window_over(s, now))
		s->measuring = s->trigger = 0;
}

void smartt_view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	const struct smartt *s = (const struct smartt *)cc->state;

	uint32_t shift_ns = smartt_shift_ns(cc), avg_ns = s->avg_rtt >> RTT_SHIFT;

	*view = (struct weft_cc_view){.avg_rtt_ns = avg_ns > shift_ns ? avg_ns - shift_ns : 0,
				      .target_rtt_ns = smartt_own_target_ns(cc, s),
				      .quick_adapts = s->quick_adapts,
				      .fast_increases = s->fast_increases,
				      .decreases = s->decreases};
}
