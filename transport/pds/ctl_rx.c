/* SPDX-License-Identifier: BSD-3-Clause */
/* Control packets that arrive, at either end. */
#include <errno.h>

#include "ack_tx.h"
#include "credit_rx.h"
#include "credit_tx.h"
#include "pdc_rx.h"
#include "pdc_tx.h"
#include "record.h"

/* Outside of the window there is nothing to note. */
static void refuse_window(struct pds *pds, const struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_window++;
	nack_send(pds, v, p->pdc.id, WIRE_NACK_PSN_OOR_WINDOW, now);
}

/* Control packets that use a PSN: NOOP, NEGOTIATION, CLOSE_CMD, CLOSE_REQ. */
static void take_sequenced(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *v,
			   weft_ns now)
{
	if (!rxwin_takes(&p->win, &pds->win, wire_hdr_psn(v->hdr))) {
		refuse_window(pds, p, v, now);
		return;
	}
	if (p->given_up && wire_hdr_ctl(v->hdr) == WIRE_CTL_NOOP) {
		nack_send(pds, v, p->pdc.id, WIRE_NACK_CLOSING_IN_ERR, now);
		return;
	}
	if (!rxwin_has(&p->win, &pds->win, wire_hdr_psn(v->hdr))) {
		if (!rxwin_reserve(&p->win, &pds->win, wire_hdr_psn(v->hdr)))
			return; /* it comes again */
		pdc_rx_mark(pds, p, wire_hdr_psn(v->hdr));
		if (wire_hdr_ctl(v->hdr) == WIRE_CTL_CLOSE_CMD && !p->pdc.is_return)
			pdc_rx_shut(pds, p, ECONNRESET, now);
	}
	const struct arrival a = read_arrival(pkt, v);
	pdc_rx_trigger(p, &a);
	ack_at_once(pds, p, now);
}

static void close_asked(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *v,
			weft_ns now)
{
	struct pdc_tx *asked = p->other;
	take_sequenced(pds, p, pkt, v, now);
	pdc_tx_close_asked(pds, asked, now);
}

static void take_ack_request(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *v,
			     weft_ns now)
{
	if (rxwin_takes(&p->win, &pds->win, wire_hdr_psn(v->hdr)) &&
	    rxwin_has(&p->win, &pds->win, wire_hdr_psn(v->hdr))) {
		const struct arrival a = read_arrival(pkt, v);
		pdc_rx_trigger(p, &a);
		ack_at_once(pds, p, now);
	} else {
		nack_send(pds, v, p->pdc.id, WIRE_NACK_PKT_NOT_RCVD, now);
	}
}

/* A target's first packet in its own direction may be a request to close. */
static bool may_begin(const struct pds *pds, const struct wire_view *v)
{
	if (wire_hdr_ctl(v->hdr) == WIRE_CTL_CLOSE_REQ)
		return !(wire_hdr_flags(v->hdr) & WIRE_F_SYN);
	return pds->credit.sched && wire_hdr_ctl(v->hdr) == WIRE_CTL_CREDIT_REQ;
}

void pds_rx_control(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_ctrl++;
	if (wire_hdr_ctl(v->hdr) == WIRE_CTL_CREDIT) {
		credit_tx_granted(pds, v, now);
		return;
	}
	bool may_accept = may_begin(pds, v);
	struct pdc_rx *p = pdc_rx_find(pds, v, may_accept, now);
	if (!p) {
		pds->stats.rx_no_pdc++;
		if (wire_hdr_ctl(v->hdr) == WIRE_CTL_CLOSE_CMD || wire_hdr_ctl(v->hdr) == WIRE_CTL_NOOP)
			nack_send(pds, v, 0, WIRE_NACK_INV_DPDCID, now);
		return;
	}
	p->last_heard_ns = now;
	record_arrival(pds, p, v, WEFT_EVENT_CONTROL, now);
	switch (wire_hdr_ctl(v->hdr)) {
	case WIRE_CTL_NOOP:
	case WIRE_CTL_NEGOTIATION:
	case WIRE_CTL_CLOSE_CMD:
		take_sequenced(pds, p, pkt, v, now);
		break;
	case WIRE_CTL_CLOSE_REQ:
		if (p->pdc.is_return && p->other)
			close_asked(pds, p, pkt, v, now);
		break;
	case WIRE_CTL_ACK_REQ:
		take_ack_request(pds, p, pkt, v, now);
		break;
	case WIRE_CTL_CLEAR_CMD:
		rxwin_clear(&p->win, wire_cp_payload(v->cp));
		break;
	case WIRE_CTL_PROBE:
		ack_send_probe_answer(pds, p, pkt, v, now);
		break;
	case WIRE_CTL_CREDIT_REQ:
		credit_rx_request(pds, p, v, now);
		break;
	default: /* nothing we ever ask for */
		break;
	}
}
