/* SPDX-License-Identifier: BSD-3-Clause */
/* Decomposition into symmetric components: the paper's figures. */
#include "quiver_graph.h"

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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
