/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-step forwarding: flows keep to a part of unlike paths, parts get flows by weight. */
#include <stdlib.h>

#include "rng.h"
#include "route_box.h"

enum { FLOWS = 6000, PACKETS = 60 };

static void avoid_cable(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool avoid)
{
	for (int down = 0; down < 2; down++) {
		struct weft_link_id id;
		assert_int_equal(weft_net_link_find(lan->net, tier, sw, up, down, &id), 0);
		weft_net_avoid_link(lan->net, id, avoid);
	}
}

/* DRILL's figure 4: the cable between leaf 0 and spine 0 is out of use. Leaf 3 has host 6, leaf 1 host 2. */
static void open_figure_4(struct lan *lan, const char *route, const void *tune)
{
	box_open(lan, "leafspine:4:3:2", route, tune, 1);
	avoid_cable(lan, 0, 0, 0, true);
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

static void part__flows_keep_to_theirs(void **state)
{
	uint32_t alone = 0, chi;
	struct lan lan;

	open_figure_4(&lan, "drill", NULL);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		uint32_t count[3] = {0};
		for (uint32_t i = 0; i < PACKETS; i++)
			count[box_choose_up(&lan, 3, 6, 2, (uint16_t)flow)]++;
		alone += count[0] == PACKETS;
		assert_true(count[0] == PACKETS || (count[0] == 0 && count[1] > 0 && count[2] > 0));
	}
	chi = alone > FLOWS / 3 ? alone - FLOWS / 3 : FLOWS / 3 - alone;
	assert_in_range(chi, 0, 4 * 36); /* four standard deviations */
	lan_close(&lan);
}

/* The uplink that all packets of flow `flow` from R5 to R1 take at switch `sw`, 0 or 1; 2: they take both. */
static uint32_t keeps_to(const struct lan *lan, uint32_t sw, uint32_t flow)
{
	uint32_t count[2] = {0};

	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t up = box_choose_up(lan, sw, 10, 2, (uint16_t)flow);
		assert_in_range(up, 0, 1);
		count[up]++;
	}
	return count[0] == PACKETS ? 0 : count[1] == PACKETS ? 1 : 2;
}

/* DRILL's figure 5: racks R0..R2 and fabric switches F0, F1 (switches 6, 7) are a pod, R3..R5 and F2, F3 (8, 9) the
 * other; the cable between R0 and F0 is out of use. Of the paths from R5 to R1 the two over F2 are a part, and the two
 * over F3, which packets to R0 take as well; they weigh the same. From F2 and from F3 on paths are alike. */
static void part__figure_5(void **state)
{
	struct weft_pkt pkt = {.src = weft_net_host_ip(10), .dst = weft_net_host_ip(2)};
	uint32_t count[3] = {0};
	struct lan lan;

	box_open(&lan, "tree:2:3:2:2:2", "drill", NULL, 1);
	avoid_cable(&lan, 0, 0, 0, true);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		count[keeps_to(&lan, 5, flow)]++;
	assert_int_equal(count[2], 0);
	assert_in_range(count[0], FLOWS / 2 - 4 * 39, FLOWS / 2 + 4 * 39); /* four standard deviations */
	for (uint32_t sw = 8; sw <= 9; sw++) {
		struct route_ways ways = {.sw = sw, .leaf = 1};
		assert_false(route_plan_part(&lan.net->tree, &ways, &pkt));
		for (uint32_t flow = 0; flow < 100; flow++)
			assert_int_equal(keeps_to(&lan, sw, flow), 2);
	}
	for (uint32_t flow = 0; flow < 100; flow++) /* to R0 over F3 alone */
		assert_int_equal(box_choose_up(&lan, 5, 10, 0, (uint16_t)flow), 1);
	lan_close(&lan);
}

/* Leaf 0 has lost spines 0 and 1, so that leaf 3's paths to leaf 1 have parts of two and of three ports. An engine
 * remembers the best of each apart: it takes them at once, in turns. */
static void part__is_remembered_apart(void **state)
{
	const struct route_drill_tune tune = {1, 1, 1, 0, QUIVER_OWN, 1};
	uint32_t entropy[2] = {0};
	struct lan lan;

	box_open(&lan, "leafspine:4:5:2", "drill", &tune, 1);
	avoid_cable(&lan, 0, 0, 0, true);
	avoid_cable(&lan, 0, 0, 1, true);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	struct net_port *up = &lan.net->tree.ports[lan.net->tree.switches[3].first_up];
	while (box_choose_up(&lan, 3, 6, 2, (uint16_t)entropy[0]) > 1)
		entropy[0]++;
	while (box_choose_up(&lan, 3, 6, 2, (uint16_t)entropy[1]) < 2)
		entropy[1]++;
	for (uint32_t i = 0; i < 5; i++)
		up[i].data_bytes = i == 1 || i == 4 ? 0 : 1000;
	for (uint32_t i = 0; i < 4 * PACKETS; i++)
		box_choose_up(&lan, 3, 6, 2, (uint16_t)entropy[i % 2]);
	for (uint32_t i = 0; i < PACKETS; i++)
		assert_int_equal(box_choose_up(&lan, 3, 6, 2, (uint16_t)entropy[i % 2]), i % 2 ? 4 : 1);
	for (uint32_t i = 0; i < 5; i++)
		up[i].data_bytes = 0;
	lan_close(&lan);
}

static void part__ends_with_the_fault(void **state)
{
	struct lan lan;

	open_figure_4(&lan, "drill", NULL);
	assert_non_null(lan.net->tree.plan);
	avoid_cable(&lan, 0, 0, 0, false);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	assert_null(lan.net->tree.plan);
	uint32_t count[3] = {0};
	for (uint32_t i = 0; i < PACKETS; i++)
		count[box_choose_up(&lan, 3, 6, 2, 1)]++;
	assert_true(count[0] && count[1] && count[2]);
	lan_close(&lan);
}

static void part__off(void **state)
{
	const struct route_drill_tune tune = {2, 1, 1, 0, QUIVER_OWN, 0};
	struct lan lan;

	open_figure_4(&lan, "drill", &tune);
	assert_null(lan.net->tree.plan);
	lan_close(&lan);
}

/* DRILL's figure 4 with three links of 40 Gb/s: between leaf 0 and spines 0 and 1, and leaf 1 and spine 0. How many
 * parts the paths from leaf 0 to leaf 1 have. */
static uint32_t count_parts(uint32_t factor)
{
	const struct route_drill_tune tune = {2, 1, 1, 0, factor, 1};
	struct weft_net_conf conf = lan_conf();
	struct weft_topo topo;
	struct weft_err err = {""};
	struct lan lan;
	uint32_t parts = 0;

	conf.route_tune = &tune;
	assert_int_equal(weft_route_find("drill", &conf.route, &err), 0);
	assert_int_equal(weft_topo_preset("leafspine:4:3:2", UINT64_C(10000000000), &topo, &err), 0);
	for (uint32_t i = 0; i < 3; i++)
		topo.link[topo.link_count++] =
			(struct weft_topo_link){.bps = UINT64_C(40000000000), .sw = i == 2, .up = i == 1, .cables = 1};
	assert_int_equal(weft_topo_check(&topo, &err), 0);
	lan_open_topo(&lan, &topo, conf);
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct weft_pkt pkt = {.src = weft_net_host_ip(0), .dst = weft_net_host_ip(2), .entropy = (uint16_t)i};
		struct route_ways ways = {.leaf = 1};
		parts = route_plan_part(&lan.net->tree, &ways, &pkt) && ways.part >= parts ? ways.part + 1 : parts;
	}
	lan_close(&lan);
	return parts ? parts : 1;
}

static void part__factors_as_asked(void **state)
{
	assert_int_equal(count_parts(QUIVER_PAIRS), 1);
	assert_int_equal(count_parts(QUIVER_OWN), 2);
	assert_int_equal(count_parts(QUIVER_ALL), 3);
}

/* Leaf 0 has three cables to spine 0, leaf 1 to spine 1: between them every spine carries what one cable does. */
static void wcmp__weighs_paths(void **state)
{
	uint32_t count[6] = {0}, spine[4];
	struct lan lan;

	box_open(&lan, "stripe:4:4:2:1:3", "wcmp", NULL, 1);
	for (uint32_t i = 0; i < FLOWS; i++)
		count[box_choose_up(&lan, 0, 0, 2, (uint16_t)i)]++;
	for (uint32_t i = 1; i < 4; i++)
		spine[i] = count[2 + i];
	spine[0] = count[0] + count[1] + count[2];
	check_uniform(spine, 4, FLOWS, 21.1);
	check_uniform(count, 3, spine[0], 18.4);
	lan_close(&lan);
}

/* To leaf 2, over its own three cables from spine 2, there are 1, 1, 1 and 1 again; from spine 2 down any of three. */
static void wcmp__cables_down_are_hashed(void **state)
{
	uint32_t count[3] = {0};
	struct lan lan;

	box_open(&lan, "stripe:4:4:2:1:3", "wcmp", NULL, 1);
	const struct net_switch *s = &lan.net->tree.switches[4 + 2];
	for (uint32_t i = 0; i < FLOWS; i++)
		count[box_choose(&lan, 6, 0, 4, (uint16_t)i) - s->first_down - 2]++;
	check_uniform(count, 3, FLOWS, 18.4);
	lan_close(&lan);
}

/* Leaves have four cables to two spines each, leaf 0 to 0 and 1, leaf 1 to 1 and 2: over spine 1 all four are worth
 * something, over each other one only one is. */
static void wcmp__bundles_count_with_all_cables(void **state)
{
	uint32_t part[7] = {0};
	struct lan lan;

	box_open(&lan, "stripe:4:4:2:2:4", "wcmp", NULL, 1);
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t up = box_choose_up(&lan, 0, 0, 2, (uint16_t)i);
		/* a seventh of the flows each: spine 0, the four cables to spine 1, spines 2 and 3 */
		part[up < 4 ? 0 : up - 3]++;
	}
	check_uniform(part, 7, FLOWS, 27.9);
	lan_close(&lan);
}

/* Where a hash over all cables does what weights ask for, there are no parts: after the loss of one cable of a bundle,
 * too. */
static void wcmp__needs_no_step_among_even(void **state)
{
	static const uint32_t leaves[] = {1, 2};
	struct weft_pkt pkt = {.src = weft_net_host_ip(0), .dst = weft_net_host_ip(2)};
	struct lan lan;

	box_open(&lan, "leafspine:3:3:2:2", "wcmp", NULL, 1);
	avoid_cable(&lan, 0, 0, 0, true);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	assert_non_null(lan.net->tree.plan);
	for (uint32_t i = 0; i < 2; i++) {
		struct route_ways ways = {.sw = 0, .leaf = leaves[i]};
		assert_false(route_plan_part(&lan.net->tree, &ways, &pkt));
	}
	struct route_ways ways = {.sw = 1, .leaf = 0}; /* over spine 0 there is one cable for two */
	assert_true(route_plan_part(&lan.net->tree, &ways, &pkt));
	lan_close(&lan);
}

/* Routing takes the cable to spine 2 to have half its rate: that spine gets one flow of five, the others two. For DRILL
 * it is a part of its own. What the link really has plays no part. */
static void part__weighs_the_rate_that_routing_knows(void **state)
{
	static const char *const routes[] = {"wcmp", "drill"};

	for (uint32_t r = 0; r < 2; r++) {
		uint32_t count[3] = {0};
		struct weft_link_id id;
		struct lan lan;

		box_open(&lan, "leafspine:3:3:2", routes[r], NULL, 1);
		assert_int_equal(weft_net_link_find(lan.net, 0, 0, 2, false, &id), 0);
		weft_net_link_set_bps(lan.net, id, 1000000);
		assert_int_equal(weft_net_reroute(lan.net), 0);
		assert_null(lan.net->tree.plan);
		weft_net_route_bps(lan.net, id, weft_net_link_nominal_bps(lan.net, id) / 2);
		assert_int_equal(weft_net_reroute(lan.net), 0);
		assert_non_null(lan.net->tree.plan);
		for (uint32_t i = 0; i < FLOWS; i++)
			count[box_choose_up(&lan, 0, 0, 2, (uint16_t)i)]++;
		assert_in_range(count[2], FLOWS / 5 - 4 * 31, FLOWS / 5 + 4 * 31); /* four standard deviations */
		weft_net_route_bps(lan.net, id, weft_net_link_nominal_bps(lan.net, id));
		assert_int_equal(weft_net_reroute(lan.net), 0);
		assert_null(lan.net->tree.plan);
		lan_close(&lan);
	}
}

static void wcmp__is_ecmp_among_alike(void **state)
{
	struct lan a, b;

	box_open(&a, "leafspine:3:5:2", "wcmp", NULL, 3);
	box_open(&b, "leafspine:3:5:2", "ecmp", NULL, 3);
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(box_choose(&a, 0, 0, 3, (uint16_t)i), box_choose(&b, 0, 0, 3, (uint16_t)i));
	lan_close(&a);
	lan_close(&b);
}

/* Leaf 0's cable to spine 0 has less than a 2^32th of what the other spines' 255 cables have together: it gets no flow,
 * and they get equal shares. */
static void wcmp__next_to_no_weight(void **state)
{
	uint32_t spine[4] = {0};
	struct weft_net_conf conf = lan_conf();
	struct weft_topo topo;
	struct weft_err err = {""};
	struct lan lan;

	assert_int_equal(weft_topo_preset("leafspine:2:4:2:255", UINT64_C(10000000000000), &topo, &err), 0);
	topo.link[topo.link_count++] = (struct weft_topo_link){.bps = 1000000, .cables = 1};
	assert_int_equal(weft_topo_check(&topo, &err), 0);
	assert_int_equal(weft_route_find("wcmp", &conf.route, &err), 0);
	lan_open_topo(&lan, &topo, conf);
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t up = box_choose_up(&lan, 0, 0, 2, (uint16_t)i);
		spine[up ? 1 + (up - 1) / 255 : 0]++;
	}
	assert_int_equal(spine[0], 0);
	check_uniform(spine + 1, 3, FLOWS, 18.4);
	lan_close(&lan);
}

/* The ways of all parts together are those that routing can use, whatever has failed. */
static void check_cover(const struct lan *lan, uint32_t sw, uint32_t dst, uint32_t *several)
{
	const struct weft_net *net = lan->net;
	uint32_t seen[64] = {0}, leaf = dst / net->tree.topo.tier[0].radix_down;
	struct weft_pkt pkt = {.src = weft_net_host_ip(0), .dst = weft_net_host_ip(dst)};

	if (dst - net->tree.switches[sw].low < net->tree.switches[sw].span)
		return;
	for (uint32_t i = 0; i < 400; i++) {
		struct route_ways ways = {.sw = sw, .leaf = leaf};
		pkt.entropy = (uint16_t)i;
		if (!route_plan_part(&net->tree, &ways, &pkt))
			return;
		for (uint32_t k = 0; k < ways.count; k++)
			seen[ways.ports[k] - net->tree.switches[sw].first_up]++;
	}
	++*several;
	for (uint32_t up = 0; up < net->tree.switches[sw].up_cables; up++)
		assert_int_equal(seen[up] > 0, route_usable(&net->tree, net->tree.switches[sw].first_up + up, leaf));
}

static uint32_t check_random(const char *topology, const char *route, uint64_t seed)
{
	struct rng rng = {seed};
	uint32_t several = 0;
	struct lan lan;

	box_open(&lan, topology, route, NULL, 1);
	const struct weft_topo *t = &lan.net->tree.topo;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t tier = rng_below(&rng, t->tiers - 1), sw = rng_below(&rng, t->tier[tier].switches);
		avoid_cable(&lan, tier, sw, rng_below(&rng, weft_topo_switch_uplinks(t, tier, sw)), true);
	}
	assert_int_equal(weft_net_reroute(lan.net), 0);
	assert_non_null(lan.net->tree.plan);
	for (uint32_t sw = 0; sw < lan.net->tree.switch_count; sw++)
		for (uint32_t dst = 0; dst < t->hosts; dst += t->tier[0].radix_down)
			check_cover(&lan, sw, dst, &several);
	lan_close(&lan);
	return several;
}

static void part__all_usable_ways_are_in_some(void **state)
{
	static const char *const topologies[] = {"leafspine:4:4:2", "leafspine:3:3:2:2", "stripe:4:4:2:2:2",
						 "fattree:4",       "vl2:8:4:3:2",       "tree:3:2:2:3:2"};
	uint32_t several = 0;

	for (uint32_t i = 0; i < sizeof topologies / sizeof *topologies; i++)
		for (uint64_t seed = 1; seed <= 8; seed++)
			several += check_random(topologies[i], seed % 2 ? "drill" : "wcmp", seed);
	assert_true(several > 200);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(part__flows_keep_to_theirs),
		cmocka_unit_test(part__figure_5),
		cmocka_unit_test(part__is_remembered_apart),
		cmocka_unit_test(part__ends_with_the_fault),
		cmocka_unit_test(part__off),
		cmocka_unit_test(part__factors_as_asked),
		cmocka_unit_test(wcmp__weighs_paths),
		cmocka_unit_test(wcmp__bundles_count_with_all_cables),
		cmocka_unit_test(wcmp__needs_no_step_among_even),
		cmocka_unit_test(wcmp__cables_down_are_hashed),
		cmocka_unit_test(part__weighs_the_rate_that_routing_knows),
		cmocka_unit_test(wcmp__is_ecmp_among_alike),
		cmocka_unit_test(wcmp__next_to_no_weight),
		cmocka_unit_test(part__all_usable_ways_are_in_some),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
