/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers with data: messages of our own connection to whoever asked. They have no place in its order of messages; the
 * job id and message id of the request say what they are for. */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

enum { ANSWERS_MAX = 16384 }; /* under way; further requests wait */

static struct tx_msg *answer_alloc(struct weft_engine *e, uint64_t copy_bytes)
{
	struct tx_msg *a = pool_get(&e->tx_msgs);
	struct tx_rma *r = pool_get(&e->tx_rmas);
	uint8_t *copy = copy_bytes ? weft_mem_alloc(&e->mem, copy_bytes) : NULL;
	if (a && r && (copy || !copy_bytes)) {
		*a = (struct tx_msg){.rma = r, .copy = copy};
		return a;
	}
	if (a)
		pool_put(&e->tx_msgs, a);
	if (r)
		pool_put(&e->tx_rmas, r);
	weft_mem_free(&e->mem, copy);
	return NULL;
}

struct tx_msg *rma_answer_new(struct weft_engine *e, const struct rx_msg *m, uint64_t copy_bytes)
{
	struct remote *to = peer_get(e, m->src_peer)->remote;
	struct pdc_tx *p = e->answers < ANSWERS_MAX ? pdc_tx_get(e, to, false, e->now_ns) : NULL;
	struct tx_msg *a = p ? answer_alloc(e, copy_bytes) : NULL;
	if (!a) {
		e->stats.alloc_fail++;
		return NULL;
	}
	*a->rma = (struct tx_rma){.pdc = p,
				  .role = RMA_ANSWER,
				  .rc = WIRE_RC_OK,
				  .asked_on = m->pdc ? m->pdc->pdc.id : 0,
				  .job_id = m->rma->job_id};
	list_init(&a->link);
	a->ep = m->ep;
	a->message_id = m->message_id;
	a->kind = WEFT_OP_READ;
	return a;
}

void rma_answer_queue(struct weft_engine *e, struct tx_msg *a)
{
	e->answers++;
	msg_tx_queue(e, a->rma->pdc, a);
}

/* Bytes already on the wire may be needed again. */
static bool answer_detach(struct weft_engine *e, struct tx_msg *a)
{
	a->rma->mr = NULL;
	a->copy = weft_mem_alloc(&e->mem, a->bytes);
	if (!a->copy)
		return false;
	memcpy(a->copy, a->buf, a->bytes);
	if (e->out_refused)
		engine_forget(e, a->buf, a->bytes);
	a->buf = a->copy;
	return true;
}

static bool answers_detach(struct weft_engine *e, struct pdc_tx *p, const struct weft_mr *mr)
{
	list_for_each (l, &p->msgs) {
		struct tx_msg *a = list_entry(l, struct tx_msg, link);
		if (a->rma && a->rma->mr == mr && !answer_detach(e, a))
			return false;
	}
	return true;
}

/* Without memory for copies the connection ends, as when an endpoint closes. */
void rma_answers_detach(struct weft_engine *e, const struct weft_mr *mr)
{
	list_for_each_safe (l, &e->txs) {
		struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		if (e->answers && !answers_detach(e, p, mr))
			pdc_tx_fail(e, p, ENOMEM);
	}
}
