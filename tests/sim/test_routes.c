/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices of the switches. Bounds are completion times in virtual time. */
#include "scenario.h"

/* Packets over `route`, entropies of `lb`. Returns the slowest flow's completion time over the ideal. */
static double inflation(const char *topology, const char *matrix, const char *route, const char *lb)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--route", route, "--lb", lb, "--end", "20ms");
	assert_string_equal(s.result.route, route);
	assert_int_equal(s.stats.timeouts, 0);
	double result = s.summary.inflation;
	scenario_end(&s);
	return result;
}

/* A balancer that changes entropies: `lb`, but where switches choose for flows one that keeps them together. */
static const char *changing_lb(uint32_t route, const char *lb)
{
	return weft_route_table[route]->per_flow ? "plb" : lb;
}

/* One entropy per connection: all spreading is the switches'. Digits take one of it, as hashes do. */
static void routes__all_complete_permutations(void **state)
{
	for (uint32_t i = 0; weft_route_table[i]; i++) {
		const char *route = weft_route_table[i]->name;
		inflation("leafspine:4:4:4", "permutation:16:256KiB", route, "ecmp");
		if (!weft_route_table[i]->tiers)
			inflation("fattree:4", "permutation:16:256KiB", route, "ecmp");
		inflation("leafspine:2:1:4:4", "permutation:8:256KiB", route, changing_lb(i, "reps"));
	}
}

static void routes__spreading_beats_ecmp(void **state)
{
	double ecmp = inflation(LS16, MATRIX("perm_16n_1M"), "ecmp", "ecmp");
	assert_at_most(1.4 * inflation(LS16, MATRIX("perm_16n_1M"), "random", "ecmp"), ecmp);
	assert_at_most(1.4 * inflation(LS16, MATRIX("perm_16n_1M"), "rr", "ecmp"), ecmp);
	assert_at_most(1.4 * inflation(LS16, MATRIX("perm_16n_1M"), "adaptive", "ecmp"), ecmp);
}

/* Full bisection: with packets of a flow on all paths nothing has to wait but for chance meetings below the top, a few
 * packets at a time, which is a few per cent of a 2 MiB flow. */
static void adaptive__is_near_ideal(void **state)
{
	assert_at_most(inflation(FT128, MATRIX("perm_128n_2M"), "adaptive", "ecmp"), 1.10);
	assert_at_most(inflation("leafspine:16:8:8", "tornado:128:512KiB", "adaptive", "ecmp"), 1.10);
}

/* PRIME section IV-A1: round robin over digits leaves shorter queues than recycled entropies, or local choices. */
static void digits__prime_is_nearer(void **state)
{
	double prime = inflation(FT128, MATRIX("perm_128n_2M"), "digits", "prime");
	assert_at_most(prime, 1.05);
	assert_at_most(prime, inflation(FT128, MATRIX("perm_128n_2M"), "ecmp", "reps"));
	assert_at_most(prime, inflation(FT128, MATRIX("perm_128n_2M"), "adaptive", "ecmp"));
}

/* A cable and a spine fail, routing learns of it later: what was lost is sent again, and the rest goes around. */
static void routes__survive_failures(void **state)
{
	for (uint32_t i = 0; weft_route_table[i]; i++) {
		struct scenario s;
		SCENARIO_PASSES(&s, "--topology", "leafspine:4:4:4", "--matrix", "permutation:16:1MiB", "--route",
				weft_route_table[i]->name, "--lb", changing_lb(i, "ops"), "--fault",
				"20us fail cable:leaf:0:2", "--fault", "20us fail switch:spine:3", "--reconverge",
				"50us", "--end", "100ms");
		assert_true(s.net.dropped_down > 0);
		assert_in_range(s.net.dropped_route, 0, 16); /* between spine 2 and leaf 0 when routing learns */
		scenario_end(&s);
	}
}

static uint64_t digest(const char *route, const char *lb, const char *topology, const char *seed)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", "permutation:16:256KiB", "--route", route, "--lb", lb,
			"--seed", seed);
	uint64_t result = s.net.digest;
	scenario_end(&s);
	return result;
}

static void routes__same_seed_same_run(void **state)
{
	for (uint32_t i = 0; weft_route_table[i]; i++) {
		const char *route = weft_route_table[i]->name;
		const char *topology = weft_route_table[i]->tiers ? "leafspine:4:4:4" : "fattree:4";
		assert_int_equal(digest(route, changing_lb(i, "reps"), topology, "1"),
				 digest(route, changing_lb(i, "reps"), topology, "1"));
		assert_int_not_equal(digest(route, changing_lb(i, "reps"), topology, "1"),
				     digest(route, changing_lb(i, "reps"), topology, "2"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes__all_complete_permutations), cmocka_unit_test(routes__spreading_beats_ecmp),
		cmocka_unit_test(adaptive__is_near_ideal),           cmocka_unit_test(digits__prime_is_nearer),
		cmocka_unit_test(routes__survive_failures),          cmocka_unit_test(routes__same_seed_same_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
