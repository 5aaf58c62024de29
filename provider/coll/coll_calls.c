/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of fi_ops_collective. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>

#include "coll.h"
#include "prov_atomic.h"
#include "prov_coll.h"
#include "prov_mr.h"
#include "prov_xmit.h"

static bool reduces(enum fi_collective_op coll)
{
	return coll == FI_ALLREDUCE || coll == FI_REDUCE;
}

/* The element's size, and how it is reduced: only where the order of the members does not matter. */
static int translate(enum fi_collective_op coll, enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *amo)
{
	if (coll == FI_BARRIER)
		return 0;
	if ((unsigned)coll > FI_GATHER || coll == FI_REDUCE_SCATTER || (reduces(coll) && (unsigned)op > FI_BXOR))
		return -FI_EOPNOTSUPP;
	return prov_atomic_code(datatype, reduces(coll) ? op : FI_ATOMIC_WRITE, amo);
}

int prov_coll_query(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr,
		    uint64_t flags)
{
	struct weft_op_atomic amo = {0};
	if (flags || !attr)
		return flags ? -FI_EBADFLAGS : -FI_EINVAL;
	if (attr->mode)
		return -FI_EOPNOTSUPP;
	int ret = translate(coll, attr->datatype, attr->op, &amo);
	if (ret)
		return ret;
	attr->datatype_attr.size = coll == FI_BARRIER ? 0 : weft_amo_bytes(amo.type);
	attr->datatype_attr.count = coll == FI_BARRIER ? 0 : WEFT_MSG_BYTES_MAX / attr->datatype_attr.size;
	attr->max_members = COLL_GROUP_MAX;
	return 0;
}

static struct prov_group *group_find(struct prov_ep *ep, fi_addr_t addr)
{
	struct prov_group *g;
	assert_locked(ep->domain->nic);
	TAILQ_FOREACH(g, &ep->coll->groups, link)
	{
		if (g->mc.fi_addr == addr)
			return g;
	}
	return NULL;
}

static bool has_root(enum fi_collective_op coll)
{
	return coll == FI_BROADCAST || coll == FI_REDUCE || coll == FI_SCATTER || coll == FI_GATHER;
}

/* Arguments of a call that are not part of coll_call. */
struct args {
	fi_addr_t group, root;
	enum fi_datatype datatype;
	enum fi_op op;
	uint64_t flags;
	void *context;
};

/* Finds the root's place. */
static bool root_find(const struct prov_group *g, const struct args *a, struct coll_call *c)
{
	assert(!c->root && g->count > 0);
	while (has_root(c->coll) && c->root < g->count && g->addrs[c->root] != a->root)
		c->root++;
	return c->root < g->count;
}

static ssize_t call_locked(struct prov_ep *ep, struct coll_call *c, const struct args *a,
			   const struct weft_op_atomic *amo)
{
	struct prov_group *g = group_find(ep, a->group);
	if (!g || !root_find(g, a, c))
		return -FI_EINVAL;
	if (prov_mr_device_at(ep->domain, c->buf) || prov_mr_device_at(ep->domain, c->result))
		return -FI_EOPNOTSUPP;
	int ret = prov_tx_make_room(ep, 1);
	if (ret)
		return ret;
	const struct prov_req_attr attr = {.entry_flags = FI_COLLECTIVE, .op_flags = a->flags, .context = a->context};
	struct prov_req *req = prov_tx_req_new(ep, &attr);
	if (!req)
		return -FI_EAGAIN;
	if (coll_run_start(g, c, amo, req, NULL)) {
		prov_req_put(ep->domain->nic, req);
		return -FI_EAGAIN;
	}
	return 0;
}

static ssize_t call(struct fid_ep *fid, struct coll_call c, const struct args *a)
{
	struct prov_ep *ep = prov_ep_of(fid);
	struct weft_op_atomic amo = {0};
	if (!ep->enabled || !ep->coll)
		return ep->enabled ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
	assert(ep->coll->ep == ep);
	if (a->flags & ~(FI_COMPLETION | FI_MORE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE))
		return -FI_EBADFLAGS;
	int ret = translate(c.coll, a->datatype, a->op, &amo);
	if (ret)
		return ret;
	c.element_bytes = c.coll == FI_BARRIER ? 0 : weft_amo_bytes(amo.type);
	if (c.element_bytes && c.count > WEFT_MSG_BYTES_MAX / c.element_bytes)
		return -FI_EMSGSIZE;
	prov_nic_lock(ep->domain->nic);
	ssize_t done = prov_tx_flush(ep->domain->nic, call_locked(ep, &c, a, &amo), a->flags, false);
	prov_nic_unlock(ep->domain->nic);
	return done;
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t group, uint64_t flags, void *context)
{
	const struct args a = {.group = group, .flags = flags, .context = context};
	return call(ep, (struct coll_call){.coll = FI_BARRIER}, &a);
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t group, void *context)
{
	return coll_barrier2(ep, group, 0, context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t group, fi_addr_t root,
			      enum fi_datatype datatype, uint64_t flags, void *context)
{
	const struct args a = {
		.group = group, .root = root, .datatype = datatype, .op = FI_NOOP, .flags = flags, .context = context};
	return call(ep, (struct coll_call){.coll = FI_BROADCAST, .result = buf, .count = count}, &a);
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			     void *result_desc, fi_addr_t group, enum fi_datatype datatype, uint64_t flags,
			     void *context)
{
	const struct args a = {.group = group,
			       .root = FI_ADDR_UNSPEC,
			       .datatype = datatype,
			       .op = FI_NOOP,
			       .flags = flags,
			       .context = context};
	return call(ep, (struct coll_call){.coll = FI_ALLTOALL, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			      void *result_desc, fi_addr_t group, enum fi_datatype datatype, enum fi_op op,
			      uint64_t flags, void *context)
{
	const struct args a = {.group = group,
			       .root = FI_ADDR_UNSPEC,
			       .datatype = datatype,
			       .op = op,
			       .flags = flags,
			       .context = context};
	return call(ep, (struct coll_call){.coll = FI_ALLREDUCE, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			      void *result_desc, fi_addr_t group, enum fi_datatype datatype, uint64_t flags,
			      void *context)
{
	const struct args a = {.group = group,
			       .root = FI_ADDR_UNSPEC,
			       .datatype = datatype,
			       .op = FI_NOOP,
			       .flags = flags,
			       .context = context};
	return call(ep, (struct coll_call){.coll = FI_ALLGATHER, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
				   void *result_desc, fi_addr_t group, enum fi_datatype datatype, enum fi_op op,
				   uint64_t flags, void *context)
{
	return -FI_EOPNOTSUPP;
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			   void *result_desc, fi_addr_t group, fi_addr_t root, enum fi_datatype datatype, enum fi_op op,
			   uint64_t flags, void *context)
{
	const struct args a = {
		.group = group, .root = root, .datatype = datatype, .op = op, .flags = flags, .context = context};
	return call(ep, (struct coll_call){.coll = FI_REDUCE, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			    void *result_desc, fi_addr_t group, fi_addr_t root, enum fi_datatype datatype,
			    uint64_t flags, void *context)
{
	const struct args a = {
		.group = group, .root = root, .datatype = datatype, .op = FI_NOOP, .flags = flags, .context = context};
	return call(ep, (struct coll_call){.coll = FI_SCATTER, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			   void *result_desc, fi_addr_t group, fi_addr_t root, enum fi_datatype datatype,
			   uint64_t flags, void *context)
{
	const struct args a = {
		.group = group, .root = root, .datatype = datatype, .op = FI_NOOP, .flags = flags, .context = context};
	return call(ep, (struct coll_call){.coll = FI_GATHER, .buf = buf, .result = result, .count = count}, &a);
}

static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *msg, struct fi_ioc *resultv,
			void **result_desc, size_t result_count, uint64_t flags)
{
	return -FI_EOPNOTSUPP;
}

struct fi_ops_collective prov_coll_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};
