/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl_tx.h"

void ctl_send(struct pds *pds, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return;
	struct wire_pkt *w = &pds->out.control;
	w->net.dst = p->ip;
	w->net.entropy = p->lb.ops->pick(&p->lb, p->q.nxt, now);
	w->pds = (struct wire_pds){.type = WIRE_PDS_CP,
				   .ctl = ctl,
				   .flags = ctl == WIRE_CTL_PROBE ? WIRE_F_AR : 0,
				   .opaque = opaque,
				   .spdcid = p->pdc.id,
				   .dpdcid = p->remote_id,
				   .payload = payload};
	if (p->state == PDC_TX_SYN) { /* a request for credit opens the connection */
		w->pds.flags |= WIRE_F_SYN;
		w->pds.psn = p->start_psn;
	} else if (ctl == WIRE_CTL_CREDIT_REQ && pds->credit.sched) {
		w->pds.psn = p->q.nxt; /* so that a refusal tells what it refuses, see nack_rx */
	}
	out_send_control(&pds->out, pkt, now);
	pds->stats.tx_ctrl++;
}
