/* SPDX-License-Identifier: BSD-3-Clause */
/* Decomposition into symmetric components: the paper's figures, and the definition of section 3.4.1 word by word on
 * random small Clos networks. */
#include "quiver.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

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

static void add_nodes(struct graph *g)
{
	for (uint32_t i = 0; i < g->leaves; i++)
		g->node[i] = (struct quiver_node){i, 1};
	for (uint32_t i = 0; i < g->spines; i++)
		g->node[g->leaves + i] = (struct quiver_node){i / g->pod_spines * g->per_pod, g->per_pod};
	for (uint32_t i = 0; i < g->cores; i++)
		g->node[g->leaves + g->spines + i] = (struct quiver_node){0, g->leaves};
}

static bool are_neighbours(const struct graph *g, uint32_t low, uint32_t high, bool mesh)
{
	uint32_t core = g->leaves + g->spines;

	if (low < g->leaves && high >= g->leaves && high < core)
		return low / g->per_pod == (high - g->leaves) / g->pod_spines;
	if (low >= g->leaves && low < core && high >= core)
		return mesh || (low - g->leaves) % g->pod_spines == (high - core) % g->pod_spines;
	return false;
}

/* `pods` of `per_pod` leaves and `pod_spines` spines; cores == 0: two tiers. All links have 10 Gb/s. */
static void make(struct graph *g, uint32_t pods, uint32_t per_pod, uint32_t pod_spines, uint32_t cores, bool mesh)
{
	*g = (struct graph){pods * per_pod, pods * pod_spines, cores, per_pod, pod_spines};
	add_nodes(g);
	uint32_t nodes = g->leaves + g->spines + g->cores;
	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = 0; b < nodes; b++)
			if (are_neighbours(g, a < b ? a : b, a < b ? b : a, mesh))
				g->link[g->links++] = (struct quiver_link){a, b, 10 * GBPS};
}

static uint32_t find(const struct graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->links; i++)
		if (g->link[i].from == from && g->link[i].to == to)
			return i;
	return UINT32_MAX;
}

static void set_gbps(struct graph *g, uint32_t a, uint32_t b, uint64_t gbps)
{
	g->link[find(g, a, b)].bps = g->link[find(g, b, a)].bps = gbps * GBPS;
}

static void cut_one(struct graph *g, uint32_t from, uint32_t to)
{
	uint32_t i = find(g, from, to);

	memmove(&g->link[i], &g->link[i + 1], (--g->links - i) * sizeof *g->link);
}

static void cut(struct graph *g, uint32_t a, uint32_t b)
{
	cut_one(g, a, b);
	cut_one(g, b, a);
}

static void build(struct graph *g, enum quiver_factor factor)
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
static uint32_t part_over(const struct graph *g, const struct quiver_parts *p, uint32_t next)
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

static void decompose(const struct graph *g, uint32_t from, uint32_t leaf, struct quiver_parts *p)
{
	assert_int_equal(quiver_decompose(g->q, from, leaf, QUIVER_BY_SCORE, p), 0);
}

/* Figure 4: four leaves, spines 4, 5 and 6 are its S0, S1 and S2; the link between L0 and S0 has failed. */
static void decompose__figure_4(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 1, 4, 3, 0, false);
	cut(&g, 0, 4);
	build(&g, QUIVER_OWN);
	decompose(&g, 3, 1, &p);
	assert_int_equal(p.parts, 2);
	uint32_t alone = part_over(&g, &p, 4), both = part_over(&g, &p, 5);
	assert_int_not_equal(alone, both);
	assert_int_equal(part_over(&g, &p, 6), both);
	assert_int_equal(p.part[both].bps, 2 * p.part[alone].bps);
	decompose(&g, 0, 1, &p);
	assert_int_equal(p.parts, 1);
	assert_int_equal(p.hops, 2);
	decompose(&g, 5, 1, &p); /* from a spine there is one way */
	assert_int_equal(p.parts, 1);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

/* Section 3.4.3: with 40 Gb/s between L0 and S0, L0 and S1, and L1 and S0, H0 is like H2 and not like H1. By the letter
 * of the definition H0 is not like H2 either: what the other leaves send to L1 meets other factors at S0 than at S2. */
static void decompose__figure_4_unlike_links(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 1, 4, 3, 0, false);
	set_gbps(&g, 0, 4, 40);
	set_gbps(&g, 0, 5, 40);
	set_gbps(&g, 1, 4, 40);
	build(&g, QUIVER_OWN);
	decompose(&g, 0, 1, &p);
	assert_int_equal(p.parts, 2);
	assert_int_equal(part_over(&g, &p, 4), part_over(&g, &p, 6));
	assert_int_not_equal(part_over(&g, &p, 4), part_over(&g, &p, 5));
	assert_int_equal(p.part[part_over(&g, &p, 4)].bps, 50 * GBPS);
	assert_int_equal(p.part[part_over(&g, &p, 5)].bps, 10 * GBPS);
	quiver_destroy(g.q);
	build(&g, QUIVER_ALL);
	decompose(&g, 0, 1, &p);
	assert_int_equal(p.parts, 3);
	quiver_destroy(g.q);
	build(&g, QUIVER_PAIRS);
	decompose(&g, 0, 1, &p);
	assert_int_equal(p.parts, 1);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

/* Factors are ratios: 40 into 20 Gb/s is as 20 into 10, and not as 10 into 10. */
static void decompose__equal_ratios(void **state)
{
	for (int factor = QUIVER_OWN; factor <= QUIVER_ALL; factor++) {
		struct quiver_parts p = {0};
		struct graph g;
		make(&g, 1, 2, 3, 0, false);
		set_gbps(&g, 0, 2, 40);
		set_gbps(&g, 1, 2, 20);
		set_gbps(&g, 0, 3, 20);
		build(&g, factor);
		decompose(&g, 0, 1, &p);
		assert_int_equal(p.parts, 2);
		assert_int_equal(part_over(&g, &p, 2), part_over(&g, &p, 3));
		assert_int_not_equal(part_over(&g, &p, 2), part_over(&g, &p, 4));
		quiver_parts_free(&p);
		quiver_destroy(g.q);
	}
}

/* Three tiers: the factor at a core is of the slowest link so far, not of the link before. With 5 Gb/s from leaf 0 to
 * its second spine (5), paths over cores 9 and 11 bring 5 Gb/s to links of 10, those over 8 and 10 bring 10. */
static void decompose__factors_of_whole_paths(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 2, 2, 2, 4, true);
	set_gbps(&g, 0, 5, 5);
	build(&g, QUIVER_OWN);
	decompose(&g, 0, 3, &p);
	assert_int_equal(p.parts, 2);
	uint32_t fast = part_over(&g, &p, 4), slow = part_over(&g, &p, 5);
	assert_int_not_equal(fast, slow);
	assert_int_equal(p.part[fast].paths, 8);
	assert_int_equal(p.part[fast].bps, 80 * GBPS);
	assert_int_equal(p.part[slow].paths, 8);
	assert_int_equal(p.part[slow].bps, 40 * GBPS);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

/* Figure 5: pods of three racks (leaves 0..2 and 3..5) and two fabric switches (6, 7 and 8, 9), planes of two spines
 * (10, 12 and 11, 13); the link between R0 and F0 has failed. R5 sends to R1. */
static void decompose__figure_5(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 2, 3, 2, 4, false);
	cut(&g, 0, 6);
	build(&g, QUIVER_OWN);
	decompose(&g, 5, 1, &p);
	assert_int_equal(p.parts, 2);
	assert_int_not_equal(part_over(&g, &p, 8), part_over(&g, &p, 9));
	assert_int_equal(p.part[0].paths, 2);
	assert_int_equal(p.part[1].paths, 2);
	decompose(&g, 9, 1, &p); /* F3 */
	assert_int_equal(p.parts, 1);
	assert_int_equal(p.hops, 2);
	decompose(&g, 5, 0, &p);
	assert_int_equal(p.parts, 1);
	assert_int_equal(part_over(&g, &p, 9), 0);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

static void decompose__whole_trees_are_symmetric(void **state)
{
	static const struct {
		uint32_t pods, per_pod, spines, cores;
		bool mesh;
	} cases[] = {{1, 6, 4, 0, false}, {3, 2, 2, 4, false}, {4, 2, 2, 3, true}};
	struct quiver_parts p = {0};

	for (uint32_t i = 0; i < 3; i++) {
		for (int factor = QUIVER_PAIRS; factor <= QUIVER_ALL; factor++) {
			struct graph g;
			make(&g, cases[i].pods, cases[i].per_pod, cases[i].spines, cases[i].cores, cases[i].mesh);
			build(&g, factor);
			for (uint32_t a = 0; a < g.leaves + g.spines + g.cores; a++)
				for (uint32_t leaf = 0; leaf < g.leaves; leaf++) {
					decompose(&g, a, leaf, &p);
					assert_int_equal(p.parts, a != leaf);
				}
			quiver_destroy(g.q);
		}
	}
	quiver_parts_free(&p);
}

/* Three links at 10, 20 and 40 Gb/s behind links of 20. */
static void decompose__by_hop_weighs_paths(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 1, 2, 3, 0, false);
	for (uint32_t i = 0; i < 3; i++) {
		set_gbps(&g, 0, 2 + i, 20);
		set_gbps(&g, 1, 2 + i, (const uint64_t[]){10, 20, 40}[i]);
	}
	build(&g, QUIVER_PAIRS);
	assert_int_equal(quiver_decompose(g.q, 0, 1, QUIVER_BY_HOP, &p), 0);
	assert_int_equal(p.parts, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(p.hop[i].part, i);
		assert_int_equal(p.part[i].bps, (i ? 20 : 10) * GBPS);
	}
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

static void decompose__no_path_no_parts(void **state)
{
	struct quiver_parts p = {0};
	struct graph g;

	make(&g, 1, 2, 2, 0, false);
	cut(&g, 1, 2);
	cut(&g, 1, 3);
	build(&g, QUIVER_OWN);
	decompose(&g, 0, 1, &p);
	assert_int_equal(p.parts, 0);
	decompose(&g, 0, 0, &p);
	assert_int_equal(p.parts, 0);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
}

/* ---- the definition, with lists ---- */

struct path {
	uint32_t len, link[HOPS];
};

struct paths {
	uint32_t count;
	struct path path[PATHS_MAX];
};

static bool is_below(const struct graph *g, uint32_t node, uint32_t leaf)
{
	return leaf >= g->node[node].low && leaf < g->node[node].low + g->node[node].span;
}

/* All ways up to a switch above `leaf` and down from there. */
static void list_paths(const struct graph *g, uint32_t node, uint32_t leaf, struct path so_far, struct paths *out)
{
	if (node == leaf) {
		assert_in_range(out->count, 0, PATHS_MAX - 1);
		out->path[out->count++] = so_far;
		return;
	}
	for (uint32_t i = 0; i < g->links; i++) {
		const struct quiver_link *l = &g->link[i];
		if (l->from != node || (l->to > node) == is_below(g, node, leaf))
			continue;
		if (l->to < node && !is_below(g, l->to, leaf))
			continue;
		struct path longer = so_far;
		longer.link[longer.len++] = i;
		list_paths(g, l->to, leaf, longer, out);
	}
}

/* Every label of every link: (src, dst, capacity factor as a fraction). */
struct label {
	uint32_t src, dst;
	double factor;
};

struct labels {
	uint32_t count;
	struct label *label; /* each once */
};

static double factor_at(const struct graph *g, const struct path *p, uint32_t hop)
{
	uint64_t in = UINT64_MAX;

	if (hop == 0)
		return 1e30;
	for (uint32_t i = 0; i < hop; i++)
		in = g->link[p->link[i]].bps < in ? g->link[p->link[i]].bps : in;
	return (double)in / (double)g->link[p->link[hop]].bps;
}

static void add_label(struct labels *l, struct label label)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->label[i].src == label.src && l->label[i].dst == label.dst && l->label[i].factor == label.factor)
			return;
	l->label = realloc(l->label, (l->count + 1) * sizeof label);
	l->label[l->count++] = label;
}

static void label_links(const struct graph *g, bool factors, struct labels *labels)
{
	for (uint32_t src = 0; src < g->leaves; src++)
		for (uint32_t dst = 0; dst < g->leaves; dst++) {
			struct paths all = {0};
			if (src == dst)
				continue;
			list_paths(g, src, dst, (struct path){0}, &all);
			for (uint32_t i = 0; i < all.count; i++)
				for (uint32_t hop = 0; hop < all.path[i].len; hop++)
					add_label(&labels[all.path[i].link[hop]],
						  (struct label){src, dst,
								 factors ? factor_at(g, &all.path[i], hop) : 0});
		}
}

static bool same_labels(const struct labels *a, const struct labels *b)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < a->count; i++)
		for (uint32_t j = 0; j < b->count; j++)
			found += memcmp(&a->label[i], &b->label[j], sizeof *a->label) == 0;
	return a->count == b->count && found == a->count;
}

static bool symmetric(const struct graph *g, const struct labels *labels, const struct path *p, const struct path *q,
		      enum quiver_factor factor)
{
	bool same = p->len == q->len;

	for (uint32_t i = 0; same && i < p->len; i++) {
		same = same_labels(&labels[p->link[i]], &labels[q->link[i]]);
		if (factor == QUIVER_OWN)
			same = same && factor_at(g, p, i) == factor_at(g, q, i);
	}
	return same;
}

static uint64_t slowest(const struct graph *g, const struct path *p)
{
	uint64_t bps = UINT64_MAX;

	for (uint32_t i = 0; i < p->len; i++)
		bps = g->link[p->link[i]].bps < bps ? g->link[p->link[i]].bps : bps;
	return bps;
}

/* One class of symmetric paths, by its first member `of`, against the part that has as many paths with its first link:
 * weight, number of paths and first links are the same. */
static void check_class(const struct graph *g, const struct labels *labels, const struct paths *all, uint32_t of,
			enum quiver_factor factor, const struct quiver_parts *p)
{
	uint64_t bps = 0;
	uint32_t paths = 0;
	bool first[LINKS_MAX] = {false}, found = false;

	for (uint32_t i = 0; i < all->count; i++) {
		if (!symmetric(g, labels, &all->path[of], &all->path[i], factor))
			continue;
		bps += slowest(g, &all->path[i]);
		paths++;
		first[all->path[i].link[0]] = true;
	}
	for (uint32_t part = 0; part < p->parts && !found; part++) {
		uint32_t hops = 0, wanted = 0, in_both = 0;
		for (uint32_t i = 0; i < p->hops; i++) {
			hops += p->hop[i].part == part;
			in_both += p->hop[i].part == part && first[p->hop[i].link];
		}
		for (uint32_t i = 0; i < g->links; i++)
			wanted += first[i];
		found = hops == wanted && in_both == wanted && p->part[part].bps == bps && p->part[part].paths == paths;
	}
	assert_true(found);
}

static uint32_t check_pair(const struct graph *g, const struct labels *labels, uint32_t from, uint32_t leaf,
			   enum quiver_factor factor, struct quiver_parts *p)
{
	struct paths all = {0};
	uint32_t classes = 0;

	list_paths(g, from, leaf, (struct path){0}, &all);
	decompose(g, from, leaf, p);
	for (uint32_t i = 0; i < all.count; i++) {
		uint32_t before = 0;
		while (before < i && !symmetric(g, labels, &all.path[before], &all.path[i], factor))
			before++;
		if (before < i)
			continue;
		classes++;
		check_class(g, labels, &all, i, factor, p);
	}
	assert_int_equal(p->parts, classes);
	return classes;
}

/* A random tree with some links gone and some slower. Returns how many decompositions had several parts. */
static uint32_t check_random(struct rng *rng, enum quiver_factor factor)
{
	struct labels labels[LINKS_MAX] = {0};
	struct quiver_parts p = {0};
	struct graph g;
	uint32_t several = 0;
	bool three = rng_below(rng, 2), mesh = rng_below(rng, 2);
	uint32_t spines = 2 + rng_below(rng, 2);

	make(&g, three ? 2 : 1, 2 + rng_below(rng, 3), spines, three ? spines * (1 + rng_below(rng, 2)) : 0, mesh);
	for (uint32_t i = rng_below(rng, 4); i > 0; i--) {
		const struct quiver_link l = g.link[rng_below(rng, g.links)];
		cut(&g, l.from, l.to);
	}
	for (uint32_t i = rng_below(rng, 4); i > 0; i--) {
		const struct quiver_link l = g.link[rng_below(rng, g.links)];
		set_gbps(&g, l.from, l.to, 5 << rng_below(rng, 4));
	}
	build(&g, factor);
	label_links(&g, factor == QUIVER_ALL, labels);
	for (uint32_t a = 0; a < g.leaves + g.spines + g.cores; a++)
		for (uint32_t leaf = 0; leaf < g.leaves; leaf++)
			several += a != leaf && check_pair(&g, labels, a, leaf, factor, &p) > 1;
	for (uint32_t i = 0; i < g.links; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_int_equal(quiver_score(g.q, i) == quiver_score(g.q, j),
					 same_labels(&labels[i], &labels[j]));
	for (uint32_t i = 0; i < g.links; i++)
		free(labels[i].label);
	quiver_parts_free(&p);
	quiver_destroy(g.q);
	return several;
}

static void decompose__as_defined(void **state)
{
	struct rng rng = {1};
	uint32_t several = 0;

	for (uint32_t i = 0; i < 40; i++)
		for (int factor = QUIVER_PAIRS; factor <= QUIVER_ALL; factor++)
			several += check_random(&rng, factor);
	assert_true(several > 100);
}

/* Four pods of eight leaves, the link between leaf 0 and its first spine has failed: nothing of what
 * leaf 0 sends or receives passes the first plane any more, so that the plane is unlike the others for all leaves. */
static void decompose__one_failure(void **state)
{
	struct graph *g = calloc(1, sizeof *g);
	struct quiver_parts p = {0};

	make(g, 4, 8, 4, 16, false);
	cut(g, 0, 32);
	build(g, QUIVER_OWN);
	for (uint32_t leaf = 0; leaf < 32; leaf++) {
		decompose(g, 31, leaf, &p);
		if (leaf == 31)
			continue;
		assert_int_equal(p.parts, leaf ? 2 : 1);
		assert_int_equal(p.hops, leaf ? 4 : 3);
	}
	quiver_parts_free(&p);
	quiver_destroy(g->q);
	free(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decompose__figure_4),
		cmocka_unit_test(decompose__figure_4_unlike_links),
		cmocka_unit_test(decompose__equal_ratios),
		cmocka_unit_test(decompose__factors_of_whole_paths),
		cmocka_unit_test(decompose__figure_5),
		cmocka_unit_test(decompose__whole_trees_are_symmetric),
		cmocka_unit_test(decompose__by_hop_weighs_paths),
		cmocka_unit_test(decompose__no_path_no_parts),
		cmocka_unit_test(decompose__as_defined),
		cmocka_unit_test(decompose__one_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
