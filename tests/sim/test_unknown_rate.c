/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines that nobody told the rate of their link, or the base RTT: what looking for them costs. Two leaves, four
 * spines, four hosts each; links of this preset take 600 ns and switches 400 ns, so an idle round trip over four links
 * and three switches takes RTT_NS and the time of the bytes. */
#include "sim_scenario.h"

#include <math.h>
#include <stdlib.h>

enum { LINKS = 4, SWITCHES = 3, RTT_NS = 2 * (LINKS * 600 + SWITCHES * 400), PKT_BYTES = 4096 + 38 + 84 };

#define TOPOLOGY "leafspine:2:4:4"

static double makespan_us(const char *cc, const char *gbps, const char *matrix, const char *probe_rate,
			  double *inflation)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", TOPOLOGY, "--link-gbps", gbps, "--matrix", matrix, "--cc", cc, "--set",
			probe_rate, "--set", "brtt_ns=0", "--end", "50ms");
	assert_int_equal(s.stats.timeouts, 0);
	double us = s.summary.makespan_us;
	*inflation = s.summary.inflation;
	scenario_end(&s);
	return us;
}

static double rtt_us(double gbps)
{
	return (RTT_NS + LINKS * PKT_BYTES * 8 / gbps) / 1000;
}

/* What the kernel's leaf-spine has to reach with real links (a permutation 1.10, an incast 1.03), the lab's does too.
 */
static void rate__is_found_in_long_transfers(void **state)
{
	static const char *const gbps[] = {"25", "100"};
	for (unsigned i = 0; i < 2; i++) {
		double inflation;
		makespan_us("auto", gbps[i], "permutation:8:16MB", "probe_rate=2", &inflation);
		assert_at_most(inflation, 1.10);
		makespan_us("auto", gbps[i], "incast:7:16MB", "probe_rate=2", &inflation);
		assert_at_most(inflation, 1.03);
	}
}

/* A leaf-spine at 40 Mb/s whose hosts look for the path's MTU, too: small packets that wait for the answer to a probe
 * do not fill the queue, and nobody floods it again when the search ends. */
static void rate__many_that_meet_do_not_flood_the_queue(void **state)
{
	struct scenario s;
	double inflation;
	SCENARIO_PASSES(&s, "--topology", TOPOLOGY, "--link-gbps", "0.04", "--matrix", "incast:7:512KiB", "--mtu",
			"8192", "--set", "probe_rate=2", "--set", "brtt_ns=0", "--set", "brtt_floor_ns=500000", "--set",
			"pmtu_discovery=on", "--set", "queue_bytes=60000", "--end", "5s");
	assert_at_most(s.summary.inflation, 1.03);
	assert_at_most(s.stats.tx_retx, s.stats.tx_data);
	scenario_end(&s);
	makespan_us("smartt", "100", "incast:7:1MB", "probe_rate=2", &inflation);
	assert_at_most(inflation, 1.04);
}

/* The window doubles from 10 packets to a BDP, a round trip each, and two rounds more show that it is enough: that is
 * all that a message may lose to one whose sender was told. */
static void rate__doubling_takes_few_round_trips(void **state)
{
	static const char *const gbps[] = {"25", "100", "400"};
	for (unsigned i = 0; i < 3; i++) {
		double inflation, rate = atof(gbps[i]), bdp_pkts = rate * rtt_us(rate) * 1000 / 8 / PKT_BYTES;
		double rounds = 2 + (bdp_pkts > 10 ? ceil(log2(bdp_pkts / 10)) : 0);
		double told = makespan_us("auto", gbps[i], "permutation:8:4MB", "probe_rate=0", &inflation);
		double looked_for = makespan_us("auto", gbps[i], "permutation:8:4MB", "probe_rate=2", &inflation);
		assert_at_most(looked_for, told + rounds * rtt_us(rate));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__is_found_in_long_transfers),
		cmocka_unit_test(rate__many_that_meet_do_not_flood_the_queue),
		cmocka_unit_test(rate__doubling_takes_few_round_trips),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
