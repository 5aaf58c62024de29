/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of endpoints: joining them and leaving them. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "coll.h"
#include "member.h"
#include "prov_av.h"
#include "prov_coll.h"
#include "prov_eq.h"
#include "prov_progress.h"
#include "prov_ref.h"
#include "prov_refuse.h"

static uint64_t hash_more(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return hash;
}

/* All members join groups of the same members in the same order, so they count alike and agree without messages. */
static int group_id_set(struct prov_group *g, uint64_t hash)
{
	struct prov_coll *coll = g->ep->coll;
	struct coll_joined *j = coll->joined;
	while (j && j->hash != hash)
		j = j->next;
	if (!j) {
		j = calloc(1, sizeof *j);
		if (!j)
			return -FI_ENOMEM;
		*j = (struct coll_joined){.next = coll->joined, .hash = hash};
		coll->joined = j;
	}
	assert(j->hash == hash);
	j->times++;
	g->id = hash_more(hash, &j->times, sizeof j->times) << COLL_SEQ_BITS;
	return 0;
}

/* The numbers of collective endpoints follow those of their endpoints. */
static int group_fill(struct prov_group *g, const struct prov_av_set *set)
{
	assert_locked(g->ep->domain->nic);
	assert(g->count == set->count);
	struct weft_engine *engine = g->ep->domain->nic->engine;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool member = false;
	for (uint32_t i = 0; i < set->count; i++) {
		if (prov_av_resolve_peer(set->av, set->addrs[i], &g->peers[i]))
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
	return member ? group_id_set(g, hash) : -FI_EINVAL;
}

static void group_free(struct prov_group *g)
{
	free(g->addrs);
	free(g->peers);
	free(g->joined);
	free(g);
}

static int group_close(struct fid *fid)
{
	struct prov_group *g = container_of(fid, struct prov_group, mc.fid);
	struct prov_ep *ep = g->ep;
	prov_nic_lock(ep->domain->nic);
	coll_runs_abandon(g);
	assert(!TAILQ_EMPTY(&ep->coll->groups));
	TAILQ_REMOVE(&ep->coll->groups, g, link);
	prov_nic_unlock(ep->domain->nic);
	prov_eq_leave(g->eq, ep->domain->nic);
	prov_unref(&ep->refs);
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
	g->joined = prov_eq_reserve();
	if (!g->addrs || !g->peers || !g->joined) {
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

/* Joining a group ends with a barrier. */
static int join_locked(struct prov_group *g, const struct prov_av_set *set, void *context)
{
	static const struct weft_op_atomic no_amo;
	struct coll_call c = {.coll = FI_BARRIER};
	int ret = group_fill(g, set);
	if (ret)
		return ret;
	TAILQ_INSERT_TAIL(&g->ep->coll->groups, g, link);
	ret = coll_run_start(g, &c, &no_amo, NULL, context);
	if (ret)
		TAILQ_REMOVE(&g->ep->coll->groups, g, link);
	else
		prov_doorbell(g->ep->domain->nic, false);
	return ret;
}

static int join_check(const struct prov_ep *ep, const struct fi_collective_addr *at)
{
	if (!ep->enabled || !ep->coll)
		return ep->enabled ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
	if (!at || !at->set)
		return -FI_EINVAL;
	const struct prov_av_set *set = container_of(at->set, struct prov_av_set, fid);
	if (set->av != ep->av || !set->count || set->count > COLL_GROUP_MAX)
		return -FI_EINVAL;
	return ep->eq || ep->domain->eq ? 0 : -FI_ENOEQ;
}

int prov_coll_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc, void *context)
{
	struct prov_ep *ep = prov_ep_of(fid);
	const struct fi_collective_addr *at = addr;
	if (flags != FI_COLLECTIVE)
		return flags & FI_COLLECTIVE ? -FI_EBADFLAGS : -FI_ENOSYS;
	int ret = join_check(ep, at);
	if (ret || !mc)
		return ret ? ret : -FI_EINVAL;
	const struct prov_av_set *set = container_of(at->set, struct prov_av_set, fid);
	struct prov_group *g = group_new(ep, set->count, context);
	if (!g)
		return -FI_ENOMEM;
	*mc = &g->mc;
	prov_nic_lock(ep->domain->nic);
	ret = join_locked(g, set, context);
	prov_nic_unlock(ep->domain->nic);
	if (ret)
		group_free(g);
	else
		prov_ref(&ep->refs);
	return ret;
}
