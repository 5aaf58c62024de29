/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric hashing (SprayPass sec. II, ExpressPass sec. 3.1): a packet from B to A with the entropy of one from A to B
 * walks its path backwards. The hash takes the two addresses alike, and its salt belongs to the tier: both leaves
 * choose the same spine of a pod, both spines the same core, and a bundle's cable is chosen going down as it is going
 * up. What routing avoids in one direction it avoids in both (route_avoided), so that both ends choose among the same
 * ways. */
#include <errno.h>

#include "hash.h"
#include "route_impl.h"
#include "wire_peek.h"

/* Draws before all ways are looked at. */
enum { SYMMETRIC_TRIES = 8 };

struct symmetric_state {
	uint64_t up_salt;     /* of the choice among links up */
	uint64_t cable_salt;  /* ... among the cables of one */
	uint64_t below_salt;  /* ... and as the switches below choose among the cables to here */
	uint32_t links;       /* up */
	uint32_t first_way[]; /* of each link's cables, and behind the last */
};

/* Of the salts, apart from all other streams. */
static uint64_t tier_salt(const struct net_tree *tree, uint32_t tier, bool cable)
{
	return rng_mix(rng_mix(tree->seed + 4) + 2 * tier + cable);
}

static uint32_t links_up(const struct net_tree *tree, uint32_t sw)
{
	return tree->topo.tier[switch_tier(tree, sw)].radix_up;
}

static size_t symmetric_state(const struct net_tree *tree, uint32_t sw)
{
	return sizeof(struct symmetric_state) + (links_up(tree, sw) + 1) * sizeof(uint32_t);
}

/* The cables of a link are neighbours, and end at one switch. */
static void note_links(const struct net_tree *tree, uint32_t sw, struct symmetric_state *st)
{
	const struct net_switch *s = &tree->switches[sw];
	const struct net_port *up = &tree->ports[s->first_up];
	uint32_t link = 0;

	for (uint32_t way = 0; way < s->up_cables; way++)
		if (way == 0 || up[way].peer != up[way - 1].peer)
			st->first_way[link++] = way;
	assert(link == st->links);
	st->first_way[link] = s->up_cables;
}

static int symmetric_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	struct symmetric_state *st = state;
	uint32_t tier = switch_tier(tree, sw);

	if (tree->topo.mesh)
		return weft_err_set(err, -EINVAL,
				    "fabric: symmetric hashing needs a tree, where the way up decides the way down");
	st->up_salt = tier_salt(tree, tier, false);
	st->cable_salt = tier_salt(tree, tier, true);
	st->below_salt = tier ? tier_salt(tree, tier - 1, true) : 0;
	st->links = links_up(tree, sw);
	note_links(tree, sw, st);
	return 0;
}

/* The five-tuple, with both ends alike. */
static uint64_t pair_hash(uint64_t salt, const struct weft_pkt *pkt)
{
	uint32_t low = pkt->src < pkt->dst ? pkt->src : pkt->dst, high = pkt->src ^ pkt->dst ^ low;
	uint64_t rest = (uint64_t)pkt->entropy << 32 | WIRE_UDP_PORT;

	return rng_mix(hash_word(hash_word(salt, (uint64_t)low << 32 | high), rest));
}

/* Maps a hash to 0..n-1. */
static uint32_t reduce(uint64_t hash, uint32_t n)
{
	assert(n > 0);
	return (uint32_t)((hash >> 32) * n >> 32);
}

/* The ways over the cables of `link`, neighbours: *count of them from the returned one on. */
static uint32_t link_ways(const struct net_tree *tree, const struct route_ways *ways, uint32_t link, uint32_t *count)
{
	const struct symmetric_state *st = ways->state;
	uint32_t base = tree->switches[ways->sw].first_up, first = st->first_way[link], end = st->first_way[link + 1];
	uint32_t way = 0, n = 0;

	assert(link < st->links && first < end);
	*count = end - first;
	if (!ways->ports)
		return first;
	while (way < ways->count && ways->ports[way] < base + first)
		way++;
	while (way + n < ways->count && ways->ports[way + n] < base + end)
		n++;
	assert(way + n <= ways->count);
	*count = n;
	return way;
}

/* The ways over one of the links that have some. There is one. */
static uint32_t nth_link(const struct net_tree *tree, const struct route_ways *ways, uint64_t hash, uint32_t *count)
{
	const struct symmetric_state *st = ways->state;
	uint32_t usable = 0, link, way = 0;

	for (link = 0; link < st->links; link++) {
		link_ways(tree, ways, link, count);
		usable += *count > 0;
	}
	assert(usable > 0);
	uint32_t skip = reduce(hash, usable);
	for (link = 0; link < st->links; link++) {
		way = link_ways(tree, ways, link, count);
		if (*count && skip-- == 0)
			break;
	}
	return way;
}

/* Uniform over the links that can be taken; packets whose choice can be taken keep it. */
static uint32_t choose_link(const struct net_tree *tree, const struct route_ways *ways, uint64_t hash, uint32_t *count)
{
	const struct symmetric_state *st = ways->state;

	for (uint32_t i = 0; i < SYMMETRIC_TRIES; i++) {
		uint32_t first = link_ways(tree, ways, reduce(hash, st->links), count);
		if (*count)
			return first;
		hash = rng_mix(hash + i + 1);
	}
	return nth_link(tree, ways, hash, count);
}

static uint32_t symmetric_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct symmetric_state *st = ways->state;
	uint32_t count;

	if (ways->group)
		return reduce(pair_hash(st->below_salt, pkt), ways->count);
	uint32_t first = choose_link(tree, ways, pair_hash(st->up_salt, pkt), &count);
	return count == 1 ? first : first + reduce(pair_hash(st->cable_salt, pkt), count);
}

const struct weft_route_ops route_symmetric = {
	.name = "symmetric",
	.help = "as ecmp, but both directions of a flow take the same path for the same entropy",
	.by_entropy = true,
	.both_ways = true,
	.state_bytes = symmetric_state,
	.init = symmetric_init,
	.choose = symmetric_choose,
};
