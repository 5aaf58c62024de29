/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of peers' memory. One operation of the engine per remote segment; the request completes with the
 * last of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_rma.h"
#include "trigger.h"

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

/* Where the engine finds or leaves the bytes: in the application's one buffer, its pieces, or a copy. */
static int local_buffer(struct prov_req *req, const struct fi_msg_rma *msg, uint64_t flags, uint64_t total,
			struct weft_op *wop)
{
	bool copied = wop->kind == WEFT_OP_WRITE && total && (flags & FI_INJECT || msg->iov_count > 1);
	wop->buf = req->entry.buf;
	if (copied) {
		if (prov_req_gather(req, msg->msg_iov, msg->iov_count, total))
			return -FI_EAGAIN;
		wop->buf = req->bounce;
	} else if (msg->iov_count > 1) {
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
	return 0;
}

/* One for each remote segment, the first fenced if any is, the last with data. Without segments there is one of no
 * bytes. */
static unsigned parts_fill(const struct fi_msg_rma *msg, const struct weft_op *whole, struct weft_op *parts)
{
	unsigned n = msg->rma_iov_count ? (unsigned)msg->rma_iov_count : 1;
	uint64_t offset = 0;
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
	return n;
}

static ssize_t rma_post(struct prov_ep *ep, const struct fi_msg_rma *msg, uint64_t flags, uint64_t total,
			struct weft_op *wop)
{
	const struct prov_op op = {.kind = wop->kind,
				   .iov = msg->msg_iov,
				   .iov_count = msg->iov_count,
				   .flags = flags,
				   .context = msg->context};
	struct weft_op parts[PROV_IOV_MAX];
	struct prov_req *req = prov_tx_req(ep, &op, FI_RMA | (wop->kind == WEFT_OP_READ ? FI_READ : FI_WRITE));
	if (!req)
		return -FI_EAGAIN;
	req->counter = wop->kind == WEFT_OP_READ ? PROV_CNTR_READ : PROV_CNTR_WRITE;
	wop->context = req;
	if (local_buffer(req, msg, flags, total, wop)) {
		prov_req_put(ep->domain->nic, req);
		return -FI_EAGAIN;
	}
	return prov_tx_post(ep, req, parts, parts_fill(msg, wop, parts));
}

static ssize_t rma_locked(struct prov_ep *ep, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags)
{
	int64_t local = prov_iov_total(msg->msg_iov, msg->iov_count), remote = remote_total(msg);
	struct weft_op wop = {.kind = kind, .data = msg->data};
	if (local < 0 || remote < 0 || (msg->rma_iov_count ? local != remote : local != 0))
		return -FI_EINVAL;
	if (prov_av_peer(ep->av, msg->addr, &wop.peer))
		return -FI_EINVAL;
	if (flags & FI_INJECT && (kind == WEFT_OP_READ || local > PROV_INJECT_BYTES))
		return kind == WEFT_OP_READ ? -FI_EBADFLAGS : -FI_EMSGSIZE;
	int ret = prov_tx_level(flags, &wop);
	if (!ret)
		ret = prov_tx_room(ep, PROV_IOV_MAX);
	if (ret)
		return ret;
	if (flags & FI_REMOTE_CQ_DATA && kind == WEFT_OP_WRITE)
		wop.flags |= WEFT_OP_HAS_DATA;
	wop.flags &= (uint16_t)~WEFT_OP_MATCHED;
	return rma_post(ep, msg, flags, (uint64_t)local, &wop);
}

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags)
{
	struct prov_ep *ep = prov_ep_of(fid);
	struct prov_nic *nic = ep->domain->nic;
	if (!ep->enabled || ep->no_tx)
		return -FI_EOPBADSTATE;
	if (flags & FI_TRIGGER)
		return prov_trigger_rma(ep, kind == WEFT_OP_READ ? FI_OP_READ : FI_OP_WRITE, msg, flags);
	prov_nic_lock(nic);
	return prov_tx_leave(nic, rma_locked(ep, msg, kind, flags), flags, false);
}

/* One remote segment as long as all that is local. */
struct one {
	const struct iovec *iov;
	size_t count;
	fi_addr_t peer;
	uint64_t addr, key, data;
	void *context;
};

static ssize_t rma_one(struct fid_ep *fid, const struct one *one, uint8_t kind, uint64_t flags)
{
	int64_t total = prov_iov_total(one->iov, one->count);
	const struct fi_rma_iov remote = {.addr = one->addr, .len = (size_t)total, .key = one->key};
	const struct fi_msg_rma msg = {.msg_iov = one->iov,
				       .iov_count = one->count,
				       .addr = one->peer,
				       .rma_iov = &remote,
				       .rma_iov_count = 1,
				       .context = one->context,
				       .data = one->data};
	return total < 0 ? -FI_EINVAL : rma_msg(fid, &msg, kind, flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
			 uint64_t addr, uint64_t key, void *context)
{
	const struct one one = {iov, count, src, addr, key, 0, context};
	return rma_one(ep, &one, WEFT_OP_READ, prov_tx_flags(ep) & ~FI_INJECT);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr,
			uint64_t key, void *context)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};
	return rma_readv(ep, &iov, NULL, 1, src, addr, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(ep, msg, WEFT_OP_READ, flags & ~PROV_NO_COMPLETION);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
			  uint64_t addr, uint64_t key, void *context)
{
	const struct one one = {iov, count, dest, addr, key, 0, context};
	return rma_one(ep, &one, WEFT_OP_WRITE, prov_tx_flags(ep));
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr,
			 uint64_t key, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return rma_writev(ep, &iov, NULL, 1, dest, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(ep, msg, WEFT_OP_WRITE, flags & ~PROV_NO_COMPLETION);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			     uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct one one = {&iov, 1, dest, addr, key, data, context};
	return rma_one(ep, &one, WEFT_OP_WRITE, prov_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct one one = {&iov, 1, dest, addr, key, 0, NULL};
	return rma_one(ep, &one, WEFT_OP_WRITE, FI_INJECT | PROV_NO_COMPLETION);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
			      uint64_t addr, uint64_t key)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct one one = {&iov, 1, dest, addr, key, data, NULL};
	return rma_one(ep, &one, WEFT_OP_WRITE, FI_INJECT | FI_REMOTE_CQ_DATA | PROV_NO_COMPLETION);
}

struct fi_ops_rma prov_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
