/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx_msg.h"

#include <string.h>

#include "rma.h"
#include "wire_build.h"

/* Bytes of the message that a packet stands for. */
static uint32_t piece_of(const struct tx_msg *m, const struct sent *s)
{
	uint32_t left = m->run.bytes - s->offset;
	assert(s->offset <= m->run.bytes);
	if (!m->run.ask_bytes)
		return s->payload_len;
	return left < m->run.ask_bytes ? left : m->run.ask_bytes;
}

/* A request's header, of an opcode without extension so far; returns its end. */
static uint8_t *build_message(const struct tx_msg *m, const struct sent *s, struct wire_std *h)
{
	uint32_t piece = piece_of(m, s);
	bool som = s->offset == 0, eom = s->offset + piece == m->run.bytes;
	uint8_t opcode = m->kind == WEFT_OP_TSEND ? WIRE_OP_TAGGED_SEND : WIRE_OP_SEND;
	uint8_t flags = WIRE_SES_REL | (som ? WIRE_SES_SOM : 0) | (eom ? WIRE_SES_EOM : 0) |
			(som && m->has_data ? WIRE_SES_HD : 0);
	uint8_t *end = wire_build_ses((uint8_t *)h, WIRE_NH_STD, opcode, flags);
	wire_std_set_message_id(h, m->message_id);
	wire_req_set_job_id(&h->req, m->job_id);
	wire_req_set_ri_generation(&h->req, m->generation);
	wire_req_set_pid_on_fep(&h->req, m->dst_port >> 4);
	wire_req_set_resource_index(&h->req, m->dst_port & 15);
	wire_std_set_initiator(h, m->src_port);
	wire_std_set_match(h, m->tag);
	wire_std_set_request_length(h, m->run.bytes);
	if (som) {
		wire_std_set_header_data(h, m->data);
	} else {
		wire_std_set_payload_length(h, (uint16_t)piece);
		wire_std_set_message_offset(h, s->offset);
	}
	return end;
}

static uint8_t *build_answer(const struct tx_msg *m, const struct sent *s, uint8_t *at)
{
	struct wire_rsp *h = (struct wire_rsp *)at;
	struct wire_rsp_data *d = (struct wire_rsp_data *)at;
	uint8_t *end = wire_build_ses(at, WIRE_NH_RSP_DATA, WIRE_RSP_W_DATA, m->rma->rc);
	wire_rsp_set_job_id(h, m->rma->job_id);
	wire_rsp_set_message_id(h, m->message_id);
	wire_rsp_data_set_read_message_id(d, m->message_id);
	wire_rsp_data_set_payload_length(d, s->payload_len);
	wire_rsp_data_set_modified_length(d, m->rma->length);
	wire_rsp_data_set_message_offset(d, m->rma->at + s->offset);
	return end;
}

/* The message's own header says it is to be fetched. */
static uint8_t *build_announcement(const struct tx_msg *m, struct wire_rndv *n)
{
	memset(n, 0, sizeof *n);
	wire_rndv_set_ri_generation(n, RMA_GEN_MESSAGE);
	wire_rndv_set_pid_on_fep(n, m->src_port >> 4);
	wire_rndv_set_resource_index(n, m->src_port & 15);
	wire_rndv_set_match(n, m->rma->token);
	return (uint8_t *)(n + 1);
}

/* Makes a request of a message's header; returns its end. */
static uint8_t *build_request(const struct tx_msg *m, struct wire_std *h, uint8_t *end)
{
	const struct tx_rma *r = m->rma;
	wire_req_set_opcode(&h->req, r->opcode);
	wire_std_set_request_length(h, r->length);
	if (r->role == RMA_ANNOUNCE)
		return build_announcement(m, (struct wire_rndv *)end);
	wire_std_set_match(h, r->key);
	wire_std_set_buffer_offset(h, r->raddr);
	wire_req_set_ri_generation(&h->req, r->generation);
	if (r->delivered)
		wire_req_set_dc(&h->req, 1);
	if (r->opcode == WIRE_OP_ATOMIC || r->opcode == WIRE_OP_FETCHING_ATOMIC)
		return rma_amo_build(&r->amo, m->run.bytes, h);
	return end;
}

/* Message ids count up in the order messages start (matching needs it); 0 is none. */
static uint16_t next_message_id(struct pdc_tx *p)
{
	p->user = p->user == UINT16_MAX ? 1 : p->user + 1;
	return p->user;
}

uint8_t *tx_msg_header(struct pdc_tx *p, struct tx_run *run, const struct sent *s, uint8_t *at, uint8_t *next_hdr)
{
	struct tx_msg *m = tx_msg_of(run);
	struct wire_std *h = (struct wire_std *)at;
	bool is_answer = m->rma && m->rma->role == RMA_ANSWER;
	if (!is_answer && !s->offset && !s->tries)
		m->message_id = next_message_id(p);
	*next_hdr = is_answer ? WIRE_NH_RSP_DATA : WIRE_NH_STD;
	if (is_answer)
		return build_answer(m, s, at);
	assert(m->message_id);
	uint8_t *end = build_message(m, s, h);
	return m->rma ? build_request(m, h, end) : end;
}
