/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, receives, peeks and cancels, tagged or not: from the API's description to the engine's operation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_rma.h"
#include "trigger.h"

enum { FOLLOW_FROM = 16 }; /* sends outstanding */

static int submit(struct prov_ep *ep, const struct weft_op *op)
{
	int ret = weft_submit(ep->wep, op);
	if (ret == -EAGAIN) {
		prov_progress(ep->domain->nic);
		ret = weft_submit(ep->wep, op);
	}
	return ret;
}

/* A receive may offer more room than a message can take. */
int64_t prov_iov_total(const struct iovec *iov, size_t count)
{
	uint64_t total = 0;
	if (count > PROV_IOV_MAX || (count && !iov))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > INT64_MAX - total || (iov[i].iov_len && !iov[i].iov_base))
			return -1;
		total += iov[i].iov_len;
	}
	return (int64_t)total;
}

int prov_req_gather(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t total)
{
	uint8_t *p = req->bounce = malloc(total);
	if (!p)
		return -FI_EAGAIN;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len)
			memcpy(p, iov[i].iov_base, iov[i].iov_len);
		p += iov[i].iov_len;
	}
	return 0;
}

/* Hands the request to the engine, which owns it until prov_req_done. Refused, it stays the caller's. */
static ssize_t post(struct prov_ep *ep, struct prov_req *req, const struct weft_op *wop)
{
	ssize_t ret = submit(ep, wop);
	if (!ret)
		TAILQ_INSERT_TAIL(&ep->posted, req, link);
	return ret;
}

static struct prov_req *req_new(struct prov_ep *ep, const struct prov_op *op, uint64_t flags)
{
	struct prov_req *req = prov_req_get(ep->domain->nic);
	if (!req)
		return NULL;
	req->ep = ep;
	req->deferred = ep->domain->nic->is_work;
	req->work_cntr = ep->domain->nic->work_completion;
	req->entry.op_context = op->context;
	req->entry.flags = flags | (op->kind == WEFT_OP_TSEND || op->kind == WEFT_OP_TRECV ? FI_TAGGED : FI_MSG);
	req->entry.buf = op->iov_count ? op->iov[0].iov_base : NULL;
	return req;
}

/* Sends wait while as many as the queue's size are outstanding, or the application has not read its completions. */
static bool has_room(const struct prov_ep *ep, unsigned parts)
{
	return ep->tx_used < ep->tx_size && (!ep->tx_cq || ep->tx_cq->count < ep->tx_cq->size) &&
	       weft_sq_space(ep->wep) >= parts;
}

int prov_tx_room(struct prov_ep *ep, unsigned parts)
{
	if (has_room(ep, parts))
		return 0;
	prov_progress(ep->domain->nic);
	return has_room(ep, parts) ? 0 : -FI_EAGAIN;
}

/* Everything is acknowledged when it completes, so levels up to FI_TRANSMIT_COMPLETE need nothing. */
int prov_tx_level(uint64_t flags, struct weft_op *wop)
{
	if (flags & FI_COMMIT_COMPLETE)
		return -FI_EOPNOTSUPP;
	wop->flags |= (uint16_t)((flags & FI_FENCE ? WEFT_OP_FENCE : 0) |
				 (flags & FI_DELIVERY_COMPLETE ? WEFT_OP_DELIVERED : 0) |
				 (flags & FI_MATCH_COMPLETE ? WEFT_OP_MATCHED : 0));
	return 0;
}

struct prov_req *prov_tx_req(struct prov_ep *ep, const struct prov_op *op, uint64_t flags)
{
	struct prov_req *req = req_new(ep, op, 0);
	if (!req)
		return NULL;
	req->entry.flags = flags;
	req->is_send = true;
	req->wants_entry = !(op->flags & PROV_NO_COMPLETION) &&
			   ((!ep->tx_selective && !req->deferred) || op->flags & FI_COMPLETION);
	return req;
}

ssize_t prov_tx_post(struct prov_ep *ep, struct prov_req *req, const struct weft_op *wops, unsigned parts)
{
	req->parts = parts;
	ssize_t ret = post(ep, req, &wops[0]);
	if (ret) {
		prov_req_put(ep->domain->nic, req);
		return ret;
	}
	for (unsigned i = 1; i < parts; i++)
		weft_submit(ep->wep, &wops[i]); /* there is room: prov_tx_room */
	ep->tx_used++;
	return 0;
}

ssize_t prov_tx_leave(struct prov_nic *nic, ssize_t ret, uint64_t flags, bool late)
{
	if (!ret && !(flags & FI_MORE))
		prov_push(nic, late); /* the application may not come back soon */
	prov_nic_unlock(nic);
	return ret;
}

static ssize_t send_post(struct prov_ep *ep, const struct prov_op *op, struct weft_op *wop)
{
	struct prov_req *req = prov_tx_req(ep, op, FI_SEND | (op->kind == WEFT_OP_TSEND ? FI_TAGGED : FI_MSG));
	if (!req)
		return -FI_EAGAIN;
	wop->context = req;
	wop->buf = req->entry.buf;
	if (wop->len && (op->flags & FI_INJECT || op->iov_count > 1)) {
		if (prov_req_gather(req, op->iov, op->iov_count, wop->len)) {
			prov_req_put(ep->domain->nic, req);
			return -FI_EAGAIN;
		}
		wop->buf = req->bounce;
	}
	return prov_tx_post(ep, req, wop, 1);
}

static uint64_t bytes_max(const struct prov_ep *ep, uint64_t flags)
{
	if (ep->is_dgram) {
		uint32_t most = weft_dgram_bytes_max(ep->domain->nic->engine);
		return most < PROV_DGRAM_BYTES ? most : PROV_DGRAM_BYTES;
	}
	return flags & FI_INJECT ? (uint64_t)PROV_INJECT_BYTES : WEFT_MSG_BYTES_MAX;
}

static ssize_t send_locked(struct prov_ep *ep, const struct prov_op *op)
{
	int64_t total = prov_iov_total(op->iov, op->iov_count);
	struct weft_op wop = {.kind = op->kind, .tag = op->tag, .data = op->data, .len = (uint64_t)total};
	if (total < 0 || prov_av_peer(ep->av, op->addr, &wop.peer))
		return -FI_EINVAL;
	if ((uint64_t)total > bytes_max(ep, op->flags))
		return -FI_EMSGSIZE;
	if (ep->is_dgram)
		wop.kind = WEFT_OP_DGRAM;
	if (op->flags & FI_REMOTE_CQ_DATA)
		wop.flags |= WEFT_OP_HAS_DATA;
	int ret = prov_tx_level(op->flags, &wop);
	if (!ret)
		ret = prov_tx_room(ep, 1);
	return ret ? ret : send_post(ep, op, &wop);
}

/* Many sends are outstanding, so the application has to come back for their completions, and the peer is busy: a few
 * more may leave together. Not those whose end nobody hears of. */
static bool may_follow(const struct prov_ep *ep, const struct prov_op *op)
{
	return ep->tx_used > FOLLOW_FROM && ep->tx_cq && !(op->flags & PROV_NO_COMPLETION) &&
	       (!ep->tx_selective || op->flags & FI_COMPLETION);
}

ssize_t prov_send(struct prov_ep *ep, const struct prov_op *op)
{
	struct prov_nic *nic = ep->domain->nic;
	if (!ep->enabled || ep->no_tx)
		return -FI_EOPBADSTATE;
	if (ep->is_dgram && op->kind != WEFT_OP_SEND)
		return -FI_EOPNOTSUPP;
	if (op->flags & FI_TRIGGER)
		return prov_trigger_op(ep, op);
	prov_nic_lock(nic);
	ssize_t ret = send_locked(ep, op);
	return prov_tx_leave(nic, ret, op->flags, may_follow(ep, op));
}

void prov_req_scatter(void *arg, uint64_t offset, const uint8_t *data, uint32_t len)
{
	struct prov_req *req = arg;
	for (uint32_t i = 0; i < req->iov_count && len; i++) {
		uint64_t room = req->iov[i].iov_len;
		if (offset >= room) {
			offset -= room;
			continue;
		}
		uint32_t n = len < room - offset ? len : (uint32_t)(room - offset);
		memcpy((uint8_t *)req->iov[i].iov_base + offset, data, n);
		data += n;
		len -= n;
		offset = 0;
	}
}

static void recv_buffer(struct prov_req *req, const struct prov_op *op, struct weft_op *wop)
{
	wop->context = req;
	if (op->iov_count > 1) {
		memcpy(req->iov, op->iov, op->iov_count * sizeof *op->iov);
		req->iov_count = (uint32_t)op->iov_count;
		wop->sink = prov_req_scatter;
		wop->sink_arg = req;
	} else {
		wop->buf = req->entry.buf;
	}
}

/* The request that reserved a message by FI_PEEK | FI_CLAIM with this context; it becomes the caller's. */
static struct prov_req *claim_take(struct prov_ep *ep, const void *context)
{
	struct prov_req *req;
	TAILQ_FOREACH(req, &ep->claims, link)
	{
		if (req->entry.op_context == context) {
			TAILQ_REMOVE(&ep->claims, req, link);
			req->claim = false;
			return req;
		}
	}
	return NULL;
}

/* The engine refused: a reservation is as it was, anything else is forgotten. */
static void recv_undo(struct prov_ep *ep, struct prov_req *req, bool was_claim)
{
	req->claim = was_claim;
	if (was_claim)
		TAILQ_INSERT_TAIL(&ep->claims, req, link);
	else
		prov_req_put(ep->domain->nic, req);
}

/* Peeks and claims speak of messages that have arrived already. */
static uint8_t recv_flags(const struct prov_op *op, struct weft_op *wop)
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

static ssize_t recv_locked(struct prov_ep *ep, const struct prov_op *op)
{
	int64_t total = prov_iov_total(op->iov, op->iov_count);
	bool peek = op->flags & FI_PEEK, claim = op->flags & FI_CLAIM;
	struct weft_op wop = {.kind = op->kind, .tag = op->tag, .ignore = op->ignore, .len = (uint64_t)total};
	wop.peer = WEFT_PEER_ANY;
	wop.flags = recv_flags(op, &wop);
	if (total < 0 || (op->flags & FI_DISCARD && !peek && !claim))
		return -FI_EINVAL;
	bool multi = op->flags & FI_MULTI_RECV && !peek && !claim;
	if (multi && (op->kind != WEFT_OP_RECV || op->iov_count != 1 || !total))
		return -FI_EINVAL;
	if (multi)
		wop.flags |= WEFT_OP_MULTI;
	wop.min_room = ep->min_multi_recv;
	if (ep->caps & FI_DIRECTED_RECV && op->addr != FI_ADDR_UNSPEC && prov_av_source(rx_av(ep), op->addr, &wop.peer))
		return -FI_EINVAL;
	struct prov_req *req = claim && !peek ? claim_take(ep, op->context) : req_new(ep, op, FI_RECV);
	if (!req)
		return claim && !peek ? -FI_EINVAL : -FI_EAGAIN;
	req->entry.buf = op->iov_count ? op->iov[0].iov_base : NULL;
	req->claim = claim && peek;
	req->is_multi = multi;
	req->wants_entry = peek || op->flags & FI_COMPLETION; /* see prov_req_done for the binding */
	recv_buffer(req, op, &wop);
	ssize_t ret = post(ep, req, &wop);
	if (ret)
		recv_undo(ep, req, claim && !peek);
	return ret;
}

ssize_t prov_recv(struct prov_ep *ep, const struct prov_op *op)
{
	if (!ep->enabled || ep->no_rx)
		return -FI_EOPBADSTATE;
	if (op->flags & FI_TRIGGER)
		return prov_trigger_op(ep, op);
	ep = prov_rx_of(ep);
	prov_nic_lock(ep->domain->nic);
	ssize_t ret = recv_locked(ep, op);
	prov_nic_unlock(ep->domain->nic);
	return ret;
}

ssize_t prov_cancel(fid_t fid, void *context)
{
	struct prov_ep *ep = prov_rx_of(prov_ep_of(container_of(fid, struct fid_ep, fid)));
	struct prov_req *req;
	ssize_t ret = -FI_ENOENT;
	prov_nic_lock(ep->domain->nic);
	if (prov_trigger_cancel(prov_ep_of(container_of(fid, struct fid_ep, fid)), context)) {
		prov_nic_unlock(ep->domain->nic);
		return 0;
	}
	TAILQ_FOREACH(req, &ep->posted, link)
	{
		if (!req->is_send && req->entry.op_context == context) {
			ret = submit(ep, &(struct weft_op){.kind = WEFT_OP_CANCEL, .context = req});
			break;
		}
	}
	prov_nic_unlock(ep->domain->nic);
	return ret;
}
