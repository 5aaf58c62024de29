/* SPDX-License-Identifier: BSD-3-Clause */
#include "plain_pkt.h"

#include <string.h>

#include "wire_build.h"
#include "wire_check.h"

/* ---- decode ---- */

static void get_ids(const struct wire_hdr *h, bool syn, struct plain_pds *d)
{
	d->spdcid = wire_hdr_spdcid(h);
	if (syn) {
		d->use_rsv_pdc = wire_hdr_use_rsv_pdc(h);
		d->psn_offset = wire_hdr_psn_offset(h);
	} else {
		d->dpdcid = wire_hdr_dpdcid(h);
	}
}

static void get_vendor(const uint8_t *b, unsigned words, struct plain_pds *d)
{
	for (unsigned i = 0; i < words; i++)
		d->ccx[i] = wire_load(b + 8 * i, 8);
}

static void get_ack_cc(const struct wire_ack_cc *a, struct plain_pds *d)
{
	d->cc_type = wire_ack_cc_cc_type(a);
	d->cc_flags = wire_ack_cc_cc_flags(a);
	d->mpr = wire_ack_cc_mpr(a);
	d->sack_offset = wire_ack_cc_sack_offset(a);
	d->sack_bitmap = wire_ack_cc_sack_bitmap(a);
	if (d->type == WIRE_PDS_ACK_CCX) {
		get_vendor(((const struct wire_ack_ccx *)a)->vendor, 2, d);
		return;
	}
	if (d->cc_type > WIRE_CC_CREDIT) {
		get_vendor(a->vendor, 1, d);
		return;
	}
	d->ooo_count = wire_ack_cc_ooo_count(a);
	if (d->cc_type == WIRE_CC_CREDIT) {
		d->credit = wire_ack_cc_credit(a);
		return;
	}
	d->service_time = wire_ack_cc_service_time(a);
	d->rc = wire_ack_cc_rc(a);
	d->rcv_cwnd_pend = wire_ack_cc_rcv_cwnd_pend(a);
	d->rcvd_bytes = wire_ack_cc_rcvd_bytes(a);
}

static void get_ack(const struct wire_view *v, struct plain_pds *d)
{
	if (wire_hdr_p(v->hdr))
		d->opaque = wire_hdr_opaque(v->hdr);
	else
		d->offset = wire_hdr_ack_offset(v->hdr);
	get_ids(v->hdr, false, d);
	if (d->type != WIRE_PDS_ACK)
		get_ack_cc(v->ack_cc, d);
}

static void get_request(const struct wire_view *v, struct plain_pds *d)
{
	d->offset = wire_hdr_clear_offset(v->hdr);
	get_ids(v->hdr, wire_hdr_syn(v->hdr), d);
	if (d->type == WIRE_PDS_RUD_CC_REQ || d->type == WIRE_PDS_ROD_CC_REQ) {
		d->ccc_id = wire_request_cc_ccc_id(v->request_cc);
		d->credit = wire_request_cc_credit_target(v->request_cc);
	}
}

static void get_nack(const struct wire_view *v, struct plain_pds *d)
{
	d->code = wire_nack_code(v->nack);
	d->vendor_code = wire_nack_vendor_code(v->nack);
	d->payload = wire_nack_payload(v->nack);
	get_ids(v->hdr, false, d);
	if (d->type == WIRE_PDS_NACK_CCX)
		get_vendor(v->nack_ccx->vendor, 2, d);
}

static void get_cp(const struct wire_view *v, struct plain_pds *d)
{
	d->next_hdr = WIRE_NH_NONE;
	d->ctl = wire_hdr_ctl(v->hdr);
	d->opaque = wire_hdr_opaque(v->hdr);
	d->payload = wire_cp_payload(v->cp);
	get_ids(v->hdr, wire_hdr_syn(v->hdr), d);
}

static void get_pds(const struct wire_view *v, struct plain_pds *d)
{
	*d = (struct plain_pds){
		.type = wire_hdr_type(v->hdr), .next_hdr = wire_hdr_next_hdr(v->hdr), .flags = wire_hdr_flags(v->hdr)};
	if (d->type != WIRE_PDS_UUD_REQ)
		d->psn = wire_hdr_psn(v->hdr);
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		get_request(v, d);
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		get_ack(v, d);
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		get_nack(v, d);
		break;
	case WIRE_PDS_CP:
		get_cp(v, d);
		break;
	}
}

static void get_std(const struct wire_std *b, struct plain_ses *s)
{
	s->message_id = wire_std_message_id(b);
	s->buffer_offset = wire_std_buffer_offset(b);
	s->initiator = wire_std_initiator(b);
	s->match = wire_std_match(b);
	s->request_length = wire_std_request_length(b);
	if (wire_req_som(&b->req)) {
		s->header_data = wire_std_header_data(b);
	} else {
		s->payload_length = wire_std_payload_length(b);
		s->message_offset = wire_std_message_offset(b);
	}
}

static void get_medium(const struct wire_medium *b, struct plain_ses *s)
{
	s->payload_length = s->request_length = wire_medium_length(b);
	s->initiator = wire_medium_initiator(b);
	s->match = wire_medium_match(b);
	if (wire_req_hd(&b->req))
		s->header_data = wire_medium_header_data(b);
	else
		s->buffer_offset = wire_medium_buffer_offset(b);
}

static void get_extension(const uint8_t *ext, uint32_t bytes, uint8_t opcode, struct plain_ses *s)
{
	const struct wire_amo *a = (const struct wire_amo *)ext;
	const struct wire_rndv *r = (const struct wire_rndv *)ext;

	if (opcode == WIRE_OP_RENDEZVOUS_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND) {
		s->rndv_eager_length = wire_rndv_eager_length(r);
		s->rndv_ri_generation = wire_rndv_ri_generation(r);
		s->rndv_pid_on_fep = wire_rndv_pid_on_fep(r);
		s->rndv_resource_index = wire_rndv_resource_index(r);
		s->rndv_offset = wire_rndv_offset(r);
		s->rndv_match = wire_rndv_match(r);
		return;
	}
	s->amo_opcode = wire_amo_opcode(a);
	s->amo_datatype = wire_amo_datatype(a);
	s->amo_control = wire_amo_control(a);
	for (unsigned i = 0; bytes == sizeof *a && i < 2; i++) {
		s->amo_compare[i] = wire_load(a->compare + 8 * i, 8);
		s->amo_swap[i] = wire_load(a->swap + 8 * i, 8);
	}
}

static void get_requested(const struct wire_view *v, uint8_t form, struct plain_ses *s)
{
	uint32_t bytes = wire_ses_bytes(form);

	s->opcode = wire_req_opcode(v->req);
	s->version = wire_req_version(v->req);
	s->flags = wire_req_flags(v->req);
	s->ri_generation = wire_req_ri_generation(v->req);
	s->job_id = wire_req_job_id(v->req);
	s->pid_on_fep = wire_req_pid_on_fep(v->req);
	s->resource_index = wire_req_resource_index(v->req);
	if (form == WIRE_NH_STD) {
		get_std(v->std, s);
	} else if (form == WIRE_NH_MEDIUM) {
		get_medium(v->medium, s);
	} else {
		s->payload_length = s->request_length = wire_small_length(v->small);
		s->buffer_offset = wire_small_buffer_offset(v->small);
	}
	if (v->ses_bytes > bytes)
		get_extension(v->ses + bytes, v->ses_bytes - bytes, s->opcode, s);
}

static void get_response(const struct wire_view *v, uint8_t form, struct plain_ses *s)
{
	s->list = wire_rsp_list(v->rsp);
	s->opcode = wire_rsp_opcode(v->rsp);
	s->version = wire_rsp_version(v->rsp);
	s->return_code = wire_rsp_return_code(v->rsp);
	s->job_id = wire_rsp_job_id(v->rsp);
	if (form == WIRE_NH_RSP_DATA_SMALL) {
		s->payload_length = wire_rsp_payload_length(v->rsp);
		s->original_psn = wire_rsp_small_original_psn(v->rsp_small);
		return;
	}
	s->message_id = wire_rsp_message_id(v->rsp);
	if (form == WIRE_NH_RSP) {
		s->ri_generation = wire_rsp_ri_generation(v->rsp);
		s->modified_length = wire_rsp_modified_length(v->rsp);
		return;
	}
	s->read_message_id = wire_rsp_data_read_message_id(v->rsp_data);
	s->payload_length = wire_rsp_data_payload_length(v->rsp_data);
	s->modified_length = wire_rsp_data_modified_length(v->rsp_data);
	s->message_offset = wire_rsp_data_message_offset(v->rsp_data);
}

void plain_of(const struct wire_view *v, const struct wire_rules *rules, struct plain_pkt *p)
{
	bool v4 = v->ip[0] >> 4 == 4;
	uint16_t dst_port = v->outer->native ? 0 : (uint16_t)wire_load(v->entropy + 2, 2);

	memset(p, 0, sizeof *p);
	p->net = (struct wire_net){.src = *wire_view_src(v),
				   .dst_port = dst_port,
				   .entropy = wire_view_entropy(v),
				   .dscp = wire_view_dscp(v),
				   .ecn = wire_view_ecn(v),
				   .native = v->outer->native,
				   .crc = v->outer->crc};
	if (v4)
		p->net.dst = weft_ip_v4((uint32_t)wire_load(v->ip + 16, 4));
	else
		memcpy(p->net.dst.b, v->ip + 24, sizeof p->net.dst.b);
	get_pds(v, &p->pds);
	p->header_bytes = (uint16_t)v->header_bytes;
	p->payload_bytes = (uint16_t)v->payload_bytes;
	p->trimmed = v->outer->trimmed;
	p->has_ses = v->ses_bytes > 0;
	if (p->has_ses && p->pds.next_hdr >= WIRE_NH_RSP)
		get_response(v, p->pds.next_hdr, &p->ses);
	else if (p->has_ses)
		get_requested(v, p->pds.next_hdr, &p->ses);
}

enum wire_error plain_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			     struct plain_pkt *p)
{
	struct wire_rules rules;
	struct wire_view v;

	wire_rules_init(&rules, udp_port, require_crc);
	enum wire_error error = wire_check(&rules, buf, (uint32_t)len, (uint32_t)more, &v);
	if (error == WIRE_OK)
		plain_of(&v, &rules, p);
	return error;
}

/* ---- encode: `bad` gathers what does not fit ---- */

#define SET(hdr, to, field, value)                                                                                     \
	do {                                                                                                           \
		bad |= WIRE_BITS_##hdr##_##field < 64 && (uint64_t)(value) >> (WIRE_BITS_##hdr##_##field & 63);        \
		if (!bad)                                                                                              \
			wire_##hdr##_set_##field(to, value);                                                           \
	} while (0)

static bool put_ids(struct wire_hdr *h, bool syn, const struct plain_pds *d)
{
	bool bad = false;

	wire_hdr_set_spdcid(h, d->spdcid);
	if (!syn) {
		wire_hdr_set_dpdcid(h, d->dpdcid);
		return false;
	}
	SET(hdr, h, use_rsv_pdc, d->use_rsv_pdc);
	SET(hdr, h, psn_offset, d->psn_offset);
	return bad;
}

static void put_vendor(uint8_t *b, unsigned words, const struct plain_pds *d)
{
	for (unsigned i = 0; i < words; i++)
		wire_store(b + 8 * i, 8, d->ccx[i]);
}

static bool put_ack_cc(struct wire_ack_cc *a, const struct plain_pds *d)
{
	bool bad = false;

	SET(ack_cc, a, cc_type, d->cc_type);
	SET(ack_cc, a, cc_flags, d->cc_flags);
	wire_ack_cc_set_mpr(a, d->mpr);
	wire_ack_cc_set_sack_offset(a, d->sack_offset);
	wire_ack_cc_set_sack_bitmap(a, d->sack_bitmap);
	if (d->type == WIRE_PDS_ACK_CCX) {
		put_vendor(((struct wire_ack_ccx *)a)->vendor, 2, d);
	} else if (d->cc_type > WIRE_CC_CREDIT) {
		put_vendor(a->vendor, 1, d);
	} else if (d->cc_type == WIRE_CC_CREDIT) {
		SET(ack_cc, a, credit, d->credit);
		wire_ack_cc_set_ooo_count(a, d->ooo_count);
	} else {
		wire_ack_cc_set_service_time(a, d->service_time);
		SET(ack_cc, a, rc, d->rc);
		SET(ack_cc, a, rcv_cwnd_pend, d->rcv_cwnd_pend);
		SET(ack_cc, a, rcvd_bytes, d->rcvd_bytes);
		wire_ack_cc_set_ooo_count(a, d->ooo_count);
	}
	return bad;
}

static bool put_request(struct wire_request_cc *r, const struct plain_pds *d)
{
	bool bad = put_ids(&r->hdr, d->flags & WIRE_F_SYN, d);

	wire_hdr_set_clear_offset(&r->hdr, d->offset);
	if (d->type == WIRE_PDS_RUD_CC_REQ || d->type == WIRE_PDS_ROD_CC_REQ) {
		wire_request_cc_set_ccc_id(r, d->ccc_id);
		SET(request_cc, r, credit_target, d->credit);
	}
	return bad;
}

static bool put_ack(struct wire_ack_cc *a, const struct plain_pds *d)
{
	if (d->flags & WIRE_F_ACK_P)
		wire_hdr_set_opaque(&a->hdr, d->opaque);
	else
		wire_hdr_set_ack_offset(&a->hdr, d->offset);
	bool bad = put_ids(&a->hdr, false, d);
	return (d->type != WIRE_PDS_ACK && put_ack_cc(a, d)) || bad;
}

static void put_nack(struct wire_nack_ccx *n, const struct plain_pds *d)
{
	put_ids(&n->nack.hdr, false, d);
	wire_nack_set_code(&n->nack, d->code);
	wire_nack_set_vendor_code(&n->nack, d->vendor_code);
	wire_nack_set_payload(&n->nack, d->payload);
	if (d->type == WIRE_PDS_NACK_CCX)
		put_vendor(n->vendor, 2, d);
}

static bool put_cp(struct wire_cp *c, const struct plain_pds *d)
{
	wire_hdr_set_opaque(&c->hdr, d->opaque);
	wire_cp_set_payload(c, d->payload);
	return put_ids(&c->hdr, d->flags & WIRE_F_SYN, d);
}

static bool put_pds(uint8_t *at, const struct plain_pds *d)
{
	if (d->type != WIRE_PDS_UUD_REQ)
		wire_hdr_set_psn((struct wire_hdr *)at, d->psn);
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		return put_request((struct wire_request_cc *)at, d);
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		return put_ack((struct wire_ack_cc *)at, d);
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		put_nack((struct wire_nack_ccx *)at, d);
		return false;
	case WIRE_PDS_CP:
		return put_cp((struct wire_cp *)at, d);
	default:
		return false;
	}
}

static bool put_std(struct wire_std *b, const struct plain_ses *s)
{
	bool bad = false;

	wire_std_set_message_id(b, s->message_id);
	wire_std_set_buffer_offset(b, s->buffer_offset);
	wire_std_set_initiator(b, s->initiator);
	wire_std_set_match(b, s->match);
	wire_std_set_request_length(b, s->request_length);
	if (s->flags & WIRE_SES_SOM) {
		wire_std_set_header_data(b, s->header_data);
	} else {
		SET(std, b, payload_length, s->payload_length);
		wire_std_set_message_offset(b, s->message_offset);
	}
	return bad;
}

static bool put_medium(struct wire_medium *b, const struct plain_ses *s)
{
	bool bad = false;

	SET(medium, b, length, s->request_length);
	wire_medium_set_initiator(b, s->initiator);
	wire_medium_set_match(b, s->match);
	wire_medium_set_header_data(b, s->flags & WIRE_SES_HD ? s->header_data : s->buffer_offset);
	return bad;
}

static bool put_small(struct wire_small *b, const struct plain_ses *s)
{
	bool bad = false;

	SET(small, b, length, s->request_length);
	wire_small_set_buffer_offset(b, s->buffer_offset);
	return bad;
}

static bool put_req(struct wire_req *r, const struct plain_ses *s)
{
	bool bad = false;

	SET(req, r, opcode, s->opcode);
	SET(req, r, version, s->version);
	SET(req, r, flags, s->flags);
	wire_req_set_ri_generation(r, s->ri_generation);
	SET(req, r, job_id, s->job_id);
	SET(req, r, pid_on_fep, s->pid_on_fep);
	SET(req, r, resource_index, s->resource_index);
	return bad;
}

static bool put_response(uint8_t *at, uint8_t form, const struct plain_ses *s)
{
	struct wire_rsp *r = (struct wire_rsp *)at;
	struct wire_rsp_data *data = (struct wire_rsp_data *)at;
	bool bad = false;

	SET(rsp, r, list, s->list);
	SET(rsp, r, opcode, s->opcode);
	SET(rsp, r, version, s->version);
	SET(rsp, r, return_code, s->return_code);
	SET(rsp, r, job_id, s->job_id);
	if (form == WIRE_NH_RSP_DATA_SMALL) {
		SET(rsp, r, payload_length, s->payload_length);
		wire_rsp_small_set_original_psn((struct wire_rsp_small *)at, s->original_psn);
		return bad;
	}
	wire_rsp_set_message_id(r, s->message_id);
	if (form == WIRE_NH_RSP) {
		wire_rsp_set_ri_generation(r, s->ri_generation);
		wire_rsp_set_modified_length(r, s->modified_length);
		return bad;
	}
	wire_rsp_data_set_read_message_id(data, s->read_message_id);
	SET(rsp_data, data, payload_length, s->payload_length);
	wire_rsp_data_set_modified_length(data, s->modified_length);
	wire_rsp_data_set_message_offset(data, s->message_offset);
	return bad;
}

static bool put_ses(uint8_t *at, uint8_t form, const struct plain_ses *s)
{
	if (form >= WIRE_NH_RSP)
		return put_response(at, form, s);
	bool bad = put_req((struct wire_req *)at, s);
	if (form == WIRE_NH_STD)
		return put_std((struct wire_std *)at, s) | bad;
	if (form == WIRE_NH_MEDIUM)
		return put_medium((struct wire_medium *)at, s) | bad;
	return put_small((struct wire_small *)at, s) | bad;
}

static uint32_t put_rndv(struct wire_rndv *r, const struct plain_ses *s)
{
	bool bad = false;

	memset(r, 0, sizeof *r);
	wire_rndv_set_eager_length(r, s->rndv_eager_length);
	wire_rndv_set_ri_generation(r, s->rndv_ri_generation);
	SET(rndv, r, pid_on_fep, s->rndv_pid_on_fep);
	SET(rndv, r, resource_index, s->rndv_resource_index);
	wire_rndv_set_offset(r, s->rndv_offset);
	wire_rndv_set_match(r, s->rndv_match);
	return bad ? UINT32_MAX : sizeof *r;
}

static uint32_t put_amo(struct wire_amo *a, const struct plain_ses *s)
{
	bool operands = s->amo_opcode >= 0x0d && s->amo_opcode <= 0x13;

	wire_store(a, WIRE_AMO_BYTES, 0);
	wire_amo_set_opcode(a, s->amo_opcode);
	wire_amo_set_datatype(a, s->amo_datatype);
	wire_amo_set_control(a, s->amo_control);
	for (unsigned i = 0; operands && i < 2; i++) {
		wire_store(a->compare + 8 * i, 8, s->amo_compare[i]);
		wire_store(a->swap + 8 * i, 8, s->amo_swap[i]);
	}
	return operands ? sizeof *a : WIRE_AMO_BYTES;
}

/* Bytes; UINT32_MAX: a field does not fit. */
static uint32_t put_extension(uint8_t *at, uint8_t form, const struct plain_ses *s)
{
	bool announces = s->opcode == WIRE_OP_RENDEZVOUS_SEND || s->opcode == WIRE_OP_RENDEZVOUS_TSEND;

	if (form < WIRE_NH_SMALL || form > WIRE_NH_STD || s->opcode > 63 || !wire_op_extends(s->opcode) ||
	    (announces && form != WIRE_NH_STD))
		return 0;
	return announces ? put_rndv((struct wire_rndv *)at, s) : put_amo((struct wire_amo *)at, s);
}

static bool net_fits(const struct wire_net *net, uint32_t bytes)
{
	bool v4 = weft_ip_is_v4(&net->src);
	uint32_t ip_bytes = wire_net_bytes(net) + bytes + (net->crc ? 4 : 0) - (v4 ? 0 : 40);

	return v4 == weft_ip_is_v4(&net->dst) && net->dscp < 64 && net->ecn < 4 && ip_bytes <= UINT16_MAX;
}

size_t plain_encode(const struct plain_pkt *p, uint8_t *buf)
{
	const struct plain_pds *d = &p->pds;
	bool cp = d->type == WIRE_PDS_CP;
	uint8_t form = cp ? WIRE_NH_NONE : d->next_hdr, nibble = cp ? d->ctl : d->next_hdr;
	uint8_t *pds = buf + wire_net_bytes(&p->net);

	if (!wire_pds_bytes(d->type) || d->type > 31 || nibble > 15 || d->flags > 0x7f ||
	    (form && !wire_ses_bytes(form)))
		return 0;
	uint8_t *at = wire_build_pds(pds, d->type, nibble, d->flags);
	bool bad = put_pds(pds, d);
	if (form) {
		uint8_t *ses = at;
		at = wire_build_ses(ses, form, 0, 0);
		bad |= put_ses(ses, form, &p->ses);
		uint32_t ext = put_extension(at, form, &p->ses);
		bad |= ext == UINT32_MAX;
		at += bad ? 0 : ext;
	}
	uint32_t bytes = (uint32_t)(at - pds) + p->payload_bytes;
	if (bad || !net_fits(&p->net, bytes))
		return 0;
	struct wire_net net = p->net;
	if (net.native)
		net.dst_port = 0;
	wire_build_net(buf, &net, bytes);
	return (size_t)(at - buf);
}
