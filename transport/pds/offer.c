/* SPDX-License-Identifier: BSD-3-Clause */
#include "offer.h"
#include "ctl_tx.h"

enum { TRIES = 3 };

static const uint8_t name[16] = "weft"; /* OFFER_NAME: zeros follow */

void offer_make(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct remote *r = p->remote;
	if (p->speaks_weft || p->probes_refused || r->offers == TRIES) {
		p->chores &= (uint8_t)~CHORE_OFFER;
		return;
	}
	if (now < r->offer_at_ns)
		return;
	r->offers++;
	r->offer_at_ns = now + pds->conf.rto_ns;
	ctl_send(pds, p, WIRE_CTL_PROBE, OFFER_OPAQUE, p->cack_psn, now);
}

void offer_answered(struct pdc_tx *p, const struct wire_view *v)
{
	p->chores &= (uint8_t)~CHORE_OFFER;
	if (v->type == WIRE_PDS_ACK_CCX && wire_ack_cc_cc_type(v->ack_cc) == WIRE_CC_VENDOR_E &&
	    !memcmp(v->ack_ccx->vendor, name, sizeof name)) {
		p->speaks_weft = p->remote->is_weft = true;
		p->remote->offers = 0;
	}
}

void offer_heard(struct pds *pds, struct pdc_rx *p)
{
	struct remote *r = pds_remote(pds, &p->ip);
	p->speaks_weft = true;
	if (r)
		r->is_weft = true;
}

void offer_fill_answer(struct wire_ack_ccx *ack)
{
	assert(wire_hdr_type(&ack->hdr) == WIRE_PDS_ACK_CCX);
	wire_ack_cc_set_cc_type((struct wire_ack_cc *)ack, WIRE_CC_VENDOR_E);
	memcpy(ack->vendor, name, sizeof name);
}
