/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "route_impl.h"
#include "wire_peek.h"

enum { IP_PROTOCOL_UDP = 17 };

/* An odd number with as many ones as zeros. */
#define SCRAMBLE 0x9fb21c651e98df25u

/* The five-tuple, under the switch's salt: switches choose independently, a flow with one entropy keeps its path. One
 * multiplication leaves the hashes of consecutive entropies an arithmetic progression; for the flows whose step is
 * short all of them would lie on one port, hence the second. */
static uint32_t tuple_hash(uint64_t salt, const struct weft_pkt *pkt)
{
	uint64_t addresses = (uint64_t)pkt->src << 32 | pkt->dst;
	uint64_t rest = (uint64_t)pkt->entropy << 32 | WIRE_UDP_PORT << 8 | IP_PROTOCOL_UDP;

	return (uint32_t)(hash_fold(hash_word(hash_word(salt, addresses), rest), SCRAMBLE) >> 32);
}

/* Maps a hash to 0..n-1. */
static uint32_t choose(uint32_t hash, uint32_t n)
{
	assert(n > 0);
	return (uint32_t)((uint64_t)hash * n >> 32);
}

/* Draws before all ports are looked at. */
enum { AROUND_TRIES = 8 };

bool route_usable(const struct net_tree *tree, uint32_t port, uint32_t leaf)
{
	const struct net_port *p = &tree->ports[port];
	const struct net_routes *r = tree->routes;

	assert(r && port < tree->port_count && leaf < tree->topo.tier[0].switches);
	if (p->flags & PORT_LAST_HOP)
		return true; /* there is no other way to a host */
	if (route_avoided(tree, port))
		return false;
	if (p->peer < tree->topo.tier[0].switches)
		return true;
	size_t row = (size_t)(p->peer - tree->topo.tier[0].switches) * r->row_words;
	return r->reach[row + leaf / 64] >> leaf % 64 & 1;
}

/* One of the usable ports among `n`, by hash. Redrawing until one is usable is uniform over those that are. */
static uint32_t choose_usable(const struct net_tree *tree, uint32_t first, uint32_t n, uint32_t leaf, uint32_t hash)
{
	uint32_t usable = 0;

	assert(first + n <= tree->port_count);
	for (uint32_t i = 0; i < AROUND_TRIES; i++) {
		uint32_t port = first + choose(hash, n);
		if (route_usable(tree, port, leaf))
			return port;
		hash = (uint32_t)(hash_word(hash, i) >> 32);
	}
	for (uint32_t i = 0; i < n; i++)
		usable += route_usable(tree, first + i, leaf);
	if (!usable)
		return PORT_NONE;
	uint32_t skip = choose(hash, usable);
	for (uint32_t i = 0; i < n; i++)
		if (route_usable(tree, first + i, leaf) && skip-- == 0)
			return first + i;
	return PORT_NONE;
}

uint32_t route_around(const struct net_tree *tree, const struct net_switch *sw, uint32_t host,
		      const struct weft_pkt *pkt)
{
	assert(host < tree->topo.hosts);
	uint32_t below = host - sw->low, leaf = host / tree->topo.tier[0].radix_down;
	uint32_t first = sw->first_up, n = sw->up_cables;

	if (below < sw->span)
		first = switch_child(tree, sw, (uint32_t)(below * sw->child_recip >> 32), &n);
	if (!tree->routes)
		return first + choose(tuple_hash(sw->salt, pkt), n);
	return choose_usable(tree, first, n, leaf, tuple_hash(sw->salt, pkt));
}

uint32_t route_part_hash(const struct net_switch *sw, const struct weft_pkt *pkt)
{
	return (uint32_t)(hash_word(tuple_hash(sw->salt, pkt), SCRAMBLE) >> 32);
}

uint32_t route_hash(const struct net_switch *sw, const struct weft_pkt *pkt, uint32_t n)
{
	return choose(tuple_hash(sw->salt, pkt), n);
}

uint32_t route_port(const struct net_switch *sw, uint32_t host, const struct weft_pkt *pkt)
{
	uint32_t below = host - sw->low;

	assert(below < sw->span || sw->up_cables > 0); /* the top tier has all hosts below */
	if (below >= sw->span)
		return sw->first_up + choose(tuple_hash(sw->salt, pkt), sw->up_cables);
	uint32_t port = sw->first_down + (uint32_t)(below * sw->child_recip >> 32) * sw->bundle;
	assert(sw->bundle > 0);
	return sw->bundle == 1 ? port : port + choose(tuple_hash(sw->salt, pkt), sw->bundle);
}
