/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices other than ECMP's: state per switch, and the ways that are left when routing avoids some. */
#include <errno.h>
#include <string.h>

#include "route_impl.h"
#include "turns.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

/* Apart from the streams of RED, coins and bit errors, and from the salts. */
static uint64_t switch_seed(const struct net_tree *tree, uint32_t sw)
{
	return rng_mix(rng_mix(tree->seed + 3) + sw);
}

/* Bytes of a switch's state, in whole cache lines. */
static size_t state_bytes(const struct net_tree *tree, uint32_t sw)
{
	const struct weft_route_ops *ops = tree->choice.ops;

	return ops->state_bytes ? (ops->state_bytes(tree, sw) + 63) & ~(size_t)63 : 0;
}

/* All at once: what is more than the machine has is refused before any of it is touched. */
static int alloc_states(struct net_tree *tree, struct weft_err *err)
{
	struct net_choice *c = &tree->choice;
	size_t total = 0;

	for (uint32_t sw = 0; sw < tree->switch_count && total < SIZE_MAX; sw++)
		if (__builtin_add_overflow(total, state_bytes(tree, sw), &total))
			total = SIZE_MAX;
	if (!total)
		return 0;
	c->states = weft_mem_alloc(&libc_mem, total);
	if (!c->states)
		return weft_err_set(err, -ENOMEM, "fabric: no memory for the %zu MiB that %s keeps in %u switches",
				    total >> 20, c->ops->name, tree->switch_count);
	return 0;
}

static int init_switches(struct net_tree *tree, struct weft_err *err)
{
	struct net_choice *c = &tree->choice;
	char *next = c->states;
	int rc = 0;

	for (uint32_t sw = 0; !rc && sw < tree->switch_count; sw++) {
		size_t bytes = state_bytes(tree, sw);
		c->state[sw] = bytes ? next : NULL;
		next += bytes;
		if (c->ops->init)
			rc = c->ops->init(tree, sw, c->state[sw], switch_seed(tree, sw), err);
	}
	return rc;
}

static int alloc_choice(struct net_tree *tree, struct net_choice *c)
{
	uint32_t widest = 1;

	for (uint32_t sw = 0; sw < tree->switch_count; sw++) {
		uint32_t ways = switch_widest(tree, &tree->switches[sw]);
		widest = ways > widest ? ways : widest;
	}
	c->state = weft_mem_alloc(&libc_mem, tree->switch_count * sizeof *c->state);
	c->ports = weft_mem_alloc(&libc_mem, widest * sizeof *c->ports);
	c->tune = weft_mem_alloc(&libc_mem, c->ops->tune_size + 1);
	return c->state && c->ports && c->tune ? 0 : -ENOMEM;
}

static int learn_rates(struct net_tree *tree)
{
	tree->known_bps = weft_mem_alloc(&libc_mem, tree->port_count * sizeof *tree->known_bps);
	if (!tree->known_bps)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->port_count; i++)
		tree->known_bps[i] = tree->cold[i].nominal_bps;
	return 0;
}

static void set_tune(struct net_choice *c, const void *tune)
{
	if (tune)
		memcpy(c->tune, tune, c->ops->tune_size);
	else
		weft_param_defaults(c->ops->tunes, c->tune);
}

int route_build(struct net_tree *tree, const struct weft_route_ops *ops, const void *tune, struct weft_err *err)
{
	struct net_choice *c = &tree->choice;

	assert(tree->ports && !tree->known_bps);
	c->ops = ops ? ops : &route_ecmp;
	if (learn_rates(tree))
		return weft_err_set(err, -ENOMEM, "fabric: out of memory for %u ports", tree->port_count);
	if (!c->ops->choose)
		return 0;
	if (tree->topo.tiers < c->ops->tiers_min)
		return weft_err_set(err, -EINVAL, "fabric: %s chooses in trees of %u tiers or more, this one has %u",
				    c->ops->name, c->ops->tiers_min, tree->topo.tiers);
	if (alloc_choice(tree, c))
		return weft_err_set(err, -ENOMEM, "fabric: out of memory");
	set_tune(c, tune);
	int rc = alloc_states(tree, err);
	if (!rc)
		rc = init_switches(tree, err);
	if (!rc && route_plan_build(tree, &tree->plan))
		rc = weft_err_set(err, -ENOMEM, "fabric: out of memory");
	return rc;
}

void route_set_back(struct net_tree *tree, weft_ps by)
{
	const struct net_choice *c = &tree->choice;

	for (uint32_t sw = 0; c->ops->set_back && sw < tree->switch_count; sw++)
		c->ops->set_back(tree, sw, c->state[sw], by);
}

void route_free(struct net_tree *tree)
{
	struct net_choice *c = &tree->choice;

	for (uint32_t sw = 0; c->state && c->ops->fini && sw < tree->switch_count; sw++)
		if (c->state[sw])
			c->ops->fini(c->state[sw]);
	weft_mem_free(&libc_mem, c->states);
	weft_mem_free(&libc_mem, c->state);
	weft_mem_free(&libc_mem, c->ports);
	weft_mem_free(&libc_mem, c->tune);
	weft_mem_free(&libc_mem, tree->known_bps);
	weft_mem_free(&libc_mem, tree->routes);
	route_plan_free(tree->plan);
	turns_free(tree->turns);
	*c = (struct net_choice){0};
}

/* Leaves only the usable ways. */
static void restrict_ways(const struct net_tree *tree, struct route_ways *ways)
{
	uint32_t usable = 0;

	ways->ports = tree->choice.ports;
	for (uint32_t i = 0; i < ways->count; i++)
		if (route_usable(tree, ways->first + i, ways->leaf))
			ways->ports[usable++] = ways->first + i;
	assert(usable <= ways->count);
	ways->count = usable;
}

static struct route_ways ways_to(const struct net_tree *tree, uint32_t from, uint32_t host, const struct weft_pkt *pkt,
				 weft_ps now)
{
	uint32_t sw = tree->ports[from].peer;
	const struct net_switch *s = &tree->switches[sw];
	struct route_ways ways = {.now = now,
				  .state = tree->choice.state[sw],
				  .sw = sw,
				  .from = from,
				  .first = s->first_up,
				  .count = s->up_cables,
				  .leaf = host / tree->topo.tier[0].radix_down};
	uint32_t below = host - s->low;

	if (below < s->span) {
		uint32_t child = (uint32_t)(below * s->child_recip >> 32);
		ways.group = 1 + child;
		ways.first = switch_child(tree, s, child, &ways.count);
	}
	assert(sw < tree->switch_count && host < tree->topo.hosts);
	if (tree->plan && route_plan_part(tree, &ways, pkt))
		return ways;
	if (tree->routes)
		restrict_ways(tree, &ways);
	return ways;
}

bool route_is_special(const struct net_tree *tree)
{
	return tree->routes || tree->down_first || tree->choice.ops->choose;
}

uint32_t route_forward(const struct net_tree *tree, uint32_t from, uint32_t host, const struct weft_pkt *pkt,
		       weft_ps now)
{
	const struct net_switch *sw = &tree->switches[tree->ports[from].peer];

	if (!tree->choice.ops->choose)
		return tree->routes || tree->down_first ? route_around(tree, sw, host, pkt) : route_port(sw, host, pkt);
	struct route_ways ways = ways_to(tree, from, host, pkt, now);
	if (ways.count == 0)
		return PORT_NONE;
	uint32_t port = ways_port(&ways, ways.count == 1 ? 0 : tree->choice.ops->choose(tree, &ways, pkt));
	assert(port >= sw->first_down && port < sw->first_up + sw->up_cables);
	if (tree->choice.ops->forward)
		tree->choice.ops->forward(tree, &ways, port, pkt);
	return port;
}
