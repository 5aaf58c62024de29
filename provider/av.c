/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vector: fi_addr_t, an index for both types, to the engine's peer id and back. Inserting an address twice
 * gives the same index and counts uses, so that a received message has one source. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prov.h"

static struct prov_av *av_of(struct fid_av *fid)
{
	return container_of(fid, struct prov_av, fid);
}

/* Entry of an address, whatever receive context it names; NULL: none. */
static struct prov_av_entry *entry_of(const struct prov_av *av, fi_addr_t addr)
{
	if (!av)
		return NULL;
	addr &= UINT64_MAX >> av->rx_ctx_bits;
	return addr < av->count && av->entries[addr].uses ? &av->entries[addr] : NULL;
}

int prov_av_source(const struct prov_av *av, fi_addr_t addr, uint32_t *peer)
{
	const struct prov_av_entry *entry = entry_of(av, addr);
	if (!entry)
		return -FI_EINVAL;
	*peer = entry->peer;
	return 0;
}

/* The receive contexts of a scalable endpoint have consecutive numbers. */
int prov_av_peer(const struct prov_av *av, fi_addr_t addr, uint32_t *peer)
{
	int ret = prov_av_source(av, addr, peer);
	uint64_t index = !ret && av->rx_ctx_bits ? addr >> (64 - av->rx_ctx_bits) : 0;
	if (!index)
		return ret;
	struct weft_engine *engine = av->domain->nic->engine;
	struct weft_addr to = *weft_peer_addr(engine, *peer);
	to.port = (uint16_t)(to.port + index);
	return weft_peer_add(engine, &to, peer);
}

fi_addr_t prov_av_of_peer(const struct prov_av *av, uint32_t peer)
{
	return peer < av->peers ? av->of_peer[peer] : FI_ADDR_NOTAVAIL;
}

/* Room for `peer` in the reverse table. */
static int peers_grow(struct prov_av *av, uint32_t peer)
{
	if (peer < av->peers)
		return 0;
	uint32_t n = peer + 1 + peer / 2;
	fi_addr_t *table = realloc(av->of_peer, n * sizeof *table);
	if (!table)
		return -FI_ENOMEM;
	for (uint32_t i = av->peers; i < n; i++)
		table[i] = FI_ADDR_NOTAVAIL;
	av->of_peer = table;
	av->peers = n;
	return 0;
}

/* Index of a free entry: one that was removed, or a new one at the end. */
static int entry_new(struct prov_av *av, fi_addr_t *index)
{
	for (uint32_t i = av->count; av->free && i-- > 0;) {
		if (!av->entries[i].uses) {
			av->free--;
			*index = i;
			return 0;
		}
	}
	if (av->count == av->capacity) {
		uint32_t n = av->capacity + av->capacity / 2 + 1;
		struct prov_av_entry *entries = realloc(av->entries, n * sizeof *entries);
		if (!entries)
			return -FI_ENOMEM;
		av->entries = entries;
		av->capacity = n;
	}
	*index = av->count++;
	return 0;
}

static int insert_one(struct prov_av *av, const void *sock, fi_addr_t *index)
{
	struct prov_nic *nic = av->domain->nic;
	struct weft_addr addr;
	uint32_t peer;
	if (prov_addr_from_sock(sock, prov_addr_len(&nic->ip), &nic->ip, &addr) || !addr.port ||
	    prov_ip_is_any(&addr.ip))
		return -FI_EINVAL;
	int ret = weft_peer_add(nic->engine, &addr, &peer);
	if (!ret)
		ret = peers_grow(av, peer);
	if (ret)
		return ret;
	if (av->of_peer[peer] == FI_ADDR_NOTAVAIL) {
		ret = entry_new(av, index);
		if (ret)
			return ret;
		av->entries[*index] = (struct prov_av_entry){.peer = peer};
		av->of_peer[peer] = *index;
	}
	*index = av->of_peer[peer];
	av->entries[*index].uses++;
	return 0;
}

/* One address failed: as an event, or in the caller's array. */
static void report_error(struct prov_av *av, size_t i, int err, uint64_t flags, void *context)
{
	const struct fi_eq_err_entry entry = {
		.fid = &av->fid.fid, .context = context, .data = i, .err = err, .prov_errno = err};
	if (av->eq)
		prov_eq_post(av->eq, FI_AV_COMPLETE, &entry);
	else if (flags & FI_SYNC_ERR)
		((int *)context)[i] = err;
}

static int report_done(struct prov_av *av, size_t inserted, void *context)
{
	const struct fi_eq_err_entry entry = {.fid = &av->fid.fid, .context = context, .data = inserted};
	return av->eq ? prov_eq_post(av->eq, FI_AV_COMPLETE, &entry) : (int)inserted;
}

static int av_insert(struct fid_av *fid, const void *addrs, size_t count, fi_addr_t *fi_addr, uint64_t flags,
		     void *context)
{
	struct prov_av *av = av_of(fid);
	size_t inserted = 0, stride = prov_addr_len(&av->domain->nic->ip);
	if (flags & ~(FI_MORE | FI_SYNC_ERR) || (count && !addrs) || (flags & FI_SYNC_ERR && !context))
		return -FI_EINVAL;
	prov_nic_lock(av->domain->nic);
	for (size_t i = 0; i < count; i++) {
		fi_addr_t index = FI_ADDR_NOTAVAIL;
		int ret = insert_one(av, (const char *)addrs + i * stride, &index);
		inserted += !ret;
		if (fi_addr)
			fi_addr[i] = index;
		if (ret || (flags & FI_SYNC_ERR && !av->eq))
			report_error(av, i, -ret, flags, context);
	}
	prov_nic_unlock(av->domain->nic);
	return report_done(av, inserted, context);
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	struct sockaddr_storage ss;
	struct weft_addr addr;
	if (!node || !service || prov_addr_resolve(node, service, 0, &addr))
		return -FI_EINVAL;
	prov_addr_to_sock(&addr, &ss);
	return av_insert(fid, &ss, 1, fi_addr, flags, context);
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service, size_t svccnt,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return -FI_ENOSYS; /* nodes have no numbered names here */
}

static int remove_one(struct prov_av *av, fi_addr_t addr)
{
	struct prov_av_entry *entry = entry_of(av, addr);
	if (!entry)
		return -FI_EINVAL;
	if (--entry->uses == 0) {
		av->of_peer[entry->peer] = FI_ADDR_NOTAVAIL;
		av->free++;
	}
	return 0;
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct prov_av *av = av_of(fid);
	int ret = flags ? -FI_EINVAL : 0;
	prov_nic_lock(av->domain->nic);
	for (size_t i = 0; i < count && !ret; i++)
		ret = remove_one(av, fi_addr[i]);
	prov_nic_unlock(av->domain->nic);
	return ret;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct prov_av *av = av_of(fid);
	struct sockaddr_storage ss;
	uint32_t peer;
	prov_nic_lock(av->domain->nic);
	int ret = prov_av_source(av, fi_addr, &peer);
	if (!ret)
		prov_addr_to_sock(weft_peer_addr(av->domain->nic->engine, peer), &ss);
	prov_nic_unlock(av->domain->nic);
	return ret ? ret : prov_addr_give(&ss, addr, addrlen);
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct prov_av *av = av_of(fid);
	struct weft_addr parsed;
	char text[80];
	if (prov_addr_from_sock(addr, prov_addr_len(&av->domain->nic->ip), NULL, &parsed))
		return NULL;
	size_t need = strlen(prov_addr_print(&parsed, text, sizeof text)) + 1;
	snprintf(buf, *len, "%s", text);
	*len = need;
	return buf;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_av *av = container_of(fid, struct prov_av, fid.fid);
	if (bfid->fclass != FI_CLASS_EQ || av->eq)
		return -FI_EINVAL;
	struct prov_eq *eq = container_of(bfid, struct prov_eq, fid.fid);
	eq->refs++;
	av->eq = eq;
	return 0;
}

static int av_close(struct fid *fid)
{
	struct prov_av *av = container_of(fid, struct prov_av, fid.fid);
	if (av->refs)
		return -FI_EBUSY;
	if (av->eq)
		av->eq->refs--;
	av->domain->refs--;
	free(av->entries);
	free(av->of_peer);
	free(av);
	return 0;
}

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

int prov_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
	enum { ENTRIES_MIN = 16, ENTRIES_MAX = 1 << 20, RX_CTX_BITS_MAX = 16 };
	if (attr && (attr->name || attr->flags & ~FI_EVENT || attr->type > FI_AV_TABLE))
		return -FI_ENOSYS; /* no shared or read-only vectors */
	if (attr && (attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > RX_CTX_BITS_MAX))
		return -FI_EINVAL;
	size_t count = attr && attr->count > ENTRIES_MIN ? attr->count : ENTRIES_MIN;
	struct prov_av *av = calloc(1, sizeof *av);
	if (!av)
		return -FI_ENOMEM;
	av->capacity = count > ENTRIES_MAX ? ENTRIES_MAX : (uint32_t)count;
	av->entries = calloc(av->capacity, sizeof *av->entries);
	if (!av->entries) {
		free(av);
		return -FI_ENOMEM;
	}
	av->domain = container_of(domain, struct prov_domain, fid);
	av->domain->refs++;
	av->rx_ctx_bits = attr ? attr->rx_ctx_bits : 0;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &av_ops;
	if (attr && !attr->type)
		attr->type = FI_AV_MAP;
	*out = &av->fid;
	return 0;
}
