/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests on our memory are carried out. Each access is checked against the region as it is then. */
#include "completion.h"
#include "endpoint.h"
#include "rma.h"

struct weft_mr *rma_region(struct ses *ses, const struct rx_msg *m, struct mr_range range, uint8_t *rc)
{
	const struct rx_rma *r = m->rma;
	*rc = m->ep ? WIRE_RC_BAD_MKEY : WIRE_RC_UNDELIVERABLE;
	struct weft_mr *mr =
		m->ep ? mr_check(&ses->mrs, m->ep->scope, r->key, range, rma_access(r->opcode, &r->amo), rc) : NULL;
	if (mr && mr->serial == r->serial)
		return mr;
	if (mr)
		*rc = WIRE_RC_BAD_MKEY;
	ses->stats->rma_refused++;
	return NULL;
}

bool rma_wants_event(const struct rx_msg *m, const struct weft_mr *mr)
{
	return m->ep && (m->has_data || m->ep->events || (mr && mr->attr.access & WEFT_MR_EVENTS));
}

bool rma_event_reserve(struct ses *ses, struct rx_msg *m, const struct weft_mr *mr)
{
	struct rx_rma *r = m->rma;
	if (r->opcode == WIRE_OP_READ || r->event || !rma_wants_event(m, mr))
		return true;
	r->event = cqe_reserve(ses);
	return r->event;
}

struct weft_cqe rma_event(const struct rx_msg *m, uint8_t kind, uint64_t len, const struct weft_mr *mr)
{
	return (struct weft_cqe){.context = mr ? mr->attr.context : NULL,
				 .kind = kind,
				 .flags = m->has_data ? WEFT_OP_HAS_DATA : 0,
				 .peer = m->src_peer,
				 .len = len,
				 .tag = m->rma->key,
				 .data = m->data};
}

/* Who wants to know, learns it. The completion is reserved by then. */
static void change_end(struct ses *ses, struct rx_msg *m, const struct weft_mr *mr)
{
	struct rx_rma *r = m->rma;
	assert(r->event || !rma_wants_event(m, mr));
	if (!r->event)
		return;
	bool fetches = r->opcode == WIRE_OP_FETCHING_ATOMIC;
	struct weft_cqe cqe = rma_event(m, fetches ? WEFT_OP_REMOTE_READ : WEFT_OP_REMOTE_WRITE, r->length, mr);
	if (fetches && rma_access(r->opcode, &r->amo) & WEFT_MR_WRITE)
		cqe.flags |= WEFT_OP_MODIFIED;
	ep_complete(ses, m->ep, r->event, &cqe);
	r->event = NULL;
}

/* A small write whose region has died since it arrived is dropped: the sender may have been told already that we took
 * it over, but not that the memory had changed. */
static bool execute_write(struct ses *ses, struct rx_msg *m, const uint8_t *payload)
{
	struct rx_rma *r = m->rma;
	uint8_t rc;
	struct weft_mr *mr = rma_region(ses, m, (struct mr_range){r->raddr, r->length}, &rc);
	if (!mr)
		return true;
	if (!rma_event_reserve(ses, m, mr))
		return false;
	r->broke = r->ordered && mr_store(mr, r->raddr, payload, m->bytes) != WIRE_RC_OK;
	if (r->broke)
		return true;
	ses->stats->rma_written++;
	change_end(ses, m, mr);
	return true;
}

static bool execute_base(struct ses *ses, struct rx_msg *m, const uint8_t *payload)
{
	struct rx_rma *r = m->rma;
	struct mr_range range = {r->raddr, r->length};
	uint8_t rc;
	struct weft_mr *mr = rma_region(ses, m, range, &rc);
	if (!mr)
		return true;
	if (!rma_event_reserve(ses, m, mr))
		return false;
	r->broke = rma_amo_apply(&r->amo, mr, range, payload, NULL) != WIRE_RC_OK;
	if (r->broke)
		return true;
	ses->stats->rma_atomics++;
	change_end(ses, m, mr);
	return true;
}

/* The request was accepted when it came, so this is the only way left to say no. */
static bool answer_refusal(struct ses *ses, struct rx_msg *m, uint8_t rc)
{
	struct tx_msg *a = rma_answer_new(ses, m, 0);
	if (!a)
		return false;
	a->rma->rc = rc;
	rma_answer_queue(ses, m, a);
	return true;
}

/* What was there is kept until the initiator has acknowledged it: nothing is ever done twice for its sake. */
static bool execute_fetch(struct ses *ses, struct rx_msg *m, const uint8_t *payload)
{
	const struct rx_rma *r = m->rma;
	struct mr_range range = {r->raddr, r->length};
	uint8_t rc;
	struct weft_mr *mr = rma_region(ses, m, range, &rc);
	if (!mr)
		return answer_refusal(ses, m, rc);
	struct tx_msg *a = rma_event_reserve(ses, m, mr) ? rma_answer_new(ses, m, r->length) : NULL;
	if (!a)
		return false;
	a->run.buf = a->copy;
	a->rma->rc = rma_amo_apply(&r->amo, mr, range, payload, a->copy);
	bool done = a->rma->rc == WIRE_RC_OK;
	a->run.bytes = done ? r->length : 0;
	rma_answer_queue(ses, m, a);
	ses->stats->rma_atomics += done;
	if (done)
		change_end(ses, m, mr);
	return true;
}

bool rma_fetch_in_ack(struct ses *ses, struct rx_msg *m, const struct wire_view *v, const uint8_t *payload)
{
	struct rx_rma *r = m->rma;
	const struct mr_range range = {r->raddr, r->length};
	uint8_t rc;
	if (r->opcode != WIRE_OP_FETCHING_ATOMIC || r->length > RXWIN_DATA_MAX)
		return false;
	struct weft_mr *mr = rma_region(ses, m, range, &rc);
	bool may = mr && !mr->attr.move && rma_event_reserve(ses, m, mr); /* a copy that fails is told by an answer */
	uint8_t *was = may ? pdc_rx_keep_data(ses->pds, m->pdc, v, r->length) : NULL;
	if (!was)
		return false;
	rma_amo_apply(&r->amo, mr, range, payload, was);
	ses->stats->rma_atomics++;
	change_end(ses, m, mr);
	return true;
}

bool rma_rx_execute(struct ses *ses, struct rx_msg *m, const uint8_t *payload)
{
	assert(m->rma && !m->rma->announced);
	if (m->rma->done)
		return true;
	switch (m->rma->opcode) {
	case WIRE_OP_READ:
		return true; /* rma_read_turn has done it */
	case WIRE_OP_ATOMIC:
		return execute_base(ses, m, payload);
	case WIRE_OP_FETCHING_ATOMIC:
		return execute_fetch(ses, m, payload);
	default:
		return execute_write(ses, m, payload);
	}
}
