/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices other than ECMP's: state per switch, and the ways that are left when routing avoids some. */
#include <errno.h>
#include <string.h>

#include "route_impl.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

/* Apart from the streams of RED, coins and bit errors, and from the salts. */
static uint64_t switch_seed(const struct weft_net *net, uint32_t sw)
{
	return rng_mix(rng_mix(net->conf.seed + 3) + sw);
}

/* Bytes of a switch's state, in whole cache lines. */
static size_t state_bytes(const struct weft_net *net, uint32_t sw)
{
	const struct weft_route_ops *ops = net->choice.ops;

	return ops->state_bytes ? (ops->state_bytes(net, sw) + 63) & ~(size_t)63 : 0;
}

/* All at once: what is more than the machine has is refused before any of it is touched. */
static int alloc_states(struct weft_net *net, struct weft_err *err)
{
	struct net_choice *c = &net->choice;
	size_t total = 0;

	for (uint32_t sw = 0; sw < net->switch_count && total < SIZE_MAX; sw++)
		if (__builtin_add_overflow(total, state_bytes(net, sw), &total))
			total = SIZE_MAX;
	if (!total)
		return 0;
	c->states = weft_mem_alloc(&libc_mem, total);
	if (!c->states)
		return weft_err_set(err, -ENOMEM, "fabric: no memory for the %zu MiB that %s keeps in %u switches",
				    total >> 20, c->ops->name, net->switch_count);
	return 0;
}

static int init_switches(struct weft_net *net, struct weft_err *err)
{
	struct net_choice *c = &net->choice;
	char *next = c->states;
	int rc = 0;

	for (uint32_t sw = 0; !rc && sw < net->switch_count; sw++) {
		size_t bytes = state_bytes(net, sw);
		c->state[sw] = bytes ? next : NULL;
		next += bytes;
		if (c->ops->init)
			rc = c->ops->init(net, sw, c->state[sw], switch_seed(net, sw), err);
	}
	return rc;
}

static int alloc_choice(struct weft_net *net, struct net_choice *c)
{
	uint32_t widest = 1;

	for (uint32_t sw = 0; sw < net->switch_count; sw++) {
		uint32_t ways = switch_widest(net, &net->switches[sw]);
		widest = ways > widest ? ways : widest;
	}
	c->state = weft_mem_alloc(&libc_mem, net->switch_count * sizeof *c->state);
	c->ports = weft_mem_alloc(&libc_mem, widest * sizeof *c->ports);
	c->tune = weft_mem_alloc(&libc_mem, c->ops->tune_size + 1);
	return c->state && c->ports && c->tune ? 0 : -ENOMEM;
}

int route_build(struct weft_net *net, struct weft_err *err)
{
	struct net_choice *c = &net->choice;

	c->ops = net->conf.route ? net->conf.route : &route_ecmp;
	if (!c->ops->choose)
		return 0;
	if (net->topo.tiers < c->ops->tiers_min)
		return weft_err_set(err, -EINVAL, "fabric: %s chooses in trees of %u tiers or more, this one has %u",
				    c->ops->name, c->ops->tiers_min, net->topo.tiers);
	if (alloc_choice(net, c))
		return weft_err_set(err, -ENOMEM, "fabric: out of memory");
	if (net->conf.route_tune)
		memcpy(c->tune, net->conf.route_tune, c->ops->tune_size);
	else
		weft_param_defaults(c->ops->tunes, c->tune);
	net->special = true;
	int rc = alloc_states(net, err);
	if (!rc)
		rc = init_switches(net, err);
	if (!rc && route_plan_build(net, &net->plan))
		rc = weft_err_set(err, -ENOMEM, "fabric: out of memory");
	return rc;
}

void route_free(struct weft_net *net)
{
	struct net_choice *c = &net->choice;

	for (uint32_t sw = 0; c->state && c->ops->fini && sw < net->switch_count; sw++)
		if (c->state[sw])
			c->ops->fini(c->state[sw]);
	weft_mem_free(&libc_mem, c->states);
	weft_mem_free(&libc_mem, c->state);
	weft_mem_free(&libc_mem, c->ports);
	weft_mem_free(&libc_mem, c->tune);
	route_plan_free(net->plan);
	*c = (struct net_choice){0};
}

/* Leaves only the usable ways. */
static void restrict_ways(const struct weft_net *net, struct route_ways *ways)
{
	uint32_t usable = 0;

	ways->ports = net->choice.ports;
	for (uint32_t i = 0; i < ways->count; i++)
		if (route_usable(net, ways->first + i, ways->leaf))
			ways->ports[usable++] = ways->first + i;
	ways->count = usable;
}

static struct route_ways ways_to(const struct weft_net *net, uint32_t from, uint32_t host, const struct weft_pkt *pkt)
{
	uint32_t sw = net->ports[from].peer;
	const struct net_switch *s = &net->switches[sw];
	struct route_ways ways = {.state = net->choice.state[sw],
				  .sw = sw,
				  .from = from,
				  .first = s->first_up,
				  .count = s->up_cables,
				  .leaf = host / net->topo.tier[0].radix_down};
	uint32_t below = host - s->low;

	if (below < s->span) {
		uint32_t child = (uint32_t)(below * s->child_recip >> 32);
		ways.group = 1 + child;
		ways.first = switch_child(net, s, child, &ways.count);
	}
	if (net->plan && route_plan_part(net, &ways, pkt))
		return ways;
	if (net->routes)
		restrict_ways(net, &ways);
	return ways;
}

uint32_t route_special(const struct weft_net *net, uint32_t from, uint32_t host, const struct weft_pkt *pkt)
{
	const struct net_switch *sw = &net->switches[net->ports[from].peer];

	if (!net->choice.ops->choose)
		return net->routes || net->down_first ? route_around(net, sw, host, pkt) : route_port(sw, host, pkt);
	struct route_ways ways = ways_to(net, from, host, pkt);
	if (ways.count == 0)
		return PORT_NONE;
	uint32_t port = ways_port(&ways, ways.count == 1 ? 0 : net->choice.ops->choose(net, &ways, pkt));
	if (net->choice.ops->forward)
		net->choice.ops->forward(net, &ways, port, pkt);
	return port;
}
