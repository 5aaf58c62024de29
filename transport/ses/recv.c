/* SPDX-License-Identifier: BSD-3-Clause */
#include "recv.h"

#include <errno.h>

#include "completion.h"
#include "match.h"
#include "rx_turn.h"

static void claimed_recv(struct ses *ses, struct weft_ep *ep, struct rx_req *req)
{
	struct rx_msg *m = match_find_claimed(ep, &req->op);
	if (m && !(req->op.flags & WEFT_OP_DISCARD)) {
		list_del(&m->link);
		match_give(ses, req, m);
		rx_turn_finish(ses, m);
		return;
	}
	struct weft_cqe cqe = {.err = m ? 0 : ENOMSG};
	if (m)
		cqe = (struct weft_cqe){.peer = m->src_peer, .tag = m->tag, .data = m->data};
	ep_complete_recv(ses, ep, req, cqe);
	if (m)
		rx_turn_discard(ses, m);
}

/* Messages that wait go to the receive, as many as fit. True: it is still posted. */
static bool take_waiting(struct ses *ses, struct weft_ep *ep, struct rx_req *req, bool tagged)
{
	bool more = true;
	while (more) {
		struct rx_msg *m = match_take(ses, ep, req, tagged);
		if (!m)
			break;
		more = !list_empty(&req->link);
		rx_turn_finish(ses, m); /* may be the end of req */
	}
	return more;
}

bool recv_post(struct ses *ses, struct weft_ep *ep, const struct weft_op *op)
{
	bool tagged = op->kind == WEFT_OP_TRECV;
	struct rx_req *req = match_req_new(ses, ep, op);
	if (!req)
		return false;
	if (op->flags & WEFT_OP_CLAIM) {
		req->op.flags &= (uint16_t)~WEFT_OP_MULTI; /* it is for this one message */
		claimed_recv(ses, ep, req);
		return true;
	}
	list_add_tail(&ep->rx->posted[tagged], &req->link);
	if (take_waiting(ses, ep, req, tagged) && ep->ended && ep->rx == &ep->own)
		recv_end(ses, ep, req, ECANCELED);
	return true;
}

void recv_match_again(struct ses *ses, struct weft_ep *ep)
{
	for (int tagged = 0; tagged < 2; tagged++)
		list_for_each_safe (l, &ep->rx->posted[tagged])
			take_waiting(ses, ep, list_entry(l, struct rx_req, link), tagged);
}

bool recv_peek(struct ses *ses, struct weft_ep *ep, const struct weft_op *op)
{
	bool tagged = op->flags & WEFT_OP_TAGGED;
	struct cqe_node *node = cqe_reserve(ses);
	if (!node)
		return false;
	struct rx_msg *m = match_find_unexpected(ep, op, tagged);
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
	ep_complete(ses, ep, node, &cqe);
	if (m && op->flags & WEFT_OP_DISCARD) {
		rx_turn_discard(ses, m);
	} else if (m && op->flags & WEFT_OP_CLAIM) {
		list_del(&m->link);
		m->claimed_by = op->context;
		list_add_tail(&ep->rx->claimed, &m->link);
	}
	return true;
}

void recv_end(struct ses *ses, struct weft_ep *ep, struct rx_req *req, int err)
{
	assert(!req->retired);
	uint16_t flags = req->op.flags & WEFT_OP_MULTI;
	struct weft_cqe cqe = {.flags = flags, .err = err, .tag = req->op.tag, .peer = req->op.peer};
	list_del(&req->link);
	req->err = err;
	req->retired = true;
	if (!req->pieces)
		ep_complete_recv(ses, ep, req, cqe);
}

/* A receive that has found its message can't be cancelled any more: it completes as usual. */
void recv_cancel(struct ses *ses, struct weft_ep *ep, const struct weft_op *op)
{
	for (int tagged = 0; tagged < 2; tagged++)
		list_for_each (l, &ep->rx->posted[tagged]) {
			struct rx_req *req = list_entry(l, struct rx_req, link);
			if (req->op.context != op->context)
				continue;
			recv_end(ses, ep, req, ECANCELED);
			return;
		}
}
