/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion: what the engine has finished becomes entries of completion queues and counts of counters. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "likely.h"
#include "member.h"
#include "prov_addr.h"
#include "prov_av.h"
#include "prov_cntr.h"
#include "prov_cq.h"
#include "prov_data.h"
#include "prov_ep.h"
#include "prov_explain.h"
#include "prov_hang.h"
#include "prov_iov.h"
#include "prov_mr.h"
#include "prov_stage.h"
#include "prov_xmit.h"

enum { CQE_BURST = 32 };

/* errno of the engine to what libfabric calls it; most are the same numbers. */
static int fi_errno_of(int err)
{
	if (err == ERANGE)
		return FI_EINVAL;
	return err == EMSGSIZE ? FI_ETRUNC : err;
}

static void entry_fill(struct prov_req *req, const struct weft_cqe *cqe)
{
	req->entry.err = fi_errno_of(cqe->err);
	req->entry.prov_errno = cqe->err;
	req->entry.len = cqe->len;
	req->entry.olen = cqe->olen;
	if (req->is_send)
		return;
	req->entry.tag = cqe->tag;
	req->entry.data = cqe->data;
	if (cqe->flags & WEFT_OP_HAS_DATA)
		req->entry.flags |= FI_REMOTE_CQ_DATA;
	if (req->ep->av)
		req->src = prov_av_resolve_addr(req->ep->av, cqe->peer);
}

/* FI_SOURCE_ERR: the message is here, but its source has no fi_addr_t; the address comes as an error's details. */
static void source_err_set(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	if (!(ep->caps & FI_SOURCE_ERR) || req->is_send || req->entry.err || req->src != FI_ADDR_NOTAVAIL ||
	    cqe->kind == WEFT_OP_PEEK)
		return;
	const struct weft_addr *from = weft_peer_addr(ep->domain->nic->engine, cqe->peer);
	struct sockaddr_storage ss;
	size_t len = prov_addr_len(&from->ip);
	void *copy = malloc(len);
	prov_addr_to_sock(from, &ss);
	if (copy)
		memcpy(copy, &ss, len);
	req->entry.err = req->entry.prov_errno = FI_EADDRNOTAVAIL;
	req->entry.err_data = copy; /* the queue frees it */
	req->entry.err_data_size = copy ? len : 0;
}

/* Who did not answer, and by which way, or which device is gone: as an error's details, which fi_cq_strerror prints. */
static void reason_set(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	if (!cqe->err || (!req->is_send && cqe->err != ENODEV))
		return;
	char *text = prov_explain(ep->domain->nic, cqe->peer, cqe->err);
	req->entry.err_data = text; /* the queue frees it */
	req->entry.err_data_size = text ? strlen(text) + 1 : 0;
}

static void count(struct prov_ep *ep, const struct prov_req *req, int err)
{
	struct prov_cntr *cntr =
		req->work.deferred ? req->work.cntr : ep->cntrs[req->is_send ? req->counter : PROV_CNTR_RECV];
	if (cntr)
		prov_cntr_count(cntr, !err, err != 0);
}

static void unpost(struct prov_req *req)
{
	assert(req->state == PROV_REQ_POSTED);
	TAILQ_REMOVE(&req->ep->posted, req, link);
	prov_hang_remove(req->ep->domain->nic, req);
	req->state = PROV_REQ_HELD;
}

/* The request that reports one message in a buffer for many; the buffer's own one when it is the last. */
static struct prov_req *multi_piece_take(struct prov_nic *nic, struct prov_req *req, const struct weft_cqe *cqe)
{
	struct prov_req *piece = req;
	if (cqe->flags & WEFT_OP_MULTI) {
		req->entry.flags |= FI_MULTI_RECV;
		req->wants_entry =
			true; /* reported even if the application did not ask for it: the buffer is released */
	} else {
		piece = prov_req_get(nic);
		assert(piece); /* prov_ep_poll reserved it */
		piece->entry = req->entry;
		piece->wants_entry = req->wants_entry;
		prov_req_work_begin(piece, req->work);
	}
	piece->entry.buf = (uint8_t *)req->entry.buf + cqe->offset;
	return piece;
}

/* Reports the end of the buffer without a message. */
static void multi_release(struct prov_ep *ep, struct prov_req *req)
{
	unpost(req);
	prov_req_work_end(req);
	req->ep = ep;
	req->entry.flags = FI_MULTI_RECV;
	req->entry.buf = NULL;
	if (ep->rx_cq)
		prov_cq_add(ep->rx_cq, req);
	else
		prov_req_put(ep->domain->nic, req);
}

/* An operation of a shared context that ends without a message is reported by any endpoint bound to it. */
static struct prov_ep *reporter(struct prov_ep *ep)
{
	struct prov_ep *member = TAILQ_FIRST(&ep->members);
	assert(!member || member->srx == ep);
	return member ? member : ep;
}

/* One operation of the engine has ended; false: others of the request have not. The first error is that of all. */
static bool part_finish(struct prov_req *req, const struct weft_cqe *cqe)
{
	assert(req->parts > 0);
	req->part_bytes += cqe->len;
	if (!req->entry.prov_errno)
		req->entry.prov_errno = cqe->err;
	return --req->parts == 0;
}

/* What has arrived goes to memory of devices; the operation fails with that. */
static void unstage(const struct prov_req *req, struct weft_cqe *cqe)
{
	if (!prov_stage_out(req, req->is_multi ? cqe->offset : 0, cqe->len))
		cqe->err = EIO;
}

/* All parts of a request of the transmit side have ended: the last one's completion becomes that of the whole. */
static struct weft_cqe parts_sum(struct prov_req *req, struct weft_cqe cqe)
{
	cqe.err = req->entry.prov_errno;
	cqe.len = cqe.err ? 0 : req->part_bytes;
	if (req->gathered && !cqe.err)
		prov_req_scatter(req, 0, req->bounce, (uint32_t)cqe.len, false);
	if (unlikely(req->staged) && !cqe.err)
		unstage(req, &cqe);
	return cqe;
}

/* The entry of an operation without context would say nothing to the application, that of a completed one too much. */
static bool is_late(const struct prov_req *req)
{
	return req->is_send && (req->told || !req->has_context);
}

/* Adds the completion to the queue, if the application wants one. */
static void report(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	struct prov_cq *cq = req->is_send ? ep->tx_cq : ep->rx_cq;
	bool all = !req->is_send && !ep->rx_selective && !req->work.deferred;
	bool failed = req->entry.err && !(req->work.deferred && req->work.cntr) && !is_late(req);
	if (cq)
		source_err_set(ep, req, cqe);
	if (req->entry.err && is_late(req) && (!ep->is_msg || ep->is_linked)) /* else the connection has ended */
		prov_late_add(&ep->domain->nic->late_errors, cqe->peer, req->entry.err);
	prov_req_work_end(req);
	if (cq && (all || req->wants_entry || failed || req->entry.err == FI_EADDRNOTAVAIL))
		prov_cq_add(cq, req);
	else
		prov_req_put(ep->domain->nic, req);
}

static void recv_finish(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	if (cqe->kind == WEFT_OP_RELEASE) {
		multi_release(ep, req);
		return;
	}
	struct weft_cqe copied;
	if (unlikely(req->staged)) {
		copied = *cqe;
		unstage(req, &copied);
		cqe = &copied;
	}
	if (!req->is_multi || cqe->flags & WEFT_OP_MULTI)
		unpost(req);
	if (req->is_multi)
		req = multi_piece_take(ep->domain->nic, req, cqe);
	req->ep = ep;
	entry_fill(req, cqe);
	reason_set(ep, req, cqe);
	if (cqe->kind != WEFT_OP_PEEK)
		count(ep, req, cqe->err);
	req->claim &= !cqe->err;
	report(ep, req, cqe);
}

static void send_finish(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *last)
{
	if (!part_finish(req, last))
		return;
	struct weft_cqe cqe = parts_sum(req, *last);
	unpost(req);
	assert(ep->tx_used > 0 && req->ep == ep);
	ep->tx_used--;
	entry_fill(req, &cqe);
	reason_set(ep, req, &cqe);
	if (cqe.err || !req->told)
		count(ep, req, cqe.err);
	if (cqe.err && ep->failed)
		ep->failed(ep, cqe.err);
	report(ep, req, &cqe);
}

bool prov_tx_tell(struct prov_ep *ep, struct prov_req *req, uint64_t len)
{
	struct prov_req *entry = req->wants_entry && ep->tx_cq ? prov_req_get(ep->domain->nic) : NULL;
	assert(req->is_send && !req->told && req->state == PROV_REQ_POSTED);
	if (req->wants_entry && ep->tx_cq && !entry)
		return false;
	req->told = true;
	req->wants_entry = false;
	count(ep, req, 0);
	if (!entry)
		return true;
	entry->ep = ep;
	entry->is_send = true;
	entry->entry = req->entry;
	entry->entry.len = len;
	prov_cq_add(ep->tx_cq, entry);
	return true;
}

/* The engine finished a request, or one message of it. Needs up to one free request. */
static void req_finish(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe)
{
	assert(req->state == PROV_REQ_POSTED);
	if (req->is_send)
		send_finish(ep, req, cqe);
	else
		recv_finish(reporter(ep), req, cqe);
}

static void cqe_handle(struct prov_ep *ep, const struct weft_cqe *cqe)
{
	if (cqe->kind == WEFT_OP_REMOTE_WRITE || cqe->kind == WEFT_OP_REMOTE_READ)
		prov_mr_event(ep, cqe);
	else
		req_finish(ep, cqe->context, cqe);
}

bool prov_ep_poll(struct prov_poller *poller)
{
	struct prov_ep *ep = container_of(poller, struct prov_ep, poller);
	struct weft_cqe cqes[CQE_BURST];
	bool any = false;
	unsigned n;
	assert(ep->enabled);
	do {
		if (!prov_req_reserve(ep->domain->nic, CQE_BURST))
			return any; /* the engine keeps what it has */
		n = weft_cq_take(ep->wep, cqes, CQE_BURST);
		for (unsigned i = 0; i < n; i++)
			cqe_handle(ep, &cqes[i]);
		any |= n > 0;
	} while (n == CQE_BURST);
	return any;
}
