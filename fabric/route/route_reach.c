/* SPDX-License-Identifier: BSD-3-Clause */
/* What routing knows of faults, and which leaves are left to each switch. */
#include <errno.h>
#include <string.h>

#include "route_impl.h"
#include "turns.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

void route_avoid(struct net_tree *tree, uint32_t port, enum down_reason reason, bool avoid)
{
	assert(port < tree->port_count);
	uint8_t *avoided = &tree->cold[port].avoided;

	tree->avoided_ports -= *avoided != 0;
	down_reason_set(avoided, reason, avoid);
	tree->avoided_ports += *avoided != 0;
	assert(tree->avoided_ports <= tree->port_count);
}

void route_learn_bps(struct net_tree *tree, uint32_t port, uint64_t bps)
{
	assert(port < tree->port_count);
	uint64_t *known = &tree->known_bps[port], nominal = tree->cold[port].nominal_bps;

	tree->slow_ports -= *known != nominal;
	*known = weft_topo_clamp_bps(bps);
	tree->slow_ports += *known != nominal;
	assert(tree->slow_ports <= tree->port_count);
}

/* ---- which leaves a switch reaches ---- */

static uint64_t *reach_row(const struct net_tree *tree, struct net_routes *routes, uint32_t sw)
{
	assert(sw >= tree->topo.tier[0].switches && sw < tree->switch_count);
	return &routes->reach[(size_t)(sw - tree->topo.tier[0].switches) * routes->row_words];
}

static void row_join(const struct net_tree *tree, struct net_routes *routes, uint64_t *to, uint32_t sw)
{
	const uint64_t *from = reach_row(tree, routes, sw);

	for (uint32_t i = 0; i < routes->row_words; i++)
		to[i] |= from[i];
}

/* Joins to a switch's row what is reached through its ports `first`..`end`-1. */
static void reach_over(const struct net_tree *tree, struct net_routes *routes, uint32_t sw, uint32_t first,
		       uint32_t end)
{
	uint64_t *row = reach_row(tree, routes, sw);

	for (uint32_t port = first; port < end; port++) {
		uint32_t peer = tree->ports[port].peer;
		if (route_avoided(tree, port))
			continue;
		if (peer < tree->topo.tier[0].switches)
			row[peer / 64] |= UINT64_C(1) << peer % 64;
		else
			row_join(tree, routes, row, peer);
	}
}

/* Takes back from a switch's row all leaves below it that `down` does not have. */
static void only_down(const struct net_tree *tree, uint64_t *row, const struct net_switch *s, const uint64_t *down)
{
	uint32_t low = s->low / tree->topo.tier[0].radix_down;
	uint32_t end = low + s->span / tree->topo.tier[0].radix_down;

	assert(end <= tree->topo.tier[0].switches);
	for (uint32_t leaf = low; leaf < end; leaf++)
		if (!(down[leaf / 64] >> leaf % 64 & 1))
			row[leaf / 64] &= ~(UINT64_C(1) << leaf % 64);
}

/* Downward first, from the bottom; then what second-tier switches reach over the core. They send what is for their own
 * pod down alone, while a core of a mesh may reach it over the pod's other switches. `down` is one row. */
static void compute_reach(const struct net_tree *tree, struct net_routes *routes, uint64_t *down)
{
	uint32_t spines_end = tree->topo.tiers < 3 ? tree->switch_count : tree->tier_first[2];

	for (uint32_t sw = tree->topo.tier[0].switches; sw < tree->switch_count; sw++)
		reach_over(tree, routes, sw, tree->switches[sw].first_down, tree->switches[sw].first_up);
	for (uint32_t sw = tree->topo.tier[0].switches; sw < spines_end; sw++) {
		const struct net_switch *s = &tree->switches[sw];
		uint64_t *row = reach_row(tree, routes, sw);
		memcpy(down, row, routes->row_words * sizeof *down);
		reach_over(tree, routes, sw, s->first_up, s->first_up + s->up_cables);
		only_down(tree, row, s, down);
	}
}

/* *out NULL: nothing is avoided. -ENOMEM. */
static int build_routes(const struct net_tree *tree, struct net_routes **out)
{
	uint32_t leaves = tree->topo.tier[0].switches, words = (leaves + 63) / 64;
	size_t rows = (size_t)(tree->switch_count - leaves + 1) * words; /* one more for compute_reach */

	*out = NULL;
	if (!tree->avoided_ports)
		return 0;
	*out = weft_mem_alloc(&libc_mem, sizeof **out + rows * sizeof *(*out)->reach);
	if (!*out)
		return -ENOMEM;
	(*out)->row_words = words;
	compute_reach(tree, *out, &(*out)->reach[rows - words]);
	return 0;
}

int route_update(struct net_tree *tree)
{
	struct net_routes *routes;
	struct net_plan *plan;

	if (build_routes(tree, &routes))
		return -ENOMEM;
	if (route_plan_build(tree, &plan)) {
		weft_mem_free(&libc_mem, routes);
		return -ENOMEM;
	}
	weft_mem_free(&libc_mem, tree->routes);
	tree->routes = routes;
	route_plan_free(tree->plan);
	tree->plan = plan;
	turns_free(tree->turns);
	tree->turns = NULL;
	return 0;
}
