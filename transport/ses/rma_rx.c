/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of requests on our memory. Large writes are placed as their packets come; everything else is
 * executed as a whole in its turn, when all earlier messages of the connection are here and all earlier requests have
 * been executed. Each packet is checked against the region as it is then. */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

static bool is_atomic(uint8_t opcode)
{
	return opcode == WIRE_OP_ATOMIC || opcode == WIRE_OP_FETCHING_ATOMIC;
}

bool rma_is_request(uint8_t opcode)
{
	return opcode == WIRE_OP_WRITE || opcode == WIRE_OP_READ || is_atomic(opcode);
}

static uint8_t access_of(uint8_t opcode, const struct amo_request *q)
{
	if (is_atomic(opcode))
		return rma_amo_access(q, opcode == WIRE_OP_FETCHING_ATOMIC);
	return opcode == WIRE_OP_READ ? WEFT_MR_READ : WEFT_MR_WRITE;
}

static bool is_fetch(const struct rx_rma *r)
{
	return r->opcode == WIRE_OP_READ && r->generation == RMA_GEN_MESSAGE;
}

static uint8_t check_fetch(const struct weft_engine *e, const struct weft_ip *from, const struct wire_ses *ses)
{
	const struct tx_msg *m = rma_announced(e, from, ses->match);
	if (!m)
		return WIRE_RC_BAD_MKEY;
	uint32_t length = m->rma->length;
	bool fits = ses->buffer_offset <= length && ses->request_length <= length - ses->buffer_offset;
	return fits ? WIRE_RC_OK : WIRE_RC_AT_OUT_OF_RANGE;
}

uint8_t rma_rx_sane(const struct wire_pkt *w)
{
	uint8_t rc = is_atomic(w->ses.opcode) ? rma_amo_check(w) : WIRE_RC_OK;
	return w->ses.opcode == WIRE_OP_READ && w->payload_bytes ? WIRE_RC_INITIATOR_ERROR : rc;
}

/* Bytes of memory that a request is about. */
static uint32_t length_of(const struct wire_ses *ses)
{
	return is_atomic(ses->opcode) ? rma_amo_length(ses) : ses->request_length;
}

uint8_t rma_rx_check(struct weft_engine *e, const struct weft_ep *ep, const struct weft_ip *from,
		     const struct wire_ses *ses)
{
	uint8_t rc = WIRE_RC_UNDELIVERABLE;
	if (ses->opcode == WIRE_OP_READ && ses->ri_generation == RMA_GEN_MESSAGE)
		rc = check_fetch(e, from, ses);
	else if (ep)
		mr_check(e, ep->scope, ses->match, (struct mr_range){ses->buffer_offset, length_of(ses)},
			 access_of(ses->opcode, &(struct amo_request){.opcode = ses->amo_opcode}), &rc);
	e->stats.rma_refused += rc != WIRE_RC_OK;
	return rc;
}

static struct weft_mr *region(struct weft_engine *e, const struct rx_msg *m, struct mr_range range, uint8_t *rc)
{
	const struct rx_rma *r = m->rma;
	*rc = WIRE_RC_BAD_MKEY;
	struct weft_mr *mr = m->ep ? mr_check(e, m->ep->scope, r->key, range, access_of(r->opcode, &r->amo), rc) : NULL;
	if (mr && mr->serial == r->serial)
		return mr;
	if (mr)
		*rc = WIRE_RC_BAD_MKEY;
	e->stats.rma_refused++;
	return NULL;
}

static uint64_t serial_of(const struct weft_engine *e, const struct weft_ep *ep, const struct wire_ses *ses)
{
	uint8_t rc;
	const struct weft_mr *mr =
		ep ? mr_check(e, ep->scope, ses->match, (struct mr_range){ses->buffer_offset, length_of(ses)}, 0, &rc)
		   : NULL;
	return mr ? mr->serial : 0;
}

bool rma_rx_attach(struct weft_engine *e, struct rx_msg *m, const struct wire_pkt *w)
{
	const struct wire_ses *ses = &w->ses;
	struct rx_rma *r = m->rma = pool_get(&e->rx_rmas);
	if (!r)
		return false;
	*r = (struct rx_rma){.opcode = ses->opcode,
			     .generation = ses->ri_generation,
			     .raddr = ses->buffer_offset,
			     .key = ses->match,
			     .length = length_of(ses),
			     .job_id = ses->job_id};
	if (!rma_is_request(ses->opcode)) {
		r->announced = true;
		r->announcer = (uint16_t)(ses->rndv_pid_on_fep << 4 | (ses->rndv_resource_index & 15));
		r->generation = ses->rndv_ri_generation;
		r->raddr = ses->rndv_offset;
		r->key = ses->rndv_match;
		return true;
	}
	r->serial = serial_of(e, m->ep, ses);
	r->ordered = ses->opcode != WIRE_OP_WRITE || r->length <= WEFT_RMA_ORDERED_BYTES;
	m->bytes = ses->opcode == WIRE_OP_READ ? 0 : r->length;
	if (!is_atomic(ses->opcode))
		return true;
	rma_amo_take(&r->amo, ses);
	m->bytes = w->payload_bytes;
	return true;
}

void rma_rx_end(struct weft_engine *e, struct rx_msg *m)
{
	struct rx_rma *r = m->rma;
	if (r->event)
		pool_put(&e->cqe_nodes, r->event);
	if (r->ask)
		r->ask->rma->fetch = NULL;
	pool_put(&e->rx_rmas, r);
	m->rma = NULL;
}

/* ---- packets ---- */

static bool wants_event(const struct rx_msg *m, const struct weft_mr *mr)
{
	return m->ep && (m->has_data || m->ep->events || (mr && mr->attr.access & WEFT_MR_EVENTS));
}

/* What the end of a write needs is there before its bytes are taken. */
static bool event_reserve(struct weft_engine *e, struct rx_msg *m, const struct weft_mr *mr)
{
	struct rx_rma *r = m->rma;
	if (r->opcode == WIRE_OP_READ || r->opcode == WIRE_OP_FETCHING_ATOMIC || r->event || !wants_event(m, mr))
		return true;
	r->event = ep_reserve(e);
	return r->event;
}

static int place(struct weft_engine *e, struct rx_msg *m, const struct mr_range *at, const uint8_t *payload)
{
	uint8_t rc;
	struct weft_mr *mr = region(e, m, *at, &rc);
	if (!mr)
		return rc;
	if (!event_reserve(e, m, mr))
		return MSG_RX_NO_MEM;
	mr_store(mr, at->raddr, payload, at->bytes);
	return MSG_RX_OK;
}

static int keep(struct weft_engine *e, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	if (!len || !payload)
		return MSG_RX_OK;
	if (!m->bounce && !msg_rx_bounce(e, m))
		return MSG_RX_NO_MEM;
	memcpy(m->bounce + offset, payload, len);
	return MSG_RX_OK;
}

int rma_rx_packet(struct weft_engine *e, struct rx_msg *m, const struct wire_pkt *w, const uint8_t *payload, bool turn)
{
	struct rx_rma *r = m->rma;
	bool som = w->ses.flags & WIRE_SES_SOM;
	uint32_t offset = som ? 0 : w->ses.message_offset, len = w->payload_bytes;
	int rc = MSG_RX_OK;
	if (som && w->ses.flags & WIRE_SES_HD) {
		m->has_data = true;
		m->data = w->ses.header_data;
	}
	if (!r->ordered)
		rc = place(e, m, &(struct mr_range){r->raddr + offset, len}, payload);
	else if (turn && len == m->bytes && rma_rx_execute(e, m, payload))
		r->done = true;
	else
		rc = keep(e, m, offset, payload, len);
	if (!rc)
		m->received_bytes += len;
	return rc;
}

/* ---- execution ---- */

static void fill_event(const struct rx_msg *m, uint8_t kind, uint64_t len, const struct weft_mr *mr,
		       struct weft_cqe *cqe)
{
	*cqe = (struct weft_cqe){.context = mr ? mr->attr.context : NULL,
				 .kind = kind,
				 .flags = m->has_data ? WEFT_OP_HAS_DATA : 0,
				 .peer = m->src_peer,
				 .len = len,
				 .tag = m->rma->key,
				 .data = m->data};
}

static bool write_end(struct weft_engine *e, struct rx_msg *m, const struct weft_mr *mr)
{
	struct weft_cqe cqe;
	if (!event_reserve(e, m, mr))
		return false;
	if (!m->rma->event)
		return true;
	fill_event(m, WEFT_OP_REMOTE_WRITE, m->rma->length, mr, &cqe);
	ep_complete(e, m->ep, m->rma->event, &cqe);
	m->rma->event = NULL;
	return true;
}

/* A small write whose region has died since it arrived is dropped: the sender may have been told already that we took
 * it over, but not that the memory had changed. */
static bool execute_write(struct weft_engine *e, struct rx_msg *m, const uint8_t *payload)
{
	struct rx_rma *r = m->rma;
	uint8_t rc;
	struct weft_mr *mr = region(e, m, (struct mr_range){r->raddr, r->length}, &rc);
	if (!mr)
		return true;
	if (!write_end(e, m, mr))
		return false;
	e->stats.rma_written++;
	if (r->ordered)
		mr_store(mr, r->raddr, payload, m->bytes);
	return true;
}

static bool execute_base(struct weft_engine *e, struct rx_msg *m, const uint8_t *payload)
{
	const struct rx_rma *r = m->rma;
	struct mr_range range = {r->raddr, r->length};
	uint8_t rc;
	struct weft_mr *mr = region(e, m, range, &rc);
	if (!mr)
		return true;
	if (!event_reserve(e, m, mr))
		return false;
	rma_amo_apply(&r->amo, mr, range, payload, NULL);
	e->stats.rma_atomics++;
	return write_end(e, m, mr);
}

/* An answer with `length` bytes from the region, or of its own if they are a copy, and what reports its end. NULL: no
 * memory. */
static struct tx_msg *answer_to(struct weft_engine *e, const struct rx_msg *m, const struct weft_mr *mr, bool copy)
{
	bool event = wants_event(m, mr);
	struct cqe_node *node = event ? ep_reserve(e) : NULL;
	struct tx_msg *a = event && !node ? NULL : rma_answer_new(e, m, copy ? m->rma->length : 0);
	if (!a) {
		if (node)
			pool_put(&e->cqe_nodes, node);
		return NULL;
	}
	a->bytes = m->rma->length;
	a->rma->event = node;
	fill_event(m, WEFT_OP_REMOTE_READ, m->rma->length, mr, &a->rma->cqe);
	return a;
}

/* Small answers are what the memory holds now (they are ordered with later writes); of large ones each packet holds
 * what was there when it was sent. */
static bool answer_memory(struct weft_engine *e, struct rx_msg *m, struct weft_mr *mr)
{
	const struct rx_rma *r = m->rma;
	struct mr_range range = {r->raddr, r->length};
	uint8_t *at = mr_at(mr, range);
	bool copy = range.bytes <= WEFT_RMA_ORDERED_BYTES || !at;
	struct tx_msg *a = answer_to(e, m, mr, copy);
	if (!a)
		return false;
	if (copy)
		mr_load(mr, range.raddr, a->copy, range.bytes);
	a->buf = copy ? a->copy : at;
	a->rma->mr = copy ? NULL : mr;
	rma_answer_queue(e, a);
	e->stats.rma_read++;
	return true;
}

/* The request was accepted when it came, so this is the only way left to say no. */
static bool answer_refusal(struct weft_engine *e, struct rx_msg *m, uint8_t rc)
{
	struct tx_msg *a = rma_answer_new(e, m, 0);
	if (!a)
		return false;
	a->rma->rc = rc;
	rma_answer_queue(e, a);
	return true;
}

/* What was there is kept until the initiator has acknowledged it: nothing is ever done twice for its sake. */
static bool execute_fetch(struct weft_engine *e, struct rx_msg *m, const uint8_t *payload)
{
	const struct rx_rma *r = m->rma;
	struct mr_range range = {r->raddr, r->length};
	uint8_t rc;
	struct weft_mr *mr = region(e, m, range, &rc);
	if (!mr)
		return answer_refusal(e, m, rc);
	struct tx_msg *a = answer_to(e, m, mr, true);
	if (!a)
		return false;
	rma_amo_apply(&r->amo, mr, range, payload, a->copy);
	a->buf = a->copy;
	rma_answer_queue(e, a);
	e->stats.rma_atomics++;
	return true;
}

static bool answer_message(struct weft_engine *e, struct rx_msg *m, struct tx_msg *announced)
{
	struct tx_msg *a = rma_answer_new(e, m, 0);
	if (!a)
		return false;
	a->buf = announced->buf ? announced->buf + m->rma->raddr : NULL;
	a->bytes = m->rma->length;
	a->rma->mate = announced;
	announced->rma->mate = a;
	rma_answer_queue(e, a);
	return true;
}

static bool execute_read(struct weft_engine *e, struct rx_msg *m)
{
	const struct rx_rma *r = m->rma;
	uint8_t rc = WIRE_RC_BAD_MKEY;
	if (is_fetch(r)) {
		struct tx_msg *announced = rma_announced(e, &weft_peer_addr(e, m->src_peer)->ip, r->key);
		return announced ? answer_message(e, m, announced) : answer_refusal(e, m, rc);
	}
	struct weft_mr *mr = region(e, m, (struct mr_range){r->raddr, r->length}, &rc);
	return mr ? answer_memory(e, m, mr) : answer_refusal(e, m, rc);
}

bool rma_rx_execute(struct weft_engine *e, struct rx_msg *m, const uint8_t *payload)
{
	if (m->rma->done)
		return true;
	switch (m->rma->opcode) {
	case WIRE_OP_READ:
		return execute_read(e, m);
	case WIRE_OP_ATOMIC:
		return execute_base(e, m, payload);
	case WIRE_OP_FETCHING_ATOMIC:
		return execute_fetch(e, m, payload);
	default:
		return execute_write(e, m, payload);
	}
}
