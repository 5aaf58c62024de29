/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers with data: messages of our own connection to whoever asked. They have no place in its order of messages; the
 * job id and message id of the request say what they are for. */
#include "rma.h"
#include "ses.h"

enum { ANSWERS_MAX = 16384 }; /* under way; further requests wait */

static struct tx_msg *answer_alloc(struct ses *ses, uint64_t copy_bytes)
{
	struct tx_msg *a = pool_get(&ses->tx_msgs);
	struct tx_rma *r = pool_get(&ses->tx_rmas);
	uint8_t *copy = copy_bytes ? weft_mem_alloc(ses->mem, copy_bytes) : NULL;
	if (a && r && (copy || !copy_bytes)) {
		*a = (struct tx_msg){.run = {.is_response = true}, .rma = r, .copy = copy};
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
	struct remote *to = peer_get(&ses->peers, m->src_peer)->remote;
	struct pdc_tx *p = ses->answers < ANSWERS_MAX ? pdc_tx_get(ses->pds, to, false, ses->polled_ns) : NULL;
	struct tx_msg *a = p ? answer_alloc(ses, copy_bytes) : NULL;
	if (!a) {
		ses->stats->alloc_fail++;
		return NULL;
	}
	*a->rma = (struct tx_rma){.pdc = p,
				  .role = RMA_ANSWER,
				  .rc = WIRE_RC_OK,
				  .asked_on = m->pdc ? m->pdc->pdc.id : 0,
				  .job_id = m->rma->job_id};
	a->ep = m->ep;
	a->message_id = m->message_id;
	a->kind = WEFT_OP_READ;
	return a;
}

void rma_answer_queue(struct ses *ses, struct tx_msg *a)
{
	assert(a->run.is_response && ses->answers < ANSWERS_MAX);
	ses->answers++;
	pdc_tx_queue(ses->pds, a->rma->pdc, &a->run, ses->polled_ns);
}
