/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver-driven congestion control, alone and together with a sender's. */
#include <stdio.h>
#include <string.h>

#include "sim_scenario.h"

/* One bandwidth-delay product of LS16 in packets: what a sender may send before it is pulled. */
enum { FIRST_PKTS = 14 };

static const char ls16[] = LS16;

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
	SCENARIO_PASSES(&s, "--topology", ls16, "--matrix", "incast:15:4MiB", "--cc", "eqds", "--end", "20ms");
	assert_true(s.net.trimmed > 0);
	assert_at_most((double)s.net.trimmed, 15 * FIRST_PKTS * 1.1);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	assert_int_equal(s.stats.timeouts, 0);
	assert_at_most(s.summary.inflation, 1.02);
	assert_at_most(0.999, s.summary.jain);
	scenario_end(&s);
}

/* Each receiver paces for itself, whatever the others do. */
static void incast__several_receivers(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:8", "--matrix", "incast:7:1MiB:4", "--cc", "eqds", "--end",
			"5ms");
	assert_int_equal(s.stats.timeouts, 0);
	assert_int_equal(s.stats.tx_retx, s.net.trimmed);
	assert_at_most(s.summary.inflation, 1.05);
	scenario_end(&s);
}

/* A hundred senders whose whole messages fit their first windows. */
static void incast__small_messages(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:8:8:16", "--matrix", "incast:100:16KiB", "--cc", "eqds", "--end",
			"5ms");
	assert_int_equal(s.stats.timeouts, 0);
	assert_at_most(s.summary.inflation, 1.10);
	scenario_end(&s);
}

/* Credits, requests, data and acknowledgements are lost alike. */
static void loss__every_hundredth_packet(void **state)
{
	static const char *const matrix[] = {"incast:15:1MiB", "permutation:16:1MiB", "alltoall:16:64KiB:4"};
	uint64_t requests = 0;
	for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", ls16, "--matrix", matrix[i], "--cc", "eqds", "--set",
				"fault_loss_ppm=10000", "--set", "fault_rx=on", "--end", "20ms");
		assert_true(s.stats.rx_credit < s.stats.tx_credit);
		requests += s.stats.tx_credit_req;
		assert_at_most(s.summary.inflation, 4); /* a packet lost twice waits for two timeouts */
		scenario_end(&s);
	}
	assert_true(requests > 0);
}

static uint64_t trims_oversubscribed(const char *cc, double *inflation)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:1:8", "--matrix", "permutation:32:2MiB", "--cc", cc, "--end",
			"20ms");
	uint64_t trims = s.net.trimmed;
	*inflation = s.summary.inflation;
	scenario_end(&s);
	return trims;
}

/* Receivers see their own link only. A sender's algorithm beside them manages the core (SMaRTT sec. IV-D and VI: up to
 * 155 times fewer trimmed packets). */
static void oversubscribed__a_senders_algorithm_helps(void **state)
{
	static const char *const with[] = {"eqds+smartt", "eqds+mprdma"};
	double alone, both;
	uint64_t trims = trims_oversubscribed("eqds", &alone);
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		assert_at_most((double)trims_oversubscribed(with[i], &both), (double)trims / 100);
		assert_at_most(both, 0.7 * alone);
		assert_at_most(both, 1.10);
	}
}

/* ... and receivers still see to a fair incast. */
static void incast__with_a_senders_algorithm(void **state)
{
	static const char *const with[] = {"eqds+smartt", "eqds+mprdma"};
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", MATRIX("incast_16n_15to1_1M"), "--cc", with[i],
				"--end", "5ms");
		assert_at_most((double)s.net.trimmed, 15 * FIRST_PKTS * 1.1);
		assert_at_most(s.summary.inflation, 1.02);
		assert_at_most(0.999, s.summary.jain);
		assert_string_equal(s.result.cc, with[i]);
		scenario_end(&s);
	}
}

/* Any receiver's algorithm with any sender's: window, pace and credit hold back together, and nothing gets stuck. */
static void every_pair__completes(void **state)
{
	for (unsigned r = 0; weft_rcc_table[r]; r++) {
		for (unsigned c = 0; weft_cc_table[c]; c++) {
			char name[64];
			struct scenario s;
			snprintf(name, sizeof name, "%s+%s", weft_rcc_table[r]->name, weft_cc_table[c]->name);
			SCENARIO_PASSES(&s, "--topology", "leafspine:4:2:4", "--matrix", "incast:7:256KiB:2", "--cc",
					name, "--set", "ack_every=4", "--end", "50ms");
			assert_true(s.stats.rx_credit > 0);
			assert_at_most(s.summary.inflation, 2);
			scenario_end(&s);
		}
	}
}

static uint64_t digest_of(const char *setting)
{
	static const char incast[] = MATRIX("incast_16n_15to1_1M");
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", ls16, "--matrix", incast, "--cc", "eqds+smartt", "--set", setting, "--end",
			"5ms");
	uint64_t digest = s.result.digest;
	scenario_end(&s);
	return digest;
}

static void digest__is_the_same_twice(void **state)
{
	uint64_t digest = digest_of("reverse_hosts=0");
	assert_int_equal(digest, digest_of("reverse_hosts=0"));
	assert_int_equal(digest, digest_of("reverse_hosts=1"));
	assert_int_not_equal(digest, digest_of("pull_pkts=1"));
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
		cmocka_unit_test(incast__several_receivers),
		cmocka_unit_test(incast__small_messages),
		cmocka_unit_test(incast__with_a_senders_algorithm),
		cmocka_unit_test(alltoall__every_pair),
		cmocka_unit_test(every_pair__completes),
		cmocka_unit_test(oversubscribed__a_senders_algorithm_helps),
		cmocka_unit_test(loss__every_hundredth_packet),
		cmocka_unit_test(digest__is_the_same_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
