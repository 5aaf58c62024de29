/* SPDX-License-Identifier: BSD-3-Clause */
/* Permutations: every host sends to one other. Bounds are completion times in virtual time. */
#include "sim_scenario.h"

/* Completes within `bound` times the ideal, with no timer needed and no flow left behind. */
static void near_ideal(const char *topology, const char *matrix, double bound)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--end", "10ms");
	assert_at_most(s.summary.inflation, bound);
	assert_int_equal(s.stats.timeouts, 0);
	assert_true(s.summary.jain > 0.97);
	scenario_end(&s);
}

static void permutation__1mib_is_near_ideal(void **state)
{
	near_ideal(LS16, MATRIX("perm_16n_1M"), 1.15);
}

static void permutation__16mib_inflation_at_most_1_10(void **state)
{
	near_ideal(LS16, MATRIX("perm_16n_16M"), 1.10);
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

/* Inflation, mean of three seeds. */
static double mean_inflation(const char *lb)
{
	double sum = 0;

	for (int seed = 1; seed <= 3; seed++) {
		struct scenario s;
		char number[12];
		snprintf(number, sizeof number, "%d", seed);
		SCENARIO_PASSES(&s, "--topology", FT128, "--matrix", MATRIX("xperm_128n_2M"), "--cc", "smartt3", "--lb",
				lb, "--seed", number, "--end", "10ms");
		sum += s.summary.inflation;
		scenario_end(&s);
	}
	return sum / 3;
}

/* The transport tells it how long packets waited: without, both are the same. */
static void permutation__late_entropies_left_out(void **state)
{
	assert_true(mean_inflation("reps2") < mean_inflation("reps"));
}

static void permutation__128_nodes_three_tiers(void **state)
{
	near_ideal(FT128, MATRIX("perm_128n_2M"), 1.15);
}

static void permutation__128_nodes_across_pods(void **state)
{
	near_ideal(FT128, MATRIX("xperm_128n_2M"), 1.15);
}

/* Targets answer 32 packets together, but a sender with a small window asks for each: without that, 1.37 to 1.40 times
 * the ideal. */
static void permutation__coalesced_acks_and_small_windows(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", "permutation:16:1MiB", "--set", "ack_every=32",
			"--set", "lb_all_acked=on", "--set", "acks_per_window=8", "--end", "10ms");
	assert_at_most(s.summary.inflation, 1.2); /* seeds 1 to 8: 1.06 to 1.11 */
	scenario_end(&s);
}

/* One with a large window does with fewer. */
static void permutation__coalesced_acks_and_large_windows(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--link-gbps", "400", "--matrix", "permutation:16:8MiB",
			"--set", "ack_every=32", "--set", "lb_all_acked=on", "--set", "acks_per_window=8", "--end",
			"10ms");
	assert_at_most(s.summary.inflation, 1.15);
	assert_at_most((double)s.stats.tx_ack, (double)s.stats.tx_data / 3);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutation__1mib_is_near_ideal),
		cmocka_unit_test(permutation__16mib_inflation_at_most_1_10),
		cmocka_unit_test(permutation__reps_beats_ecmp),
		cmocka_unit_test(permutation__late_entropies_left_out),
		cmocka_unit_test(permutation__128_nodes_three_tiers),
		cmocka_unit_test(permutation__128_nodes_across_pods),
		cmocka_unit_test(permutation__coalesced_acks_and_small_windows),
		cmocka_unit_test(permutation__coalesced_acks_and_large_windows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
