/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of fi_ops_atomic. */
#include <rdma/fi_errno.h>

#include "prov_amo.h"
#include "prov_calls.h"
#include "trigger.h"

static int valid(struct fid_ep *fid, enum prov_amo_family family, enum fi_datatype datatype, enum fi_op op,
		 size_t *count)
{
	struct fi_atomic_attr attr;
	int ret = count ? prov_amo_query(prov_ep_of(fid)->domain, family, datatype, op, &attr) : -FI_EINVAL;
	if (!ret)
		*count = attr.count;
	return ret;
}

static int base_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, PROV_AMO_BASE, datatype, op, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, PROV_AMO_FETCH, datatype, op, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, PROV_AMO_COMPARE, datatype, op, count);
}

static ssize_t post(struct fid_ep *fid, const struct prov_amo *amo)
{
	struct prov_ep *ep = prov_ep_of(fid);
	int ret = prov_tx_check(ep);
	if (!ret)
		ret = prov_amo_check_flags(amo->flags);
	if (ret)
		return ret;
	if (amo->flags & FI_TRIGGER)
		return prov_trigger_amo(ep, amo);
	prov_nic_lock(ep->domain->nic);
	ssize_t posted = prov_amo_post(ep, amo, PROV_NO_WORK);
	prov_nic_unlock(ep->domain->nic);
	return posted;
}

static ssize_t base_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return post(ep, &(struct prov_amo){.family = PROV_AMO_BASE,
					   .operands = {msg->msg_iov, msg->iov_count},
					   .msg = msg,
					   .flags = flags});
}

static ssize_t fetch_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *results,
			  size_t result_count, uint64_t flags)
{
	return post(ep, &(struct prov_amo){.family = PROV_AMO_FETCH,
					   .operands = {msg->msg_iov, msg->iov_count},
					   .results = {results, result_count},
					   .msg = msg,
					   .flags = flags});
}

static ssize_t compare_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct prov_ioc comparands,
			    struct prov_ioc results, uint64_t flags)
{
	return post(ep, &(struct prov_amo){.family = PROV_AMO_COMPARE,
					   .operands = {msg->msg_iov, msg->iov_count},
					   .comparands = comparands,
					   .results = results,
					   .msg = msg,
					   .flags = flags});
}

static ssize_t base_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return base_post(ep, msg, flags & ~PROV_NO_COMPLETION);
}

static ssize_t fetch_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *results, void **desc,
			 size_t result_count, uint64_t flags)
{
	return fetch_post(ep, msg, results, result_count, flags & ~PROV_NO_COMPLETION);
}

static ssize_t compare_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *comparands,
			   void **compare_desc, size_t compare_count, struct fi_ioc *results, void **result_desc,
			   size_t result_count, uint64_t flags)
{
	return compare_post(ep, msg, (struct prov_ioc){comparands, compare_count},
			    (struct prov_ioc){results, result_count}, flags & ~PROV_NO_COMPLETION);
}

static size_t elements(const struct fi_ioc *iov, size_t count)
{
	size_t total = 0;
	for (size_t i = 0; iov && i < count; i++)
		total += iov[i].count;
	return total;
}

/* What the calls without a struct fi_msg_atomic describe: one remote segment. */
struct one {
	struct fi_msg_atomic msg;
	struct fi_rma_ioc remote;
};

static const struct fi_msg_atomic *one_msg(struct one *one, size_t elements)
{
	one->remote.count = elements;
	one->msg.rma_iov = &one->remote;
	one->msg.rma_iov_count = 1;
	return &one->msg;
}

static ssize_t base_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t dest,
		      uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct one one = {.msg = {.msg_iov = iov,
				  .iov_count = count,
				  .addr = dest,
				  .datatype = type,
				  .op = op,
				  .context = context},
			  .remote = {.addr = addr, .key = key}};
	return base_post(ep, one_msg(&one, elements(iov, count)), prov_tx_flags(ep));
}

static ssize_t base(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr,
		    uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	return base_v(ep, &iov, NULL, 1, dest, addr, key, type, op, context);
}

static ssize_t base_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest, uint64_t addr,
			   uint64_t key, enum fi_datatype type, enum fi_op op)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	struct one one = {.msg = {.msg_iov = &iov, .iov_count = 1, .addr = dest, .datatype = type, .op = op},
			  .remote = {.addr = addr, .key = key}};
	return base_post(ep, one_msg(&one, count), FI_INJECT | PROV_NO_COMPLETION);
}

static ssize_t fetch_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, struct fi_ioc *results,
		       void **result_desc, size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
		       enum fi_datatype type, enum fi_op op, void *context)
{
	struct one one = {.msg = {.msg_iov = iov,
				  .iov_count = count,
				  .addr = dest,
				  .datatype = type,
				  .op = op,
				  .context = context},
			  .remote = {.addr = addr, .key = key}};
	return fetch_post(ep, one_msg(&one, elements(results, result_count)), results, result_count, prov_tx_flags(ep));
}

static ssize_t fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
		     fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	struct fi_ioc results = {.addr = result, .count = count};
	return fetch_v(ep, &iov, NULL, 1, &results, NULL, 1, dest, addr, key, type, op, context);
}

static ssize_t compare_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			 const struct fi_ioc *comparands, void **compare_desc, size_t compare_count,
			 struct fi_ioc *results, void **result_desc, size_t result_count, fi_addr_t dest, uint64_t addr,
			 uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct one one = {.msg = {.msg_iov = iov,
				  .iov_count = count,
				  .addr = dest,
				  .datatype = type,
				  .op = op,
				  .context = context},
			  .remote = {.addr = addr, .key = key}};
	return compare_post(ep, one_msg(&one, elements(iov, count)), (struct prov_ioc){comparands, compare_count},
			    (struct prov_ioc){results, result_count}, prov_tx_flags(ep));
}

static ssize_t compare(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *comparand,
		       void *compare_desc, void *result, void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
		       enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	const struct fi_ioc comparands = {.addr = (void *)comparand, .count = count};
	struct fi_ioc results = {.addr = result, .count = count};
	return compare_v(ep, &iov, NULL, 1, &comparands, NULL, 1, &results, NULL, 1, dest, addr, key, type, op,
			 context);
}

struct fi_ops_atomic prov_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = base,
	.writev = base_v,
	.writemsg = base_msg,
	.inject = base_inject,
	.readwrite = fetch,
	.readwritev = fetch_v,
	.readwritemsg = fetch_msg,
	.compwrite = compare,
	.compwritev = compare_v,
	.compwritemsg = compare_msg,
	.writevalid = base_valid,
	.readwritevalid = fetch_valid,
	.compwritevalid = compare_valid,
};
