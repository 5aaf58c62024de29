/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchanges, whose flows start one another. */
#include "scenario.h"

/* Every flow but the first ones starts exactly when its trigger fires, so no host ever sends more flows at a time than
 * the matrix says. */
static uint32_t most_at_once(const struct scenario *s)
{
	const struct run_flow *flows = s->result.flows;
	uint32_t most = 0;
	for (uint32_t i = 0; i < s->result.flow_count; i++) {
		uint32_t now = 0;
		for (uint32_t j = 0; j < s->result.flow_count; j++)
			now += s->options.workload.flows[j].src == s->options.workload.flows[i].src &&
			       flows[j].start <= flows[i].start && flows[j].acked > flows[i].start;
		most = now > most ? now : most;
	}
	return most;
}

static void alltoall__serial(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("sa2a_16n_1M"), "--end", "10ms");
	assert_int_equal(most_at_once(&s), 1);
	assert_at_most(s.summary.inflation, 1.8); /* seeds 1 to 8: 1.17 to 1.72 */
	scenario_end(&s);
}

static void alltoall__four_at_a_time(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("a2a_16n_p4_1M"), "--end", "10ms");
	assert_int_equal(most_at_once(&s), 4);
	assert_at_most(s.summary.inflation, 1.12);
	scenario_end(&s);
}

static void alltoall__pattern_equals_its_shape(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "alltoall:16:256KiB:4", "--end", "10ms");
	assert_int_equal(s.result.flow_count, 16 * 15);
	assert_int_equal(most_at_once(&s), 4);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alltoall__serial),
		cmocka_unit_test(alltoall__four_at_a_time),
		cmocka_unit_test(alltoall__pattern_equals_its_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
