/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, tagged or not, and datagrams. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>

#include "post.h"
#include "prov_iov.h"
#include "prov_mr.h"
#include "prov_xmit.h"

enum { BATCH_FROM = 16 }; /* sends outstanding */

static struct prov_req *send_req(struct prov_ep *ep, const struct prov_op *op, struct prov_work work)
{
	const struct prov_req_attr attr = {.entry_flags = FI_SEND | (op->kind == WEFT_OP_TSEND ? FI_TAGGED : FI_MSG),
					   .op_flags = op->flags,
					   .buf = op->iov_count ? op->iov[0].iov_base : NULL,
					   .context = op->context,
					   .work = work};
	return prov_tx_req_new(ep, &attr);
}

/* Completes when its payload is copied. Larger ones take less time when they wait for the peer; a fenced one tells of
 * those before it, too. */
static bool completes_at_once(const struct prov_ep *ep, const struct prov_op *op, struct prov_work work, uint64_t len)
{
	uint32_t most = ep->domain->nic->copy_bytes;
	bool small = op->flags & FI_INJECT || (most && len <= most);
	bool waits = op->flags & (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_FENCE);
	return small && !waits && !work.deferred && !ep->is_dgram;
}

static ssize_t send_submit(struct prov_ep *ep, const struct prov_op *op, struct prov_work work, struct weft_op *wop)
{
	struct prov_req *req = send_req(ep, op, work);
	if (!req)
		return -FI_EAGAIN;
	bool at_once = completes_at_once(ep, op, work, wop->len);
	wop->context = req;
	wop->buf = req->entry.buf;
	if (wop->len && (at_once || op->flags & FI_INJECT || op->iov_count > 1 ||
			 prov_mr_device_has(ep->domain, op->iov, op->iov_count))) {
		int ret = prov_req_gather(req, op->iov, op->iov_count, wop->len);
		if (ret) {
			prov_req_put(ep->domain->nic, req);
			return ret;
		}
		wop->buf = req->bounce;
	}
	ssize_t ret = prov_tx_submit(ep, req, wop, 1);
	if (!ret && at_once)
		prov_tx_tell(ep, req, wop->len);
	return ret;
}

static uint64_t bytes_max(const struct prov_ep *ep, uint64_t flags)
{
	if (ep->is_dgram) {
		uint32_t most = weft_dgram_bytes_max(ep->domain->nic->engine);
		return most < PROV_DGRAM_BYTES ? most : PROV_DGRAM_BYTES;
	}
	return flags & FI_INJECT ? (uint64_t)PROV_INJECT_BYTES : WEFT_MSG_BYTES_MAX;
}

static ssize_t send_locked(struct prov_ep *ep, const struct prov_op *op, struct prov_work work)
{
	int64_t total = prov_iov_total(op->iov, op->iov_count);
	struct weft_op wop = {.kind = op->kind, .tag = op->tag, .data = op->data, .len = (uint64_t)total};
	int ret = total < 0 ? -FI_EINVAL : prov_tx_dest(ep, op->addr, &wop.peer);
	if (ret)
		return ret;
	if ((uint64_t)total > bytes_max(ep, op->flags))
		return -FI_EMSGSIZE;
	if (ep->is_dgram)
		wop.kind = WEFT_OP_DGRAM;
	if (op->flags & FI_REMOTE_CQ_DATA)
		wop.flags |= WEFT_OP_HAS_DATA;
	ret = prov_tx_set_level(op->flags, &wop);
	if (!ret)
		ret = prov_tx_begin(ep, 1, wop.peer);
	return ret ? ret : send_submit(ep, op, work, &wop);
}

/* Many sends are outstanding, so the application has to come back for their completions, and the peer is busy: a few
 * more may leave together. Not those whose end nobody hears of. */
static bool may_batch(const struct prov_ep *ep, const struct prov_op *op)
{
	return ep->tx_used > BATCH_FROM && ep->tx_cq && !(op->flags & PROV_NO_COMPLETION) &&
	       (!ep->tx_selective || op->flags & FI_COMPLETION);
}

ssize_t prov_send_post(struct prov_ep *ep, const struct prov_op *op, struct prov_work work)
{
	assert_locked(ep->domain->nic);
	assert(op->kind == WEFT_OP_SEND || (op->kind == WEFT_OP_TSEND && !ep->is_dgram));
	assert(!(op->flags & FI_TRIGGER));
	ssize_t ret = send_locked(ep, op, work);
	return prov_tx_flush(ep->domain->nic, ret, op->flags, may_batch(ep, op));
}
