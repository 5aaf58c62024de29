/* SPDX-License-Identifier: BSD-3-Clause */
/* Permutations: every host sends to one other. Bounds are completion times in virtual time. */
#include "scenario.h"

static void permutation__1mib_is_near_ideal(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--end", "1ms");
	assert_at_most(s.summary.inflation, 1.15);
	assert_int_equal(s.stats.timeouts, 0);
	scenario_end(&s);
}

static void permutation__16mib_inflation_at_most_1_10(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_16M"), "--end", "10ms");
	assert_at_most(s.summary.inflation, 1.10);
	assert_int_equal(s.stats.timeouts, 0);
	assert_true(s.summary.jain > 0.98);
	scenario_end(&s);
}

/* Tail completion time with the load balancer given. */
static double tail_us(const char *lb)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--lb", lb, "--end", "20ms");
	double tail = s.summary.fct_us.max;
	scenario_end(&s);
	return tail;
}

static void permutation__reps_beats_ecmp(void **state)
{
	double reps = tail_us("reps"), ops = tail_us("ops"), ecmp = tail_us("ecmp");
	assert_at_most(1.5 * reps, ecmp);
	assert_at_most(1.2 * ops, ecmp);
}

static void permutation__128_nodes_three_tiers(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", FT128, "--matrix", MATRIX("perm_128n_2M"), "--end", "1ms");
	assert_at_most(s.summary.inflation, 1.15);
	assert_int_equal(s.stats.timeouts, 0);
	scenario_end(&s);
}

static void permutation__128_nodes_across_pods(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", FT128, "--matrix", MATRIX("xperm_128n_2M"), "--end", "1ms");
	assert_at_most(s.summary.inflation, 1.15);
	assert_int_equal(s.stats.timeouts, 0);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutation__1mib_is_near_ideal),
		cmocka_unit_test(permutation__16mib_inflation_at_most_1_10),
		cmocka_unit_test(permutation__reps_beats_ecmp),
		cmocka_unit_test(permutation__128_nodes_three_tiers),
		cmocka_unit_test(permutation__128_nodes_across_pods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
