/* SPDX-License-Identifier: BSD-3-Clause */
/* What the handlers of SMaRTT's published form (smartt.c) and of its variants (smartt_variant.c) have in common. Short
 * steps are inline: both sets of handlers are made for few instructions per ACK. */
#ifndef SMARTT_CORE_H
#define SMARTT_CORE_H

#include <assert.h>
#include <stdbool.h>

#include "bdp.h"
#include "cc_ops.h"
#include "likely.h"
#include "smartt_state.h"

typedef void smartt_ack_fn(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now);

static inline struct smartt *smartt_state(struct weft_cc *cc)
{
	return (struct smartt *)cc->state;
}

static inline struct smartt_more *smartt_more(struct weft_cc *cc)
{
	return (struct smartt_more *)cc->state;
}

static inline const struct smartt_tune *smartt_tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

/* ---- smartt_core.c ---- */

/* Sets up state and window; `cc->ops` is chosen already. */
void smartt_start(struct weft_cc *cc, weft_ns now);
/* What depends on the base RTT (sec. III-J). */
void smartt_rescale(struct weft_cc *cc, weft_ns brtt_ns);
/* The target RTT of a base RTT, without what burst_target adds. */
uint32_t smartt_target_ns(const struct weft_cc *cc, uint32_t brtt_ns);
/* The window within its bounds, or with pace_below one below a packet and a pace. */
void smartt_set_window(struct weft_cc *cc, uint64_t bytes);
/* Divides the collected growth by the window, once per packet of growth (sec. III-G). */
void smartt_apply(struct weft_cc *cc, uint64_t pending);
/* Algorithm 3 lines 5-6. */
void smartt_grow_fast(struct weft_cc *cc, uint64_t bytes);
/* Equation 1, if it is due; at most once per `base_ns`. */
void smartt_decrease(struct weft_cc *cc, uint32_t base_ns, weft_ns now);
void smartt_on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now);
void smartt_view(const struct weft_cc *cc, struct weft_cc_view *view);

/* ---- smartt_variant.c ---- */

/* Whether these parameters need more than the published handlers: at every ACK, or only now and then. */
bool smartt_varies_each_ack(const struct smartt_tune *t);
bool smartt_varies(const struct smartt_tune *t);
/* Handlers for options that concern every ACK; for common_rtt, share_pct and what is rare; for what is rare alone. */
smartt_ack_fn smartt_each_on_ack, smartt_common_on_ack, smartt_rare_on_ack;
void smartt_variant_on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now);
void smartt_variant_on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now);

/* ---- the window ---- */

/* Every change of the window ends within these bounds (sec. III-J, Algorithm 4 line 23). */
static inline void smartt_set_cwnd(struct weft_cc *cc, uint64_t bytes)
{
	cc->cwnd_bytes = cc_clamp_bytes(cc, bytes, smartt_state(cc)->max_cwnd_bytes);
}

static inline void smartt_grow(struct weft_cc *cc, uint64_t bytes)
{
	uint64_t cwnd_bytes = cc->cwnd_bytes + bytes;
	uint32_t max_bytes = smartt_state(cc)->max_cwnd_bytes;

	cc->cwnd_bytes = cwnd_bytes < max_bytes ? (uint32_t)cwnd_bytes : max_bytes;
}

/* ---- QuickAdapt's measurement ---- */

/* True when the QuickAdapt window that ends at `window_end_ns` is over or none has begun. A running window ends at
 * most one trtt from now; any other distance lies in the past, however often the 32-bit time wrapped since. */
static inline bool smartt_window_over(const struct smartt *s, weft_ns now)
{
	uint32_t left_ns = s->window_end_ns - (uint32_t)now;

	return left_ns - 1 >= s->trtt_ns;
}

/* Algorithm 2 lines 11-12. */
static inline void smartt_measure(struct smartt *s, weft_ns now)
{
	s->measuring = 1;
	s->window_end_ns = (uint32_t)now + s->trtt_ns;
	s->acked_bytes = 0;
}

/* Algorithm 4 lines 3 and 6: counts `bytes` off and tells whether they belong to what was in flight when QuickAdapt
 * acted. After that a new measurement begins: one that had run on would cover several trtt, and QuickAdapt would raise
 * the window. */
static inline bool smartt_ignore(struct smartt *s, uint32_t bytes, weft_ns now)
{
	if (s->streak_bytes >= 0)
		return false;
	int64_t left = (int64_t)s->streak_bytes + bytes;
	s->streak_bytes = left < 0 ? (int32_t)left : 0;
	if (left < 0)
		return true;
	smartt_measure(s, now);
	return false;
}

/* Algorithm 2 line 4 at the end of a window; `may`: nothing forbids QuickAdapt. Without trimming (sec. III-E a) losses
 * are heard of too late, so a high RTT, compared with `base_ns`, together with few acknowledged bytes triggers. */
static inline bool smartt_triggered(const struct weft_cc *cc, const struct smartt *s, weft_ns rtt_ns, uint32_t base_ns,
				    bool may)
{
	if (!may)
		return false;
	if (cc->params->trimming || s->trigger)
		return s->trigger;
	return rtt_ns > (uint64_t)base_ns * smartt_tune(cc)->qa_rtt_pct / 100 &&
	       s->acked_bytes < (uint64_t)cc->cwnd_bytes * smartt_tune(cc)->qa_acked_pct / 100;
}

/* Bytes in flight when QuickAdapt acted: ignored from then on. */
static inline int32_t smartt_ignored_bytes(uint64_t inflight_bytes)
{
	return inflight_bytes < CC_CWND_MAX_BYTES ? -(int32_t)inflight_bytes : -CC_CWND_MAX_BYTES;
}

/* ---- increase and decrease ---- */

/* Algorithm 3 lines 2-4 for an uncongested ACK: true when fast increase is active or to begin. */
static inline bool smartt_lengthen_streak(struct weft_cc *cc, uint32_t bytes)
{
	struct smartt *s = smartt_state(cc);
	uint64_t streak_bytes = (uint64_t)s->streak_bytes + bytes;

	if (streak_bytes > cc->cwnd_bytes)
		return true;
	s->streak_bytes = (int32_t)streak_bytes;
	return false;
}

/* With common_rtt a sample counts as that of a path whose idle round trip is the longest, with the same queues on it.
 * What is added to it; 0 otherwise. */
static inline uint32_t smartt_shift_ns(const struct weft_cc *cc)
{
	uint32_t longest_ns = cc_brtt_ns(cc->params->brtt_ns), ours_ns = ((const struct smartt *)cc->state)->brtt_ns;

	return smartt_tune(cc)->common_rtt && longest_ns > ours_ns ? longest_ns - ours_ns : 0;
}

/* The target RTT of our own path. Not below its base RTT, which it would be when the longest one has grown since the
 * target was set. */
static inline uint32_t smartt_own_target_ns(const struct weft_cc *cc, const struct smartt *s)
{
	uint32_t shift_ns = smartt_shift_ns(cc);

	return s->trtt_ns > s->brtt_ns + shift_ns ? s->trtt_ns - shift_ns : s->brtt_ns;
}

/* The base RTT that samples count from. */
static inline uint32_t smartt_base_ns(const struct weft_cc *cc)
{
	return ((const struct smartt *)cc->state)->brtt_ns + smartt_shift_ns(cc);
}

/* Equation 1 is applied at most once per base RTT. While the average is below the target its factor exceeds one; that
 * is no decrease. */
static inline bool smartt_decrease_due(const struct smartt *s, uint32_t base_ns, weft_ns now)
{
	return (uint32_t)now - s->decreased_ns >= base_ns && s->avg_rtt > s->trtt_ns << RTT_SHIFT;
}

/* What equation 1 takes off the window, in 2^-16. */
static inline uint64_t smartt_cut_q16(const struct weft_cc *cc, const struct smartt *s)
{
	uint32_t trtt = s->trtt_ns << RTT_SHIFT;
	uint64_t wanted = ((uint64_t)(s->avg_rtt - trtt) << 16) * smartt_tune(cc)->md_gain_pct / s->avg_rtt;
	uint64_t allowed = (uint64_t)smartt_tune(cc)->md_max_cut_pct << 16;

	return (wanted < allowed ? wanted : allowed) / 100;
}

/* Equation 3 without its factor p.size / cwnd, in 2^-GAIN_SHIFT bytes. The bound keeps the growth of the window below
 * the size acknowledged. */
static inline uint64_t smartt_proportional(const struct weft_cc *cc, const struct smartt *s, uint32_t rtt_ns)
{
	uint64_t growth = (uint64_t)s->pi_gain * (s->trtt_ns - rtt_ns) / rtt_ns;
	uint64_t bound = (uint64_t)cc->cwnd_bytes << GAIN_SHIFT;

	return growth < bound ? growth : bound;
}

/* Equations 2 and 3: above the target a fair increase, below it a proportional and then a fair increase. */
static inline void smartt_increase(struct weft_cc *cc, uint32_t bytes, uint32_t rtt_ns)
{
	struct smartt *s = smartt_state(cc);

	if (cc->cwnd_bytes >= s->max_cwnd_bytes)
		return;
	uint64_t growth = s->fi_gain;
	if (rtt_ns < s->trtt_ns)
		growth += smartt_proportional(cc, s, rtt_ns);
	uint64_t pending = s->pending + (bytes * growth >> (GAIN_SHIFT + PENDING_SHIFT));
	uint64_t packet = (uint64_t)cc->cwnd_bytes * cc->params->mtu_bytes >> PENDING_SHIFT;
	if (unlikely(pending >= packet))
		smartt_apply(cc, pending);
	else
		s->pending = (uint32_t)pending;
}

/* ---- an ACK ---- */

/* Algorithm 1. A marked ACK below the target is left to the load balancer. */
static inline void smartt_core_cases(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (likely(!ev->ce))
		smartt_increase(cc, ev->bytes, (uint32_t)ev->rtt_ns);
	else if (ev->rtt_ns >= smartt_state(cc)->trtt_ns)
		smartt_decrease(cc, smartt_state(cc)->brtt_ns, now);
}

/* Algorithm 4 lines 10-14. Congestion ends the streak and with it the fast increase (Algorithm 3 lines 10-11). */
static inline void smartt_react(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	uint32_t idle_rtt_ns = s->brtt_ns >> smartt_tune(cc)->fast_rtt_shift;

	idle_rtt_ns += s->brtt_ns;
	if (ev->ce || ev->rtt_ns > idle_rtt_ns)
		s->streak_bytes = 0;
	else if (smartt_lengthen_streak(cc, ev->bytes)) {
		smartt_grow_fast(cc, ev->bytes);
		return;
	}
	smartt_core_cases(cc, ev, now);
}

/* Algorithm 4 lines 2-13. The rare cases are calls in last position, which keeps the common ones free of saved
 * registers. */
static inline void smartt_handle_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now,
				     smartt_ack_fn *on_ignored, smartt_ack_fn *on_window_end, smartt_ack_fn *react)
{
	struct smartt *s = smartt_state(cc);
	int64_t diff = ((int64_t)ev->rtt_ns << RTT_SHIFT) - s->avg_rtt;

	s->avg_rtt += (uint32_t)(diff >> s->ewma_shift);
	s->acked_bytes += ev->bytes;
	if (s->streak_bytes < 0)
		on_ignored(cc, ev, now);
	else if (smartt_window_over(s, now))
		on_window_end(cc, ev, now);
	else
		react(cc, ev, now);
}

/* True when an ACK is not common: another base RTT, no RTT sample or an enormous one. */
static inline bool smartt_is_odd(const struct weft_cc *cc, const struct weft_cc_ack *ev)
{
	return ev->brtt_ns != ((const struct smartt *)cc->state)->brtt_ns || ev->rtt_ns - 1 >= RTT_MAX_NS;
}

/* Follows a new base RTT and gives the ACK a usable sample: without one the average stands in, which leaves the average
 * as it is; an enormous one is cut. */
static inline struct weft_cc_ack smartt_make_common(struct weft_cc *cc, const struct weft_cc_ack *ev)
{
	struct smartt *s = smartt_state(cc);
	struct weft_cc_ack even = *ev;

	if (ev->brtt_ns != s->brtt_ns)
		smartt_rescale(cc, ev->brtt_ns);
	even.brtt_ns = s->brtt_ns;
	if (ev->rtt_ns == 0)
		even.rtt_ns = s->avg_rtt >> RTT_SHIFT;
	else if (ev->rtt_ns > RTT_MAX_NS)
		even.rtt_ns = RTT_MAX_NS;
	return even;
}

#endif
