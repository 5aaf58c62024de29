/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of peers' memory. One operation of the engine per remote segment; the request completes with the
 * last of them. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "post.h"
#include "prov_iov.h"
#include "prov_mr.h"
#include "prov_stage.h"
#include "prov_xmit.h"

static int64_t remote_total(const struct fi_msg_rma *msg)
{
	uint64_t total = 0;
	if (msg->rma_iov_count > PROV_IOV_MAX || (msg->rma_iov_count && !msg->rma_iov))
		return -1;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		if (msg->rma_iov[i].len > WEFT_MSG_BYTES_MAX)
			return -1;
		total += msg->rma_iov[i].len;
	}
	return (int64_t)total;
}

/* What is read goes to the pieces as it arrives, or, when several operations fetch it, to a copy first. */
static int pieces_set(struct prov_req *req, const struct fi_msg_rma *msg, uint64_t total, struct weft_op *wop)
{
	memcpy(req->iov, msg->msg_iov, msg->iov_count * sizeof *msg->msg_iov);
	req->iov_count = (uint32_t)msg->iov_count;
	req->gathered = msg->rma_iov_count > 1;
	if (!req->gathered) {
		wop->sink = prov_req_scatter;
		wop->sink_arg = req;
		return 0;
	}
	req->bounce = malloc(total ? total : 1);
	wop->buf = req->bounce;
	return req->bounce ? 0 : -FI_EAGAIN;
}

/* Where the engine finds or leaves the bytes: in the application's one buffer, its pieces, or a copy. Errors of
 * prov_req_gather. */
static int buffer_set(struct prov_req *req, const struct fi_msg_rma *msg, uint64_t flags, uint64_t total,
		      struct weft_op *wop)
{
	bool device = prov_mr_device_has(req->ep->domain, msg->msg_iov, msg->iov_count);
	bool copied = wop->kind == WEFT_OP_WRITE && total && (flags & FI_INJECT || msg->iov_count > 1 || device);
	wop->buf = req->entry.buf;
	if (device && wop->kind == WEFT_OP_READ)
		return prov_stage_new(req, msg->msg_iov, msg->iov_count, total, &wop->buf);
	if (!copied)
		return msg->iov_count > 1 ? pieces_set(req, msg, total, wop) : 0;
	int ret = prov_req_gather(req, msg->msg_iov, msg->iov_count, total);
	wop->buf = req->bounce;
	return ret;
}

/* One for each remote segment, the first fenced if any is, the last with data. Without segments there is one of no
 * bytes. */
static unsigned parts_fill(const struct fi_msg_rma *msg, const struct weft_op *whole, struct weft_op *parts)
{
	unsigned n = msg->rma_iov_count ? (unsigned)msg->rma_iov_count : 1;
	uint64_t offset = 0;
	assert(n <= PROV_IOV_MAX);
	for (unsigned i = 0; i < n; i++) {
		parts[i] = *whole;
		parts[i].flags &= (uint16_t) ~((i ? WEFT_OP_FENCE : 0) | (i + 1 < n ? WEFT_OP_HAS_DATA : 0));
		if (!msg->rma_iov_count)
			break;
		parts[i].len = msg->rma_iov[i].len;
		parts[i].raddr = msg->rma_iov[i].addr;
		parts[i].rkey = msg->rma_iov[i].key;
		if (parts[i].buf)
			parts[i].buf = (uint8_t *)parts[i].buf + offset;
		offset += parts[i].len;
	}
	assert(offset == whole->len);
	return n;
}

static ssize_t rma_submit(struct prov_ep *ep, const struct fi_msg_rma *msg, uint64_t flags, struct prov_work work,
			  struct weft_op *wop)
{
	bool reads = wop->kind == WEFT_OP_READ;
	const struct prov_req_attr attr = {.entry_flags = FI_RMA | (reads ? FI_READ : FI_WRITE),
					   .op_flags = flags,
					   .buf = msg->iov_count ? msg->msg_iov[0].iov_base : NULL,
					   .context = msg->context,
					   .work = work};
	struct weft_op parts[PROV_IOV_MAX];
	struct prov_req *req = prov_tx_req_new(ep, &attr);
	if (!req)
		return -FI_EAGAIN;
	req->counter = reads ? PROV_CNTR_READ : PROV_CNTR_WRITE;
	wop->context = req;
	int ret = buffer_set(req, msg, flags, wop->len, wop);
	if (ret) {
		prov_req_put(ep->domain->nic, req);
		return ret;
	}
	return prov_tx_submit(ep, req, parts, parts_fill(msg, wop, parts));
}

static ssize_t rma_locked(struct prov_ep *ep, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags,
			  struct prov_work work)
{
	int64_t local = prov_iov_total(msg->msg_iov, msg->iov_count), remote = remote_total(msg);
	struct weft_op wop = {.kind = kind, .data = msg->data};
	if (local < 0 || remote < 0 || (msg->rma_iov_count ? local != remote : local != 0))
		return -FI_EINVAL;
	if ((uint64_t)local > WEFT_MSG_BYTES_MAX)
		return -FI_EMSGSIZE;
	int ret = prov_tx_dest(ep, msg->addr, &wop.peer);
	if (ret)
		return ret;
	if (flags & FI_INJECT && (kind == WEFT_OP_READ || local > PROV_INJECT_BYTES))
		return kind == WEFT_OP_READ ? -FI_EBADFLAGS : -FI_EMSGSIZE;
	ret = prov_tx_set_level(flags, &wop);
	if (!ret)
		ret = prov_tx_begin(ep, PROV_IOV_MAX, wop.peer);
	if (ret)
		return ret;
	if (flags & FI_REMOTE_CQ_DATA && kind == WEFT_OP_WRITE)
		wop.flags |= WEFT_OP_HAS_DATA;
	wop.flags &= (uint16_t)~WEFT_OP_MATCHED;
	wop.len = (uint64_t)local; /* of all parts */
	return rma_submit(ep, msg, flags, work, &wop);
}

ssize_t prov_rma_post(struct prov_ep *ep, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags,
		      struct prov_work work)
{
	assert_locked(ep->domain->nic);
	assert(kind == WEFT_OP_READ || kind == WEFT_OP_WRITE);
	assert(!(flags & FI_TRIGGER));
	return prov_tx_flush(ep->domain->nic, rma_locked(ep, msg, kind, flags, work), flags, false);
}
