/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint.h"
#include "msg_rx.h"
#include "rma.h"
#include "rudi.h"
#include "wire_build.h"
#include "wire_echo.h"

/* What a packet is answered. */
struct answer {
	uint8_t rc;
	const uint8_t *data; /* of a READ, in the region */
	uint32_t bytes, at;  /* of `data`, and where in the message */
};

/* The response's header up to where SES begins. */
static uint8_t *build_pds(const struct out_batch *o, struct weft_pkt *pkt, const struct wire_view *v, uint8_t next_hdr)
{
	uint8_t flags = (uint8_t)((wire_hdr_flags(v->hdr) & WIRE_F_RETX) |
				  (wire_view_ecn(v) == WEFT_ECN_CE ? WIRE_F_ACK_M : 0));
	struct wire_hdr *h = (struct wire_hdr *)out_pds(o, pkt, v->outer->encap);
	uint8_t *ses = wire_build_pds((uint8_t *)h, WIRE_PDS_RUDI_RESP, next_hdr, flags);
	wire_hdr_set_psn(h, wire_hdr_psn(v->hdr));
	return ses;
}

static void send_plain(struct out_batch *o, struct weft_pkt *pkt, const struct wire_view *v, uint8_t rc, weft_ns now)
{
	const struct out_to to = {wire_view_src(v), wire_view_entropy(v), v->outer->encap};
	struct wire_echo echo = wire_echo_of(v->std);
	if (rc != WIRE_RC_OK)
		echo.length = 0;
	uint8_t *at = build_pds(o, pkt, v, WIRE_NH_RSP);
	uint8_t *end = wire_build_ses(at, WIRE_NH_RSP, rc == WIRE_RC_OK ? WIRE_RSP_DEFAULT : WIRE_RSP_RESPONSE, rc);
	wire_rsp_repeat((struct wire_rsp *)at, &echo);
	out_send_control(o, pkt, to, end, now);
}

static void send_data(struct out_batch *o, struct weft_pkt *pkt, const struct wire_view *v, const struct answer *a,
		      weft_ns now)
{
	assert(a->bytes && a->bytes < o->port->max_ip_bytes);
	const struct out_to to = {wire_view_src(v), wire_view_entropy(v), v->outer->encap};
	const struct wire_net net = out_net(o, to, WIRE_DSCP_TRIMMABLE, WEFT_ECN_ECT0);
	uint8_t *at = build_pds(o, pkt, v, WIRE_NH_RSP_DATA);
	uint8_t *end = wire_build_ses(at, WIRE_NH_RSP_DATA, WIRE_RSP_W_DATA, WIRE_RC_OK);
	struct wire_rsp_data *d = (struct wire_rsp_data *)at;
	wire_rsp_set_job_id((struct wire_rsp *)at, wire_req_job_id(v->req));
	wire_rsp_set_message_id((struct wire_rsp *)at, wire_std_message_id(v->std));
	wire_rsp_data_set_read_message_id(d, wire_std_message_id(v->std));
	wire_rsp_data_set_payload_length(d, (uint16_t)a->bytes);
	wire_rsp_data_set_modified_length(d, wire_std_request_length(v->std));
	wire_rsp_data_set_message_offset(d, a->at);
	pkt->payload = a->data;
	pkt->payload_len = (uint16_t)a->bytes;
	out_send(o, pkt, &net, end, now);
}

/* Lost when there is no packet to put it in: the initiator asks again. */
static void respond(struct ses *ses, const struct wire_view *v, const struct answer *a, weft_ns now)
{
	struct weft_pkt *pkt = pds_has_room(ses->pds) ? out_get(&ses->pds->out) : NULL;
	if (!pkt)
		ses->stats->alloc_fail++;
	else if (a->data)
		send_data(&ses->pds->out, pkt, v, a, now);
	else
		send_plain(&ses->pds->out, pkt, v, a->rc, now);
}

/* What a packet of a READ is answered: no more than our packets hold, as the initiator will ask for the rest. The first
 * of several asks for a whole Payload MTU. */
static uint32_t answer_bytes(const struct ses *ses, const struct wire_std *h)
{
	uint32_t most = ses->pds->conf.tune.payload_bytes;
	uint32_t asked = wire_req_som(&h->req) ? wire_std_request_length(h) : wire_std_payload_length(h);
	return asked < most ? asked : most;
}

/* The part of the message that a packet is about. */
static struct mr_range part_of(const struct ses *ses, const struct wire_view *v)
{
	uint32_t at = wire_req_som(v->req) ? 0 : wire_std_message_offset(v->std);
	bool reads = wire_req_opcode(v->req) == WIRE_OP_READ;
	return (struct mr_range){at, reads ? answer_bytes(ses, v->std) : v->payload_bytes};
}

/* Carries it out. Nothing but idempotent operations on regions whose key says so. */
static struct answer carry_out(struct ses *ses, const struct wire_view *v, const uint8_t *payload)
{
	struct answer a = {.rc = msg_refusal_of_header(ses, v->req)};
	const struct mr_range part = part_of(ses, v);
	const struct mr_range at = {wire_std_buffer_offset(v->std) + part.raddr, part.bytes};
	bool reads = wire_req_opcode(v->req) == WIRE_OP_READ;
	const struct weft_ep *ep = ep_find_for(ses, ep_port_of(v->req), wire_view_src(v), wire_std_initiator(v->std));
	if (a.rc)
		return a;
	if ((!reads && wire_req_opcode(v->req) != WIRE_OP_WRITE) || wire_req_hd(v->req))
		return (struct answer){.rc = WIRE_RC_UNSUPPORTED_OP};
	if (!ep)
		return (struct answer){.rc = WIRE_RC_UNDELIVERABLE};
	struct weft_mr *mr =
		mr_check(&ses->mrs, ep->scope, wire_std_match(v->std), at, reads ? WEFT_MR_READ : WEFT_MR_WRITE, &a.rc);
	if (!mr)
		return a;
	if (!(mr->attr.key & WEFT_MR_KEY_IDEMPOTENT))
		return (struct answer){.rc = WIRE_RC_PERM_VIOLATION};
	if (reads && part.bytes) {
		a = (struct answer){WIRE_RC_OK, mr_at(mr, at), (uint32_t)part.bytes, (uint32_t)part.raddr};
		return a.data ? a : (struct answer){.rc = WIRE_RC_UNSUPPORTED_SIZE}; /* in several pieces */
	}
	assert(reads ? !part.bytes : part.bytes == v->payload_bytes);
	return (struct answer){.rc = reads ? WIRE_RC_OK : mr_store(mr, at.raddr, payload, at.bytes)};
}

static bool is_sane(const struct wire_view *v)
{
	return v->ses_bytes && v->next_hdr == WIRE_NH_STD && wire_std_fits(v->std, v->payload_bytes);
}

void ses_rx_rudi_nack(struct ses *ses, const struct wire_view *v)
{
	ses->pds->stats.rx_nack++;
	switch (wire_nack_action(wire_nack_code(v->nack))) {
	case WIRE_NACK_DO_RESEND_TRIMMED:
	case WIRE_NACK_DO_RESEND_LOST:
	case WIRE_NACK_DO_RESEND:
		rudi_repeat(ses, v);
		break;
	default: /* it is repeated in time, and ends with the peer's time-out at the latest */
		break;
	}
}

void ses_rx_rudi(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now)
{
	bool trimmed = v->outer->trimmed;
	ses->stats->rx_trimmed += trimmed;
	if (v->type == WIRE_PDS_RUDI_RESP) {
		trimmed ? rudi_repeat(ses, v) : rudi_response(ses, pkt, v);
		return;
	}
	if (trimmed) {
		nack_send(ses->pds, v, 0, WIRE_NACK_TRIMMED, now);
		return;
	}
	if (!is_sane(v)) {
		ses->stats->rx_bad_ses++;
		return;
	}
	const struct answer a = carry_out(ses, v, pds_payload(pkt, v));
	ses->stats->rx_rudi++;
	ses->stats->rma_refused += a.rc != WIRE_RC_OK;
	respond(ses, v, &a, now);
}
