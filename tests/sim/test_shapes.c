/* SPDX-License-Identifier: BSD-3-Clause */
/* The same transport with other ratios and sizes: coalesced ACKs, small rings, late polls, small and odd messages. */
#include "sim_scenario.h"

static void acks__coalesced(void **state)
{
	const char *every[] = {"ack_every=4", "ack_every=16"};
	for (unsigned i = 0; i < 4; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--set", every[i % 2],
				"--cc", i < 2 ? "smartt" : "auto", "--end", "5ms");
		assert_true(i >= 2 || s.stats.tx_ack < s.stats.tx_data); /* auto asks where windows are small */
		assert_int_equal(s.stats.timeouts, 0);
		assert_int_equal(s.stats.tx_retx, s.net.trimmed);
		assert_at_most(s.summary.inflation, 1.45);
		scenario_end(&s);
	}
}

static void acks__coalesced_in_an_incast(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--set", "ack_every=16",
			"--cc", "smartt", "--end", "5ms");
	assert_int_equal(s.stats.timeouts, 0);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	scenario_end(&s);
}

/* A full transmit ring is normal: the engine waits and goes on. */
static void rings__small(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--set", "nic_tx_entries=4", "--set",
			"pacing=off", "--end", "5ms");
	assert_true(s.stats.tx_full > 0);
	assert_int_equal(s.stats.timeouts, 0);
	scenario_end(&s);
}

static void polls__late(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--set", "poll_delay_ns=2000",
			"--end", "5ms");
	assert_int_equal(s.stats.timeouts, 0);
	scenario_end(&s);
}

static void sizes__one_byte_to_many_packets(void **state)
{
	const char *patterns[] = {"permutation:16:1", "permutation:16:4095", "permutation:16:4096",
				  "permutation:16:4097", "permutation:16:100003"};
	for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", patterns[i], "--end", "1ms");
		assert_at_most(s.summary.inflation, 1.3);
		scenario_end(&s);
	}
}

static void sizes__other_mtus_and_rates(void **state)
{
	const char *mtus[] = {"256", "1024", "8192"};
	for (unsigned i = 0; i < sizeof mtus / sizeof *mtus; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("perm_16n_1M"), "--mtu", mtus[i],
				"--link-gbps", "100", "--end", "5ms");
		assert_int_equal(s.stats.timeouts, 0);
		scenario_end(&s);
	}
}

static void trees__presets(void **state)
{
	const char *trees[] = {"star:8", "fattree:4", "leafspine:2:4:8"};
	for (unsigned i = 0; i < sizeof trees / sizeof *trees; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", trees[i], "--end", "5ms");
		assert_int_equal(s.stats.timeouts, 0);
		scenario_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acks__coalesced),
		cmocka_unit_test(acks__coalesced_in_an_incast),
		cmocka_unit_test(rings__small),
		cmocka_unit_test(polls__late),
		cmocka_unit_test(sizes__one_byte_to_many_packets),
		cmocka_unit_test(sizes__other_mtus_and_rates),
		cmocka_unit_test(trees__presets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
