/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of fi_ops_rma. */
#include <rdma/fi_errno.h>

#include "post.h"
#include "prov_calls.h"
#include "prov_iov.h"
#include "trigger.h"

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint8_t kind, uint64_t flags)
{
	struct prov_ep *ep = prov_ep_of(fid);
	int ret = prov_tx_check(ep);
	if (ret)
		return ret;
	if (flags & FI_TRIGGER)
		return prov_trigger_rma(ep, kind == WEFT_OP_READ ? FI_OP_READ : FI_OP_WRITE, msg, flags);
	prov_nic_lock(ep->domain->nic);
	ssize_t done = prov_rma_post(ep, msg, kind, flags, PROV_NO_WORK);
	prov_nic_unlock(ep->domain->nic);
	return done;
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
	const struct one one = {.iov = iov, .count = count, .peer = src, .addr = addr, .key = key, .context = context};
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
	const struct one one = {.iov = iov, .count = count, .peer = dest, .addr = addr, .key = key, .context = context};
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
	const struct one one = {
		.iov = &iov, .count = 1, .peer = dest, .addr = addr, .key = key, .data = data, .context = context};
	return rma_one(ep, &one, WEFT_OP_WRITE, prov_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct one one = {.iov = &iov, .count = 1, .peer = dest, .addr = addr, .key = key};
	return rma_one(ep, &one, WEFT_OP_WRITE, FI_INJECT | PROV_NO_COMPLETION);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
			      uint64_t addr, uint64_t key)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct one one = {.iov = &iov, .count = 1, .peer = dest, .addr = addr, .key = key, .data = data};
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
