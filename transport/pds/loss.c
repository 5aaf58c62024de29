/* SPDX-License-Identifier: BSD-3-Clause */
/* Loss without a NACK: packets overtaken by later ones for too long, and the retransmission timer. */
#include "loss.h"

#include "credit_tx.h"
#include "path_search.h"
#include "ready.h"
#include "record.h"
#include "rto.h"

enum { FAILED_PATH_BRTTS = 2 };

/* REPS appendix A: with trimming, only failures lose packets silently; without, a lately high RTT speaks for
 * congestion. */
static enum weft_lb_fb likely_cause(const struct pds *pds, const struct pdc_tx *p)
{
	if (pds->conf.tune.trimming)
		return WEFT_LB_TIMEOUT;
	return rto_max_rtt(p) > FAILED_PATH_BRTTS * p->brtt_ns ? WEFT_LB_LOSS : WEFT_LB_TIMEOUT;
}

void loss_resend(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum sent_cause cause)
{
	assert(p->inflight_bytes >= sendq_at(&p->q, psn)->wire_bytes);
	p->inflight_bytes -= sendq_at(&p->q, psn)->wire_bytes;
	sendq_lose(&p->q, psn, cause);
	if (!pds->conf.tune.go_back_n)
		return;
	p->inflight_bytes = 0;
	sendq_rewind(&p->q);
}

static enum sent_cause cause_of(enum weft_cc_loss_kind kind)
{
	switch (kind) {
	case WEFT_CC_LOSS_TRIM:
		return CAUSE_TRIM;
	case WEFT_CC_LOSS_GAP:
		return CAUSE_GAP;
	default:
		return CAUSE_RTO;
	}
}

void loss_mark(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now)
{
	loss_mark_share(pds, p, psn, kind, 0, now);
}

void loss_mark_share(struct pds *pds, struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, uint64_t share_bps,
		     weft_ns now)
{
	struct sent *s = sendq_at(&p->q, psn);
	assert(sendq_has(&p->q, psn) && s->state == SENT_INFLIGHT);
	s->timed_out = kind == WEFT_CC_LOSS_TIMEOUT;
	record_lost(pds, p, psn, kind, now);
	loss_resend(pds, p, psn, cause_of(kind));
	if (pds->credit.rcc)
		credit_tx_lost(pds, p, s, kind);
	p->cc.ops->on_loss(&p->cc, &(struct weft_cc_loss){kind, s->wire_bytes, p->inflight_bytes, share_bps}, now);
	if (kind != WEFT_CC_LOSS_TRIM)
		lb_feedback(pds, p, s->ev, likely_cause(pds, p), now);
	if (pds->conf.tune.pmtu_discovery && kind != WEFT_CC_LOSS_TRIM && s->run && s->tries && !sent_is_withdrawn(s))
		path_suspect(pds, p, s->payload_len, now);
	ready_add(pds, p);
}

static weft_ns reorder_allowance(const struct pds *pds, const struct pdc_tx *p)
{
	return pds->conf.tune.reorder_ns || pds->conf.reorder_ns > rto_max_rtt(p) ? pds->conf.reorder_ns
										  : rto_max_rtt(p);
}

/* Of a single path, as TCP takes the third duplicate ACK (RFC 5681 sec. 3.2, RFC 6675 for all gaps at once). What was
 * sent again is left to the timer. */
static void __attribute__((noinline)) loss_by_count(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	uint32_t threshold = pds->conf.tune.dup_ack_threshold;
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		if (sendq_at(&p->q, psn)->tries || sendq_acked_beyond(&p->q, psn, threshold) < threshold)
			break;
		pds->stats.lost_gap++;
		loss_mark(pds, p, psn, WEFT_CC_LOSS_GAP, now);
	}
}

/* In time rather than in packets: paths differ by their queues, and a sprayed flow has hundreds of packets in them. */
static void __attribute__((noinline)) loss_by_age(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	weft_ns allowance = reorder_allowance(pds, p);
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		if (sendq_at(&p->q, psn)->sent_at + allowance >= p->newest_acked_ns)
			break;
		pds->stats.lost_gap++;
		loss_mark(pds, p, psn, WEFT_CC_LOSS_GAP, now);
	}
}

void loss_by_gap(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (likely(!p->q.inflight.count || sendq_at(&p->q, p->q.inflight.head)->sent_at >= p->newest_acked_ns))
		return;
	if (pds->conf.tune.dup_ack_threshold)
		loss_by_count(pds, p, now);
	else
		loss_by_age(pds, p, now);
}

/* What a target refuses may be of messages that wait for an earlier one to be whole: what of that is lost goes first.
 */
static bool refused_go_first(const struct pdc_tx *p)
{
	const struct sendq *q = &p->q;
	return q->lost.count && sent_cause(sendq_at(q, sendq_psn(q, q->lost.head))) == CAUSE_NACK;
}

void loss_by_timeout(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	bool expired = false, again = false, refused = refused_go_first(p);
	uint32_t first = 0;
	while (p->q.inflight.count) {
		uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
		const struct sent *s = sendq_at(&p->q, psn);
		if (s->sent_at + rto_of(&pds->conf, p, s) > now)
			break;
		again |= s->sent_at >= p->backoff_at_ns;
		first = expired ? first : psn;
		expired = true;
		loss_mark(pds, p, psn, WEFT_CC_LOSS_TIMEOUT, now);
	}
	if (!expired)
		return;
	if (refused && !pds->conf.tune.go_back_n)
		sendq_lead(&p->q, first);
	pds->stats.timeouts++;
	if (again)
		rto_back_off(p, now);
}
