/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator learns what the target did not take: for each NACK code the action of UE 1.0 sec. 3.5
 * (wire_nack_action). */
#include <errno.h>

#include "loss.h"
#include "pdc_tx.h"
#include "ready.h"
#include "record.h"
#include "wire_check.h"

enum { RESOURCE_HOLD_BRTTS = 4, RESOURCE_DOUBLINGS_MAX = 5 };

static enum weft_lb_fb trim_feedback(const struct wire_view *v)
{
	if (wire_nack_code(v->nack) == WIRE_NACK_TRIMMED)
		return WEFT_LB_TRIM;
	return wire_hdr_flags(v->hdr) & WIRE_F_ACK_M
		       ? WEFT_LB_CE
		       : WEFT_LB_OK; /* the last hop is no fault of the path (UE 1.0 sec. 3.6) */
}

/* What the target says of its link. */
static uint64_t trim_share_bps(const struct pds *pds, const struct pdc_tx *p, const struct wire_view *v)
{
	bool says = wire_nack_code(v->nack) == WIRE_NACK_TRIMMED_LASTHOP && pdc_tx_heeds_share(pds, p);
	return says ? wire_share_bps(wire_nack_vendor_code(v->nack)) : 0;
}

static void resend_trimmed(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	p->remote->trimmed_pkts++;
	lb_feedback(pds, p, wire_view_entropy(v), trim_feedback(v), now);
	loss_mark_share(pds, p, wire_hdr_psn(v->hdr), WEFT_CC_LOSS_TRIM, trim_share_bps(pds, p, v), now);
}

static void resend_lost(struct pds *pds, struct pdc_tx *p, uint32_t psn, weft_ns now)
{
	pds->stats.lost_gap++;
	loss_mark(pds, p, psn, WEFT_CC_LOSS_GAP, now);
}

static void resend(struct pds *pds, struct pdc_tx *p, uint32_t psn, weft_ns hold_until)
{
	p->hold_until_ns = hold_until;
	loss_resend(pds, p, psn, CAUSE_NACK);
	ready_add(pds, p);
}

/* What a target had no resources for again and again is sent less and less often. */
static uint32_t resource_doublings(const struct sent *s)
{
	uint32_t tries = sent_is_withdrawn(s) ? 0 : s->tries; /* a withdrawal waits for a place that is soon free */
	return tries < RESOURCE_DOUBLINGS_MAX ? tries : RESOURCE_DOUBLINGS_MAX;
}

/* The packet must be sent again. A NACK for an earlier transmission than the one in flight is stale. */
static void refused(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, enum wire_nack_action action,
		    weft_ns now)
{
	uint32_t psn = wire_hdr_psn(v->hdr);
	const struct sent *s = sendq_at(&p->q, psn);
	if (s->state != SENT_INFLIGHT || (s->tries != 0) != !!(wire_hdr_flags(v->hdr) & WIRE_F_RETX))
		pds->stats.rx_stale++;
	else if (action == WIRE_NACK_DO_RESEND_TRIMMED)
		resend_trimmed(pds, p, v, now);
	else if (action == WIRE_NACK_DO_RESEND_LOST)
		resend_lost(pds, p, psn, now);
	else if (action == WIRE_NACK_DO_RESEND)
		resend(pds, p, psn, p->hold_until_ns);
	else
		resend(pds, p, psn, now + (RESOURCE_HOLD_BRTTS * p->brtt_ns << resource_doublings(s)));
}

/* A packet arrived before its turn, so the first one not acknowledged is lost (UE 1.0 sec. 3.5, ROD). */
static void go_back(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	const struct sent *s = sendq_at(&p->q, wire_hdr_psn(v->hdr)), *first = sendq_at(&p->q, p->q.una);
	bool current = s->state == SENT_INFLIGHT && (s->tries != 0) == !!(wire_hdr_flags(v->hdr) & WIRE_F_RETX);
	if (!pds->conf.tune.go_back_n || !current || s == first || first->state != SENT_INFLIGHT)
		pds->stats.rx_stale++;
	else
		resend_lost(pds, p, p->q.una, now);
}

/* The target has forgotten us. Messages of which it never acknowledged anything start over on a new connection; in the
 * middle of one nobody can know what was delivered. */
static void restart(struct pds *pds, struct pdc_tx *p, bool may, weft_ns now)
{
	if (p->state == PDC_TX_CLOSING)
		pdc_tx_closed(pds, p, now);
	else if (!may || p->heard || !pdc_tx_restart(pds, p, now))
		pdc_tx_fail(pds, p, ECONNRESET);
}

static void renumber(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	if (!pdc_tx_renumber(pds, p, wire_nack_payload(v->nack), now))
		restart(pds, p, true, now);
}

static void act(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, enum wire_nack_action action, weft_ns now)
{
	switch (action) {
	case WIRE_NACK_DO_GO_BACK:
		go_back(pds, p, v, now);
		break;
	case WIRE_NACK_DO_RENUMBER:
		renumber(pds, p, v, now);
		break;
	case WIRE_NACK_DO_RESTART:
	case WIRE_NACK_DO_FAIL:
		restart(pds, p, action == WIRE_NACK_DO_RESTART, now);
		break;
	case WIRE_NACK_DO_WAIT:
		break;
	case WIRE_NACK_DO_NOTHING:
		pds->stats.rx_stale++;
		break;
	default:
		refused(pds, p, v, action, now);
	}
}

/* Whether it may be about a connection's request for credit, which has the PSN of the next packet. */
static bool concerns_request(const struct pds *pds, const struct pdc_tx *p, enum wire_nack_action action)
{
	bool ends = action == WIRE_NACK_DO_RESTART || action == WIRE_NACK_DO_FAIL;
	return action == WIRE_NACK_DO_RENUMBER ? p->state == PDC_TX_SYN && pds->credit.rcc : ends && pds->credit.sched;
}

/* A target that knows no PROBE gets no more of them: ACKs tell the base RTT as well, later. A PROBE has PSN 0. */
static bool is_refused_probe(const struct pdc_tx *p, const struct wire_view *v)
{
	return wire_nack_code(v->nack) == WIRE_NACK_UNEXP_EVENT && !wire_hdr_psn(v->hdr) && !sendq_has(&p->q, 0);
}

void pds_rx_nack(struct pds *pds, const struct wire_view *v, weft_ns now)
{
	struct pdc_tx *p = pdc_tx_of(&pds->ids, v);
	enum wire_nack_action action = wire_nack_action(wire_nack_code(v->nack));
	pds->stats.rx_nack++;
	if (p && is_refused_probe(p, v)) {
		p->probe_sent_ns = WEFT_NEVER;
		p->probes_refused = true;
		return;
	}
	bool of_request = p && wire_hdr_psn(v->hdr) == p->q.nxt && concerns_request(pds, p, action);
	bool ours = p && (of_request || sendq_has(&p->q, wire_hdr_psn(v->hdr)));
	if (!ours || (wire_hdr_spdcid(v->hdr) && !pdc_tx_learn_target(p, v))) {
		pds->stats.rx_stale++;
		return;
	}
	p->last_heard_ns = now;
	record_nack(pds, v, p->pdc.id, wire_nack_code(v->nack), false, now);
	act(pds, p, v, action, now);
}
