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

/* ---- near and far ---- */

enum { SENDERS = 8 };

struct windows {
	uint32_t count;
	double sum, squares; /* of bytes, and of their squares */
};

static void add_window(void *arg, const struct weft_conn_view *view)
{
	struct windows *w = arg;
	double bytes = view->cwnd_bytes;
	w->count++;
	w->sum += bytes;
	w->squares += bytes * bytes;
}

static void look_at_windows(struct lab *lab, void *arg)
{
	for (uint32_t i = 1; i <= SENDERS; i++)
		weft_engine_view(lab_engine(lab, i), add_window, arg);
}

/* Three senders are on the receiver's leaf, with half the base RTT of the others, 8.6 us. Jain's index of the windows
 * is at least 0.98 after ten of those, and the link is busy 99 % of the time. */
static void incast__near_and_far_have_the_same_window(void **state)
{
	static const char *const seeds[] = {"1", "2", "3", "4", "5"};
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		struct windows w = {0};
		struct scenario s;
		SCENARIO(&s, "--topology", "leafspine:4:4:4", "--link-gbps", "100", "--matrix", "incast:8:4MiB",
			 "--seed", seeds[i]);
		assert_int_equal(lab_at(s.lab, WEFT_US(86), look_at_windows, &w), 0);
		scenario_run(&s);
		scenario_all_verified(&s);
		assert_int_equal(w.count, SENDERS);
		assert_at_most(0.98, w.sum * w.sum / (w.count * w.squares));
		assert_at_most(s.summary.inflation, 1.01);
		scenario_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incast__trims_are_repaired_exactly_once),   cmocka_unit_test(incast__coin_trimming),
		cmocka_unit_test(incast__without_trimming_timers_repair),    cmocka_unit_test(incast__32_to_1),
		cmocka_unit_test(incast__near_and_far_have_the_same_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
