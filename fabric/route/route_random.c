/* SPDX-License-Identifier: BSD-3-Clause */
/* Random packet spraying by the switches: every packet draws anew. */
#include "route_impl.h"

static size_t random_state(const struct net_tree *tree, uint32_t sw)
{
	return sizeof(struct rng);
}

static int random_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	*(struct rng *)state = (struct rng){seed};
	return 0;
}

static uint32_t random_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	assert(ways->count > 1);
	return rng_below(ways->state, ways->count);
}

const struct weft_route_ops route_random = {
	.name = "random",
	.help = "per packet, uniform over the usable ports",
	.state_bytes = random_state,
	.init = random_init,
	.choose = random_choose,
};
