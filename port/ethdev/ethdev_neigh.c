/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a DPDK port's neighbours: who is in it, and who has to leave for others. Strangers cannot fill it: what
 * is remembered because somebody spoke has half of the table, and unused entries make room. */
#include "ethdev_neigh.h"

#include <assert.h>
#include <stdatomic.h>

#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_random.h>

enum { SEARCH_MAX = 128 /* entries looked at for one unused: bounds what a forged frame costs */ };

void neigh_hops_flush(struct neigh_table *t)
{
	/* An address that belongs to the next place is never found here. */
	for (uint32_t i = 0; i < HOPS; i++)
		t->hops[i] = (struct hop){.dst = weft_ip_v4(i + 1)};
}

struct neigh_table *neigh_create(int node)
{
	static _Atomic uint32_t serial;
	char name[RTE_HASH_NAMESIZE];
	ethdev_unique_name(name, sizeof name, "weft_neigh", &serial);
	struct rte_hash_parameters params = {
		.name = name,
		.entries = ETHDEV_NEIGHS,
		.key_len = sizeof(struct weft_ip),
		.hash_func_init_val = (uint32_t)rte_rand(),
		.socket_id = node,
	};
	struct neigh_table *t = rte_zmalloc_socket("weft_neigh", sizeof *t, RTE_CACHE_LINE_SIZE, node);
	if (t == NULL)
		return NULL;
	neigh_hops_flush(t);
	t->hash = rte_hash_create(&params);
	if (t->hash == NULL) {
		rte_free(t);
		return NULL;
	}
	return t;
}

static void held_free(struct neigh *n)
{
	while (n->held != NULL) {
		struct rte_mbuf *m = pkt_mbuf(n->held);
		n->held = n->held->next;
		rte_pktmbuf_free(m);
	}
	n->held_count = 0;
}

void neigh_destroy(struct neigh_table *t)
{
	if (t == NULL)
		return;
	for (unsigned i = 0; i < ETHDEV_NEIGHS; i++)
		held_free(&t->n[i]);
	rte_hash_free(t->hash);
	rte_free(t);
}

struct neigh *neigh_find(const struct neigh_table *t, const struct weft_ip *ip)
{
	int i = rte_hash_lookup(t->hash, ip);
	if (i < 0)
		return NULL;
	assert(i < ETHDEV_NEIGHS && t->n[i].in_use && weft_ip_eq(&t->n[i].ip, ip));
	return (struct neigh *)&t->n[i];
}

void neigh_held_drop(struct ethdev *d, struct neigh *n)
{
	assert(n->held_count <= ETHDEV_PENDING && (n->held == NULL) == (n->held_count == 0));
	d->stats.arp_pending_dropped += n->held_count;
	held_free(n);
}

void neigh_forget(struct ethdev *d, struct neigh *n)
{
	struct neigh_table *t = d->neigh;
	uint32_t low = rte_cpu_to_be_32(weft_ip_low32(&n->ip));
	assert(n->in_use && (n->needed || t->strangers > 0));
	if (d->learned[rte_be_to_cpu_32(low) % ETHDEV_LEARNED] == low)
		d->learned[rte_be_to_cpu_32(low) % ETHDEV_LEARNED] = 0;
	neigh_held_drop(d, n);
	t->strangers -= !n->needed;
	t->asking -= n->probe_at != WEFT_NEVER && t->asking > 0;
	rte_hash_del_key(t->hash, &n->ip);
	*n = (struct neigh){.probe_at = WEFT_NEVER};
	neigh_hops_flush(t);
}

/* The hand goes round; who was used since it last came by stays. What destinations remember would hide uses, so that is
 * forgotten with each mark. */
static bool make_room(struct ethdev *d, bool strangers_alone)
{
	struct neigh_table *t = d->neigh;
	for (unsigned i = 0; i < SEARCH_MAX; i++) {
		struct neigh *n = &t->n[t->hand];
		t->hand = (t->hand + 1) % ETHDEV_NEIGHS;
		if (!n->in_use || n->held != NULL || (strangers_alone && n->needed))
			continue;
		if (!n->used) {
			neigh_forget(d, n);
			d->stats.arp_evicted++;
			return true;
		}
		n->used = false;
		neigh_hops_flush(t);
	}
	d->stats.arp_table_full++;
	return false;
}

static bool has_room(struct ethdev *d, bool needed)
{
	struct neigh_table *t = d->neigh;
	if (!needed && !d->is_switch && t->strangers >= ETHDEV_NEIGHS / 2)
		return make_room(d, true);
	return rte_hash_count(t->hash) < ETHDEV_NEIGHS || make_room(d, false);
}

struct neigh *neigh_get(struct ethdev *d, const struct weft_ip *ip, bool needed)
{
	struct neigh_table *t = d->neigh;
	struct neigh *n = neigh_find(t, ip);
	if (n == NULL) {
		int i = has_room(d, needed) ? rte_hash_add_key(t->hash, ip) : -1;
		if (i < 0 || i >= ETHDEV_NEIGHS) /* a table that is nearly full may have no place for this key */
			return NULL;
		n = &t->n[i];
		assert(!n->in_use && n->held == NULL);
		*n = (struct neigh){.ip = *ip, .probe_at = WEFT_NEVER, .in_use = true};
		t->strangers++;
	}
	if (needed && !n->needed) {
		assert(t->strangers > 0);
		t->strangers--;
		n->needed = true;
	}
	n->used |= needed;
	return n;
}
