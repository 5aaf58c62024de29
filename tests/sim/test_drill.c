/* SPDX-License-Identifier: BSD-3-Clause */
/* What DRILL is for, in small fabrics: evenly filled queues, and order where paths are unlike. The figures of the paper
 * are configs/papers/drill. */
#include "sim_scenario.h"

#define SAMPLING "queue_sample_ns=10000"

/* Mean standard deviation of the lengths of a leaf's uplinks, packets, at 80 % load: two leaves, sixteen spines.
 * Nothing holds the hosts back (section 3.2.3). Three parameters are the caller's, SAMPLING is none. */
static double spread(const char *route, const char *a, const char *b, const char *c)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "leafspine:2:16:16", "--link-gbps", "10", "--matrix",
			"poisson:webserver:0.8:2ms:32:off-leaf", "--cc", "fixed", "--lb", "ecmp", "--no-trim", "--mtu",
			"1460", "--set", "queue_bytes=1000000", "--set", "ecn_min_pct=0", "--set", "ecn_max_pct=0",
			"--set", SAMPLING, "--set", "queue_sample_from_ns=500000", "--set",
			"queue_sample_to_ns=2000000", "--route", route, "--set", a, "--set", b, "--set", c);
	assert_int_equal(s.net.dropped_data, 0);
	assert_int_equal(s.result.spread[SPREAD_UP].samples, 2 * 151);
	double result = s.result.spread[SPREAD_UP].sd_mean;
	scenario_end(&s);
	return result;
}

static double drill(const char *choices, const char *memory, const char *engines)
{
	return spread("drill", choices, memory, engines);
}

/* Figure 2: 65 % below per-packet random; a choice or a unit of memory less is not as even, nor are many engines that
 * do not see what the others do. */
static void drill__fills_uplinks_evenly(void **state)
{
	double random = spread("random", SAMPLING, SAMPLING, SAMPLING);
	double two_one = drill("drill_choices=2", "drill_memory=1", "drill_engines=1");
	assert_at_most(two_one, 0.35 * random);
	assert_at_most(two_one, 0.95 * drill("drill_choices=2", "drill_memory=0", "drill_engines=1"));
	assert_at_most(two_one, 0.8 * drill("drill_choices=1", "drill_memory=1", "drill_engines=1"));
	assert_at_most(two_one, 0.8 * drill("drill_choices=2", "drill_memory=1", "drill_engines=16"));
}

struct order {
	uint64_t late; /* packets that arrived after one sent later */
	uint64_t digest;
};

/* TCP over DRILL at half load, with flows kept to symmetric components or not. */
static struct order order(const char *topology, const char *fault, const char *components)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--link-gbps", "10", "--matrix", "poisson:webserver:0.5:2ms",
			"--cc", "newreno", "--lb", "ecmp", "--no-trim", "--mtu", "1460", "--set", "dup_ack_threshold=3",
			"--route", "drill", "--set", components, "--fault", fault, "--reconverge", "0us", "--end",
			"2s");
	assert_int_equal(s.net.dropped_route, 0);
	struct order result = {s.result.order.reordered, s.net.digest};
	scenario_end(&s);
	return result;
}

/* Section 3.4: packets that take unlike paths overtake each other. With imbalanced striping, and in three tiers where a
 * cable has failed. */
static void drill__components_keep_order(void **state)
{
	static const char *const cases[][2] = {{"stripe:4:4:8:1:4", "0us degrade cable:leaf:0:0 100%"},
					       {"fattree:4", "0us fail cable:leaf:0:0"}};
	for (uint32_t i = 0; i < 2; i++) {
		struct order kept = order(cases[i][0], cases[i][1], "drill_components=on");
		struct order mixed = order(cases[i][0], cases[i][1], "drill_components=off");
		assert_true(kept.late > 0);
		assert_at_most((double)kept.late, 0.7 * (double)mixed.late);
		assert_int_equal(kept.digest, order(cases[i][0], cases[i][1], "drill_components=on").digest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drill__fills_uplinks_evenly),
		cmocka_unit_test(drill__components_keep_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
