/* SPDX-License-Identifier: BSD-3-Clause */
/* Two steps of forwarding (DRILL section 3.4.2): where the paths to a leaf are not all alike, a switch assigns a flow
 * to a part of them by hash, in proportion to the parts' weights, and then chooses inside that part. The parts come
 * from the Quiver and are computed anew whenever routing learns of a fault. */
#include <errno.h>
#include <string.h>

#include "quiver.h"
#include "route_impl.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

/* `entry` holds, for each pair of switch and leaf that needs it, the number of parts, and for each part its upper limit
 * among 32-bit hashes, the number of its ports, and these. */
struct net_plan {
	uint32_t leaves;
	uint32_t used, room; /* words of `entry`; the first is never used */
	uint32_t *entry;
	uint32_t at[]; /* by switch and leaf; 0: all usable ways are one part */
};

/* A fabric as a graph. */
struct graph {
	struct quiver_node *node;
	struct quiver_link *link;
	struct cables {
		uint32_t first, end;
	} * cables; /* by link: its ports, usable or not */
	uint32_t links;
};

static void graph_free(struct graph *g)
{
	weft_mem_free(&libc_mem, g->node);
	weft_mem_free(&libc_mem, g->link);
	weft_mem_free(&libc_mem, g->cables);
}

static void add_links(const struct net_tree *tree, struct graph *g, uint32_t sw, uint32_t first, uint32_t end)
{
	while (first < end) {
		uint64_t bps;
		uint32_t cables, next = route_same_peer(tree, first, end, &cables, &bps);
		if (bps) {
			g->link[g->links] = (struct quiver_link){sw, tree->ports[first].peer, bps};
			assert(g->links < tree->port_count);
			g->cables[g->links++] = (struct cables){first, next};
		}
		first = next;
	}
}

static int graph_build(const struct net_tree *tree, struct graph *g)
{
	uint32_t per_leaf = tree->topo.tier[0].radix_down;

	*g = (struct graph){0};
	g->node = weft_mem_alloc(&libc_mem, tree->switch_count * sizeof *g->node);
	g->link = weft_mem_alloc(&libc_mem, tree->port_count * sizeof *g->link);
	g->cables = weft_mem_alloc(&libc_mem, tree->port_count * sizeof *g->cables);
	if (!g->node || !g->link || !g->cables)
		return -ENOMEM;
	for (uint32_t sw = 0; sw < tree->switch_count; sw++) {
		const struct net_switch *s = &tree->switches[sw];
		g->node[sw] = (struct quiver_node){s->low / per_leaf, s->span / per_leaf};
		if (sw >= tree->topo.tier[0].switches)
			add_links(tree, g, sw, s->first_down, s->first_up);
		add_links(tree, g, sw, s->first_up, s->first_up + s->up_cables);
	}
	return 0;
}

/* ---- entries ---- */

static int push(struct net_plan *plan, uint32_t word)
{
	if (plan->used == plan->room) {
		uint32_t room = plan->room ? 2 * plan->room : 1024;
		uint32_t *grown = weft_mem_alloc(&libc_mem, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		if (plan->used)
			memcpy(grown, plan->entry, plan->used * sizeof *grown);
		weft_mem_free(&libc_mem, plan->entry);
		plan->entry = grown;
		plan->room = room;
	}
	assert(plan->used < plan->room);
	plan->entry[plan->used++] = word;
	return 0;
}

/* The usable ports of part `part`, behind a word with their number. */
static int push_ports(const struct net_tree *tree, const struct graph *g, const struct quiver_parts *parts,
		      uint32_t part, struct net_plan *plan)
{
	uint32_t count_at = plan->used;
	int rc = push(plan, 0);

	for (uint32_t i = 0; i < parts->hops && !rc; i++) {
		const struct cables *c = &g->cables[parts->hop[i].link];
		if (parts->hop[i].part != part)
			continue;
		for (uint32_t port = c->first; port < c->end && !rc; port++) {
			if (route_avoided(tree, port))
				continue;
			rc = push(plan, port);
			plan->entry[count_at]++;
		}
	}
	return rc;
}

/* The last hash of a part whose limit is `sum` of `total`. A part too slow for a share of its own gets next to nothing,
 * whatever comes first: one hash. */
static uint32_t last_hash(unsigned __int128 sum, unsigned __int128 total)
{
	uint64_t end = (uint64_t)((sum << 32) / total);

	return end ? (uint32_t)(end - 1) : 0;
}

static int push_parts(const struct net_tree *tree, const struct graph *g, const struct quiver_parts *parts,
		      struct net_plan *plan)
{
	unsigned __int128 total = 0, sum = 0;
	int rc = push(plan, parts->parts);

	assert(parts->parts > 1);
	for (uint32_t i = 0; i < parts->parts; i++)
		total += parts->part[i].bps;
	for (uint32_t i = 0; i < parts->parts && !rc; i++) {
		sum += parts->part[i].bps;
		rc = push(plan, last_hash(sum, total));
		if (!rc)
			rc = push_ports(tree, g, parts, i, plan);
	}
	return rc;
}

/* Cables of a link that can be used. */
static uint32_t usable_cables(const struct net_tree *tree, const struct graph *g, uint32_t link)
{
	uint64_t bps;
	uint32_t count;

	route_same_peer(tree, g->cables[link].first, g->cables[link].end, &count, &bps);
	return count;
}

/* Next hops whose weights are those of their cables' number need no step of their own: a hash over all cables does it.
 */
static bool is_even(const struct net_tree *tree, const struct graph *g, const struct quiver_parts *parts)
{
	uint64_t first_bps = parts->part[0].bps, first_cables = usable_cables(tree, g, parts->hop[0].link);
	bool even = true;

	for (uint32_t i = 1; even && i < parts->hops; i++) {
		uint64_t bps = parts->part[parts->hop[i].part].bps;
		even = (unsigned __int128)bps * first_cables ==
		       (unsigned __int128)first_bps * usable_cables(tree, g, parts->hop[i].link);
	}
	return even;
}

static int plan_switch(const struct net_tree *tree, const struct graph *g, const struct quiver *q, uint32_t sw,
		       const struct route_planning *how, struct quiver_parts *parts, struct net_plan *plan)
{
	int rc = 0;

	for (uint32_t leaf = 0; leaf < plan->leaves && !rc; leaf++) {
		rc = quiver_decompose(q, sw, leaf, how->by, parts);
		if (rc || parts->parts < 2 || (how->by == QUIVER_BY_HOP && is_even(tree, g, parts)))
			continue;
		plan->at[(size_t)sw * plan->leaves + leaf] = plan->used;
		rc = push_parts(tree, g, parts, plan);
	}
	return rc;
}

static int plan_all(const struct net_tree *tree, const struct route_planning *how, struct net_plan *plan)
{
	struct quiver_parts parts = {0};
	struct quiver *q = NULL;
	struct graph g;
	int rc = graph_build(tree, &g);
	struct quiver_conf conf = {.nodes = tree->switch_count,
				   .leaves = plan->leaves,
				   .node = g.node,
				   .links = g.links,
				   .link = g.link,
				   .factor = how->factor};

	if (!rc)
		rc = quiver_create(&conf, &q);
	if (!rc)
		rc = push(plan, 0);
	for (uint32_t sw = 0; sw < tree->switch_count && !rc; sw++)
		rc = plan_switch(tree, &g, q, sw, how, &parts, plan);
	quiver_parts_free(&parts);
	if (q)
		quiver_destroy(q);
	graph_free(&g);
	return rc;
}

int route_plan_build(const struct net_tree *tree, struct net_plan **out)
{
	const struct weft_route_ops *ops = tree->choice.ops;
	struct route_planning how;
	uint32_t leaves = tree->topo.tier[0].switches;

	*out = NULL;
	if (!ops->plan || !ops->plan(tree->choice.tune, &how) || !route_unlike(tree))
		return 0;
	struct net_plan *plan =
		weft_mem_alloc(&libc_mem, sizeof *plan + (size_t)tree->switch_count * leaves * sizeof *plan->at);
	if (!plan)
		return -ENOMEM;
	plan->leaves = leaves;
	if (plan_all(tree, &how, plan)) {
		route_plan_free(plan);
		return -ENOMEM;
	}
	*out = plan;
	return 0;
}

void route_plan_free(struct net_plan *plan)
{
	if (plan)
		weft_mem_free(&libc_mem, plan->entry);
	weft_mem_free(&libc_mem, plan);
}

bool route_plan_part(const struct net_tree *tree, struct route_ways *ways, const struct weft_pkt *pkt)
{
	const struct net_plan *plan = tree->plan;

	assert(ways->sw < tree->switch_count && ways->leaf < plan->leaves);
	uint32_t at = plan->at[(size_t)ways->sw * plan->leaves + ways->leaf];

	if (!at)
		return false;
	uint32_t hash = route_part_hash(&tree->switches[ways->sw], pkt);
	uint32_t *e = plan->entry + at + 1, parts = e[-1];
	while (ways->part + 1 < parts && hash > e[0]) {
		e += 2 + e[1];
		ways->part++;
	}
	assert(ways->part < parts && e[1] > 0);
	ways->count = e[1];
	ways->ports = e + 2;
	return true;
}
