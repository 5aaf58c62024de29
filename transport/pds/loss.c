/* SPDX-License-Identifier: BSD-3-Clause */
/* Loss without a NACK: packets overtaken by later ones for too long, and the retransmission timer. */
#include "engine_int.h"

enum { RTO_BACKOFF_MAX = 16, FAILED_PATH_BRTTS = 2 };

void lb_feedback(struct weft_engine *e, struct pdc_tx *p, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	p->lb.ops->feedback(&p->lb, ev, fb, now);
	if (unlikely(e->trace.feedback != NULL))
		e->trace.feedback(e->trace.arg, &p->ip, ev, fb, now);
}

static weft_ns max_rtt(const struct pdc_tx *p)
{
	return p->max_rtt_ns[0] > p->max_rtt_ns[1] ? p->max_rtt_ns[0] : p->max_rtt_ns[1];
}

static weft_ns rto_first(const struct weft_engine *e, const struct pdc_tx *p)
{
	weft_ns rto = 2 * max_rtt(p);
	return rto > e->rto_ns ? rto : e->rto_ns;
}

/* Twice the largest recent RTT keeps noisy hosts from timing out; the back-off is UET's RTO_Init_Time x 2^retry. It
 * holds for what was sent after the expiry that doubled it: what was in flight before has waited long enough, and would
 * block the window meanwhile. */
weft_ns loss_rto(const struct weft_engine *e, const struct pdc_tx *p, const struct sent *s)
{
	unsigned doublings = s->sent_at >= p->backoff_at_ns ? p->rto_backoff : 0;
	weft_ns rto = rto_first(e, p);
	if (rto >= e->tune.rto_max_ns >> doublings)
		return e->tune.rto_max_ns > e->rto_ns ? e->tune.rto_max_ns : e->rto_ns;
	return rto << doublings;
}

/* Without this, an RTT beyond the timeout would never be measured: every answer would be ambiguous. Once for all that
 * timed out together. */
void loss_undone(struct weft_engine *e, struct pdc_tx *p, const struct sent *s, weft_ns now)
{
	weft_ns rto = rto_first(e, p);
	if (!s->timed_out || s->sent_at <= p->rto_raised_ns || rto >= e->tune.rto_max_ns)
		return;
	p->max_rtt_ns[0] = rto;
	p->rto_raised_ns = now;
}

weft_ns loss_deadline(const struct weft_engine *e, const struct pdc_tx *p)
{
	if (!p->q.inflight.count)
		return WEFT_NEVER;
	const struct sent *oldest = sendq_at(&p->q, p->q.inflight.head);
	weft_ns at = oldest->sent_at + loss_rto(e, p, oldest);
	return at > e->grace_ns ? at : e->grace_ns;
}

void loss_rtt(struct weft_engine *e, struct pdc_tx *p, weft_ns rtt_ns, weft_ns now)
{
	if (unlikely(now >= p->max_rtt_until_ns)) {
		p->max_rtt_ns[1] = p->max_rtt_ns[0];
		p->max_rtt_ns[0] = 0;
		p->max_rtt_until_ns = now + e->rto_ns;
	}
	if (rtt_ns > p->max_rtt_ns[0])
		p->max_rtt_ns[0] = rtt_ns;
	p->srtt_ns = p->srtt_ns ? p->srtt_ns - p->srtt_ns / 8 + rtt_ns / 8 : rtt_ns;
}

/* REPS appendix A: with trimming, only failures lose packets silently; without, a lately high RTT speaks for
 * congestion. */
static enum weft_lb_fb likely_cause(const struct weft_engine *e, const struct pdc_tx *p)
{
	if (e->tune.trimming)
		return WEFT_LB_TIMEOUT;
	return max_rtt(p) > FAILED_PATH_BRTTS * p->brtt_ns ? WEFT_LB_LOSS : WEFT_LB_TIMEOUT;
}

void loss_resend(struct weft_engine *e, struct pdc_tx *p, uint32_t psn)
{
	if (!e->tune.go_back_n) {
		p->inflight_bytes -= sendq_at(&p->q, psn)->wire_bytes;
		sendq_lose(&p->q, psn);
		return;
	}
	e->stats.tx_retx_rewind += p->q.inflight.count - 1;
	p->inflight_bytes = 0;
	sendq_rewind(&p->q);
}

void loss_mark(struct weft_engine *e, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now)
{
	struct sent *s = sendq_at(&p->q, psn);
	s->timed_out = kind == WEFT_CC_LOSS_TIMEOUT;
	loss_resend(e, p, psn);
	if (e->rcc)
		credit_tx_lost(e, p, s, kind);
	e->cc->on_loss(&p->cc, &(struct weft_cc_loss){kind, s->wire_bytes, p->inflight_bytes}, now);
	if (kind != WEFT_CC_LOSS_TRIM)
		lb_feedback(e, p, s->ev, likely_cause(e, p), now);
	pdc_tx_ready(e, p);
}

static weft_ns reorder_allowance(const struct weft_engine *e, const struct pdc_tx *p)
{
	return e->tune.reorder_ns || e->reorder_ns > max_rtt(p) ? e->reorder_ns : max_rtt(p);
}

/* Of a single path, as TCP takes the third duplicate ACK (RFC 5681 sec. 3.2, RFC 6675 for all gaps at once). What was
 * sent again is left to the timer. */
static void __attribute__((noinline)) loss_by_count(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	uint32_t threshold = e->tune.dup_ack_threshold;
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		if (sendq_at(&p->q, psn)->tries || sendq_acked_beyond(&p->q, psn, threshold) < threshold)
			break;
		e->stats.lost_gap++;
		e->stats.tx_retx_gap++;
		loss_mark(e, p, psn, WEFT_CC_LOSS_GAP, now);
	}
}

/* In time rather than in packets: paths differ by their queues, and a sprayed flow has hundreds of packets in them. */
static void __attribute__((noinline)) loss_by_age(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	weft_ns allowance = reorder_allowance(e, p);
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		if (sendq_at(&p->q, psn)->sent_at + allowance >= p->newest_acked_ns)
			break;
		e->stats.lost_gap++;
		e->stats.tx_retx_gap++;
		loss_mark(e, p, psn, WEFT_CC_LOSS_GAP, now);
	}
}

void loss_by_gap(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (likely(!p->q.inflight.count || sendq_at(&p->q, p->q.inflight.head)->sent_at >= p->newest_acked_ns))
		return;
	if (e->tune.dup_ack_threshold)
		loss_by_count(e, p, now);
	else
		loss_by_age(e, p, now);
}

void loss_by_timeout(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	bool expired = false, again = false;
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		const struct sent *s = sendq_at(&p->q, psn);
		if (s->sent_at + loss_rto(e, p, s) > now)
			break;
		again |= s->sent_at >= p->backoff_at_ns;
		expired = true;
		e->stats.tx_retx_rto++;
		loss_mark(e, p, psn, WEFT_CC_LOSS_TIMEOUT, now);
	}
	if (!expired)
		return;
	e->stats.timeouts++;
	if (!again)
		return;
	p->rto_backoff += p->rto_backoff < RTO_BACKOFF_MAX;
	p->backoff_at_ns = now;
}
