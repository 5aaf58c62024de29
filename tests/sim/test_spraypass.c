/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduled credit in the lab: SprayPass and ExpressPass in fabrics with credit queues, and without. */
#include "sim_scenario.h"

static const char *const names[] = {"spraypass", "expresspass"};

enum { NAMES = sizeof names / sizeof *names };

static void assert_nothing_lost(const struct scenario *s)
{
	assert_int_equal(s->net.dropped_data, 0);
	assert_int_equal(s->net.trimmed, 0);
	assert_int_equal(s->stats.tx_retx, 0);
	assert_int_equal(s->stats.timeouts, 0);
	assert_int_equal(s->stats.credit_unlimited, 0);
}

/* No data is lost, and no queue is longer than what differences of delay explain. */
static void any_load__no_data_is_lost(void **state)
{
	static const char *const matrix[] = {"permutation:16:4MiB", "incast:15:1MiB", "alltoall:16:256KiB:4",
					     "random:300:3000B"};
	for (int i = 0; i < NAMES; i++) {
		for (size_t m = 0; m < sizeof matrix / sizeof *matrix; m++) {
			struct scenario s;
			SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", matrix[m], "--cc", names[i],
					"--end", "50ms");
			assert_nothing_lost(&s);
			assert_at_most((double)s.net.max_queue_bytes, 32 * 4222);
			scenario_end(&s);
		}
	}
}

/* Uplinks 4:1 oversubscribed: credits are lost there, data is not. */
static void oversubscribed__credits_are_lost_instead(void **state)
{
	for (int i = 0; i < NAMES; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "leafspine:4:2:8", "--matrix", "crosscore:32:1MiB", "--cc", names[i],
				"--end", "50ms");
		assert_nothing_lost(&s);
		assert_true(s.net.credits.dropped > 0);
		assert_true(s.net.credits.marked > 0);
		scenario_end(&s);
	}
}

static double makespan(const char *cc)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:6:4:6", "--matrix", "crosscore:36:2MiB", "--cc", cc, "--end",
			"50ms");
	assert_nothing_lost(&s);
	double inflation = s.summary.inflation;
	scenario_end(&s);
	return inflation;
}

/* One path per connection collides with others', many do not. */
static void permutation__sprayed_is_faster(void **state)
{
	assert_at_most(1.4 * makespan("spraypass"), makespan("expresspass"));
}

/* Credits, requests, stops, data and acknowledgements are lost, repeated and overtaken alike. */
static void faults__of_every_kind(void **state)
{
	static const char *const fault[] = {"fault_loss_ppm=10000", "fault_dup_ppm=50000", "fault_reorder_ppm=50000",
					    "fault_corrupt_ppm=10000"};
	static const char *const matrix[] = {"incast:12:256KiB", "permutation:16:512KiB", "alltoall:16:16KiB:4"};
	for (int i = 0; i < NAMES; i++) {
		for (size_t f = 0; f < sizeof fault / sizeof *fault; f++) {
			struct scenario s;
			SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", matrix[f % 3], "--cc",
					names[i], "--set", fault[f], "--set", "fault_rx=on", "--set",
					f % 2 ? "ack_every=8" : "ack_every=1", "--set", "crc=on", "--end", "100ms");
			scenario_end(&s);
		}
	}
}

/* A core switch whose links are slow: it is left. */
static void slow_spine__is_avoided(void **state)
{
	static const char *const probing[2] = {"probing=off", "probing=on"};
	uint64_t credits_lost[2], early[2];
	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", "crosscore:16:16MiB", "--cc",
				"spraypass", "--set", probing[i], "--set", "queue_bytes=400000", "--fault",
				"0us degrade switch:spine:1 1", "--end", "200ms");
		assert_int_equal(s.net.dropped_data, 0);
		early[i] = s.result.order.beyond;
		credits_lost[i] = s.net.credits.dropped;
		scenario_end(&s);
	}
	assert_true(credits_lost[1] * 2 < credits_lost[0]); /* most were lost there */
	assert_true(early[1] < early[0]);
}

/* Without credit queues, and with switches that hash each direction alone: slower, but nothing melts down, and it is
 * told. */
static void no_credit_queues__works_and_is_told(void **state)
{
	for (int i = 0; i < NAMES; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "leafspine:4:2:8", "--matrix", "crosscore:32:2MiB", "--cc", names[i],
				"--set", "credit_queue=0", "--route", "ecmp", "--set", "ecn_min_pct=20", "--set",
				"ecn_max_pct=80", "--end", "100ms");
		assert_true(s.stats.credit_unlimited > 0);
		assert_at_most((double)s.stats.tx_retx, 0.5 * (double)s.stats.tx_data);
		assert_at_most(s.summary.inflation, 4);
		scenario_end(&s);
	}
}

/* Data that nobody called for is what is lost in an incast, and short messages are faster for it when there is none. */
static void unscheduled__saves_a_round_trip(void **state)
{
	double inflation[2];
	static const char *const first[2] = {"unscheduled=off", "unscheduled=on"};
	for (int i = 0; i < 2; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", "permutation:16:16KiB", "--cc",
				"spraypass", "--set", first[i], "--end", "10ms");
		assert_int_equal(s.stats.timeouts, 0);
		assert_int_equal(s.stats.tx_unscheduled > 0, i);
		inflation[i] = s.summary.inflation;
		scenario_end(&s);
	}
	assert_at_most(inflation[1], 0.7 * inflation[0]);
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", "incast:15:64KiB", "--cc", "spraypass",
			"--set", "unscheduled=on", "--end", "50ms");
	assert_true(s.stats.tx_retx > 0);
	assert_true(s.stats.tx_retx <= s.stats.tx_unscheduled);
	scenario_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_load__no_data_is_lost),
		cmocka_unit_test(oversubscribed__credits_are_lost_instead),
		cmocka_unit_test(permutation__sprayed_is_faster),
		cmocka_unit_test(faults__of_every_kind),
		cmocka_unit_test(slow_spine__is_avoided),
		cmocka_unit_test(no_credit_queues__works_and_is_told),
		cmocka_unit_test(unscheduled__saves_a_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
