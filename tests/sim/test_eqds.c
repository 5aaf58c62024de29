/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver-driven congestion control, alone and together with a sender's. */
#include <string.h>

#include "scenario.h"

/* One bandwidth-delay product of LS16 in packets: what a sender may send before it is pulled. */
enum { FIRST_PKTS = 14 };

static void permutation__is_pulled_at_nearly_line_rate(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_16M"), "--cc", "eqds", "--end", "5ms");
	assert_int_equal(s.net.trimmed, 0);
	assert_int_equal(s.stats.timeouts, 0);
	assert_at_most(s.summary.inflation, 1.09);
	assert_true(s.stats.tx_credit >= s.stats.tx_data / 4 * 9 / 10);
	assert_int_equal(s.result.packets.credits, s.stats.tx_credit);
	assert_string_equal(s.result.cc, "eqds");
	scenario_end(&s);
}

/* Only what nobody asked for can overload the last link: about one window per sender. */
static void incast__trims_no_more_than_the_first_windows(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", "incast:15:4MiB", "--cc", "eqds", "--end", "20ms");
	assert_true(s.net.trimmed > 0);
	assert_at_most((double)s.net.trimmed, 15 * FIRST_PKTS * 1.1);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	assert_int_equal(s.stats.timeouts, 0);
	assert_at_most(s.summary.inflation, 1.02);
	assert_at_most(0.999, s.summary.jain);
	scenario_end(&s);
}

static void alltoall__every_pair(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("a2a_16n_p4_1M"), "--cc", "eqds", "--end", "10ms");
	assert_int_equal(s.stats.timeouts, 0);
	assert_at_most(s.summary.inflation, 1.08);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutation__is_pulled_at_nearly_line_rate),
		cmocka_unit_test(incast__trims_no_more_than_the_first_windows),
		cmocka_unit_test(alltoall__every_pair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
