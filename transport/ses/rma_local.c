/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of one engine reach each other's memory without packets: at once, so in order. */
#include <errno.h>
#include <string.h>

#include "completion.h"
#include "rma.h"

/* From the region to the operation's buffer or sink. */
static uint8_t load(struct weft_mr *mr, const struct weft_op *op)
{
	enum { STEP_BYTES = 4096 };
	uint8_t piece[STEP_BYTES];
	if (!op->sink)
		return mr_load(mr, op->raddr, op->buf, op->len);
	for (uint64_t at = 0; at < op->len; at += STEP_BYTES) {
		uint32_t n = op->len - at < STEP_BYTES ? (uint32_t)(op->len - at) : STEP_BYTES;
		uint8_t rc = mr_load(mr, op->raddr + at, piece, n);
		if (rc != WIRE_RC_OK)
			return rc;
		op->sink(op->sink_arg, at, piece, n, false);
	}
	return WIRE_RC_OK;
}

static uint8_t change(struct weft_mr *mr, const struct weft_op *op)
{
	uint8_t was[UINT16_MAX];
	struct amo_request q;
	bool fetches = op->kind == WEFT_OP_FETCH_ATOMIC;
	assert(op->len <= sizeof was);
	rma_amo_fill(&q, op);
	uint8_t rc = rma_amo_apply(&q, mr, (struct mr_range){op->raddr, op->len}, op->buf, fetches ? was : NULL);
	if (rc != WIRE_RC_OK)
		return rc;
	if (fetches && op->sink)
		op->sink(op->sink_arg, 0, was, (uint32_t)op->len, false);
	else if (fetches && op->atomic->result)
		memcpy(op->atomic->result, was, op->len);
	return WIRE_RC_OK;
}

/* enum wire_rc. */
static uint8_t move(struct ses *ses, struct weft_mr *mr, const struct weft_op *op)
{
	uint8_t rc = op->kind == WEFT_OP_READ    ? load(mr, op)
		     : op->kind == WEFT_OP_WRITE ? mr_store(mr, op->raddr, op->buf, op->len)
						 : change(mr, op);
	bool done = rc == WIRE_RC_OK;
	ses->stats->rma_read += op->kind == WEFT_OP_READ && done;
	ses->stats->rma_written += op->kind == WEFT_OP_WRITE && done;
	ses->stats->rma_atomics += op->kind != WEFT_OP_READ && op->kind != WEFT_OP_WRITE && done;
	return rc;
}

static bool reads(const struct weft_op *op)
{
	return op->kind == WEFT_OP_READ || op->kind == WEFT_OP_FETCH_ATOMIC;
}

static uint8_t access_of(const struct weft_op *op)
{
	if (op->atomic)
		return rma_amo_access(&(struct amo_request){.opcode = op->atomic->op}, reads(op));
	return reads(op) ? WEFT_MR_READ : WEFT_MR_WRITE;
}

static bool wants_event(const struct weft_ep *dst, const struct weft_mr *mr, const struct weft_op *op)
{
	bool data = !reads(op) && op->flags & WEFT_OP_HAS_DATA;
	return data || dst->events || mr->attr.access & WEFT_MR_EVENTS;
}

static struct weft_cqe event_of(const struct weft_mr *mr, const struct weft_op *op, uint32_t peer)
{
	bool both = reads(op) && access_of(op) & WEFT_MR_WRITE;
	return (struct weft_cqe){.context = mr->attr.context,
				 .kind = reads(op) ? WEFT_OP_REMOTE_READ : WEFT_OP_REMOTE_WRITE,
				 .flags = (op->flags & WEFT_OP_HAS_DATA) | (both ? WEFT_OP_MODIFIED : 0),
				 .peer = peer,
				 .len = op->len,
				 .tag = op->rkey,
				 .data = op->data};
}

/* As a peer would be allowed it; NULL: `*rc` says why not. */
static struct weft_mr *region_of(const struct ses *ses, const struct weft_ep *dst, const struct weft_op *op,
				 uint8_t *rc)
{
	const struct mr_range range = {op->raddr, op->len};
	struct weft_mr *mr = mr_check(&ses->mrs, dst->scope, op->rkey, range, access_of(op), rc);
	if (!mr || !(op->flags & WEFT_OP_IDEMPOTENT) || mr->attr.key & WEFT_MR_KEY_IDEMPOTENT)
		return mr;
	*rc = WIRE_RC_PERM_VIOLATION;
	return NULL;
}

/* 0, an errno for the completion, or -1: no memory. */
static int perform(struct ses *ses, struct weft_ep *ep, struct weft_ep *dst, const struct weft_op *op)
{
	uint8_t rc;
	struct weft_addr us = {ses->pds->conf.ip, ep->port};
	uint32_t peer;
	struct weft_mr *mr = region_of(ses, dst, op, &rc);
	if (!mr) {
		ses->stats->rma_refused++;
		return rma_errno(rc);
	}
	struct cqe_node *node = NULL;
	bool wanted = wants_event(dst, mr, op);
	if (wanted && (peer_add(&ses->peers, &us, &peer) || !(node = cqe_reserve(ses))))
		return -1;
	rc = move(ses, mr, op);
	if (rc != WIRE_RC_OK) {
		if (node)
			cqe_release(ses, node);
		return rma_errno(rc);
	}
	if (node) {
		struct weft_cqe cqe = event_of(mr, op, peer);
		ep_complete(ses, dst, node, &cqe);
	}
	return 0;
}

bool rma_local(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to)
{
	struct weft_ep *dst = ep_find_for(ses, to->port, &ses->pds->conf.ip, ep->port);
	struct cqe_node *node = cqe_reserve(ses);
	int err = !node ? -1 : !dst ? EHOSTUNREACH : perform(ses, ep, dst, op);
	if (err < 0) {
		if (node)
			cqe_release(ses, node);
		return false;
	}
	if (err)
		ses->stats->msg_failed++;
	else
		ses->stats->msg_sent++;
	struct weft_cqe cqe = {
		.context = op->context, .kind = op->kind, .err = err, .peer = op->peer, .len = err ? 0 : op->len};
	ep_complete(ses, ep, node, &cqe);
	return true;
}
