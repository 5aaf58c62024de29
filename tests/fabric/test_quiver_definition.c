/* SPDX-License-Identifier: BSD-3-Clause */
/* The definition of symmetric components (section 3.4.1) word by word, on random small Clos networks. */
#include "quiver_graph.h"
#include "rng.h"

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
		cmocka_unit_test(decompose__as_defined),
		cmocka_unit_test(decompose__one_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
