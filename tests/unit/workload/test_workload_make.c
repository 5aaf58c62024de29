/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "patterns.h"

static void make_rounds__draws_every_round_anew(void **state)
{
	struct weft_workload w = make_on("repeat:3:10us:permutation:16:1kB", 1, NULL);
	struct weft_workload once = make_on("permutation:16:1kB", 1, NULL);
	uint32_t same[3] = {0};

	assert_int_equal(w.nodes, 16);
	assert_int_equal(w.flow_count, 48);
	for (uint32_t i = 0; i < 48; i++) {
		assert_int_equal(w.flows[i].start_ns, i / 16 * 10000);
		assert_false(w.flows[i].background);
		same[i / 16] += w.flows[i].dst == once.flows[i % 16].dst;
	}
	assert_int_equal(same[0], 16);
	assert_in_range(same[1], 0, 8);
	assert_in_range(same[2], 0, 8);
	weft_workload_free(&w);
	weft_workload_free(&once);
}

static uint32_t rounds_in_common(const struct weft_workload *a, uint32_t a_round, const struct weft_workload *b,
				 uint32_t b_round)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < 16; i++)
		same += a->flows[a_round * 16 + i].dst == b->flows[b_round * 16 + i].dst;
	return same;
}

/* Runs with seeds 1, 2, 3... count as independent. */
static void make_rounds__of_two_seeds_differ(void **state)
{
	struct weft_workload one = make_on("repeat:4:10us:permutation:16:1kB", 1, NULL);
	struct weft_workload two = make_on("repeat:4:10us:permutation:16:1kB", 2, NULL);

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < 4; k++)
			assert_in_range(rounds_in_common(&one, i, &two, k), 0, 8);
	weft_workload_free(&one);
	weft_workload_free(&two);
}

/* Chains stay within their round. */
static void make_rounds__keeps_triggers_apart(void **state)
{
	struct weft_workload w = make_on("repeat:2:1ms:alltoall:4:1kB:1", 1, NULL);
	struct weft_workload once = make_on("alltoall:4:1kB:1", 1, NULL);

	assert_int_equal(w.flow_count, 2 * once.flow_count);
	assert_int_equal(w.trigger_count, 2 * once.trigger_count);
	for (uint32_t i = 0; i < once.flow_count; i++) {
		const struct weft_flow *first = &w.flows[i], *second = &w.flows[once.flow_count + i];
		if (first->start_ns == WEFT_NEVER)
			assert_int_equal(second->start_ns, WEFT_NEVER);
		else
			assert_int_equal(second->start_ns, 1000000);
	}
	for (uint32_t t = 0; t < once.trigger_count; t++) {
		assert_int_equal(w.triggers[t].target_count, once.triggers[t].target_count);
		for (uint32_t k = 0; k < w.triggers[once.trigger_count + t].target_count; k++)
			assert_in_range(w.triggers[once.trigger_count + t].targets[k], once.flow_count,
					2 * once.flow_count - 1);
	}
	weft_workload_free(&w);
	weft_workload_free(&once);
}

static void make_rounds__refuses(void **state)
{
	refused_on("repeat:2:1ms:tornado:7:1", NULL, -EINVAL, "tornado:7:1: 7 hosts have no two halves");
	refused_on("repeat:2:1ms:Repeat:2:1ms:tornado:8:1", NULL, -EINVAL,
		   "repeat:2:1ms:Repeat:2:1ms:tornado:8:1: rounds of rounds");
	refused_on("repeat:2:1ms", NULL, -EINVAL, "'repeat:2:1ms': the form is repeat:ROUNDS:TIME:PATTERN");
	refused_on("repeat:10000000:1ns:permutation:4:1", NULL, -EINVAL,
		   "40000000 flows together, at most 16777216 are possible");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make_rounds__draws_every_round_anew),
		cmocka_unit_test(make_rounds__of_two_seeds_differ),
		cmocka_unit_test(make_rounds__keeps_triggers_apart),
		cmocka_unit_test(make_rounds__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
