/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

/* A key for an address and a number; different ones collide with probability 2^-64, so users compare what they find. */
uint64_t ip_key(const struct weft_ip *ip, uint64_t extra)
{
	uint64_t w[2];
	memcpy(w, ip->b, sizeof w);
	return rng_mix(w[0] + rng_mix(w[1] + rng_mix(extra + 1)));
}

static struct remote *remote_get(struct weft_engine *e, const struct weft_ip *ip)
{
	uint64_t key = ip_key(ip, 0);
	struct remote *r = u64map_get(&e->remotes, key);
	if (r)
		return weft_ip_eq(&r->ip, ip) ? r : NULL;
	r = weft_mem_alloc(&e->mem, sizeof *r);
	if (!r)
		return NULL;
	r->ip = *ip;
	if (u64map_put(&e->remotes, key, r))
		return r;
	weft_mem_free(&e->mem, r);
	return NULL;
}

static bool peers_grow(struct weft_engine *e)
{
	uint32_t room = e->peer_room ? e->peer_room * 2 : 16;
	struct peer **peers = weft_mem_alloc(&e->mem, room * sizeof(struct peer *));
	if (!peers)
		return false;
	if (e->peers)
		memcpy(peers, e->peers, e->peer_count * sizeof(struct peer *));
	weft_mem_free(&e->mem, e->peers);
	e->peers = peers;
	e->peer_room = room;
	return true;
}

static struct peer *peer_new(struct weft_engine *e, const struct weft_addr *addr)
{
	struct remote *r = remote_get(e, &addr->ip);
	struct peer *p = r ? weft_mem_alloc(&e->mem, sizeof *p) : NULL;
	if (!p)
		return NULL;
	p->addr = *addr;
	p->remote = r;
	p->id = e->peer_count;
	return p;
}

int weft_peer_add(struct weft_engine *e, const struct weft_addr *addr, uint32_t *id)
{
	uint64_t key = ip_key(&addr->ip, UINT64_C(1) << 32 | addr->port);
	struct peer *p = u64map_get(&e->peer_ids, key);
	if (!p) {
		if (e->peer_count == e->peer_room && !peers_grow(e))
			return -ENOMEM;
		p = peer_new(e, addr);
		if (!p || !u64map_put(&e->peer_ids, key, p)) {
			weft_mem_free(&e->mem, p);
			return -ENOMEM;
		}
		e->peers[e->peer_count++] = p;
	}
	*id = p->id;
	return 0;
}

struct peer *peer_get(const struct weft_engine *e, uint32_t id)
{
	return id < e->peer_count ? e->peers[id] : NULL;
}

const struct weft_addr *weft_peer_addr(const struct weft_engine *e, uint32_t id)
{
	const struct peer *p = peer_get(e, id);
	return p ? &p->addr : NULL;
}

void peers_fini(struct weft_engine *e)
{
	for (uint32_t i = 0; i < e->peer_count; i++)
		weft_mem_free(&e->mem, e->peers[i]);
	weft_mem_free(&e->mem, e->peers);
	for (uint32_t i = 0; e->remotes.slots && i <= e->remotes.mask; i++)
		weft_mem_free(&e->mem, e->remotes.slots[i].value);
	u64map_fini(&e->remotes);
	u64map_fini(&e->peer_ids);
}
