/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_xmit.h"

#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>

#include "prov_av.h"
#include "prov_cq.h"
#include "prov_hang.h"
#include "prov_link.h"
#include "prov_progress.h"

int prov_submit(struct prov_ep *ep, const struct weft_op *wop)
{
	assert_locked(ep->domain->nic);
	assert(ep->wep);
	if (prov_link_is_gone(ep->domain->nic))
		return -FI_ENODEV;
	int ret = weft_submit(ep->wep, wop);
	if (ret == -EAGAIN) {
		prov_progress(ep->domain->nic);
		ret = weft_submit(ep->wep, wop);
	}
	return ret;
}

struct prov_req *prov_req_new(struct prov_ep *ep, const struct prov_req_attr *attr)
{
	struct prov_req *req = prov_req_get(ep->domain->nic);
	if (!req)
		return NULL;
	req->ep = ep;
	prov_req_work_begin(req, attr->work);
	req->entry.op_context = attr->context;
	req->entry.flags = attr->entry_flags;
	req->entry.buf = attr->buf;
	return req;
}

struct prov_req *prov_tx_req_new(struct prov_ep *ep, const struct prov_req_attr *attr)
{
	struct prov_req *req = prov_req_new(ep, attr);
	bool all = !ep->tx_selective && !attr->work.deferred;
	if (!req)
		return NULL;
	req->is_send = true;
	req->has_context = !(attr->op_flags & PROV_NO_COMPLETION);
	req->wants_entry = !(attr->op_flags & PROV_NO_COMPLETION) && (all || attr->op_flags & FI_COMPLETION);
	return req;
}

int prov_tx_dest(const struct prov_ep *ep, fi_addr_t addr, uint32_t *peer)
{
	assert_locked(ep->domain->nic);
	if (!ep->is_msg)
		return prov_av_resolve_peer(ep->av, addr, peer);
	*peer = ep->peer;
	return ep->is_linked ? 0 : -FI_ENOTCONN;
}

/* Sends wait while as many as the queue's size are outstanding, or the application has not read its completions. */
static bool has_room(const struct prov_ep *ep, unsigned parts)
{
	return ep->tx_used < ep->tx_size && (!ep->tx_cq || ep->tx_cq->count < ep->tx_cq->size) &&
	       weft_sq_space(ep->wep) >= parts;
}

int prov_tx_make_room(struct prov_ep *ep, unsigned parts)
{
	assert_locked(ep->domain->nic);
	assert(parts > 0 && ep->enabled);
	if (prov_link_is_gone(ep->domain->nic))
		return -FI_ENODEV;
	if (has_room(ep, parts))
		return 0;
	prov_progress(ep->domain->nic);
	return has_room(ep, parts) ? 0 : -FI_EAGAIN;
}

int prov_tx_begin(struct prov_ep *ep, unsigned parts, uint32_t peer)
{
	int ret = prov_late_take(&ep->domain->nic->late_errors, peer);
	return ret ? ret : prov_tx_make_room(ep, parts);
}

/* Everything is acknowledged when it completes, so levels up to FI_TRANSMIT_COMPLETE need nothing. */
int prov_tx_set_level(uint64_t flags, struct weft_op *wop)
{
	if (flags & FI_COMMIT_COMPLETE)
		return -FI_EOPNOTSUPP;
	wop->flags |= (uint16_t)((flags & FI_FENCE ? WEFT_OP_FENCE : 0) |
				 (flags & FI_DELIVERY_COMPLETE ? WEFT_OP_DELIVERED : 0) |
				 (flags & FI_MATCH_COMPLETE ? WEFT_OP_MATCHED : 0));
	return 0;
}

ssize_t prov_tx_submit(struct prov_ep *ep, struct prov_req *req, const struct weft_op *wops, unsigned parts)
{
	assert(req->state == PROV_REQ_HELD && req->is_send);
	assert(parts > 0 && parts <= PROV_IOV_MAX && ep->tx_used < ep->tx_size);
	req->parts = parts;
	ssize_t ret = prov_submit(ep, &wops[0]);
	if (ret) {
		prov_req_put(ep->domain->nic, req);
		return ret;
	}
	req->state = PROV_REQ_POSTED;
	TAILQ_INSERT_TAIL(&ep->posted, req, link);
	prov_hang_add(ep->domain->nic, req, wops[0].peer);
	for (unsigned i = 1; i < parts; i++) {
		assert(weft_sq_space(ep->wep) > 0); /* prov_tx_make_room */
		weft_submit(ep->wep, &wops[i]);
	}
	ep->tx_used++;
	return 0;
}

ssize_t prov_tx_flush(struct prov_nic *nic, ssize_t ret, uint64_t flags, bool may_batch)
{
	assert_locked(nic);
	if (!ret && !(flags & FI_MORE))
		prov_doorbell(nic, may_batch); /* the application may not come back soon */
	return ret;
}
