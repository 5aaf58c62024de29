/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_local.h"

#include <errno.h>
#include <string.h>

#include "completion.h"
#include "rx_turn.h"

/* No limit on memory here: a send that waits would keep the receive behind it in the ring from freeing some. */
static struct rx_msg *whole_open(struct ses *ses, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	assert(op->len <= WEFT_MSG_BYTES_MAX);
	struct rx_msg *m = bounce_record(ses, peer, false, true);
	if (!m)
		return NULL;
	*m = (struct rx_msg){.ep = to,
			     .tag = op->tag,
			     .data = op->data,
			     .since_ns = ses->polled_ns,
			     .bytes = (uint32_t)op->len,
			     .src_peer = peer,
			     .tagged = op->kind == WEFT_OP_TSEND,
			     .has_data = op->flags & WEFT_OP_HAS_DATA};
	list_init(&m->link);
	list_init(&m->pdc_link);
	rx_turn_match(ses, m);
	if (m->direct || !op->buf || !m->bytes || bounce_reserve_all(ses, m))
		return m;
	rx_msg_free(ses, m);
	return NULL;
}

bool msg_local_whole(struct ses *ses, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	struct rx_msg *m = whole_open(ses, to, peer, op);
	if (!m)
		return false;
	rx_msg_place(m, 0, op->buf, m->bytes, false);
	rx_turn_finish(ses, m);
	return true;
}

static struct rx_msg *local_open(struct ses *ses, struct weft_ep *from, struct weft_ep *to, const struct weft_op *op)
{
	const struct weft_addr us = {ses->pds->conf.ip, from->port};
	uint32_t peer;
	return peer_add(&ses->peers, &us, &peer) ? NULL : whole_open(ses, to, peer, op);
}

bool msg_local_send(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to)
{
	struct weft_cqe sent = {
		.context = op->context, .kind = op->kind, .peer = op->peer, .len = op->len, .tag = op->tag};
	struct weft_ep *dst = ep_find_for(ses, to->port, &ses->pds->conf.ip, ep->port);
	struct cqe_node *node = cqe_reserve(ses);
	if (!node)
		return false;
	struct rx_msg *m = dst ? local_open(ses, ep, dst, op) : NULL;
	if (dst && !m) {
		cqe_release(ses, node);
		return false;
	}
	if (!m) {
		sent.err = EHOSTUNREACH;
		sent.len = 0;
		ses->stats->msg_failed++;
	} else {
		ses->stats->msg_sent++;
		rx_msg_place(m, 0, op->buf, m->bytes, false);
		if (op->flags & WEFT_OP_MATCHED) {
			node->ep = ep;
			node->cqe = sent;
			m->sent = node;
		}
		rx_turn_finish(ses, m);
	}
	if (!m || !(op->flags & WEFT_OP_MATCHED))
		ep_complete(ses, ep, node, &sent);
	return true;
}
