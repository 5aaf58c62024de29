/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives find messages and messages find receives, each in order. */
#include "match.h"

#include "bounce.h"
#include "completion.h"

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
static void take_piece(struct ses *ses, struct rx_req *req, struct rx_msg *m)
{
	assert(req->used_bytes <= req->op.len && !req->retired);
	uint64_t room = req->op.len - req->used_bytes;
	m->into = req->used_bytes;
	room -= m->bytes < room ? m->bytes : room;
	req->used_bytes = req->op.len - room;
	req->pieces++;
	m->node = cqe_reserve(ses);
	req->retired = !m->node || !room || room < req->op.min_room;
	if (!m->node) {
		m->node = req->node;
		req->node = NULL;
	}
	if (req->retired)
		list_del(&req->link);
}

void match_give(struct ses *ses, struct rx_req *req, struct rx_msg *m)
{
	assert(!m->req && list_empty(&m->link));
	m->req = req;
	if (!m->received_bytes && !m->rma)
		bounce_free(ses, m); /* memory for the packet that is being refused at most */
	m->direct = !m->received_bytes && !m->bounce;
	if (is_multi(req))
		take_piece(ses, req, m);
	else
		list_del(&req->link);
}

bool match_is_posted(const struct weft_ep *ep, uint32_t peer, uint64_t tag, bool tagged)
{
	list_for_each (l, &ep->rx->posted[tagged])
		if (fits(&list_entry(l, struct rx_req, link)->op, peer, tag, tagged))
			return true;
	return false;
}

bool match_posted(struct ses *ses, struct rx_msg *m)
{
	assert(m->ep && m->in_turn);
	list_for_each (l, &m->ep->rx->posted[m->tagged]) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		if (fits(&req->op, m->src_peer, m->tag, m->tagged)) {
			match_give(ses, req, m);
			return true;
		}
	}
	return false;
}

static void multi_end(struct ses *ses, struct weft_ep *ep, struct rx_req *req)
{
	struct weft_cqe cqe = {.context = req->op.context,
			       .kind = req->err ? req->op.kind : WEFT_OP_RELEASE,
			       .flags = WEFT_OP_MULTI,
			       .err = req->err,
			       .peer = req->op.peer};
	ep_complete(ses, ep, req->node, &cqe);
}

/* Errors and the end of a cancelled receive are not mixed with the release. */
static void multi_done(struct ses *ses, struct rx_msg *m, struct weft_cqe cqe)
{
	struct rx_req *req = m->req;
	assert(req->pieces > 0);
	bool last = --req->pieces == 0 && req->retired;
	bool apart = last && req->node && (cqe.err || req->err);
	cqe.context = req->op.context;
	cqe.kind = req->op.kind;
	cqe.offset = m->into;
	if (last && !apart)
		cqe.flags |= WEFT_OP_MULTI;
	ep_complete(ses, m->ep, m->node, &cqe);
	if (!last)
		return;
	if (apart)
		multi_end(ses, m->ep, req);
	else if (req->node)
		cqe_release(ses, req->node);
	pool_put(&ses->rx_reqs, req);
}

void match_done(struct ses *ses, struct rx_msg *m, struct weft_cqe cqe)
{
	assert(m->req);
	if (is_multi(m->req))
		multi_done(ses, m, cqe);
	else
		ep_complete_recv(ses, m->ep, m->req, cqe);
}

static void req_free(struct ses *ses, struct rx_req *req)
{
	assert(!req->pieces && list_empty(&req->link));
	if (req->node)
		cqe_release(ses, req->node);
	pool_put(&ses->rx_reqs, req);
}

static void multi_undo(struct ses *ses, struct rx_req *req, struct cqe_node *node)
{
	cqe_release(ses, node);
	assert(req->pieces > 0);
	if (--req->pieces || !req->retired)
		return;
	if (req->home && req->node) {
		multi_end(ses, req->home, req);
		req->node = NULL;
	}
	req_free(ses, req);
}

static void undo(struct ses *ses, struct rx_msg *m)
{
	struct rx_req *req = m->req;
	m->req = NULL;
	if (is_multi(req))
		multi_undo(ses, req, m->node);
	else if (req->home)
		list_add_tail(req->home->own.posted[m->tagged].next, &req->link); /* before all others */
	else
		req_free(ses, req);
}

bool match_detach(struct ses *ses, struct rx_msg *m, const struct weft_ep *ep)
{
	if (m->req && m->req->home == ep)
		m->req->home = NULL;
	if (m->ep != ep)
		return false;
	if (m->req)
		undo(ses, m);
	m->ep = NULL;
	m->discard = true;
	return true;
}

void match_drop(struct ses *ses, struct list *reqs)
{
	list_for_each_safe (l, reqs) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		list_del(l);
		req->home = NULL;
		req->retired = true;
		if (!req->pieces)
			req_free(ses, req);
	}
}

struct rx_msg *match_find_unexpected(const struct weft_ep *ep, const struct weft_op *op, bool tagged)
{
	list_for_each (l, &ep->rx->unexpected[tagged]) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (fits(op, m->src_peer, m->tag, tagged))
			return m;
	}
	return NULL;
}

struct rx_msg *match_find_claimed(const struct weft_ep *ep, const struct weft_op *op)
{
	list_for_each (l, &ep->rx->claimed) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->claimed_by == op->context)
			return m;
	}
	return NULL;
}

struct rx_req *match_req_new(struct ses *ses, struct weft_ep *ep, const struct weft_op *op)
{
	struct rx_req *req = pool_get(&ses->rx_reqs);
	if (!req)
		return NULL;
	req->node = cqe_reserve(ses);
	if (!req->node) {
		pool_put(&ses->rx_reqs, req);
		return NULL;
	}
	struct cqe_node *node = req->node;
	*req = (struct rx_req){.node = node, .home = ep, .since_ns = ses->polled_ns, .op = *op};
	list_init(&req->link);
	return req;
}

struct rx_msg *match_take(struct ses *ses, struct weft_ep *ep, struct rx_req *req, bool tagged)
{
	struct rx_msg *m = match_find_unexpected(ep, &req->op, tagged);
	if (!m)
		return NULL;
	assert(m->in_turn);
	list_del(&m->link);
	match_give(ses, req, m);
	return m;
}
