/* SPDX-License-Identifier: BSD-3-Clause */
#include "peers.h"

#include <errno.h>
#include <string.h>

#include "ip_key.h"

enum { ROOM_MIN = 16, UNPROVEN_MAX = 4096 };

void peers_init(struct peers *peers, struct pds *pds)
{
	peers->pds = pds;
	u64map_init(&peers->ids, &pds->mem);
}

static bool grow(struct peers *peers)
{
	uint32_t room = peers->room ? peers->room * 2 : ROOM_MIN;
	struct peer **slots = weft_mem_alloc(&peers->pds->mem, room * sizeof(struct peer *));
	if (!slots)
		return false;
	if (peers->slots)
		memcpy(slots, peers->slots, peers->count * sizeof(struct peer *));
	weft_mem_free(&peers->pds->mem, peers->slots);
	peers->slots = slots;
	peers->room = room;
	return true;
}

static struct peer *peer_new(struct peers *peers, const struct weft_addr *addr)
{
	struct remote *r = pds_remote(peers->pds, &addr->ip);
	struct peer *p = r ? weft_mem_alloc(&peers->pds->mem, sizeof *p) : NULL;
	if (!p)
		return NULL;
	p->addr = *addr;
	p->remote = r;
	p->id = peers->count;
	return p;
}

static uint64_t key_of(const struct peers *peers, const struct weft_addr *addr)
{
	return ip_key(&peers->pds->hash_key, &addr->ip, UINT64_C(1) << 32 | addr->port);
}

static int find_or_add(struct peers *peers, const struct weft_addr *addr, uint32_t most, uint32_t *id)
{
	uint64_t key = key_of(peers, addr);
	struct peer *p = u64map_get(&peers->ids, key);
	assert(peers->count <= peers->room);
	if (!p) {
		if (peers->count >= most)
			return -ENOSPC;
		if (peers->count == peers->room && !grow(peers))
			return -ENOMEM;
		p = peer_new(peers, addr);
		if (!p || !u64map_put(&peers->ids, key, p)) {
			weft_mem_free(&peers->pds->mem, p);
			return -ENOMEM;
		}
		peers->slots[peers->count++] = p;
	}
	*id = p->id;
	return 0;
}

int peer_add(struct peers *peers, const struct weft_addr *addr, uint32_t *id)
{
	return find_or_add(peers, addr, UINT32_MAX, id);
}

int peer_add_unproven(struct peers *peers, const struct weft_addr *addr, uint32_t *id)
{
	return find_or_add(peers, addr, UNPROVEN_MAX, id);
}

struct peer *peer_get(const struct peers *peers, uint32_t id)
{
	return id < peers->count ? peers->slots[id] : NULL;
}

void peers_fini(struct peers *peers)
{
	for (uint32_t i = 0; i < peers->count; i++)
		weft_mem_free(&peers->pds->mem, peers->slots[i]);
	weft_mem_free(&peers->pds->mem, peers->slots);
	u64map_fini(&peers->ids);
}
