/* SPDX-License-Identifier: BSD-3-Clause */
/* Small Clos networks as graphs, with links that are gone or slow. */
#ifndef WEFT_TEST_QUIVER_GRAPH_H
#define WEFT_TEST_QUIVER_GRAPH_H

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "quiver.h"

enum { NODES_MAX = 64, LINKS_MAX = 1024, HOPS = 4, PATHS_MAX = 128 };

#define GBPS UINT64_C(1000000000)

/* A tree with one link between each two neighbours. */
struct graph {
	uint32_t leaves, spines, cores, per_pod, pod_spines; /* leaves and spines of a pod */
	uint32_t links;
	struct quiver_node node[NODES_MAX];
	struct quiver_link link[LINKS_MAX];
	struct quiver *q;
};

static inline void add_nodes(struct graph *g)
{
	for (uint32_t i = 0; i < g->leaves; i++)
		g->node[i] = (struct quiver_node){i, 1};
	for (uint32_t i = 0; i < g->spines; i++)
		g->node[g->leaves + i] = (struct quiver_node){i / g->pod_spines * g->per_pod, g->per_pod};
	for (uint32_t i = 0; i < g->cores; i++)
		g->node[g->leaves + g->spines + i] = (struct quiver_node){0, g->leaves};
}

static inline bool are_neighbours(const struct graph *g, uint32_t low, uint32_t high, bool mesh)
{
	uint32_t core = g->leaves + g->spines;

	if (low < g->leaves && high >= g->leaves && high < core)
		return low / g->per_pod == (high - g->leaves) / g->pod_spines;
	if (low >= g->leaves && low < core && high >= core)
		return mesh || (low - g->leaves) % g->pod_spines == (high - core) % g->pod_spines;
	return false;
}

/* `pods` of `per_pod` leaves and `pod_spines` spines; cores == 0: two tiers. All links have 10 Gb/s. */
static inline void make(struct graph *g, uint32_t pods, uint32_t per_pod, uint32_t pod_spines, uint32_t cores,
			bool mesh)
{
	*g = (struct graph){pods * per_pod, pods * pod_spines, cores, per_pod, pod_spines};
	add_nodes(g);
	uint32_t nodes = g->leaves + g->spines + g->cores;
	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = 0; b < nodes; b++)
			if (are_neighbours(g, a < b ? a : b, a < b ? b : a, mesh))
				g->link[g->links++] = (struct quiver_link){a, b, 10 * GBPS};
}

static inline uint32_t find(const struct graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->links; i++)
		if (g->link[i].from == from && g->link[i].to == to)
			return i;
	return UINT32_MAX;
}

static inline void set_gbps(struct graph *g, uint32_t a, uint32_t b, uint64_t gbps)
{
	g->link[find(g, a, b)].bps = g->link[find(g, b, a)].bps = gbps * GBPS;
}

static inline void cut_one(struct graph *g, uint32_t from, uint32_t to)
{
	uint32_t i = find(g, from, to);

	memmove(&g->link[i], &g->link[i + 1], (--g->links - i) * sizeof *g->link);
}

static inline void cut(struct graph *g, uint32_t a, uint32_t b)
{
	cut_one(g, a, b);
	cut_one(g, b, a);
}

static inline void build(struct graph *g, enum quiver_factor factor)
{
	struct quiver_conf conf = {.nodes = g->leaves + g->spines + g->cores,
				   .leaves = g->leaves,
				   .node = g->node,
				   .links = g->links,
				   .link = g->link,
				   .factor = factor};

	assert_int_equal(quiver_create(&conf, &g->q), 0);
}

/* The part that the paths over the link to `next` are in, there must be only one. */
static inline uint32_t part_over(const struct graph *g, const struct quiver_parts *p, uint32_t next)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < p->hops; i++) {
		if (g->link[p->hop[i].link].to != next)
			continue;
		assert_int_equal(found, UINT32_MAX);
		found = p->hop[i].part;
	}
	assert_int_not_equal(found, UINT32_MAX);
	return found;
}

static inline void decompose(const struct graph *g, uint32_t from, uint32_t leaf, struct quiver_parts *p)
{
	assert_int_equal(quiver_decompose(g->q, from, leaf, QUIVER_BY_SCORE, p), 0);
}

#endif
