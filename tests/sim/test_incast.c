/* SPDX-License-Identifier: BSD-3-Clause */
/* Incasts: many hosts send to one, whose link can take a fraction of what arrives. */
#include "sim_scenario.h"

/* Every data packet sent was received whole, received trimmed, or counted where it was dropped. */
static void check_conserved(const struct scenario *s)
{
	assert_int_equal(s->stats.rx_trimmed, s->net.trimmed);
	assert_int_equal(s->stats.tx_data + s->stats.tx_retx,
			 s->stats.rx_data + s->stats.rx_dup + s->net.trimmed + s->net.dropped_data);
}

/* Trimming reports every loss at once: nothing waits for a timer and nothing is sent again without need. */
static void incast__trims_are_repaired_exactly_once(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--end", "5ms");
	assert_true(s.net.trimmed > 0);
	assert_int_equal(s.stats.timeouts, 0);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	assert_int_equal(s.stats.tx_retx_trim, s.net.trimmed);
	assert_int_equal(s.stats.rx_dup, 0);
	assert_int_equal(s.net.dropped_control, 0);
	check_conserved(&s);
	assert_at_most(s.summary.inflation, 1.02);
	scenario_end(&s);
}

static void incast__coin_trimming(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--set", "trim=2", "--end",
			"5ms");
	assert_true(s.net.trimmed > 0);
	assert_int_equal(s.stats.timeouts, 0);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	check_conserved(&s);
	scenario_end(&s);
}

static void incast__without_trimming_timers_repair(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--no-trim", "--set",
			"queue_bytes=200000", "--end", "50ms");
	assert_int_equal(s.net.trimmed, 0);
	assert_true(s.net.dropped_data > 0);
	assert_true(s.stats.timeouts > 0);
	assert_true(s.stats.tx_retx >= s.net.dropped_data);
	check_conserved(&s);
	assert_at_most(s.summary.inflation, 1.10);
	scenario_end(&s);
}

static void incast__32_to_1(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", FT128, "--matrix", MATRIX("incast_128n_32to1_1M"), "--end", "2ms");
	assert_int_equal(s.stats.timeouts, 0);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	assert_at_most(s.summary.inflation, 1.25); /* seeds 1 to 8 with smartt: 1.07 to 1.21 */
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incast__trims_are_repaired_exactly_once),
		cmocka_unit_test(incast__coin_trimming),
		cmocka_unit_test(incast__without_trimming_timers_repair),
		cmocka_unit_test(incast__32_to_1),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
