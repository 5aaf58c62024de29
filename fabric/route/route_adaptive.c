/* SPDX-License-Identifier: BSD-3-Clause */
/* Adaptive routing by local queues (REPS section 4.1, Adaptive RoCE; PRIME section IV, AR): every packet, data or
 * control, takes a port with the least before it, ties are drawn. Neither paper says how exactly a switch sees its
 * queues. The defaults are those of the simulator that REPS is evaluated in: four bands, read every 100 ns. With exact
 * depths at once a host at line rate finds the port empty that its own last packet has just left, takes it again and
 * again, and paths lock in as with ECMP. */
#include <stddef.h>

#include "route_impl.h"

/* What the switch knows of a port. */
struct sample {
	weft_ps at; /* when it was read */
	uint64_t depth;
};

struct adaptive_state {
	struct rng rng;
	struct sample sample[]; /* of the switch's ports, only with sample_ns */
};

static size_t samples(const struct net_tree *tree, uint32_t sw)
{
	const struct route_adaptive_tune *tune = tree->choice.tune;
	const struct net_switch *s = &tree->switches[sw];

	return tune->sample_ns ? s->first_up + s->up_cables - s->first_down : 0;
}

static size_t adaptive_state(const struct net_tree *tree, uint32_t sw)
{
	return sizeof(struct adaptive_state) + samples(tree, sw) * sizeof(struct sample);
}

static void adaptive_set_back(const struct net_tree *tree, uint32_t sw, void *state, weft_ps by)
{
	struct adaptive_state *st = state;

	for (size_t i = 0; i < samples(tree, sw); i++)
		st->sample[i].at = ps_earlier(st->sample[i].at, by);
}

static int adaptive_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	((struct adaptive_state *)state)->rng = (struct rng){seed};
	return 0;
}

/* Below 5, 10 and 20 % of the data queue, more, and paused. */
static uint64_t band(uint64_t depth, uint32_t limit)
{
	return (depth * 20 >= limit) + (depth * 10 >= limit) + (depth * 5 >= limit) + (depth >= PAUSED_BACKLOG);
}

static uint64_t read_depth(const struct net_tree *tree, uint32_t port, weft_ps now)
{
	const struct route_adaptive_tune *tune = tree->choice.tune;
	uint64_t depth = port_backlog(tree, port, now);

	return tune->bands ? band(depth, tree->ports[port].limit_bytes) : depth;
}

static uint64_t known_depth(const struct net_tree *tree, const struct route_ways *ways, uint32_t port)
{
	const struct route_adaptive_tune *tune = tree->choice.tune;

	if (!tune->sample_ns)
		return read_depth(tree, port, ways->now);
	struct adaptive_state *st = ways->state;
	struct sample *s = &st->sample[port - tree->switches[ways->sw].first_down];
	assert(s->at <= ways->now);
	if (s->at == 0 || ways->now - s->at >= UINT64_C(1000) * tune->sample_ns)
		*s = (struct sample){ways->now, read_depth(tree, port, ways->now)};
	return s->depth;
}

/* The k-th of equal ways replaces those before it once in k times: each is as likely. */
static uint32_t adaptive_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	struct adaptive_state *st = ways->state;
	uint64_t least = UINT64_MAX;
	uint32_t best = 0, ties = 0;

	for (uint32_t i = 0; i < ways->count; i++) {
		uint64_t depth = known_depth(tree, ways, ways_port(ways, i));
		ties = depth < least ? 1 : ties + (depth == least);
		if (depth < least || (depth == least && rng_below(&st->rng, ties) == 0))
			best = i;
		least = depth < least ? depth : least;
	}
	assert(ties > 0 && ties <= ways->count);
	return best;
}

static const struct weft_param adaptive_tunes[] = {
	{.key = "adaptive_bands",
	 .help = "queues are compared by band (below 5, 10, 20 % of the data queue, or above), not by bytes",
	 .def = 1,
	 .max = 1,
	 .offset = offsetof(struct route_adaptive_tune, bands),
	 .type = WEFT_PARAM_BOOL},
	{.key = "adaptive_sample_ns",
	 .help = "a port's queue is read no more often than this; 0: at every packet",
	 .def = 100,
	 .max = 1000000,
	 .offset = offsetof(struct route_adaptive_tune, sample_ns)},
	{.key = NULL},
};

const struct weft_route_ops route_adaptive = {
	.name = "adaptive",
	.help = "per packet, a port with the shortest queue, by bands and samples; ties are drawn",
	.tunes = adaptive_tunes,
	.tune_size = sizeof(struct route_adaptive_tune),
	.state_bytes = adaptive_state,
	.init = adaptive_init,
	.choose = adaptive_choose,
	.set_back = adaptive_set_back,
};
