/* SPDX-License-Identifier: BSD-3-Clause */
/* Tagged messages: the calls of fi_ops_tagged as descriptions for the calls both kinds share. */
#include "prov_calls.h"

static struct prov_op op_from_msg(uint8_t kind, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return (struct prov_op){.kind = kind,
				.iov = msg->msg_iov,
				.iov_count = msg->iov_count,
				.addr = msg->addr,
				.tag = msg->tag,
				.ignore = msg->ignore,
				.data = msg->data,
				.flags = flags,
				.context = msg->context};
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct prov_op op = op_from_msg(WEFT_OP_TSEND, msg, flags & ~PROV_NO_COMPLETION);
	return prov_send(prov_ep_of(fid), &op);
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct prov_op op = op_from_msg(WEFT_OP_TRECV, msg, flags);
	return prov_recv(prov_ep_of(fid), &op);
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
			    uint64_t tag, void *context)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = count, .addr = dest, .tag = tag, .context = context};
	const struct prov_op op = op_from_msg(WEFT_OP_TSEND, &msg, prov_tx_flags(fid));
	return prov_send(prov_ep_of(fid), &op);
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
			    uint64_t tag, uint64_t ignore, void *context)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = count, .addr = src, .tag = tag, .ignore = ignore, .context = context};
	const struct prov_op op = op_from_msg(WEFT_OP_TRECV, &msg, prov_rx_flags(fid) & ~FI_MULTI_RECV);
	return prov_recv(prov_ep_of(fid), &op);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag,
			   void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return tagged_sendv(ep, &iov, NULL, 1, dest, tag, context);
}

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag,
			   uint64_t ignore, void *context)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};
	return tagged_recvv(ep, &iov, NULL, 1, src, tag, ignore, context);
}

/* One buffer, with remote CQ data or copied at once. */
static ssize_t send_one(struct fid_ep *fid, const struct iovec *iov, uint64_t data, fi_addr_t dest, uint64_t tag,
			uint64_t flags, void *context)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = 1, .addr = dest, .tag = tag, .data = data, .context = context};
	const struct prov_op op = op_from_msg(WEFT_OP_TSEND, &msg, flags);
	return prov_send(prov_ep_of(fid), &op);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
			       fi_addr_t dest, uint64_t tag, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return send_one(ep, &iov, data, dest, tag, prov_tx_flags(ep) | FI_REMOTE_CQ_DATA, context);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return send_one(ep, &iov, 0, dest, tag, FI_INJECT | PROV_NO_COMPLETION, NULL);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
				 uint64_t tag)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return send_one(ep, &iov, data, dest, tag, FI_INJECT | FI_REMOTE_CQ_DATA | PROV_NO_COMPLETION, NULL);
}

struct fi_ops_tagged prov_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
