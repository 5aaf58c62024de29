/* SPDX-License-Identifier: BSD-3-Clause */
/* Every congestion control carries an incast to its end, trimming or dropping; what smartt2 and smartt3 promise over
 * smartt. */
#include "sim_scenario.h"

static void incast__every_cc_delivers(void **state)
{
	for (const struct weft_cc_ops *const *cc = weft_cc_table; *cc; cc++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--cc", (*cc)->name,
				"--end", "10ms");
		assert_int_equal(s.stats.timeouts, 0); /* every loss is a trim, which is heard of */
		assert_at_most(s.summary.inflation, 2);
		scenario_end(&s);
	}
}

static void incast__every_cc_delivers_without_trimming(void **state)
{
	for (const struct weft_cc_ops *const *cc = weft_cc_table; *cc; cc++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--cc", (*cc)->name,
				"--no-trim", "--end", "100ms");
		scenario_end(&s);
	}
}

static double mean_inflation(const char *cc, const char *topology, const char *matrix, const char *ack_every)
{
	const char *seeds[] = {"1", "2", "3"};
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--cc", cc, "--lb", "reps", "--set",
				ack_every, "--seed", seeds[i], "--end", "20ms");
		sum += s.summary.inflation;
		scenario_end(&s);
	}
	return sum / 3;
}

/* doc/reference/algorithms.md has more seeds and matrices; the bounds are its means and some room. */
static void smartt2__permutation_with_coalesced_acks(void **state)
{
	double ours = mean_inflation("smartt2", LS16, MATRIX("perm_16n_16M"), "ack_every=4");
	double published = mean_inflation("smartt", LS16, MATRIX("perm_16n_16M"), "ack_every=4");

	assert_at_most(ours, 1.23);
	assert_at_most(ours, published);
}

static void smartt2__deep_incast(void **state)
{
	double ours = mean_inflation("smartt2", FT128, MATRIX("incast_128n_32to1_1M"), "ack_every=1");

	assert_at_most(ours, 1.07);
}

/* 128 hosts, 8:1 oversubscribed: eight flows share each leaf's uplink and eight each leaf's downlink. */
static void smartt2__oversubscribed_permutation(void **state)
{
	const char *ccs[] = {"smartt2", "swift"};
	double tail_us[2], spread_us[2];

	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "tree:4:4:8:1:4", "--link-gbps", "800", "--matrix",
				"crosscore:128:2MiB", "--cc", ccs[i], "--lb", "reps", "--seed", "2", "--end", "20ms");
		tail_us[i] = s.summary.fct_us.max;
		spread_us[i] = s.summary.fct_us.max - s.summary.fct_us.min;
		scenario_end(&s);
	}
	assert_at_most(tail_us[0], tail_us[1]);
	assert_at_most(spread_us[0], spread_us[1]);
}

/* Chains of messages to one host after the other: who is late meets the next one at its receiver. */
static void smartt3__serial_all_to_all(void **state)
{
	double ours = mean_inflation("smartt3", LS16, MATRIX("sa2a_16n_1M"), "ack_every=1");
	double published = mean_inflation("smartt", LS16, MATRIX("sa2a_16n_1M"), "ack_every=1");

	assert_at_most(ours, 1.2);
	assert_at_most(ours, published - 0.05);
}

/* Four messages of a host at a time: its first windows fit its link together. */
static void smartt3__windowed_all_to_all(void **state)
{
	const char *ccs[] = {"smartt3", "smartt"};
	double trimmed[2], inflation[2];

	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("a2a_16n_p4_1M"), "--cc", ccs[i], "--lb",
				"reps", "--end", "20ms");
		trimmed[i] = (double)s.stats.tx_retx_trim;
		inflation[i] = s.summary.inflation;
		scenario_end(&s);
	}
	assert_at_most(4 * trimmed[0], trimmed[1]);
	assert_at_most(inflation[0], inflation[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incast__every_cc_delivers),
		cmocka_unit_test(incast__every_cc_delivers_without_trimming),
		cmocka_unit_test(smartt2__permutation_with_coalesced_acks),
		cmocka_unit_test(smartt2__deep_incast),
		cmocka_unit_test(smartt2__oversubscribed_permutation),
		cmocka_unit_test(smartt3__serial_all_to_all),
		cmocka_unit_test(smartt3__windowed_all_to_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
