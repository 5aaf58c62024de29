/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of addresses (fi_av_set(3)): a list in the order of insertion, each address once. */
#include <assert.h>
#include <stdlib.h>

#include "member.h"
#include "prov_av.h"
#include "prov_ref.h"
#include "prov_refuse.h"

static struct prov_av_set *set_of(const struct fid_av_set *fid)
{
	return container_of(fid, struct prov_av_set, fid);
}

/* Index of the address, or `count`. */
static size_t find(const struct prov_av_set *set, fi_addr_t addr)
{
	size_t i = 0;
	while (i < set->count && set->addrs[i] != addr)
		i++;
	return i;
}

static int insert(struct prov_av_set *set, fi_addr_t addr)
{
	uint32_t peer;
	assert_locked(set->av->domain->nic);
	assert(set->count <= set->room);
	if (prov_av_resolve_peer(set->av, addr, &peer))
		return -FI_EINVAL;
	if (find(set, addr) < set->count)
		return 0;
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 16;
		fi_addr_t *addrs = reallocarray(set->addrs, room, sizeof *addrs);
		if (!addrs)
			return -FI_ENOMEM;
		set->addrs = addrs;
		set->room = room;
	}
	set->addrs[set->count++] = addr;
	return 0;
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct prov_av_set *set = set_of(fid);
	prov_nic_lock(set->av->domain->nic);
	int ret = insert(set, addr);
	prov_nic_unlock(set->av->domain->nic);
	return ret;
}

static void remove_at(struct prov_av_set *set, size_t i)
{
	assert(i < set->count);
	for (set->count--; i < set->count; i++)
		set->addrs[i] = set->addrs[i + 1];
}

static int set_remove(struct fid_av_set *fid, fi_addr_t addr)
{
	struct prov_av_set *set = set_of(fid);
	prov_nic_lock(set->av->domain->nic);
	size_t i = find(set, addr);
	bool found = i < set->count;
	if (found)
		remove_at(set, i);
	prov_nic_unlock(set->av->domain->nic);
	return found ? 0 : -FI_EINVAL;
}

static int set_union(struct fid_av_set *dst, const struct fid_av_set *src)
{
	struct prov_av_set *to = set_of(dst), *from = set_of(src);
	int ret = to->av == from->av ? 0 : -FI_EINVAL;
	prov_nic_lock(to->av->domain->nic);
	for (size_t i = 0; !ret && i < from->count; i++)
		ret = insert(to, from->addrs[i]);
	prov_nic_unlock(to->av->domain->nic);
	return ret;
}

/* Keeps the addresses that `src` also has (`common`), or those that it does not have. */
static int keep(struct fid_av_set *dst, const struct fid_av_set *src, bool common)
{
	struct prov_av_set *set = set_of(dst), *other = set_of(src);
	if (set->av != other->av)
		return -FI_EINVAL;
	prov_nic_lock(set->av->domain->nic);
	for (size_t i = set->count; i-- > 0;)
		if ((find(other, set->addrs[i]) < other->count) != common)
			remove_at(set, i);
	prov_nic_unlock(set->av->domain->nic);
	return 0;
}

static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return keep(dst, src, true);
}

static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return keep(dst, src, false);
}

/* What fi_join_collective takes for the set; the set itself is what counts there. */
static int set_addr(struct fid_av_set *fid, fi_addr_t *addr)
{
	*addr = (uintptr_t)set_of(fid);
	return 0;
}

static int set_close(struct fid *fid)
{
	struct prov_av_set *set = container_of(fid, struct prov_av_set, fid.fid);
	prov_unref(&set->av->refs);
	free(set->addrs);
	free(set);
	return 0;
}

static struct fi_ops set_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = prov_no_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_av_set set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

/* From start to end, or nothing if both are FI_ADDR_NOTAVAIL; all there are with FI_UNIVERSE. Lock held. */
static int fill(struct prov_av_set *set, const struct fi_av_set_attr *attr)
{
	int ret = 0;
	if (attr->flags & FI_UNIVERSE) {
		for (uint32_t i = 0; !ret && i < set->av->count; i++)
			ret = set->av->entries[i].uses ? insert(set, i) : 0;
		return ret;
	}
	if (attr->start_addr == FI_ADDR_NOTAVAIL && attr->end_addr == FI_ADDR_NOTAVAIL)
		return 0;
	if (!attr->stride || attr->start_addr > attr->end_addr || attr->end_addr >= set->av->count)
		return -FI_EINVAL;
	fi_addr_t span = attr->end_addr - attr->start_addr;
	for (fi_addr_t i = 0; !ret && i <= span / attr->stride; i++)
		ret = insert(set, attr->start_addr + i * attr->stride);
	return ret;
}

int prov_av_set_open(struct fid_av *fid, struct fi_av_set_attr *attr, struct fid_av_set **out, void *context)
{
	struct prov_av *av = container_of(fid, struct prov_av, fid);
	const uint64_t known = FI_UNIVERSE | FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLTOALL_SET | FI_ALLREDUCE_SET |
			       FI_ALLGATHER_SET | FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET |
			       FI_GATHER_SET;
	if (!attr || attr->flags & ~known)
		return attr ? -FI_EBADFLAGS : -FI_EINVAL;
	struct prov_av_set *set = calloc(1, sizeof *set);
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	prov_ref(&av->refs);
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = context;
	set->fid.fid.ops = &set_fi_ops;
	set->fid.ops = &set_ops;
	prov_nic_lock(av->domain->nic);
	int ret = fill(set, attr);
	prov_nic_unlock(av->domain->nic);
	if (ret)
		set_close(&set->fid.fid);
	else
		*out = &set->fid;
	return ret;
}
