/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets grow to what the path carries, and shrink when it carries less, whatever controls congestion. */
#include "sim_scenario.h"
#include "weft/algos.h"

enum { SMALL_BYTES = 1024, LARGE_BYTES = 8192, FLOWS = 16, FLOW_BYTES = 4 << 20 };

#define COMMON(cc)                                                                                                     \
	"--topology", LS16, "--matrix", "permutation:16:4MiB", "--mtu", "8192", "--cc", cc, "--set",                   \
		"pmtu_discovery=on", "--end", "1s"

/* Calls `test` for every algorithm, of senders and of receivers. */
static void for_each_cc(void (*test)(const char *cc))
{
	for (const struct weft_cc_ops *const *cc = weft_cc_table; *cc; cc++)
		test((*cc)->name);
	for (const struct weft_rcc_ops *const *rcc = weft_rcc_table; *rcc; rcc++)
		test((*rcc)->name);
}

/* Small packets are those of the first round trips: no more than a share of 1/32 of the bytes. */
static void grow(const char *cc)
{
	enum { LARGE = FLOWS * (FLOW_BYTES / LARGE_BYTES), SMALL = FLOWS * (FLOW_BYTES / 32 / SMALL_BYTES) };
	struct scenario s;
	print_message("%s\n", cc);
	SCENARIO_PASSES(&s, COMMON(cc));
	assert_int_equal(s.stats.pmtu_probes, FLOWS); /* one is enough where the largest packets pass */
	assert_int_equal(s.stats.pmtu_answers, FLOWS);
	assert_in_range(s.stats.tx_data, LARGE, LARGE + SMALL);
	scenario_end(&s);
}

static void discovery__every_cc_sends_large_packets(void **state)
{
	for_each_cc(grow);
}

/* Large packets vanish from the start: nobody sends any but probes. */
static void stay_small(const char *cc)
{
	struct scenario s;
	print_message("%s\n", cc);
	SCENARIO_PASSES(&s, COMMON(cc), "--set", "fault_mtu_bytes=1500");
	assert_int_equal(s.stats.tx_data, FLOWS * (FLOW_BYTES / SMALL_BYTES));
	assert_int_equal(s.stats.tx_retx_rto, 0);
	scenario_end(&s);
}

static void discovery__every_cc_stays_with_small_packets(void **state)
{
	for_each_cc(stay_small);
}

/* They vanish while the messages are on their way. With the patience that applications have by default, the messages
 * are complete within a second. */
static void find_hole(const char *cc)
{
	struct scenario s;
	print_message("%s\n", cc);
	SCENARIO_PASSES(&s, COMMON(cc), "--set", "fault_mtu_bytes=1500", "--set", "fault_mtu_from_pkt=100", "--set",
			"brtt_floor_ns=500000");
	assert_true(s.stats.pmtu_holes > 0);
	assert_at_most(s.summary.fct_us.max, 1e6);
	scenario_end(&s);
}

static void hole__every_cc_finds_it(void **state)
{
	for_each_cc(find_hole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discovery__every_cc_sends_large_packets),
		cmocka_unit_test(discovery__every_cc_stays_with_small_packets),
		cmocka_unit_test(hole__every_cc_finds_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
