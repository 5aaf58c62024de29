/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, tagged or not, peeks, and their end by fi_cancel. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "post.h"
#include "prov_av.h"
#include "prov_iov.h"
#include "prov_mr.h"
#include "prov_progress.h"
#include "prov_stage.h"
#include "prov_xmit.h"

/* Room for what may arrive: no single message is longer. */
static int stage_set(struct prov_req *req, const struct prov_op *op, struct weft_op *wop)
{
	bool one = !(wop->flags & WEFT_OP_MULTI) && wop->len > WEFT_MSG_BYTES_MAX;
	return prov_stage_new(req, op->iov, op->iov_count, one ? WEFT_MSG_BYTES_MAX : wop->len, &wop->buf);
}

static int buffer_set(struct prov_req *req, const struct prov_op *op, struct weft_op *wop)
{
	wop->context = req;
	if (prov_mr_device_has(req->ep->domain, op->iov, op->iov_count) && wop->kind != WEFT_OP_PEEK)
		return stage_set(req, op, wop);
	if (op->iov_count > 1) {
		memcpy(req->iov, op->iov, op->iov_count * sizeof *op->iov);
		req->iov_count = (uint32_t)op->iov_count;
		wop->sink = prov_req_scatter;
		wop->sink_arg = req;
	} else {
		wop->buf = req->entry.buf;
	}
	return 0;
}

/* The request that reserved a message by FI_PEEK | FI_CLAIM with this context; it becomes the caller's. */
static struct prov_req *claim_take(struct prov_ep *ep, const void *context)
{
	struct prov_req *req;
	TAILQ_FOREACH(req, &ep->claims, link)
	{
		if (req->entry.op_context == context) {
			assert(req->state == PROV_REQ_CLAIMED);
			TAILQ_REMOVE(&ep->claims, req, link);
			req->state = PROV_REQ_HELD;
			req->claim = false;
			return req;
		}
	}
	return NULL;
}

/* The engine refused the operation: a claim stays as it was, any other request is freed. */
static void recv_undo(struct prov_ep *ep, struct prov_req *req, bool was_claim)
{
	req->claim = was_claim;
	prov_stage_drop(req);
	if (!was_claim) {
		prov_req_put(ep->domain->nic, req);
		return;
	}
	prov_req_work_end(req);
	req->state = PROV_REQ_CLAIMED;
	TAILQ_INSERT_TAIL(&ep->claims, req, link);
}

/* Peeks and claims are about messages that have arrived already; a peek becomes an operation of its own kind. */
static uint8_t peek_flags_set(const struct prov_op *op, struct weft_op *wop)
{
	uint8_t flags = 0;
	if (op->flags & FI_PEEK) {
		flags |= op->kind == WEFT_OP_TRECV ? WEFT_OP_TAGGED : 0;
		wop->kind = WEFT_OP_PEEK;
	}
	if (op->flags & FI_CLAIM)
		flags |= WEFT_OP_CLAIM;
	if (op->flags & FI_DISCARD)
		flags |= WEFT_OP_DISCARD;
	return flags;
}

/* All endpoints of a shared context have the same address vector. */
static struct prov_av *rx_av(const struct prov_ep *ep)
{
	const struct prov_ep *member = TAILQ_FIRST(&ep->members);
	return member ? member->av : ep->av;
}

static bool is_multi(const struct prov_op *op)
{
	return op->flags & FI_MULTI_RECV && !(op->flags & (FI_PEEK | FI_CLAIM));
}

static int flags_check(const struct prov_op *op)
{
	if (op->flags & FI_DISCARD && !(op->flags & (FI_PEEK | FI_CLAIM)))
		return -FI_EINVAL;
	return is_multi(op) && (op->kind != WEFT_OP_RECV || op->iov_count != 1) ? -FI_EINVAL : 0;
}

/* The request that fetches a reserved message is the one that reserved it. */
static int recv_req(struct prov_ep *ep, const struct prov_op *op, struct prov_work work, bool fetches,
		    struct prov_req **out)
{
	const struct prov_req_attr attr = {.entry_flags = FI_RECV | (op->kind == WEFT_OP_TRECV ? FI_TAGGED : FI_MSG),
					   .op_flags = op->flags,
					   .context = op->context,
					   .work = work};
	struct prov_req *req = fetches ? claim_take(ep, op->context) : prov_req_new(ep, &attr);
	if (!req)
		return fetches ? -FI_EINVAL : -FI_EAGAIN;
	if (fetches)
		prov_req_work_begin(req, work);
	req->entry.buf =
		op->iov_count && !(op->flags & FI_PEEK) ? op->iov[0].iov_base : NULL; /* a peek brings no data */
	req->claim = op->flags & FI_CLAIM && op->flags & FI_PEEK;
	req->cancelling = false; /* the peek that reserved the message may have been */
	req->is_multi = is_multi(op);
	req->wants_entry = op->flags & (FI_PEEK | FI_COMPLETION); /* report() in complete.c also looks at the binding */
	*out = req;
	return 0;
}

static ssize_t recv_submit(struct prov_ep *ep, const struct prov_op *op, struct prov_work work, struct weft_op *wop)
{
	bool fetches = op->flags & FI_CLAIM && !(op->flags & FI_PEEK);
	struct prov_req *req;
	int ret = recv_req(ep, op, work, fetches, &req);
	if (ret)
		return ret;
	ret = buffer_set(req, op, wop);
	if (!ret)
		ret = prov_submit(ep, wop);
	if (ret) {
		recv_undo(ep, req, fetches);
		return ret;
	}
	req->state = PROV_REQ_POSTED;
	TAILQ_INSERT_TAIL(&ep->posted, req, link);
	return 0;
}

/* A receive without a buffer has room for nothing, whatever length it says; -1: the description is impossible. */
static int64_t room_of(const struct prov_op *op)
{
	return op->iov_count == 1 && op->iov && !op->iov->iov_base ? 0 : prov_iov_total(op->iov, op->iov_count);
}

ssize_t prov_recv_post(struct prov_ep *ep, const struct prov_op *op, struct prov_work work)
{
	int64_t total = room_of(op);
	struct weft_op wop = {.kind = op->kind, .tag = op->tag, .ignore = op->ignore, .len = (uint64_t)total};
	assert_locked(ep->domain->nic);
	assert(op->kind == WEFT_OP_RECV || op->kind == WEFT_OP_TRECV);
	wop.peer = WEFT_PEER_ANY;
	wop.min_room = ep->min_multi_recv;
	wop.flags = peek_flags_set(op, &wop) | (is_multi(op) ? WEFT_OP_MULTI : 0);
	if (total < 0 || flags_check(op) || (is_multi(op) && !total))
		return -FI_EINVAL;
	if (ep->caps & FI_DIRECTED_RECV && op->addr != FI_ADDR_UNSPEC &&
	    prov_av_resolve_source(rx_av(ep), op->addr, &wop.peer))
		return -FI_EINVAL;
	return recv_submit(ep, op, work, &wop);
}

/* The first receive with this context that fi_cancel has not ended yet. */
static struct prov_req *cancel_find(const struct prov_ep *ep, const void *context)
{
	struct prov_req *req;
	TAILQ_FOREACH(req, &ep->posted, link)
	{
		assert(req->state == PROV_REQ_POSTED);
		if (!req->is_send && !req->cancelling && req->entry.op_context == context)
			break;
	}
	return req;
}

ssize_t prov_recv_cancel(struct prov_ep *ep, const void *context)
{
	assert_locked(ep->domain->nic);
	if (ep->wep && !weft_sq_space(ep->wep))
		prov_progress(ep->domain->nic); /* which may end the request, so it comes before the search */
	struct prov_req *req = cancel_find(ep, context);
	if (!req)
		return -FI_ENOENT;
	int ret = prov_submit(ep, &(struct weft_op){.kind = WEFT_OP_CANCEL, .context = req});
	req->cancelling = !ret;
	return ret;
}
