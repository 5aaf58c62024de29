/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl_tx.h"
#include "offer.h"

static void send(struct pds *pds, struct pdc_tx *p, struct out_to to, uint8_t ctl, uint16_t opaque, uint32_t payload,
		 weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return;
	struct wire_control c = {.ctl = ctl,
				 .flags = ctl == WIRE_CTL_PROBE ? WIRE_F_AR : 0,
				 .opaque = opaque,
				 .spdcid = p->pdc.id,
				 .dpdcid = p->state == PDC_TX_SYN ? 0 : p->remote_id,
				 .payload = payload};
	if (p->state == PDC_TX_SYN) { /* a request for credit opens the connection */
		c.flags |= WIRE_F_SYN;
		c.psn = p->start_psn;
	} else if (ctl == WIRE_CTL_ACK_REQ) {
		c.psn = p->q.una - 1;
	} else if (ctl == WIRE_CTL_CREDIT_REQ && pds->credit.sched) {
		c.psn = p->q.nxt; /* so that a refusal tells what it refuses, see nack_rx */
	}
	const uint8_t *end = wire_build_control(out_pds(&pds->out, pkt, p->pdc.encap), &c);
	out_send_control(&pds->out, pkt, to, end, now);
	pds->stats.tx_ctrl++;
}

void ctl_send(struct pds *pds, struct pdc_tx *p, uint8_t ctl, uint16_t opaque, uint32_t payload, weft_ns now)
{
	send(pds, p, pdc_tx_way(p, p->lb.ops->pick(&p->lb, p->q.nxt, now)), ctl, opaque, payload, now);
}

void ctl_send_by(struct pds *pds, struct pdc_tx *p, uint16_t opaque, uint16_t ev, weft_ns now)
{
	send(pds, p, pdc_tx_way(p, ev), WIRE_CTL_PROBE, opaque, p->cack_psn, now);
}

void ctl_send_probe(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	p->probe_sent_ns = now;
	p->probe_opaque = (p->probe_opaque + 1) & (OFFER_OPAQUE - 1);
	ctl_send(pds, p, WIRE_CTL_PROBE, p->probe_opaque, p->cack_psn, now);
	pds->stats.probes++;
}

/* A trailer is computed from bytes that are there. */
static const uint8_t *padding(uint8_t encap)
{
	static const uint8_t zeros[8192 + WEFT_PKT_HEAD_MAX];
	return encap & WIRE_ENCAP_CRC ? zeros : NULL;
}

void ctl_send_padded(struct pds *pds, struct pdc_tx *p, uint16_t opaque, uint16_t payload_bytes, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return;
	assert(p->state == PDC_TX_OPEN);
	const struct wire_control c = {.ctl = WIRE_CTL_PROBE,
				       .flags = WIRE_F_AR,
				       .opaque = opaque,
				       .spdcid = p->pdc.id,
				       .dpdcid = p->remote_id,
				       .payload = p->cack_psn};
	const uint8_t *end = wire_build_control(out_pds(&pds->out, pkt, p->pdc.encap), &c);
	const struct wire_net net = out_net(&pds->out, pdc_tx_way(p, p->lb.ops->pick(&p->lb, p->q.nxt, now)),
					    WIRE_DSCP_CONTROL, WEFT_ECN_NOT);
	uint32_t full_bytes = pds_ip_bytes(pds, p->pdc.encap) + payload_bytes;
	pkt->payload = padding(p->pdc.encap);
	pkt->payload_len = (uint16_t)(full_bytes - (uint32_t)(end - pkt->head) - wire_trailer_bytes(p->pdc.encap));
	out_send(&pds->out, pkt, &net, end, now);
	pds->stats.tx_ctrl++;
}
