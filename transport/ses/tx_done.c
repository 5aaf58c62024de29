/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx_done.h"

#include <errno.h>
#include <string.h>

#include "completion.h"
#include "rma.h"
#include "rma_token.h"
#include "rx_msg.h"

enum { REPETITIONS_MAX = 5 };

static void tell(struct ses *ses, struct tx_msg *m)
{
	if (m->err)
		ses->stats->msg_failed++;
	else
		ses->stats->msg_sent++;
	struct weft_cqe cqe = {.context = m->context,
			       .kind = m->kind,
			       .err = m->err,
			       .peer = m->peer,
			       .len = m->err   ? 0
				      : m->rma ? m->rma->length
					       : m->run.bytes,
			       .flags = m->kind == WEFT_OP_TSEND ? WEFT_OP_TAGGED : 0,
			       .tag = m->tag};
	ep_complete(ses, m->ep, m->node, &cqe);
}

/* Whether its packets are all acknowledged, and there will be no more. */
static bool is_sent(const struct tx_msg *m)
{
	return m->run.cut && !m->run.unacked_pkts;
}

/* Frees what an answer reserved, which an answer that refuses does not need; returns the announced message that it
 * carried, which has ended, too, or NULL: our part of a fetched message is done when the receiver has all it wanted.
 * When the answer fails nobody knows whether it has, nor whether it will ever ask again. */
static struct tx_msg *end_answer(struct ses *ses, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	struct tx_msg *announced = r->mate;
	rma_answer_done(ses, m);
	if (r->event && !m->err && r->rc == WIRE_RC_OK)
		ep_complete(ses, m->ep, r->event, &r->cqe);
	else if (r->event)
		cqe_release(ses, r->event);
	if (!announced)
		return NULL;
	announced->rma->mate = NULL;
	announced->rma->answered |= !m->err;
	if (m->err && !announced->err && !ses->destroying && !ses->failed)
		announced->err = m->err;
	return (announced->rma->answered || announced->err) && is_sent(announced) ? announced : NULL;
}

/* The bytes that an answer carries are its own from now on. False: no memory. */
static bool own_bytes(struct ses *ses, struct tx_msg *a)
{
	assert(!a->copy);
	pds_forget(ses->pds, a->run.buf, a->run.bytes);
	a->copy = weft_mem_alloc(ses->mem, a->run.bytes);
	if (!a->copy)
		return false;
	memcpy(a->copy, a->run.buf, a->run.bytes);
	a->run.buf = a->copy;
	return true;
}

/* An announced message ends, by an error, while an answer carries it: its bytes are the application's again, or go with
 * it, but the answer needs them still. Without memory for a copy its connection ends, as when an endpoint closes. */
static void leave_to_answer(struct ses *ses, struct tx_msg *m)
{
	struct tx_msg *a = m->rma->mate;
	assert(a->rma->role == RMA_ANSWER);
	a->rma->mate = NULL;
	if (ses->destroying || !a->run.buf || !a->run.bytes)
		return;
	if (!m->copy) {
		if (!own_bytes(ses, a))
			pdc_tx_fail(ses->pds, a->rma->pdc, ENOMEM);
		return;
	}
	a->copy = m->copy;
	m->copy = NULL;
}

/* Frees m->rma; returns what end_answer does. */
static struct tx_msg *end_rma(struct ses *ses, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	struct tx_msg *ended = NULL;
	if (r->held)
		pdc_tx_release_run(r->pdc);
	if (r->token)
		rma_token_put(ses, r->token);
	if (r->role == RMA_ASK || r->role == RMA_ANNOUNCE)
		pdc_tx_end_await(r->pdc);
	if (r->role == RMA_ANSWER)
		ended = end_answer(ses, m);
	else if (r->mate)
		leave_to_answer(ses, m);
	if (r->fetch)
		rx_msg_fetched(ses, r->fetch, m->err);
	pool_put(&ses->tx_rmas, r);
	m->rma = NULL;
	return ended;
}

static struct tx_msg *complete_one(struct ses *ses, struct pdc_tx *p, struct tx_msg *m)
{
	assert(m->run.cut || m->err);
	if (m->run.buf)
		pds_forget(ses->pds, m->run.buf, m->run.bytes);
	if (m->node)
		tell(ses, m);
	pdc_tx_remove(p, &m->run);
	struct tx_msg *ended = m->rma ? end_rma(ses, m) : NULL;
	weft_mem_free(ses->mem, m->copy);
	pool_put(&ses->tx_msgs, m);
	return ended;
}

void tx_done_complete(struct ses *ses, struct pdc_tx *p, struct tx_msg *m)
{
	struct tx_msg *announced = complete_one(ses, p, m);
	if (!announced)
		return;
	struct pdc_tx *its = announced->rma->pdc;
	complete_one(ses, its, announced);
	pdc_tx_settle(ses->pds, its, ses->polled_ns); /* its acknowledgements come over another connection than this */
}

/* The target does what it got in order, so whatever comes behind something that is not there yet may wait. And nobody
 * hears that memory was read while answers before the last are on their way. */
static bool earlier_acked(const struct pdc_tx *p, const struct tx_msg *m)
{
	for (const struct list *l = m->run.link.prev; l != &p->runs; l = l->prev)
		if (!is_sent(tx_msg_at(l)))
			return false;
	return true;
}

static void acked_rma(struct ses *ses, struct pdc_tx *p, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	bool waits = (r->role == RMA_REQUEST && r->delivered) || (r->role == RMA_ANSWER && r->event);
	if (waits && !m->err && !earlier_acked(p, m)) {
		r->held = true;
		pdc_tx_hold_run(p);
		return;
	}
	bool ended = r->role == RMA_REQUEST || r->role == RMA_ANSWER || r->answered || m->err;
	if (ended && !(r->role == RMA_ANNOUNCE && r->mate))
		tx_done_complete(ses, p, m);
}

/* As a new message, behind all others of the connection; the wait doubles. */
static void repeat(struct ses *ses, struct pdc_tx *p, struct tx_msg *m)
{
	m->repeat = false;
	m->message_id = 0;
	ses->stats->msg_repeated++;
	pdc_tx_queue_again(ses->pds, p, &m->run, m->repetitions++, ses->polled_ns);
}

void tx_done_acked(void *ses, struct pdc_tx *p, struct tx_run *run)
{
	struct tx_msg *m = tx_msg_of(run);
	assert(is_sent(m));
	if (m->repeat && !m->err)
		repeat(ses, p, m);
	else if (m->rma)
		acked_rma(ses, p, m);
	else
		tx_done_complete(ses, p, m);
}

/* The target may be ready later, or the message was for an earlier user of the resource index (UE 1.0 sec. 3.4). */
static bool may_repeat(const struct tx_msg *m, uint8_t rc)
{
	bool is_passing = rc == WIRE_RC_NO_MATCH || rc == WIRE_RC_DISABLED_GEN || rc == WIRE_RC_BAD_GENERATION;
	return is_passing && !m->rma && m->repetitions < REPETITIONS_MAX;
}

/* The first refusal decides; the message completes once nothing of it is in flight. */
void tx_done_refused(void *arg, struct pdc_tx *p, struct tx_run *run, const struct wire_rsp *rsp)
{
	struct ses *ses = arg;
	struct tx_msg *m = tx_msg_of(run);
	uint8_t rc = wire_rsp_return_code(rsp);
	if (m->err || m->repeat)
		return;
	m->repeat = may_repeat(m, rc);
	if (!m->repeat)
		m->err = rma_errno(rc);
	else if (rc == WIRE_RC_BAD_GENERATION)
		m->generation = wire_rsp_ri_generation(rsp);
	pdc_tx_abandon(ses->pds, p, run);
}

/* Completes those held that need not be any more. */
void tx_done_progress(void *ses, struct pdc_tx *p)
{
	list_for_each_safe (l, &p->runs) {
		struct tx_msg *m = tx_msg_at(l);
		if (!pdc_tx_holds_runs(p) || !is_sent(m))
			return;
		if (m->rma && m->rma->held)
			tx_done_complete(ses, p, m);
	}
}
