/* SPDX-License-Identifier: BSD-3-Clause */
#include "random_pkt.h"

#include <string.h>

static uint64_t bits(struct rng *r, unsigned n)
{
	return rng_next(r) >> (64 - n);
}

static void random_net(struct rng *r, struct wire_net *net)
{
	bool v4 = bits(r, 1);

	for (unsigned i = 0; i < 16; i++) {
		net->src.b[i] = (uint8_t)bits(r, 8);
		net->dst.b[i] = (uint8_t)bits(r, 8);
	}
	net->src.b[0] = net->dst.b[0] = 0x20;
	if (v4) {
		net->src = weft_ip_v4((uint32_t)bits(r, 32));
		net->dst = weft_ip_v4((uint32_t)bits(r, 32));
	}
	net->entropy = (uint16_t)bits(r, 16);
	net->native = (uint8_t)bits(r, 1);
	net->dst_port = net->native ? 0 : WIRE_UDP_PORT;
	do
		net->dscp = (uint8_t)bits(r, 6);
	while (net->dscp == WIRE_DSCP_TRIMMED || net->dscp == WIRE_DSCP_TRIMMED_LASTHOP);
	net->ecn = (uint8_t)bits(r, 2);
	net->crc = (uint8_t)bits(r, 1);
}

static void random_peer(struct rng *r, struct plain_pds *d)
{
	d->spdcid = (uint16_t)bits(r, 16);
	if (d->flags & WIRE_F_SYN) {
		d->use_rsv_pdc = (uint8_t)bits(r, 1);
		d->psn_offset = (uint16_t)bits(r, 12);
	} else {
		d->dpdcid = (uint16_t)bits(r, 16);
	}
}

static void random_cc_state(struct rng *r, struct plain_pds *d)
{
	d->cc_type = (uint8_t)(bits(r, 1) ? bits(r, 1) : bits(r, 4));
	d->cc_flags = (uint8_t)bits(r, 4);
	d->mpr = (uint8_t)bits(r, 8);
	d->sack_offset = (int16_t)bits(r, 16);
	d->sack_bitmap = rng_next(r);
	if (d->type == WIRE_PDS_ACK_CCX || d->cc_type > WIRE_CC_CREDIT) {
		d->ccx[0] = rng_next(r);
		d->ccx[1] = d->type == WIRE_PDS_ACK_CCX ? rng_next(r) : 0;
		return;
	}
	d->ooo_count = (uint16_t)bits(r, 16);
	if (d->cc_type == WIRE_CC_CREDIT) {
		d->credit = (uint32_t)bits(r, 24);
		return;
	}
	d->service_time = (uint16_t)bits(r, 16);
	d->rc = (uint8_t)bits(r, 1);
	d->rcv_cwnd_pend = (uint8_t)bits(r, 7);
	d->rcvd_bytes = (uint32_t)bits(r, 24);
}

static void random_ack(struct rng *r, struct plain_pds *d)
{
	if (d->flags & WIRE_F_ACK_P)
		d->opaque = (uint16_t)bits(r, 16);
	else
		d->offset = (int16_t)bits(r, 16);
	d->spdcid = (uint16_t)bits(r, 16);
	d->dpdcid = (uint16_t)bits(r, 16);
	if (d->type != WIRE_PDS_ACK)
		random_cc_state(r, d);
}

static void random_nack(struct rng *r, struct plain_pds *d)
{
	d->code = (uint8_t)bits(r, 8);
	d->vendor_code = (uint8_t)bits(r, 8);
	d->spdcid = (uint16_t)bits(r, 16);
	d->dpdcid = (uint16_t)bits(r, 16);
	d->payload = (uint32_t)bits(r, 32);
	if (d->type == WIRE_PDS_NACK_CCX) {
		d->ccx[0] = rng_next(r);
		d->ccx[1] = rng_next(r);
	}
}

static void random_pds(struct rng *r, struct plain_pds *d)
{
	d->flags = (uint8_t)bits(r, 7);
	if (d->type != WIRE_PDS_UUD_REQ)
		d->psn = (uint32_t)bits(r, 32);
	switch (d->type) {
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		d->ccc_id = (uint8_t)bits(r, 8);
		d->credit = (uint32_t)bits(r, 24);
		/* fall through */
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
		d->offset = (int16_t)bits(r, 16);
		random_peer(r, d);
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		random_ack(r, d);
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		random_nack(r, d);
		break;
	case WIRE_PDS_CP:
		d->ctl = (uint8_t)bits(r, 4);
		d->opaque = (uint16_t)bits(r, 16);
		d->payload = (uint32_t)bits(r, 32);
		random_peer(r, d);
		break;
	}
}

static void random_extension(struct rng *r, unsigned ext, struct plain_ses *s)
{
	static const uint8_t ops[4][2] = {{WIRE_OP_SEND, WIRE_OP_WRITE},
					  {WIRE_OP_ATOMIC, WIRE_OP_FETCHING_ATOMIC},
					  {WIRE_OP_FETCHING_ATOMIC, WIRE_OP_TSEND_FETCH_ATOMIC},
					  {WIRE_OP_RENDEZVOUS_SEND, WIRE_OP_RENDEZVOUS_TSEND}};

	s->opcode = ops[ext][bits(r, 1)];
	if (ext == 1 || ext == 2) {
		s->amo_opcode = (uint8_t)(ext == 1 ? bits(r, 3) : 0x0d + rng_below(r, 7));
		s->amo_datatype = (uint8_t)bits(r, 8);
		s->amo_control = (uint8_t)bits(r, 8);
	}
	for (unsigned i = 0; ext == 2 && i < 2; i++) {
		s->amo_compare[i] = rng_next(r);
		s->amo_swap[i] = rng_next(r);
	}
	if (ext == 3) {
		s->rndv_eager_length = (uint32_t)bits(r, 32);
		s->rndv_ri_generation = (uint8_t)bits(r, 8);
		s->rndv_pid_on_fep = (uint16_t)bits(r, 12);
		s->rndv_resource_index = (uint16_t)bits(r, 12);
		s->rndv_offset = rng_next(r);
		s->rndv_match = rng_next(r);
	}
}

static void random_request(struct rng *r, uint8_t form, unsigned ext, struct plain_ses *s)
{
	random_extension(r, ext, s);
	s->flags = (uint8_t)bits(r, 6);
	s->ri_generation = (uint8_t)bits(r, 8);
	s->pid_on_fep = (uint16_t)bits(r, 12);
	s->resource_index = (uint16_t)bits(r, 12);
	if (form == WIRE_NH_MEDIUM && s->flags & WIRE_SES_HD)
		s->header_data = rng_next(r);
	else
		s->buffer_offset = rng_next(r);
	if (form != WIRE_NH_SMALL) {
		s->initiator = (uint32_t)bits(r, 32);
		s->match = rng_next(r);
	}
	if (form != WIRE_NH_STD) {
		s->request_length = s->payload_length = (uint32_t)bits(r, 14);
		return;
	}
	s->message_id = (uint16_t)bits(r, 16);
	s->request_length = (uint32_t)bits(r, 32);
	if (s->flags & WIRE_SES_SOM) {
		s->header_data = rng_next(r);
	} else {
		s->payload_length = (uint32_t)bits(r, 14);
		s->message_offset = (uint32_t)bits(r, 32);
	}
}

static void random_response(struct rng *r, uint8_t form, struct plain_ses *s)
{
	s->opcode = (uint8_t)bits(r, 6);
	s->list = (uint8_t)bits(r, 2);
	s->return_code = (uint8_t)bits(r, 6);
	if (form == WIRE_NH_RSP_DATA_SMALL) {
		s->payload_length = (uint32_t)bits(r, 14);
		s->original_psn = (uint32_t)bits(r, 32);
		return;
	}
	s->message_id = (uint16_t)bits(r, 16);
	s->modified_length = (uint32_t)bits(r, 32);
	if (form == WIRE_NH_RSP) {
		s->ri_generation = (uint8_t)bits(r, 8);
		return;
	}
	s->read_message_id = (uint16_t)bits(r, 16);
	s->payload_length = (uint32_t)bits(r, 14);
	s->message_offset = (uint32_t)bits(r, 32);
}

void random_pkt(struct rng *r, uint8_t type, uint8_t next_hdr, unsigned ext, struct plain_pkt *p)
{
	memset(p, 0, sizeof *p);
	random_net(r, &p->net);
	p->pds.type = type;
	p->pds.next_hdr = type == WIRE_PDS_CP ? WIRE_NH_NONE : next_hdr;
	random_pds(r, &p->pds);
	p->payload_bytes = (uint16_t)rng_below(r, 300);
	p->has_ses = p->pds.next_hdr != WIRE_NH_NONE;
	if (!p->has_ses)
		return;
	p->ses.version = (uint8_t)bits(r, 2);
	p->ses.job_id = (uint32_t)bits(r, 24);
	if (next_hdr <= WIRE_NH_STD)
		random_request(r, next_hdr, ext, &p->ses);
	else
		random_response(r, next_hdr, &p->ses);
}
