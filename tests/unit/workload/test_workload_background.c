/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "patterns.h"

static uint32_t count_background(const struct weft_workload *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->flow_count; i++)
		n += w->flows[i].background;
	return n;
}

static void weft_workload_mark_background__exact_share(void **state)
{
	static const struct {
		uint64_t share;
		uint32_t marked;
	} cases[] = {{0, 0}, {100000000, 6}, {500000000, 32}, {1000000000, 64}, {7000000, 0}, {8000000, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct weft_workload w = make_on("permutation:64:1", 1, NULL);
		weft_workload_mark_background(&w, cases[i].share, 1);
		assert_int_equal(count_background(&w), cases[i].marked);
		weft_workload_free(&w);
	}
}

/* Over many seeds each flow is marked as often as any other. */
static void weft_workload_mark_background__fair(void **state)
{
	uint32_t marked[16] = {0};

	for (uint64_t seed = 0; seed < 1600; seed++) {
		struct weft_workload w = make_on("permutation:16:1", 1, NULL);
		weft_workload_mark_background(&w, 250000000, seed);
		for (uint32_t i = 0; i < 16; i++)
			marked[i] += w.flows[i].background;
		weft_workload_free(&w);
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_in_range(marked[i], 300, 500); /* 400, deviation 17 */
}

/* The second workload's triggers start the second workload's flows. */
static void weft_workload_add_background__keeps_chains(void **state)
{
	struct weft_workload w = make_on("alltoall:4:1:1", 1, NULL), more = make_on("alltoall:6:1:1", 1, NULL);

	assert_int_equal(weft_workload_add_background(&w, &more, NULL), 0);
	assert_null(more.flows);
	assert_int_equal(w.nodes, 6);
	assert_int_equal(w.flow_count, 12 + 30);
	assert_int_equal(w.trigger_count, 4 + 6);
	assert_int_equal(count_background(&w), 30);
	for (uint32_t i = 0; i < w.flow_count; i++) {
		const struct weft_flow *f = &w.flows[i];
		assert_int_equal(f->background, i >= 12);
		assert_int_equal(f->send_done_trigger, (i < 12 ? 0 : 4) + (int32_t)f->src);
	}
	for (uint32_t t = 0; t < w.trigger_count; t++)
		for (uint32_t k = 0; k < w.triggers[t].target_count; k++)
			assert_int_equal(w.flows[w.triggers[t].targets[k]].start_trigger, t);
	weft_workload_free(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_workload_mark_background__exact_share),
		cmocka_unit_test(weft_workload_mark_background__fair),
		cmocka_unit_test(weft_workload_add_background__keeps_chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
