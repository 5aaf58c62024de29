/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives find messages and messages find receives, each in order. */
#include <errno.h>

#include "engine_int.h"

static bool fits(const struct weft_op *op, uint32_t peer, uint64_t tag, bool tagged)
{
	return (op->peer == WEFT_PEER_ANY || op->peer == peer) && (!tagged || ((op->tag ^ tag) & ~op->ignore) == 0);
}

struct rx_req *match_posted(struct weft_ep *ep, bool tagged, uint32_t peer, uint64_t tag)
{
	list_for_each (l, &ep->posted[tagged]) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		if (fits(&req->op, peer, tag, tagged)) {
			list_del(&req->link);
			return req;
		}
	}
	return NULL;
}

static struct rx_msg *find_unexpected(struct weft_ep *ep, const struct weft_op *op, bool tagged)
{
	list_for_each (l, &ep->unexpected[tagged]) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (fits(op, m->src_peer, m->tag, tagged))
			return m;
	}
	return NULL;
}

static struct rx_msg *find_claimed(struct weft_ep *ep, const struct weft_op *op)
{
	list_for_each (l, &ep->claimed) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->claimed_by == op->context)
			return m;
	}
	return NULL;
}

static struct rx_req *req_new(struct weft_engine *e, const struct weft_op *op)
{
	struct rx_req *req = pool_get(&e->rx_reqs);
	if (!req)
		return NULL;
	req->node = ep_reserve(e);
	if (!req->node) {
		pool_put(&e->rx_reqs, req);
		return NULL;
	}
	req->op = *op;
	list_init(&req->link);
	return req;
}

static void claimed_recv(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req)
{
	struct rx_msg *m = find_claimed(ep, &req->op);
	if (m && !(req->op.flags & WEFT_OP_DISCARD)) {
		msg_rx_attach(e, m, req);
		return;
	}
	struct weft_cqe cqe = {.err = m ? 0 : ENOMSG};
	if (m)
		cqe = (struct weft_cqe){.peer = m->src_peer, .tag = m->tag, .data = m->data};
	ep_complete_recv(e, ep, req, cqe);
	if (m)
		msg_rx_discard(e, m);
}

bool match_recv(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op)
{
	bool tagged = op->kind == WEFT_OP_TRECV;
	struct rx_req *req = req_new(e, op);
	if (!req)
		return false;
	if (op->flags & WEFT_OP_CLAIM) {
		claimed_recv(e, ep, req);
		return true;
	}
	struct rx_msg *m = find_unexpected(ep, op, tagged);
	if (m)
		msg_rx_attach(e, m, req);
	else
		list_add_tail(&ep->posted[tagged], &req->link);
	return true;
}

bool match_peek(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op)
{
	bool tagged = op->flags & WEFT_OP_TAGGED;
	struct cqe_node *node = ep_reserve(e);
	if (!node)
		return false;
	struct rx_msg *m = find_unexpected(ep, op, tagged);
	struct weft_cqe cqe = {
		.context = op->context, .kind = WEFT_OP_PEEK, .err = ENOMSG, .tag = op->tag, .peer = op->peer};
	if (m) {
		uint8_t flags = (uint8_t)((m->has_data ? WEFT_OP_HAS_DATA : 0) | (m->tagged ? WEFT_OP_TAGGED : 0));
		cqe = (struct weft_cqe){.context = op->context,
					.kind = WEFT_OP_PEEK,
					.flags = flags,
					.peer = m->src_peer,
					.len = m->bytes,
					.tag = m->tag,
					.data = m->data};
	}
	ep_complete(e, ep, node, &cqe);
	if (m && op->flags & WEFT_OP_DISCARD) {
		msg_rx_discard(e, m);
	} else if (m && op->flags & WEFT_OP_CLAIM) {
		list_del(&m->link);
		m->claimed_by = op->context;
		list_add_tail(&ep->claimed, &m->link);
	}
	return true;
}

/* A receive that has found its message can't be cancelled any more: it completes as usual. */
void match_cancel(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op)
{
	for (int tagged = 0; tagged < 2; tagged++)
		list_for_each (l, &ep->posted[tagged]) {
			struct rx_req *req = list_entry(l, struct rx_req, link);
			if (req->op.context != op->context)
				continue;
			list_del(&req->link);
			struct weft_cqe cqe = {.err = ECANCELED, .tag = req->op.tag, .peer = req->op.peer};
			ep_complete_recv(e, ep, req, cqe);
			return;
		}
}
