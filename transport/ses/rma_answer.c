/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers with data: runs in the return direction of the connection over which they were asked for. The message id of
 * the request says what they are for. */
#include "completion.h"
#include "rma.h"
#include "ses.h"

/* Under way; further requests wait. Nobody holds more than SHARE times what is left, so there is some for another. */
enum { ANSWERS_MAX = 16384, SHARE = 4 };

static struct tx_msg *answer_alloc(struct ses *ses, uint64_t copy_bytes)
{
	struct tx_msg *a = pool_get(&ses->tx_msgs);
	struct tx_rma *r = pool_get(&ses->tx_rmas);
	uint8_t *copy = copy_bytes ? weft_mem_alloc(ses->mem, copy_bytes) : NULL;
	if (a && r && (copy || !copy_bytes)) {
		*a = (struct tx_msg){.rma = r, .copy = copy, .since_ns = ses->polled_ns};
		return a;
	}
	if (a)
		pool_put(&ses->tx_msgs, a);
	if (r)
		pool_put(&ses->tx_rmas, r);
	weft_mem_free(ses->mem, copy);
	return NULL;
}

struct tx_msg *rma_answer_new(struct ses *ses, const struct rx_msg *m, uint64_t copy_bytes)
{
	assert(m->rma && !m->rma->announced);
	struct remote *asker = peer_get(&ses->peers, m->src_peer)->remote;
	bool may = asker->answers < SHARE * (ANSWERS_MAX - ses->answers) &&
		   pdc_tx_return(ses->pds, m->pdc, ses->polled_ns);
	struct tx_msg *a = may ? answer_alloc(ses, copy_bytes) : NULL;
	if (!a) {
		ses->stats->alloc_fail++;
		return NULL;
	}
	*a->rma = (struct tx_rma){
		.role = RMA_ANSWER, .rc = WIRE_RC_OK, .length = m->rma->length, .job_id = m->rma->job_id};
	a->message_id = m->message_id;
	a->peer = m->src_peer;
	a->kind = WEFT_OP_READ;
	list_init(&a->run.link);
	ses->answers++;
	asker->answers++;
	return a;
}

void rma_answer_done(struct ses *ses, const struct tx_msg *a)
{
	struct remote *asker = peer_get(&ses->peers, a->peer)->remote;
	assert(ses->answers > 0 && asker->answers > 0);
	ses->answers--;
	asker->answers--;
}

void rma_answer_queue(struct ses *ses, const struct rx_msg *m, struct tx_msg *a)
{
	assert(a->rma->role == RMA_ANSWER && list_empty(&a->run.link));
	a->ep = m->ep;
	a->run.special = a->rma->at != 0;
	a->rma->pdc = pdc_tx_return(ses->pds, m->pdc, ses->polled_ns);
	assert(a->rma->pdc);
	pdc_tx_queue(ses->pds, a->rma->pdc, &a->run, ses->polled_ns);
}

void rma_answer_drop(struct ses *ses, struct tx_msg *a)
{
	assert(!a->rma->mate);
	rma_answer_done(ses, a);
	list_del(&a->run.link);
	if (a->rma->event)
		cqe_release(ses, a->rma->event);
	pool_put(&ses->tx_rmas, a->rma);
	weft_mem_free(ses->mem, a->copy);
	pool_put(&ses->tx_msgs, a);
}
