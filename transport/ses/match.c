/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives find messages and messages find receives, each in order. */
#include <errno.h>

#include "engine_int.h"

static bool fits(const struct weft_op *op, uint32_t peer, uint64_t tag, bool tagged)
{
	return (op->peer == WEFT_PEER_ANY || op->peer == peer) && (!tagged || ((op->tag ^ tag) & ~op->ignore) == 0);
}

static bool is_multi(const struct rx_req *req)
{
	return req->op.flags & WEFT_OP_MULTI;
}

/* A piece of the buffer, disjoint from all others whenever their packets come. Without memory for one more completion
 * the buffer is given back early, with the one that was kept for its end. */
static void take_piece(struct weft_engine *e, struct rx_req *req, struct rx_msg *m)
{
	uint64_t room = req->op.len - req->used_bytes;
	m->into = req->used_bytes;
	room -= m->bytes < room ? m->bytes : room;
	req->used_bytes = req->op.len - room;
	req->pieces++;
	m->node = ep_reserve(e);
	req->retired = !m->node || !room || room < req->op.min_room;
	if (!m->node) {
		m->node = req->node;
		req->node = NULL;
	}
	if (req->retired)
		list_del(&req->link);
}

static void give(struct weft_engine *e, struct rx_req *req, struct rx_msg *m)
{
	m->req = req;
	m->direct = !m->received_bytes && !m->bounce;
	if (is_multi(req))
		take_piece(e, req, m);
	else
		list_del(&req->link);
}

bool match_posted(struct weft_engine *e, struct rx_msg *m)
{
	list_for_each (l, &m->ep->rx->posted[m->tagged]) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		if (fits(&req->op, m->src_peer, m->tag, m->tagged)) {
			give(e, req, m);
			return true;
		}
	}
	return false;
}

static void multi_end(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req)
{
	struct weft_cqe cqe = {.context = req->op.context,
			       .kind = req->err ? req->op.kind : WEFT_OP_RELEASE,
			       .flags = WEFT_OP_MULTI,
			       .err = req->err,
			       .peer = req->op.peer};
	ep_complete(e, ep, req->node, &cqe);
}

/* Errors and the end of a cancelled receive are not mixed with the release. */
static void multi_done(struct weft_engine *e, struct rx_msg *m, struct weft_cqe cqe)
{
	struct rx_req *req = m->req;
	bool last = --req->pieces == 0 && req->retired;
	bool apart = last && req->node && (cqe.err || req->err);
	cqe.context = req->op.context;
	cqe.kind = req->op.kind;
	cqe.offset = m->into;
	if (last && !apart)
		cqe.flags |= WEFT_OP_MULTI;
	ep_complete(e, m->ep, m->node, &cqe);
	if (!last)
		return;
	if (apart)
		multi_end(e, m->ep, req);
	else if (req->node)
		pool_put(&e->cqe_nodes, req->node);
	pool_put(&e->rx_reqs, req);
}

void match_done(struct weft_engine *e, struct rx_msg *m, struct weft_cqe cqe)
{
	if (is_multi(m->req))
		multi_done(e, m, cqe);
	else
		ep_complete_recv(e, m->ep, m->req, cqe);
}

static void req_free(struct weft_engine *e, struct rx_req *req)
{
	if (req->node)
		pool_put(&e->cqe_nodes, req->node);
	pool_put(&e->rx_reqs, req);
}

static void multi_undo(struct weft_engine *e, struct rx_req *req, struct cqe_node *node)
{
	pool_put(&e->cqe_nodes, node);
	if (--req->pieces || !req->retired)
		return;
	if (req->home && req->node) {
		multi_end(e, req->home, req);
		req->node = NULL;
	}
	req_free(e, req);
}

static void undo(struct weft_engine *e, struct rx_msg *m)
{
	struct rx_req *req = m->req;
	m->req = NULL;
	if (is_multi(req))
		multi_undo(e, req, m->node);
	else if (req->home)
		list_add_tail(req->home->own.posted[m->tagged].next, &req->link); /* before all others */
	else
		req_free(e, req);
}

bool match_detach(struct weft_engine *e, struct rx_msg *m, const struct weft_ep *ep)
{
	if (m->req && m->req->home == ep)
		m->req->home = NULL;
	if (m->ep != ep)
		return false;
	if (m->req)
		undo(e, m);
	m->ep = NULL;
	m->discard = true;
	return true;
}

void match_drop(struct weft_engine *e, struct list *reqs)
{
	list_for_each_safe (l, reqs) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		list_del(l);
		req->home = NULL;
		req->retired = true;
		if (!req->pieces)
			req_free(e, req);
	}
}

static struct rx_msg *find_unexpected(struct weft_ep *ep, const struct weft_op *op, bool tagged)
{
	list_for_each (l, &ep->rx->unexpected[tagged]) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (fits(op, m->src_peer, m->tag, tagged))
			return m;
	}
	return NULL;
}

static struct rx_msg *find_claimed(struct weft_ep *ep, const struct weft_op *op)
{
	list_for_each (l, &ep->rx->claimed) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->claimed_by == op->context)
			return m;
	}
	return NULL;
}

static struct rx_req *req_new(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op)
{
	struct rx_req *req = pool_get(&e->rx_reqs);
	if (!req)
		return NULL;
	req->node = ep_reserve(e);
	if (!req->node) {
		pool_put(&e->rx_reqs, req);
		return NULL;
	}
	struct cqe_node *node = req->node;
	*req = (struct rx_req){.node = node, .home = ep, .op = *op};
	list_init(&req->link);
	return req;
}

static void claimed_recv(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req)
{
	struct rx_msg *m = find_claimed(ep, &req->op);
	if (m && !(req->op.flags & WEFT_OP_DISCARD)) {
		list_del(&m->link);
		give(e, req, m);
		msg_rx_matched(e, m);
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
	struct rx_req *req = req_new(e, ep, op);
	if (!req)
		return false;
	if (op->flags & WEFT_OP_CLAIM) {
		req->op.flags &= (uint16_t)~WEFT_OP_MULTI; /* it is for this one message */
		claimed_recv(e, ep, req);
		return true;
	}
	list_add_tail(&ep->rx->posted[tagged], &req->link);
	bool more = true;
	while (more) {
		struct rx_msg *m = find_unexpected(ep, op, tagged);
		if (!m)
			break;
		list_del(&m->link);
		give(e, req, m);
		more = !list_empty(&req->link);
		msg_rx_matched(e, m); /* may be the end of req */
	}
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
		list_add_tail(&ep->rx->claimed, &m->link);
	}
	return true;
}

static void cancel(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req)
{
	uint16_t flags = req->op.flags & WEFT_OP_MULTI;
	struct weft_cqe cqe = {.flags = flags, .err = ECANCELED, .tag = req->op.tag, .peer = req->op.peer};
	list_del(&req->link);
	req->err = ECANCELED;
	req->retired = true;
	if (!req->pieces)
		ep_complete_recv(e, ep, req, cqe);
}

/* A receive that has found its message can't be cancelled any more: it completes as usual. One for many messages ends
 * when those it has found are complete. */
void match_cancel(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op)
{
	for (int tagged = 0; tagged < 2; tagged++)
		list_for_each (l, &ep->rx->posted[tagged]) {
			struct rx_req *req = list_entry(l, struct rx_req, link);
			if (req->op.context != op->context)
				continue;
			cancel(e, ep, req);
			return;
		}
}
