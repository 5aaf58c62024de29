/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages without tags: the calls of fi_ops_msg as descriptions for the calls both kinds share. */
#include "prov_calls.h"

static ssize_t msg_post(struct fid_ep *fid, const struct fi_msg *msg, uint8_t kind, uint64_t flags)
{
	struct prov_ep *ep = prov_ep_of(fid);
	const struct prov_op op = {.kind = kind,
				   .iov = msg->msg_iov,
				   .iov_count = msg->iov_count,
				   .addr = msg->addr,
				   .data = msg->data,
				   .flags = flags,
				   .context = msg->context};
	return kind == WEFT_OP_SEND ? prov_send(ep, &op) : prov_recv(ep, &op);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return msg_post(ep, msg, WEFT_OP_SEND, flags & ~PROV_NO_COMPLETION);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
			 void *context)
{
	const struct fi_msg msg = {.msg_iov = iov, .iov_count = count, .addr = dest, .context = context};
	return msg_post(ep, &msg, WEFT_OP_SEND, prov_tx_flags(ep));
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	return msg_sendv(ep, &iov, NULL, 1, dest, context);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			    void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = dest, .context = context, .data = data};
	return msg_post(ep, &msg, WEFT_OP_SEND, prov_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t inject(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t flags)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = dest, .data = data};
	return msg_post(ep, &msg, WEFT_OP_SEND, flags | FI_INJECT | PROV_NO_COMPLETION);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	return inject(ep, buf, len, 0, dest, 0);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	return inject(ep, buf, len, data, dest, FI_REMOTE_CQ_DATA);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return msg_post(ep, msg, WEFT_OP_RECV, flags);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
			 void *context)
{
	const struct fi_msg msg = {.msg_iov = iov, .iov_count = count, .addr = src, .context = context};
	return msg_post(ep, &msg, WEFT_OP_RECV, prov_rx_flags(ep));
}

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, void *context)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};
	return msg_recvv(ep, &iov, NULL, 1, src, context);
}

struct fi_ops_msg prov_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
