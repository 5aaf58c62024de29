/* SPDX-License-Identifier: BSD-3-Clause */
/* RoCEv2: DCQCN over a lossless fabric, one path per connection, go-back-N. */
#include "sim_scenario.h"

static const char roce_file[] = WEFT_CONFIGS "/roce.yaml", topology[] = LS16, tree[] = FT128;
static const char incast[] = MATRIX("incast_16n_15to1_1M"), large_incast[] = MATRIX("incast_128n_32to1_1M");

#define ROCE "--config", roce_file

/* Nothing is lost, so nothing is sent twice. */
static void check_lossless(const struct scenario *s)
{
	assert_int_equal(s->result.packets.dropped, 0);
	assert_int_equal(s->net.trimmed, 0);
	assert_int_equal(s->stats.tx_retx, 0);
	assert_int_equal(s->stats.timeouts, 0);
	assert_int_equal(s->stats.rx_ooo, 0);
}

static void roce__incast_loses_nothing(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, ROCE, "--topology", topology, "--matrix", incast, "--end", "20ms");
	check_lossless(&s);
	assert_true(s.net.pauses > 0);
	assert_true(s.net.marked > 0);
	assert_int_equal(s.result.pauses, s.net.pauses);
	assert_at_most(s.summary.inflation, 2.0);
	scenario_end(&s);
}

/* Without pauses the same senders overflow the queue. */
static void roce__incast_without_pfc_drops(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, ROCE, "--set", "pfc=0", "--topology", topology, "--matrix", incast, "--end", "50ms");
	assert_true(s.net.dropped_data > 0);
	assert_true(s.stats.tx_retx_rewind > 0);
	assert_int_equal(s.net.pauses, 0);
	scenario_end(&s);
}

/* Senders that do not care are held back by pauses alone. */
static void roce__pauses_alone_carry_an_incast(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, ROCE, "--cc", "fixed", "--set", "cwnd_pct=1000", "--topology", tree, "--matrix",
			large_incast, "--end", "2ms");
	check_lossless(&s);
	assert_true(s.net.pauses > 0);
	assert_at_most(s.summary.inflation, 1.02);
	scenario_end(&s);
}

/* Flows that share a link have a part of it each, and pauses reach others: far from ideal, but complete. */
static void roce__permutation_loses_nothing(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, ROCE, "--topology", topology, "--matrix", "permutation:16:4MiB", "--end", "20ms");
	check_lossless(&s);
	assert_at_most(1.5, s.summary.inflation);
	assert_at_most(s.summary.inflation, 6);
	scenario_end(&s);
}

static void roce__go_back_n_repairs_damage(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, ROCE, "--topology", topology, "--matrix", "permutation:16:1MiB", "--set",
			"fault_loss_ppm=10000", "--set", "fault_rx=on", "--end", "100ms");
	assert_int_equal(s.result.packets.dropped, 0);
	assert_true(s.stats.tx_retx_rewind > 0);
	assert_true(s.stats.rx_ooo > 0);
	scenario_end(&s);
}

/* Eight flows of the same length end together, whatever the marking. */
static void roce__long_flows_are_fair(void **state)
{
	static const char *const max_pct[] = {"ecn_max_pct=500", "ecn_max_pct=80"};
	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, ROCE, "--topology", topology, "--matrix", "incast:8:16MiB", "--set", max_pct[i],
				"--end", "200ms");
		check_lossless(&s);
		assert_true(s.summary.jain > 0.95);
		assert_at_most(s.summary.inflation, 2.0);
		scenario_end(&s);
	}
}

static void roce__repeats(void **state)
{
	uint64_t digest[2];
	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, ROCE, "--topology", topology, "--matrix", "permutation:16:1MiB", "--end", "20ms",
				"--set", i ? "reverse_hosts=1" : "reverse_hosts=0");
		digest[i] = s.net.digest;
		scenario_end(&s);
	}
	assert_int_equal(digest[0], digest[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce__incast_loses_nothing),
		cmocka_unit_test(roce__incast_without_pfc_drops),
		cmocka_unit_test(roce__pauses_alone_carry_an_incast),
		cmocka_unit_test(roce__permutation_loses_nothing),
		cmocka_unit_test(roce__go_back_n_repairs_damage),
		cmocka_unit_test(roce__long_flows_are_fair),
		cmocka_unit_test(roce__repeats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
