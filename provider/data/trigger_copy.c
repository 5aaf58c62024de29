/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call describes is copied but for the payload, so that it can be made when its time has come. */
#include <assert.h>
#include <string.h>

#include "trigger.h"

static bool segments_copy(void *to, const void *from, size_t count, size_t size)
{
	if (count > PROV_IOV_MAX || (count && !from))
		return false;
	if (count)
		memcpy(to, from, count * size);
	return true;
}

bool prov_trigger_copy_op(struct prov_trigger *t, const struct prov_op *op)
{
	assert(t->ep);
	t->op = *op;
	t->op.iov = t->iov;
	return segments_copy(t->iov, op->iov, op->iov_count, sizeof *t->iov);
}

bool prov_trigger_copy_rma(struct prov_trigger *t, const struct fi_msg_rma *msg, uint64_t flags)
{
	assert(t->type == FI_OP_READ || t->type == FI_OP_WRITE);
	t->rma.msg = *msg;
	t->rma.flags = flags;
	t->rma.msg.msg_iov = t->iov;
	t->rma.msg.rma_iov = t->rma_iov;
	return segments_copy(t->iov, msg->msg_iov, msg->iov_count, sizeof *t->iov) &&
	       segments_copy(t->rma_iov, msg->rma_iov, msg->rma_iov_count, sizeof *t->rma_iov);
}

static bool elements_copy(struct fi_ioc *to, struct prov_ioc *ioc)
{
	const struct fi_ioc *from = ioc->at;
	ioc->at = to;
	return segments_copy(to, from, ioc->count, sizeof *to);
}

bool prov_trigger_copy_amo(struct prov_trigger *t, const struct prov_amo *amo)
{
	struct prov_amo *call = &t->atomic.call;
	const struct fi_msg_atomic *msg = amo->msg;
	t->atomic.msg = *msg;
	t->atomic.msg.msg_iov = t->ioc[0];
	t->atomic.msg.rma_iov = t->rma_ioc;
	*call = *amo;
	call->msg = &t->atomic.msg;
	return elements_copy(t->ioc[0], &call->operands) && elements_copy(t->ioc[1], &call->results) &&
	       elements_copy(t->ioc[2], &call->comparands) &&
	       segments_copy(t->rma_ioc, msg->rma_iov, msg->rma_iov_count, sizeof *t->rma_ioc);
}
