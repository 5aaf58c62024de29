/* SPDX-License-Identifier: BSD-3-Clause */
#include "completion.h"

struct cqe_node *cqe_reserve(struct ses *ses)
{
	struct cqe_node *n = pool_get(&ses->cqe_nodes);
	ses->stats->alloc_fail += !n;
	return n;
}

void cqe_release(struct ses *ses, struct cqe_node *node)
{
	assert(node && ses->cqe_nodes.used > 0);
	pool_put(&ses->cqe_nodes, node);
}

/* Completions stay in order: none overtakes one that waits. */
void ep_complete(struct ses *ses, struct weft_ep *ep, struct cqe_node *node, const struct weft_cqe *cqe)
{
	assert(node);
	if (!ep || (!ep->overflow && spsc_push(&ep->cq, cqe))) {
		cqe_release(ses, node);
		return;
	}
	ses->stats->cq_overflow++;
	ep_mark_ready(ses, ep);
	ses->short_of_mem = true;
	node->cqe = *cqe;
	node->next = NULL;
	assert(!*ep->overflow_tail);
	*ep->overflow_tail = node;
	ep->overflow_tail = &node->next;
}

void ep_complete_recv(struct ses *ses, struct weft_ep *ep, struct rx_req *req, struct weft_cqe cqe)
{
	assert(!req->pieces);
	cqe.context = req->op.context;
	cqe.kind = req->op.kind;
	ep_complete(ses, ep, req->node, &cqe);
	pool_put(&ses->rx_reqs, req);
}

void ep_flush_cq(struct ses *ses, struct weft_ep *ep)
{
	while (ep->overflow && spsc_push(&ep->cq, &ep->overflow->cqe)) {
		struct cqe_node *n = ep->overflow;
		ep->overflow = n->next;
		cqe_release(ses, n);
	}
	if (!ep->overflow) {
		ep->overflow_tail = &ep->overflow;
		return;
	}
	ep_mark_ready(ses, ep);
	ses->short_of_mem = true;
}
