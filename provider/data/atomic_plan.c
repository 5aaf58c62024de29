/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <rdma/fi_errno.h>

#include "prov_amo.h"

/* Bytes of a vector's elements, which become `iov`; -1: impossible. */
static int64_t to_iov(const struct prov_ioc *ioc, uint32_t element_bytes, struct iovec *iov)
{
	uint64_t total = 0;
	if (ioc->count > PROV_IOV_MAX || (ioc->count && !ioc->at))
		return -1;
	for (size_t i = 0; i < ioc->count; i++) {
		if (ioc->at[i].count > UINT32_MAX || (ioc->at[i].count && !ioc->at[i].addr))
			return -1;
		iov[i] = (struct iovec){.iov_base = ioc->at[i].addr, .iov_len = ioc->at[i].count * element_bytes};
		total += iov[i].iov_len;
	}
	return (int64_t)total;
}

/* Elements of all remote segments, which are copied to the plan; 0: impossible. */
static uint64_t remote_copy(struct prov_amo_plan *plan, const struct fi_msg_atomic *msg)
{
	uint64_t total = 0;
	if (msg->rma_iov_count > PROV_IOV_MAX || !msg->rma_iov)
		return 0;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		if (!msg->rma_iov[i].count || msg->rma_iov[i].count > UINT32_MAX)
			return 0;
		plan->remote[plan->parts++] = msg->rma_iov[i];
		total += msg->rma_iov[i].count;
	}
	return total;
}

/* Every vector has as many elements as the target. */
static bool counts_agree(const struct prov_amo *c, const int64_t totals[3], int64_t bytes)
{
	return (c->family == PROV_AMO_BASE || totals[2] == bytes) &&
	       (c->family != PROV_AMO_COMPARE || totals[1] == bytes);
}

int prov_amo_plan(const struct prov_domain *domain, const struct prov_amo *c, struct prov_amo_plan *plan)
{
	*plan = (struct prov_amo_plan){.out_count = c->results.count};
	int ret = prov_amo_code(c->family, c->msg->datatype, c->msg->op, &plan->atomic);
	if (ret)
		return ret;
	uint32_t element_bytes = weft_amo_bytes(plan->atomic.type);
	bool reads = plan->atomic.op == WEFT_AMO_READ; /* it has no operands */
	const struct prov_ioc none = {NULL, 0}, *operands = reads ? &none : &c->operands;
	int64_t totals[3] = {to_iov(operands, element_bytes, plan->in)};
	totals[1] = totals[0] < 0 ? -1 : to_iov(&c->comparands, element_bytes, plan->in + operands->count);
	totals[2] = to_iov(&c->results, element_bytes, plan->out);
	int64_t bytes = totals[reads ? 2 : 0];
	if (totals[0] < 0 || totals[1] < 0 || bytes <= 0 || !counts_agree(c, totals, bytes) ||
	    remote_copy(plan, c->msg) != (uint64_t)bytes / element_bytes)
		return -FI_EINVAL;
	assert(plan->parts > 0 && plan->parts <= PROV_IOV_MAX);
	plan->operand_count = operands->count;
	plan->in_count = operands->count + c->comparands.count;
	plan->in_bytes = (uint64_t)(totals[0] + totals[1]);
	plan->bytes = (uint64_t)bytes;
	return plan->bytes > weft_atomic_bytes(domain->nic->engine, plan->atomic.op) ? -FI_EMSGSIZE : 0;
}
