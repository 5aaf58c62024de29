/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of requests on peers' memory, and of announced messages: what they add to a tx_msg from its
 * submission to its completion, and the answers that arrive for them. */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

enum { TABLE_ROOM_MIN = 64, TABLE_ROOM_MAX = RMA_TOKEN_INDEX + 1 };

/* ---- the table of those that wait for somebody ---- */

static bool table_grow(struct weft_engine *e)
{
	struct rma_table *t = &e->asks;
	uint32_t room = t->room ? t->room * 2 : TABLE_ROOM_MIN;
	if (room > TABLE_ROOM_MAX)
		return false;
	struct tx_msg **msgs = weft_mem_alloc(&e->mem, room * sizeof(struct tx_msg *));
	if (!msgs)
		return false;
	if (t->msgs)
		memcpy(msgs, t->msgs, t->room * sizeof(struct tx_msg *));
	weft_mem_free(&e->mem, t->msgs);
	t->msgs = msgs;
	t->room = room;
	return true;
}

static uint32_t token_index(const struct weft_engine *e, uint64_t token)
{
	return (token ^ e->asks.salt) & RMA_TOKEN_INDEX;
}

/* Indices are handed out in turn, and the rest is random: an answer that comes late finds nobody, and nobody guesses
 * the token of a message. */
static bool token_take(struct weft_engine *e, struct tx_msg *m)
{
	struct rma_table *t = &e->asks;
	if (t->count >= t->room / 2 && !table_grow(e) && t->count + 1 >= t->room)
		return false;
	do
		t->cursor = (t->cursor + 1) & (t->room - 1);
	while (!t->cursor || t->msgs[t->cursor]);
	t->msgs[t->cursor] = m;
	t->count++;
	m->rma->token = (rng_next(&e->rng) & ~(uint64_t)RMA_TOKEN_INDEX) | (t->cursor ^ t->salt);
	return true;
}

static void token_put(struct weft_engine *e, uint64_t token)
{
	e->asks.msgs[token_index(e, token)] = NULL;
	e->asks.count--;
}

/* The message whose token agrees in the bits of `mask`. */
static struct tx_msg *token_find(const struct weft_engine *e, uint64_t token, uint64_t mask)
{
	uint32_t i = token_index(e, token);
	struct tx_msg *m = i < e->asks.room ? e->asks.msgs[i] : NULL;
	return m && !((m->rma->token ^ token) & mask) ? m : NULL;
}

struct tx_msg *rma_announced(const struct weft_engine *e, const struct weft_ip *ip, uint64_t token)
{
	struct tx_msg *m = token_find(e, token, UINT64_MAX);
	bool ours = m && m->rma->role == RMA_ANNOUNCE && weft_ip_eq(&m->rma->pdc->ip, ip);
	return ours && !m->err && !m->rma->answered && !m->rma->mate ? m : NULL;
}

void rma_fini(struct weft_engine *e)
{
	weft_mem_free(&e->mem, e->asks.msgs);
	pool_fini(&e->tx_rmas);
	pool_fini(&e->rx_rmas);
	mrs_fini(e);
}

/* ---- from submission to packets ---- */

static uint8_t role_of(uint8_t kind)
{
	switch (kind) {
	case WEFT_OP_READ:
	case WEFT_OP_FETCH_ATOMIC:
		return RMA_ASK;
	case WEFT_OP_SEND:
	case WEFT_OP_TSEND:
		return RMA_ANNOUNCE;
	default:
		return RMA_REQUEST;
	}
}

static uint8_t opcode_of(uint8_t kind)
{
	switch (kind) {
	case WEFT_OP_SEND:
		return WIRE_OP_RENDEZVOUS_SEND;
	case WEFT_OP_TSEND:
		return WIRE_OP_RENDEZVOUS_TSEND;
	case WEFT_OP_READ:
		return WIRE_OP_READ;
	case WEFT_OP_ATOMIC:
		return WIRE_OP_ATOMIC;
	case WEFT_OP_FETCH_ATOMIC:
		return WIRE_OP_FETCHING_ATOMIC;
	default:
		return WIRE_OP_WRITE;
	}
}

static void fill_atomic(struct tx_rma *r, struct tx_msg *m, const struct weft_op *op)
{
	m->bytes = rma_amo_fill(&r->amo, op);
	if (r->role != RMA_ASK)
		return;
	r->buf = op->atomic->result;
	r->sink = op->sink;
	r->sink_arg = op->sink_arg;
	r->answer_bytes = r->length;
}

/* The buffer of a READ is where its answer goes. That of an announced message stays at hand for the answer. */
static void fill(struct tx_rma *r, struct pdc_tx *p, struct tx_msg *m, const struct weft_op *op)
{
	*r = (struct tx_rma){.pdc = p,
			     .role = role_of(op->kind),
			     .opcode = opcode_of(op->kind),
			     .delivered = op->flags & WEFT_OP_DELIVERED,
			     .raddr = op->raddr,
			     .key = op->rkey,
			     .length = (uint32_t)op->len};
	if (op->kind == WEFT_OP_READ) {
		r->buf = op->buf;
		r->sink = op->sink;
		r->sink_arg = op->sink_arg;
		r->answer_bytes = r->length;
		m->buf = NULL;
	}
	if (op->kind == WEFT_OP_READ || r->role == RMA_ANNOUNCE)
		m->bytes = 0;
	if (op->kind == WEFT_OP_ATOMIC || op->kind == WEFT_OP_FETCH_ATOMIC)
		fill_atomic(r, m, op);
}

bool rma_tx_attach(struct weft_engine *e, struct pdc_tx *p, struct tx_msg *m, const struct weft_op *op)
{
	struct tx_rma *r = m->rma = pool_get(&e->tx_rmas);
	if (!r) {
		e->stats.alloc_fail++;
		return false;
	}
	fill(r, p, m, op);
	if (r->role != RMA_ASK && r->role != RMA_ANNOUNCE)
		return true;
	if (!token_take(e, m)) {
		e->stats.alloc_fail++;
		pool_put(&e->tx_rmas, r);
		return false;
	}
	p->awaiting++;
	return true;
}

static void ses_answer(const struct tx_msg *m, const struct sent *s, struct wire_ses *ses)
{
	*ses = (struct wire_ses){.opcode = WIRE_RSP_W_DATA,
				 .return_code = m->rma->rc,
				 .job_id = m->rma->job_id,
				 .message_id = m->message_id,
				 .read_message_id = m->message_id,
				 .payload_length = s->payload_len,
				 .message_offset = s->offset};
}

static void ses_request(const struct tx_msg *m, struct wire_ses *ses)
{
	const struct tx_rma *r = m->rma;
	ses->opcode = r->opcode;
	ses->request_length = r->length;
	if (r->role == RMA_ANNOUNCE) {
		ses->rndv_eager_length = 0;
		ses->rndv_ri_generation = RMA_GEN_MESSAGE;
		ses->rndv_pid_on_fep = m->src_port >> 4;
		ses->rndv_resource_index = m->src_port & 15;
		ses->rndv_offset = 0;
		ses->rndv_match = r->token;
		return;
	}
	ses->match = r->key;
	ses->buffer_offset = r->raddr;
	ses->ri_generation = r->generation;
	ses->job_id = r->token & RMA_JOB_ID;
	if (r->delivered)
		ses->flags |= WIRE_SES_DC;
	if (r->opcode == WIRE_OP_ATOMIC || r->opcode == WIRE_OP_FETCHING_ATOMIC)
		rma_amo_ses(&r->amo, m->bytes, ses);
}

void rma_tx_ses(const struct tx_msg *m, const struct sent *s, struct wire_pkt *w)
{
	if (m->rma->role == RMA_ANSWER) {
		w->pds.next_hdr = WIRE_NH_RSP_DATA;
		ses_answer(m, s, &w->ses);
		return;
	}
	msg_tx_ses(m, s, &w->ses);
	ses_request(m, &w->ses);
}

/* ---- completion ---- */

/* The target does what it got in order, so whatever comes behind something that is not there yet may wait. */
static bool earlier_acked(const struct tx_msg *m)
{
	const struct list *head = &m->rma->pdc->msgs;
	for (const struct list *l = m->link.prev; l != head; l = l->prev) {
		const struct tx_msg *before = list_entry(l, struct tx_msg, link);
		if (before->unacked_pkts || !before->cut)
			return false;
	}
	return true;
}

void rma_tx_acked(struct weft_engine *e, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	if (r->role == RMA_REQUEST && r->delivered && !m->err && !earlier_acked(m)) {
		r->held = true;
		r->pdc->held++;
		return;
	}
	bool ended = r->role == RMA_REQUEST || r->role == RMA_ANSWER || r->answered || m->err;
	if (ended && !(r->role == RMA_ANNOUNCE && r->mate))
		msg_tx_complete(e, m);
}

void rma_tx_release(struct weft_engine *e, struct pdc_tx *p)
{
	list_for_each_safe (l, &p->msgs) {
		struct tx_msg *m = list_entry(l, struct tx_msg, link);
		if (!p->held || m->unacked_pkts || !m->cut)
			return;
		if (m->rma && m->rma->held)
			msg_tx_complete(e, m);
	}
}

/* Our part of a fetched message is done when the receiver has all it wanted. */
static void answer_end(struct weft_engine *e, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	struct tx_msg *announced = r->mate;
	e->answers--;
	if (r->event && !m->err)
		ep_complete(e, m->ep, r->event, &r->cqe);
	else if (r->event)
		pool_put(&e->cqe_nodes, r->event);
	if (!announced)
		return;
	announced->rma->mate = NULL;
	announced->rma->answered |= !m->err;
	if (announced->rma->answered && announced->cut && !announced->unacked_pkts)
		msg_tx_complete(e, announced);
}

void rma_tx_end(struct weft_engine *e, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	if (r->held)
		r->pdc->held--;
	if (r->token) {
		token_put(e, r->token);
		r->pdc->awaiting--;
	}
	if (r->role == RMA_ANSWER)
		answer_end(e, m);
	else if (r->mate)
		r->mate->rma->mate = NULL;
	if (r->fetch)
		msg_rx_fetched(e, r->fetch, m->err);
	pool_put(&e->tx_rmas, r);
	m->rma = NULL;
}

int rma_errno(uint8_t return_code)
{
	switch (return_code) {
	case WIRE_RC_UNDELIVERABLE:
		return EHOSTUNREACH;
	case WIRE_RC_BAD_MKEY:
	case WIRE_RC_PERM_VIOLATION:
	case WIRE_RC_AT_PERM:
		return EACCES;
	case WIRE_RC_AT_OUT_OF_RANGE:
	case WIRE_RC_BAD_ADDR:
		return ERANGE;
	case WIRE_RC_UNSUPPORTED_OP:
	case WIRE_RC_AMO_UNSUPPORTED_OP:
	case WIRE_RC_AMO_UNSUPPORTED_DT:
	case WIRE_RC_AMO_UNSUPPORTED_SIZE:
		return EOPNOTSUPP;
	default:
		return EIO;
	}
}

/* The answer to an ASK is not wanted any more, but its operands are. What is being fetched from an announced message
 * comes from the copy. ANSWERs are no memory of the endpoint's. */
bool rma_tx_detach(struct weft_engine *e, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	m->ep = NULL;
	r->buf = NULL;
	r->sink = NULL;
	uint32_t bytes = r->role == RMA_ANNOUNCE ? r->length : m->bytes;
	if (r->role == RMA_ANSWER || !m->buf || !bytes)
		return true; /* answers are not sent from what belongs to an endpoint */
	m->copy = weft_mem_alloc(&e->mem, bytes);
	if (!m->copy)
		return false;
	memcpy(m->copy, m->buf, bytes);
	if (e->out_refused)
		engine_forget(e, m->buf, bytes);
	if (r->mate)
		r->mate->buf = m->copy + (r->mate->buf - m->buf);
	m->buf = m->copy;
	return true;
}

/* ---- answers ---- */

/* The request this is about; NULL: it has ended, or never was. */
static struct tx_msg *asker(const struct weft_engine *e, const struct pdc_rx *p, const struct wire_ses *ses)
{
	struct tx_msg *m = token_find(e, ses->job_id, RMA_JOB_ID);
	bool ours = m && m->rma->role == RMA_ASK && m->message_id && m->message_id == ses->read_message_id &&
		    weft_ip_eq(&m->rma->pdc->ip, &p->ip);
	return ours && !m->err && !m->rma->answered ? m : NULL;
}

static void place(const struct tx_rma *r, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	if (r->fetch)
		msg_rx_place(r->fetch, offset, payload, len);
	else if (r->sink)
		r->sink(r->sink_arg, offset, payload, len);
	else if (r->buf && payload && len)
		memcpy((uint8_t *)r->buf + offset, payload, len);
}

static bool take(struct tx_msg *m, const struct wire_pkt *w, const uint8_t *payload)
{
	struct tx_rma *r = m->rma;
	uint64_t offset = w->ses.message_offset, len = w->payload_bytes;
	if (w->ses.return_code != WIRE_RC_OK) {
		m->err = rma_errno(w->ses.return_code);
		r->answered = true;
		return true;
	}
	if (offset + len > r->answer_bytes || len > r->answer_bytes - r->answered_bytes || (!len && r->answer_bytes))
		return false;
	place(r, (uint32_t)offset, payload, (uint32_t)len);
	r->answered_bytes += (uint32_t)len;
	r->answered = r->answered_bytes == r->answer_bytes;
	return true;
}

void rma_answer_rx(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, const uint8_t *payload)
{
	struct tx_msg *m = asker(e, p, &w->ses);
	if (!m || !take(m, w, payload)) {
		e->stats.rma_stale++;
		return;
	}
	struct pdc_tx *tx = m->rma->pdc;
	if (!m->rma->answered || m->unacked_pkts || !m->cut)
		return;
	msg_tx_complete(e, m);
	pdc_tx_settle(e, tx, e->now_ns);
}
