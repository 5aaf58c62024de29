/* SPDX-License-Identifier: BSD-3-Clause */
/* Round robin over each group of equal ports. Switches that step in the same order meet at the tier above again and
 * again, so each has an order of its own and draws a new one after some rounds. With several forwarding engines each
 * has its own turn and order, and they step on each other's. */
#include <stddef.h>

#include "route_impl.h"

struct rr_group {
	uint32_t next;  /* place in `order` */
	uint32_t round; /* completed in this order */
	uint32_t *order;
};

struct rr_state {
	struct rng rng;
	struct rr_group group[]; /* of the first engine, of the next ... */
};

static uint32_t rr_engines(const struct net_tree *tree)
{
	const struct route_rr_tune *tune = tree->choice.tune;

	return tune->engines ? tune->engines : 1;
}

static size_t rr_state(const struct net_tree *tree, uint32_t sw)
{
	const struct net_switch *s = &tree->switches[sw];
	size_t ports = s->up_cables + s->first_up - s->first_down;

	return offsetof(struct rr_state, group) +
	       rr_engines(tree) * (switch_groups(s) * sizeof(struct rr_group) + ports * sizeof(uint32_t));
}

/* Fisher-Yates. */
static void shuffle(struct rng *rng, uint32_t *order, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = rng_below(rng, i), swap = order[j];
		order[j] = order[i - 1];
		order[i - 1] = swap;
	}
}

static int rr_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	const struct net_switch *s = &tree->switches[sw];
	struct rr_state *st = state;
	uint32_t groups = switch_groups(s), all = rr_engines(tree) * groups, *order = (uint32_t *)&st->group[all];

	st->rng = (struct rng){seed};
	for (uint32_t g = 0; g < all; g++) {
		uint32_t ways = switch_group(tree, s, g % groups);
		st->group[g].order = order;
		for (uint32_t i = 0; i < ways; i++)
			order[i] = i;
		shuffle(&st->rng, order, ways);
		order += ways;
	}
	return 0;
}

static void next_round(const struct net_tree *tree, struct rr_state *st, struct rr_group *g, uint32_t ways)
{
	const struct route_rr_tune *tune = tree->choice.tune;

	assert(g->next == ways);
	g->next = 0;
	if (tune->rounds && ++g->round >= tune->rounds) {
		g->round = 0;
		shuffle(&st->rng, g->order, ways);
	}
}

/* With fewer ways than ports the rest of the order is skipped, so that each is taken once per round. */
static uint32_t rr_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	struct rr_state *st = ways->state;
	const struct net_switch *s = &tree->switches[ways->sw];
	uint32_t engine = ways_engine(tree, ways, rr_engines(tree));
	struct rr_group *g = &st->group[engine * switch_groups(s) + ways->group];
	uint32_t all = switch_group(tree, s, ways->group), way;

	assert(ways->count > 0 && ways->count <= all && g->next < all);
	do {
		way = g->order[g->next++];
		if (g->next == all)
			next_round(tree, st, g, all);
	} while (way >= ways->count);
	return way;
}

static const struct weft_param rr_tunes[] = {
	{.key = "rr_rounds",
	 .help = "rounds over the ports in one order before a new one is drawn; 0: never",
	 .def = 5,
	 .max = 1000000,
	 .offset = offsetof(struct route_rr_tune, rounds)},
	{.key = "rr_engines",
	 .help = "forwarding engines of a switch, each with turns of its own; incoming ports are dealt out to them",
	 .def = 1,
	 .min = 1,
	 .max = 256,
	 .offset = offsetof(struct route_rr_tune, engines)},
	{.key = NULL},
};

const struct weft_route_ops route_rr = {
	.name = "rr",
	.help = "per packet, round robin over the usable ports of each switch",
	.tunes = rr_tunes,
	.tune_size = sizeof(struct route_rr_tune),
	.state_bytes = rr_state,
	.init = rr_init,
	.choose = rr_choose,
};
