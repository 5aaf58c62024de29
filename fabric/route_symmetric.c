/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric hashing (SprayPass sec. II, ExpressPass sec. 3.1): a packet from B to A with the entropy of one from A to B
 * walks its path backwards. The hash takes the two addresses alike, and its salt belongs to the tier: both leaves
 * choose the same spine of a pod, both spines the same core, and a bundle's cable is chosen going down as it is going
 * up. What routing avoids in one direction it avoids in both (route_avoided), so that both ends choose among the same
 * ways. */
#include <errno.h>

#include "hash.h"
#include "route_impl.h"
#include "wire.h"

/* Draws before all ways are looked at. */
enum { SYMMETRIC_TRIES = 8 };

struct symmetric_state {
	uint64_t up_salt;      /* of the choice among switches above */
	uint64_t cable_salt;   /* ... among the cables to one of them */
	uint64_t below_salt;   /* ... and as the switches below choose among the cables to here */
	uint32_t above;        /* switches above */
	uint32_t above_bundle; /* cables to each */
};

/* Of the salts, apart from all other streams. */
static uint64_t tier_salt(const struct weft_net *net, uint32_t tier, bool cable)
{
	return rng_mix(rng_mix(net->conf.seed + 4) + 2 * tier + cable);
}

static size_t symmetric_state(const struct weft_net *net, uint32_t sw)
{
	return sizeof(struct symmetric_state);
}

static int symmetric_init(const struct weft_net *net, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	uint32_t tier = switch_tier(net, sw);
	uint32_t bundle = tier + 1 < net->topo.tiers ? net->topo.tier[tier + 1].bundle : 1;

	if (net->topo.link_count || net->topo.mesh)
		return weft_err_set(err, -EINVAL,
				    "fabric: switches cannot hash both directions alike over links that differ, "
				    "or in a mesh");
	*(struct symmetric_state *)state = (struct symmetric_state){
		.up_salt = tier_salt(net, tier, false),
		.cable_salt = tier_salt(net, tier, true),
		.below_salt = tier ? tier_salt(net, tier - 1, true) : 0,
		.above = net->switches[sw].up_cables / bundle,
		.above_bundle = bundle,
	};
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
	return (uint32_t)((hash >> 32) * n >> 32);
}

/* The switch above that a way leads to. */
static uint32_t above_of(const struct weft_net *net, const struct route_ways *ways, uint32_t way)
{
	const struct symmetric_state *st = ways->state;

	return (ways_port(ways, way) - net->switches[ways->sw].first_up) / st->above_bundle;
}

/* The ways to switch `above`, neighbours: *count of them from the returned one on. */
static uint32_t ways_above(const struct weft_net *net, const struct route_ways *ways, uint32_t above, uint32_t *count)
{
	const struct symmetric_state *st = ways->state;
	uint32_t first = 0;

	*count = st->above_bundle;
	if (!ways->ports)
		return above * st->above_bundle;
	while (first < ways->count && above_of(net, ways, first) != above)
		first++;
	for (*count = 0; first + *count < ways->count && above_of(net, ways, first + *count) == above;)
		++*count;
	return first;
}

/* The n-th of the switches that ways lead to, or their number when there are not so many. */
static uint32_t nth_above(const struct weft_net *net, const struct route_ways *ways, uint32_t n, uint32_t *above)
{
	uint32_t seen = 0;

	for (uint32_t way = 0; way < ways->count; way++) {
		if (way && above_of(net, ways, way) == *above)
			continue;
		*above = above_of(net, ways, way);
		if (seen++ == n)
			return n;
	}
	return seen;
}

/* Uniform over the switches that can be taken; packets whose choice can be taken keep it. */
static uint32_t choose_above(const struct weft_net *net, const struct route_ways *ways, uint64_t hash, uint32_t *count)
{
	const struct symmetric_state *st = ways->state;
	uint32_t above = 0;

	for (uint32_t i = 0; i < SYMMETRIC_TRIES; i++) {
		uint32_t first = ways_above(net, ways, reduce(hash, st->above), count);
		if (*count)
			return first;
		hash = rng_mix(hash + i + 1);
	}
	nth_above(net, ways, reduce(hash, nth_above(net, ways, UINT32_MAX, &above)), &above);
	return ways_above(net, ways, above, count);
}

static uint32_t symmetric_choose(const struct weft_net *net, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct symmetric_state *st = ways->state;
	uint32_t count;

	if (ways->group)
		return reduce(pair_hash(st->below_salt, pkt), ways->count);
	uint32_t first = choose_above(net, ways, pair_hash(st->up_salt, pkt), &count);
	return count == 1 ? first : first + reduce(pair_hash(st->cable_salt, pkt), count);
}

const struct weft_route_ops route_symmetric = {
	.name = "symmetric",
	.help = "as ecmp, and both directions alike: the way back is the same, for the same entropy",
	.by_entropy = true,
	.both_ways = true,
	.state_bytes = symmetric_state,
	.init = symmetric_init,
	.choose = symmetric_choose,
};
