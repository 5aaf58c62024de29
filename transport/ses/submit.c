/* SPDX-License-Identifier: BSD-3-Clause */
/* What applications submit, by kind of operation. */
#include <errno.h>

#include "completion.h"
#include "dgram.h"
#include "msg_tx.h"
#include "recv.h"

enum { SUBMIT_MAX = 64 }; /* per endpoint and poll */

/* A receive for many messages gets its buffer back. */
static bool refuse(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, int err)
{
	const struct weft_cqe cqe = {.context = op->context,
				     .kind = op->kind,
				     .flags = op->flags & WEFT_OP_MULTI,
				     .err = err,
				     .peer = op->peer,
				     .tag = op->tag};
	struct cqe_node *node = cqe_reserve(ses);
	if (!node)
		return false;
	ses->stats->msg_failed++;
	ep_complete(ses, ep, node, &cqe);
	return true;
}

static bool perform(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	if (unlikely(ses->failed) && op->kind != WEFT_OP_CANCEL)
		return refuse(ses, ep, op, ses->failed);
	switch (op->kind) {
	case WEFT_OP_SEND:
	case WEFT_OP_TSEND:
	case WEFT_OP_WRITE:
	case WEFT_OP_READ:
	case WEFT_OP_ATOMIC:
	case WEFT_OP_FETCH_ATOMIC:
		return msg_tx_start(ses, ep, op, now);
	case WEFT_OP_RECV:
	case WEFT_OP_TRECV:
		return recv_post(ses, ep, op);
	case WEFT_OP_DGRAM:
		return dgram_send(ses, ep, op, now);
	case WEFT_OP_PEEK:
		return recv_peek(ses, ep, op);
	case WEFT_OP_CANCEL:
		recv_cancel(ses, ep, op);
		return true;
	default:
		return refuse(ses, ep, op, EINVAL);
	}
}

void ep_submissions(struct ses *ses, struct weft_ep *ep, weft_ns now)
{
	if (ep->overflow)
		ep_flush_cq(ses, ep);
	for (int i = 0; i < SUBMIT_MAX; i++) {
		if (!ep->has_pending && !spsc_pop(&ep->sq, &ep->pending))
			return;
		ep->has_pending = !perform(ses, ep, &ep->pending, now);
		if (ep->has_pending) {
			ep_mark_ready(ses, ep);
			ses->short_of_mem = true;
			return;
		}
	}
	ep_mark_ready(ses, ep);
	ses->more_submissions = true;
}
