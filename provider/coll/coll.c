/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of endpoints, and their operations from the call to the completion. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "prov_atomic.h"
#include "prov_rma.h"

enum { GROUP_MAX = 65535, SEQ_BITS = 24, CQE_BURST = 32 };

TAILQ_HEAD(run_list, coll_run);
TAILQ_HEAD(group_list, prov_group);

struct prov_group {
	struct fid_mc mc; /* fi_addr: its own address */
	TAILQ_ENTRY(prov_group) link;
	struct prov_ep *ep;
	struct prov_eq *eq; /* hears that it is complete */
	uint64_t id;        /* upper part of its messages' tags: agreed upon without a message, see group_id */
	uint64_t seq;       /* operations so far */
	uint32_t rank, count;
	fi_addr_t *addrs; /* of the members, ours */
	uint32_t *peers;  /* the engine's ids of their collective endpoints */
};

/* How often we joined a group of these members: ids are not used twice. */
struct joined {
	struct joined *next;
	uint64_t hash, times;
};

struct prov_coll {
	struct weft_ep *wep;
	struct group_list groups;
	struct run_list runs;
	struct joined *joined;
};

/* ---- runs ---- */

static void run_free(struct prov_ep *ep, struct coll_run *run)
{
	TAILQ_REMOVE(&ep->coll->runs, run, link);
	if (run->req)
		prov_req_put(ep->domain->nic, run->req);
	free(run->steps);
	free(run->scratch);
	free(run);
}

static void tell_joined(const struct prov_group *g, const struct coll_run *run)
{
	const struct fi_eq_err_entry entry = {
		.fid = (struct fid *)&g->mc.fid, .context = run->context, .err = run->err, .prov_errno = run->err};
	prov_eq_post_locked(g->eq, g->ep->domain->nic, FI_JOIN_COMPLETE, &entry);
}

static void run_end(struct prov_ep *ep, struct coll_run *run)
{
	struct prov_req *req = run->req;
	if (!run->group) {
		run_free(ep, run);
		return;
	}
	if (!req)
		tell_joined(run->group, run);
	if (req && ep->tx_cq && (req->wants_entry || run->err)) {
		req->entry.err = run->err == EMSGSIZE ? FI_ETRUNC : run->err;
		req->entry.prov_errno = run->err;
		prov_cq_push(ep->tx_cq, req);
		run->req = NULL;
	}
	run_free(ep, run);
}

/* The messages that have not come will not be waited for. */
static void run_fail(struct prov_ep *ep, struct coll_run *run, int err)
{
	const struct weft_op cancel = {.kind = WEFT_OP_CANCEL, .context = run};
	if (run->err)
		return;
	run->err = err;
	for (unsigned i = 0; i < run->outstanding; i++)
		weft_submit(ep->coll->wep, &cancel);
}

/* False: the engine's ring is full. */
static bool message(struct prov_ep *ep, struct coll_run *run, const struct coll_step *step)
{
	bool sends = step->kind == COLL_SEND;
	const struct weft_op op = {.kind = sends ? WEFT_OP_TSEND : WEFT_OP_TRECV,
				   .peer = run->group->peers[step->rank],
				   .buf = sends ? (void *)step->from : step->to,
				   .len = step->bytes,
				   .tag = run->tag,
				   .context = run};
	if (weft_submit(ep->coll->wep, &op))
		return false;
	run->outstanding++;
	ep->domain->nic->next_ns = 0;
	return true;
}

/* Step by step until one has to wait. */
static void run_on(struct prov_ep *ep, struct coll_run *run)
{
	for (; !run->err && run->at < run->count; run->at++) {
		const struct coll_step *step = &run->steps[run->at];
		if (step->kind == COLL_WAIT && run->outstanding)
			return;
		if (step->kind == COLL_COPY && step->bytes)
			memmove(step->to, step->from, step->bytes);
		if (step->kind == COLL_REDUCE)
			weft_amo_apply(run->amo.op, run->amo.type, step->to, step->from,
				       step->bytes / weft_amo_bytes(run->amo.type));
		if (step->kind <= COLL_RECV && !message(ep, run, step))
			return;
	}
	if (!run->outstanding)
		run_end(ep, run);
}

bool prov_coll_progress(struct prov_ep *ep)
{
	struct weft_cqe cqes[CQE_BURST];
	struct coll_run *run, *next;
	unsigned n, all = 0;
	do {
		n = weft_cq_take(ep->coll->wep, cqes, CQE_BURST);
		for (unsigned i = 0; i < n; i++) {
			run = cqes[i].context;
			run->outstanding--;
			if (cqes[i].err)
				run_fail(ep, run, cqes[i].err);
		}
		all += n;
	} while (n == CQE_BURST);
	for (run = TAILQ_FIRST(&ep->coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		run_on(ep, run);
	}
	return all > 0;
}

/* Begins `c` in the group; `req` becomes the run's. */
static int run_start(struct prov_group *g, struct coll_call *c, const struct weft_op_atomic *amo, struct prov_req *req,
		     void *context)
{
	struct prov_ep *ep = g->ep;
	struct coll_run *run = calloc(1, sizeof *run);
	if (!run)
		return -FI_ENOMEM;
	c->rank = g->rank;
	c->members = g->count;
	TAILQ_INSERT_TAIL(&ep->coll->runs, run, link);
	if (coll_plan(run, c)) {
		run_free(ep, run);
		return -FI_ENOMEM;
	}
	run->group = g;
	run->amo = *amo;
	run->req = req;
	run->context = context;
	run->tag = g->id | (g->seq++ & ((UINT64_C(1) << SEQ_BITS) - 1));
	run_on(ep, run);
	return 0;
}

/* ---- groups ---- */

static uint64_t hash_more(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return hash;
}

/* All members join, in the same order for the same members, so they count alike and need not ask each other. */
static int group_id(struct prov_group *g, uint64_t hash)
{
	struct prov_coll *coll = g->ep->coll;
	struct joined *j = coll->joined;
	while (j && j->hash != hash)
		j = j->next;
	if (!j) {
		j = calloc(1, sizeof *j);
		if (!j)
			return -FI_ENOMEM;
		*j = (struct joined){.next = coll->joined, .hash = hash};
		coll->joined = j;
	}
	j->times++;
	g->id = hash_more(hash, &j->times, sizeof j->times) << SEQ_BITS;
	return 0;
}

/* The numbers of collective endpoints follow those of their endpoints. */
static int group_fill(struct prov_group *g, const struct prov_av_set *set)
{
	struct weft_engine *engine = g->ep->domain->nic->engine;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool member = false;
	for (uint32_t i = 0; i < set->count; i++) {
		if (prov_av_peer(set->av, set->addrs[i], &g->peers[i]))
			return -FI_EINVAL;
		struct weft_addr addr = *weft_peer_addr(engine, g->peers[i]);
		hash = hash_more(hash_more(hash, &addr.ip, sizeof addr.ip), &addr.port, sizeof addr.port);
		if (addr.port == g->ep->addr.port && weft_ip_eq(&addr.ip, &g->ep->addr.ip)) {
			g->rank = i;
			member = true;
		}
		addr.port++;
		g->addrs[i] = set->addrs[i];
		if (weft_peer_add(engine, &addr, &g->peers[i]))
			return -FI_ENOMEM;
	}
	return member ? group_id(g, hash) : -FI_EINVAL;
}

static void group_free(struct prov_group *g)
{
	free(g->addrs);
	free(g->peers);
	free(g);
}

/* What is under way ends unheard. */
static int group_close(struct fid *fid)
{
	struct prov_group *g = container_of(fid, struct prov_group, mc.fid);
	struct prov_ep *ep = g->ep;
	struct coll_run *run, *next;
	prov_nic_lock(ep->domain->nic);
	for (run = TAILQ_FIRST(&ep->coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		if (run->group != g)
			continue;
		run_fail(ep, run, ECANCELED);
		run->group = NULL;
		if (!run->outstanding)
			run_free(ep, run);
	}
	TAILQ_REMOVE(&ep->coll->groups, g, link);
	prov_nic_unkick(ep->domain->nic, &g->eq->wait);
	prov_nic_unlock(ep->domain->nic);
	ep->refs--;
	group_free(g);
	return 0;
}

static struct fi_ops group_ops = {
	.size = sizeof(struct fi_ops),
	.close = group_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct prov_group *group_new(struct prov_ep *ep, size_t count, void *context)
{
	struct prov_group *g = calloc(1, sizeof *g);
	if (!g)
		return NULL;
	g->addrs = calloc(count, sizeof *g->addrs);
	g->peers = calloc(count, sizeof *g->peers);
	if (!g->addrs || !g->peers) {
		group_free(g);
		return NULL;
	}
	g->ep = ep;
	g->eq = ep->eq ? ep->eq : ep->domain->eq;
	g->count = (uint32_t)count;
	g->mc.fid.fclass = FI_CLASS_MC;
	g->mc.fid.context = context;
	g->mc.fid.ops = &group_ops;
	g->mc.fi_addr = (uintptr_t)g;
	return g;
}

/* A barrier ends the joining. */
static int join_locked(struct prov_group *g, const struct prov_av_set *set, void *context)
{
	static const struct weft_op_atomic no_amo;
	struct coll_call c = {.coll = FI_BARRIER};
	int ret = group_fill(g, set);
	if (ret)
		return ret;
	TAILQ_INSERT_TAIL(&g->ep->coll->groups, g, link);
	ret = run_start(g, &c, &no_amo, NULL, context);
	if (ret)
		TAILQ_REMOVE(&g->ep->coll->groups, g, link);
	else
		prov_push(g->ep->domain->nic, false);
	return ret;
}

int prov_coll_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc, void *context)
{
	struct prov_ep *ep = prov_ep_of(fid);
	const struct fi_collective_addr *at = addr;
	if (flags != FI_COLLECTIVE)
		return flags & FI_COLLECTIVE ? -FI_EBADFLAGS : -FI_ENOSYS;
	if (!ep->enabled || !ep->coll)
		return ep->enabled ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
	if (!at || !at->set || !mc)
		return -FI_EINVAL;
	const struct prov_av_set *set = container_of(at->set, struct prov_av_set, fid);
	if (set->av != ep->av || !set->count || set->count > GROUP_MAX)
		return -FI_EINVAL;
	if (!ep->eq && !ep->domain->eq)
		return -FI_ENOEQ;
	struct prov_group *g = group_new(ep, set->count, context);
	if (!g)
		return -FI_ENOMEM;
	*mc = &g->mc;
	prov_nic_lock(ep->domain->nic);
	int ret = join_locked(g, set, context);
	prov_nic_unlock(ep->domain->nic);
	if (ret)
		group_free(g);
	else
		ep->refs++;
	return ret;
}

/* ---- the endpoint's part ---- */

int prov_coll_open(struct prov_ep *ep)
{
	struct weft_err err = {""};
	uint32_t entries = 256;
	struct prov_coll *coll = calloc(1, sizeof *coll);
	if (!coll)
		return -FI_ENOMEM;
	uint32_t port = weft_ep_port(ep->wep) + 1u;
	int ret = port > UINT16_MAX
			  ? -FI_EADDRINUSE
			  : weft_ep_open(ep->domain->nic->engine, (uint16_t)port, entries, entries, &coll->wep, &err);
	if (ret) {
		free(coll);
		return ret;
	}
	TAILQ_INIT(&coll->groups);
	TAILQ_INIT(&coll->runs);
	ep->coll = coll;
	return 0;
}

void prov_coll_close(struct prov_ep *ep)
{
	struct prov_coll *coll = ep->coll;
	struct coll_run *run, *next;
	if (!coll)
		return;
	weft_ep_close(coll->wep);
	for (run = TAILQ_FIRST(&coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		run_free(ep, run);
	}
	while (coll->joined) {
		struct joined *j = coll->joined;
		coll->joined = j->next;
		free(j);
	}
	free(coll);
	ep->coll = NULL;
}

/* ---- calls ---- */

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
	attr->max_members = GROUP_MAX;
	return 0;
}

static struct prov_group *group_find(struct prov_ep *ep, fi_addr_t addr)
{
	struct prov_group *g;
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

/* What the application says beyond coll_call. */
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
	int ret = prov_tx_room(ep, 1);
	if (ret)
		return ret;
	struct prov_req *req = prov_req_get(ep->domain->nic);
	if (!req)
		return -FI_EAGAIN;
	req->ep = ep;
	req->is_send = true;
	req->entry.op_context = a->context;
	req->entry.flags = FI_COLLECTIVE;
	req->wants_entry = !ep->tx_selective || a->flags & FI_COMPLETION;
	if (run_start(g, c, amo, req, NULL)) {
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
	if (a->flags & ~(FI_COMPLETION | FI_MORE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE))
		return -FI_EBADFLAGS;
	int ret = translate(c.coll, a->datatype, a->op, &amo);
	if (ret)
		return ret;
	c.element_bytes = c.coll == FI_BARRIER ? 0 : weft_amo_bytes(amo.type);
	if (c.element_bytes && c.count > WEFT_MSG_BYTES_MAX / c.element_bytes)
		return -FI_EMSGSIZE;
	prov_nic_lock(ep->domain->nic);
	return prov_tx_leave(ep->domain->nic, call_locked(ep, &c, a, &amo), a->flags, false);
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
	const struct args a = {group, root, datatype, FI_NOOP, flags, context};
	return call(ep, (struct coll_call){.coll = FI_BROADCAST, .result = buf, .count = count}, &a);
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			     void *result_desc, fi_addr_t group, enum fi_datatype datatype, uint64_t flags,
			     void *context)
{
	const struct args a = {group, FI_ADDR_UNSPEC, datatype, FI_NOOP, flags, context};
	return call(ep, (struct coll_call){FI_ALLTOALL, buf, result, count}, &a);
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			      void *result_desc, fi_addr_t group, enum fi_datatype datatype, enum fi_op op,
			      uint64_t flags, void *context)
{
	const struct args a = {group, FI_ADDR_UNSPEC, datatype, op, flags, context};
	return call(ep, (struct coll_call){FI_ALLREDUCE, buf, result, count}, &a);
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			      void *result_desc, fi_addr_t group, enum fi_datatype datatype, uint64_t flags,
			      void *context)
{
	const struct args a = {group, FI_ADDR_UNSPEC, datatype, FI_NOOP, flags, context};
	return call(ep, (struct coll_call){FI_ALLGATHER, buf, result, count}, &a);
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
	const struct args a = {group, root, datatype, op, flags, context};
	return call(ep, (struct coll_call){FI_REDUCE, buf, result, count}, &a);
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			    void *result_desc, fi_addr_t group, fi_addr_t root, enum fi_datatype datatype,
			    uint64_t flags, void *context)
{
	const struct args a = {group, root, datatype, FI_NOOP, flags, context};
	return call(ep, (struct coll_call){FI_SCATTER, buf, result, count}, &a);
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
			   void *result_desc, fi_addr_t group, fi_addr_t root, enum fi_datatype datatype,
			   uint64_t flags, void *context)
{
	const struct args a = {group, root, datatype, FI_NOOP, flags, context};
	return call(ep, (struct coll_call){FI_GATHER, buf, result, count}, &a);
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
