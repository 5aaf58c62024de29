/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx_msg.h"

#include "rma.h"

static void fill_message(const struct tx_msg *m, const struct sent *s, struct wire_ses *h)
{
	bool som = s->offset == 0, eom = s->offset + s->payload_len == m->run.bytes;
	h->opcode = m->kind == WEFT_OP_TSEND ? WIRE_OP_TAGGED_SEND : WIRE_OP_SEND;
	h->flags = (uint8_t)(WIRE_SES_REL | (som ? WIRE_SES_SOM : 0) | (eom ? WIRE_SES_EOM : 0) |
			     (som && m->has_data ? WIRE_SES_HD : 0));
	h->message_id = m->message_id;
	h->pid_on_fep = m->dst_port >> 4;
	h->resource_index = m->dst_port & 15;
	h->job_id = 0;
	h->ri_generation = 0;
	h->buffer_offset = 0;
	h->initiator = m->src_port;
	h->match = m->tag;
	h->header_data = m->data;
	h->payload_length = s->payload_len;
	h->message_offset = s->offset;
	h->request_length = m->run.bytes;
}

static void fill_answer(const struct tx_msg *m, const struct sent *s, struct wire_ses *h)
{
	*h = (struct wire_ses){.opcode = WIRE_RSP_W_DATA,
			       .return_code = m->rma->rc,
			       .job_id = m->rma->job_id,
			       .message_id = m->message_id,
			       .read_message_id = m->message_id,
			       .payload_length = s->payload_len,
			       .message_offset = s->offset};
}

static void fill_request(const struct tx_msg *m, struct wire_ses *h)
{
	const struct tx_rma *r = m->rma;
	h->opcode = r->opcode;
	h->request_length = r->length;
	if (r->role == RMA_ANNOUNCE) {
		h->rndv_eager_length = 0;
		h->rndv_ri_generation = RMA_GEN_MESSAGE;
		h->rndv_pid_on_fep = m->src_port >> 4;
		h->rndv_resource_index = m->src_port & 15;
		h->rndv_offset = 0;
		h->rndv_match = r->token;
		return;
	}
	h->match = r->key;
	h->buffer_offset = r->raddr;
	h->ri_generation = r->generation;
	h->job_id = r->token & RMA_JOB_ID;
	if (r->delivered)
		h->flags |= WIRE_SES_DC;
	if (r->opcode == WIRE_OP_ATOMIC || r->opcode == WIRE_OP_FETCHING_ATOMIC)
		rma_amo_ses(&r->amo, m->run.bytes, h);
}

/* Message ids count up in the order messages start (matching needs it); 0 is none. */
static uint16_t next_message_id(struct pdc_tx *p)
{
	p->user = p->user == UINT16_MAX ? 1 : p->user + 1;
	return p->user;
}

void tx_msg_header(struct pdc_tx *p, struct tx_run *run, const struct sent *s, struct wire_pkt *w)
{
	struct tx_msg *m = tx_msg_of(run);
	if (!run->is_response && !s->offset && !s->tries)
		m->message_id = next_message_id(p);
	if (run->is_response) {
		w->pds.next_hdr = WIRE_NH_RSP_DATA;
		fill_answer(m, s, &w->ses);
		return;
	}
	assert(m->message_id);
	fill_message(m, s, &w->ses);
	if (m->rma)
		fill_request(m, &w->ses);
}
