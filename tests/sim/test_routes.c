/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices of the switches. Bounds are completion times in virtual time. */
#include "sim_scenario.h"

/* Packets over `route`, windows of `cc`, entropies of `lb`. Returns the slowest flow's completion time over the ideal.
 */
static double inflation_with(const char *cc, const char *topology, const char *matrix, const char *route,
			     const char *lb)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--cc", cc, "--route", route, "--lb", lb,
			"--end", "20ms");
	assert_string_equal(s.result.route, route);
	assert_int_equal(s.stats.timeouts, 0);
	double result = s.summary.inflation;
	scenario_end(&s);
	return result;
}

static double inflation(const char *topology, const char *matrix, const char *route, const char *lb)
{
	return inflation_with("auto", topology, matrix, route, lb);
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
 * packets at a time, which is a few per cent of a 2 MiB flow. The short flows begin with windows as published: those of
 * auto are smaller, which costs 2 % where nothing collides on hashed paths. */
static void adaptive__is_near_ideal(void **state)
{
	assert_at_most(inflation(FT128, MATRIX("perm_128n_2M"), "adaptive", "ecmp"), 1.10);
	assert_at_most(inflation_with("smartt", "leafspine:16:8:8", "tornado:128:512KiB", "adaptive", "ecmp"), 1.10);
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
		assert_int_equal(digest(route, changing_lb(i, "reps"), "fattree:4", "1"),
				 digest(route, changing_lb(i, "reps"), "fattree:4", "1"));
		assert_int_not_equal(digest(route, changing_lb(i, "reps"), "fattree:4", "1"),
				     digest(route, changing_lb(i, "reps"), "fattree:4", "2"));
	}
}

/* ---- CONGA in VL2, where spines choose among the cores ---- */

struct vl2_run {
	double up, down; /* bytes of spine 0 to, and from, core 1: percent of those to and from all cores */
	uint64_t digest;
};

static double share_of_core_1(const struct weft_net *net, bool down)
{
	uint64_t all = 0, core_1 = 0;

	for (uint32_t up = 0; up < 4; up++) {
		struct weft_link_id id;
		uint64_t pkts, bytes;
		assert_int_equal(weft_net_link_find(net, 1, 0, up, down, &id), 0);
		weft_net_link_counts(net, id, &pkts, &bytes);
		all += bytes;
		core_1 += up == 1 ? bytes : 0;
	}
	return 100. * (double)core_1 / (double)all;
}

/* What goes up comes down, where nothing is lost; all flows leave their leaf. */
static void check_conserved(const struct weft_net_stats *net)
{
	if (net->dropped_down)
		return;
	assert_int_equal(net->dropped_data, 0);
	assert_int_equal(net->at[1][WEFT_PORT_UP].data, net->at[2][WEFT_PORT_DOWN].data);
	assert_int_equal(net->at[0][WEFT_PORT_UP].data, net->at[1][WEFT_PORT_DOWN].data);
	assert_int_equal(net->at[0][WEFT_PORT_UP].data, net->at[0][WEFT_PORT_HOST].data);
}

static struct vl2_run vl2(const char *route, const char *fault, const char *seed)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", "vl2:4:4:4:4", "--link-gbps", "10", "--matrix",
			"poisson:webserver:0.3:20ms:16:off-leaf", "--cc", "newreno", "--lb", "ecmp", "--route", route,
			"--no-trim", "--set", "queue_bytes=16000000", "--fault", fault, "--reconverge", "100us",
			"--seed", seed, "--end", "2s");
	check_conserved(&s.net);
	assert_int_equal(s.net.dropped_route, 0);
	struct vl2_run result = {share_of_core_1(lab_net(s.lab), false), share_of_core_1(lab_net(s.lab), true),
				 s.net.digest};
	scenario_end(&s);
	return result;
}

/* The link between spine 0 and core 1 has a tenth of its rate. Of that spine 0 sees the direction up, the other pod's
 * spines hear of the direction down by feedback alone. */
static void conga__spines_spare_a_slow_link(void **state)
{
	static const char slow[] = "0us degrade cable:spine:0:1 10%";
	struct vl2_run hashed = vl2("ecmp", slow, "2"), conga = vl2("conga", slow, "2");
	assert_at_most(conga.up, hashed.up / 3);
	assert_at_most(conga.down, hashed.down / 3);
}

/* The link fails: everything arrives around it. Runs repeat. */
static void conga__spines_lose_a_link(void **state)
{
	static const char dead[] = "1ms fail cable:spine:0:1";
	struct vl2_run conga = vl2("conga", dead, "1");
	assert_at_most(conga.up, 10);
	assert_int_equal(conga.digest, vl2("conga", dead, "1").digest);
	assert_int_not_equal(conga.digest, vl2("conga", dead, "2").digest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes__all_complete_permutations), cmocka_unit_test(routes__spreading_beats_ecmp),
		cmocka_unit_test(adaptive__is_near_ideal),           cmocka_unit_test(digits__prime_is_nearer),
		cmocka_unit_test(routes__survive_failures),          cmocka_unit_test(routes__same_seed_same_run),
		cmocka_unit_test(conga__spines_spare_a_slow_link),   cmocka_unit_test(conga__spines_lose_a_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
