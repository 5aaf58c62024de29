/* SPDX-License-Identifier: BSD-3-Clause */
/* A vector with a name is a table that processes share (avshare.c); ours follows it, because engines number peers each
 * in their own way. */
#include "av_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "avshare.h"

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

/* Room for an entry at `index`. */
static int entries_grow(struct prov_av *av, uint32_t index)
{
	if (index >= av->capacity) {
		uint32_t n = index + index / 2 + 1;
		struct prov_av_entry *entries = realloc(av->entries, n * sizeof *entries);
		if (!entries)
			return -FI_ENOMEM;
		av->entries = entries;
		av->capacity = n;
	}
	for (; av->count <= index; av->count++)
		av->entries[av->count] = (struct prov_av_entry){.uses = 0};
	return 0;
}

/* Returns the lowest free index. */
static uint32_t free_index(struct prov_av *av)
{
	while (av->lowest_free < av->count && av->entries[av->lowest_free].uses)
		av->lowest_free++;
	assert(av->lowest_free <= av->count);
	return av->lowest_free;
}

int prov_av_entry_add(struct prov_av *av, const struct weft_addr *addr, uint32_t wanted, fi_addr_t *out)
{
	uint32_t peer;
	assert_locked(av->domain->nic);
	int ret = weft_peer_add(av->domain->nic->engine, addr, &peer);
	if (!ret)
		ret = peers_grow(av, peer);
	if (ret)
		return ret;
	uint32_t index = wanted;
	if (av->of_peer[peer] != FI_ADDR_NOTAVAIL)
		index = (uint32_t)av->of_peer[peer];
	else if (wanted == UINT32_MAX)
		index = free_index(av);
	ret = entries_grow(av, index);
	if (ret)
		return ret;
	assert(index < av->count && av->count <= av->capacity);
	if (!av->entries[index].uses++) {
		av->entries[index].peer = peer;
		av->entries[index].alias = index;
		av->of_peer[peer] = index;
	}
	*out = index;
	return 0;
}

void prov_av_entry_del(struct prov_av *av, uint32_t index)
{
	assert_locked(av->domain->nic);
	assert(index < av->count && av->entries[index].uses > 0);
	assert(av->of_peer[av->entries[index].peer] == index);
	if (--av->entries[index].uses)
		return;
	av->of_peer[av->entries[index].peer] = FI_ADDR_NOTAVAIL;
	if (index < av->lowest_free)
		av->lowest_free = index;
}

/* The shared table has another address, or none, at this index. */
static bool entry_outdated(struct prov_av *av, uint32_t index, uint32_t uses, const struct weft_addr *addr)
{
	if (index >= av->count || !av->entries[index].uses)
		return false;
	const struct weft_addr *ours = weft_peer_addr(av->domain->nic->engine, av->entries[index].peer);
	return !uses || ours->port != addr->port || !weft_ip_eq(&ours->ip, &addr->ip);
}

/* Removals come before insertions, because an address may have moved to another index. */
void prov_av_follow(struct prov_av *av)
{
	struct weft_addr addr;
	fi_addr_t out;
	if (!av->share || prov_avshare_version(av->share) == av->share_version)
		return;
	av->share_version = prov_avshare_version(av->share);
	uint32_t n = prov_avshare_count(av->share);
	for (uint32_t i = 0; i < n; i++)
		if (entry_outdated(av, i, prov_avshare_get(av->share, i, &addr), &addr))
			prov_av_entry_del(av, i);
	for (uint32_t i = 0; i < n; i++)
		if (prov_avshare_get(av->share, i, &addr) && (i >= av->count || !av->entries[i].uses))
			prov_av_entry_add(av, &addr, i, &out); /* when memory runs out, the address stays unknown */
}

struct prov_av_entry *prov_av_resolve_entry(struct prov_av *av, fi_addr_t addr)
{
	if (!av)
		return NULL;
	assert_locked(av->domain->nic);
	prov_av_follow(av);
	addr &= UINT64_MAX >> av->rx_ctx_bits;
	return addr < av->count && av->entries[addr].uses ? &av->entries[addr] : NULL;
}

int prov_av_resolve_source(struct prov_av *av, fi_addr_t addr, uint32_t *peer)
{
	const struct prov_av_entry *entry = prov_av_resolve_entry(av, addr);
	if (!entry)
		return -FI_EINVAL;
	*peer = entry->peer;
	return 0;
}

/* The receive contexts of a scalable endpoint have consecutive numbers. */
int prov_av_resolve_peer(struct prov_av *av, fi_addr_t addr, uint32_t *peer)
{
	int ret = prov_av_resolve_source(av, addr, peer);
	uint64_t index = !ret && av->rx_ctx_bits ? addr >> (64 - av->rx_ctx_bits) : 0;
	if (!index)
		return ret;
	struct weft_engine *engine = av->domain->nic->engine;
	struct weft_addr to = *weft_peer_addr(engine, *peer);
	to.port = (uint16_t)(to.port + index);
	return weft_peer_add(engine, &to, peer);
}

fi_addr_t prov_av_resolve_addr(struct prov_av *av, uint32_t peer)
{
	assert_locked(av->domain->nic);
	prov_av_follow(av);
	fi_addr_t index = peer < av->peers ? av->of_peer[peer] : FI_ADDR_NOTAVAIL;
	return index == FI_ADDR_NOTAVAIL ? index : av->entries[index].alias;
}
