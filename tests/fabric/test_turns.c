/* SPDX-License-Identifier: BSD-3-Clause */
/* What routing tells hosts of unlike paths: which are left, and how often each has its turn. */
#include "turns.h"

#include <stdlib.h>

#include "rng.h"
#include "route_box.h"

enum { EVS = 1 << 10 }; /* no topology here has entropies beyond */

/* ---- turns by weight ---- */

static void count_turns(const struct weft_lb_turns *t, uint32_t count[EVS])
{
	for (uint32_t ev = 0; ev < EVS; ev++)
		count[ev] = 0;
	for (uint32_t i = 0; t && i < t->count; i++) {
		assert_true(t->ev[i] < EVS);
		count[t->ev[i]]++;
	}
}

static void create__equal_weights_are_round_robin(void **state)
{
	const struct turns_way ways[] = {{700, 9}, {700, 2}, {700, 5}};
	struct weft_lb_turns *t = turns_create(ways, 3);

	assert_int_equal(t->count, 3);
	assert_int_equal(t->ev[0], 2);
	assert_int_equal(t->ev[1], 5);
	assert_int_equal(t->ev[2], 9);
	free(t);
}

static void create__counts_are_the_weights(void **state)
{
	const struct turns_way ways[] = {{10, 0}, {25, 1}, {100, 2}, {5, 3}};
	struct weft_lb_turns *t = turns_create(ways, 4);
	uint32_t count[EVS];

	assert_int_equal(t->count, 28);
	count_turns(t, count);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(count[i] * 5, ways[i].weight);
	free(t);
}

/* No stretch of turns, however it lies, gives a path more than its share and two turns, or less by that. */
static void create__turns_are_spread(void **state)
{
	const struct turns_way ways[] = {{1, 0}, {2, 1}, {3, 2}, {7, 3}, {7, 4}};
	struct weft_lb_turns *t = turns_create(ways, 5);

	assert_int_equal(t->count, 20);
	for (uint32_t way = 0; way < 5; way++)
		for (uint32_t first = 0; first < t->count; first++)
			for (uint32_t n = 1, seen = 0; n <= t->count; n++) {
				seen += t->ev[(first + n - 1) % t->count] == way;
				assert_true(20 * seen <= n * ways[way].weight + 40);
				assert_true(20 * seen + 40 >= n * ways[way].weight);
			}
	free(t);
}

static void create__long_periods_are_rounded(void **state)
{
	const struct turns_way ways[] = {{UINT64_C(1) << 60, 0}, {(UINT64_C(1) << 59) + 1, 1}, {1, 2}};
	struct weft_lb_turns *t = turns_create(ways, 3);
	uint32_t count[EVS];

	count_turns(t, count);
	assert_in_range(t->count, TURNS_MAX, TURNS_MAX + 3);
	assert_in_range(count[0], 2 * TURNS_MAX / 3, 2 * TURNS_MAX / 3 + 1);
	assert_in_range(count[1], TURNS_MAX / 3, TURNS_MAX / 3 + 1);
	assert_int_equal(count[2], 1);
	free(t);
}

/* ---- paths of a fabric ---- */

static const struct weft_lb_turns *turns_of(const struct lan *lan, uint32_t src, uint32_t dst)
{
	const struct weft_lb_turns *t;

	assert_int_equal(weft_net_turns(lan->net, src, dst, &t), 0);
	return t;
}

/* Routing stops to use the link `up` of a switch, up or down. */
static void avoid_link(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool down)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, tier, sw, up, down, &id), 0);
	weft_net_avoid_link(lan->net, id, true);
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

/* The turns are entropies `evs`, which end with EVS, with `weights` among them. */
static void check_turns(const struct lan *lan, uint32_t src, uint32_t dst, const uint32_t *evs, const uint32_t *weights)
{
	const struct weft_lb_turns *t = turns_of(lan, src, dst);
	uint32_t count[EVS], sum = 0;

	assert_non_null(t);
	count_turns(t, count);
	for (uint32_t i = 0; evs[i] < EVS; i++) {
		assert_int_equal(count[evs[i]], weights[i]);
		sum += weights[i];
	}
	assert_int_equal(t->count, sum);
}

static void turns__none_where_all_is_alike(void **state)
{
	static const char *const topologies[] = {"leafspine:4:4:2", "fattree:4", "vl2:8:4:4:2", "star:4"};

	for (uint32_t i = 0; i < 4; i++) {
		struct lan lan;
		box_open(&lan, topologies[i], "digits", NULL, 1);
		for (uint32_t dst = 0; dst < lan.net->tree.topo.hosts; dst++)
			assert_null(turns_of(&lan, 0, dst));
		lan_close(&lan);
	}
}

static void turns__a_failed_uplink_has_none(void **state)
{
	static const uint32_t evs[] = {0, 1, 3, EVS}, ones[] = {1, 1, 1};
	struct lan lan;

	box_open(&lan, "leafspine:4:4:2", "digits", NULL, 1);
	box_avoid_up(&lan, 2, true);
	for (uint32_t dst = 2; dst < 8; dst++)
		check_turns(&lan, 1, dst, evs, ones);
	assert_null(turns_of(&lan, 1, 0)); /* below one leaf */
	assert_null(turns_of(&lan, 2, 0)); /* the cable's other direction is left */
	assert_null(turns_of(&lan, 2, 6));
	assert_null(turns_of(&lan, 2, 8)); /* no such host */
	box_avoid_up(&lan, 2, false);
	assert_null(turns_of(&lan, 1, 2));
	lan_close(&lan);
}

/* Towards a leaf that a spine has no cable to, that spine has no turn. */
static void turns__nor_has_what_leads_to_a_failed_downlink(void **state)
{
	static const uint32_t evs[] = {1, 2, 3, EVS}, ones[] = {1, 1, 1};
	struct lan lan;

	box_open(&lan, "leafspine:4:4:2", "digits", NULL, 1);
	avoid_link(&lan, 0, 3, 0, true);
	check_turns(&lan, 0, 7, evs, ones);
	assert_null(turns_of(&lan, 0, 2));
	assert_null(turns_of(&lan, 7, 0));
	lan_close(&lan);
}

/* Leaf i has three cables to spine i. From leaf 0 to leaf 1 every spine carries what one cable does, and three cables
 * to spine 0 share that. */
static void turns__weigh_imbalanced_striping(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, 4, 5, EVS}, weights[] = {1, 1, 1, 3, 3, 3};
	struct lan lan;

	box_open(&lan, "stripe:4:4:2:1:3", "digits", NULL, 1);
	check_turns(&lan, 0, 2, evs, weights);
	lan_close(&lan);
}

/* DRILL's figure 13, smaller: neighbours share a spine to which both have two cables. */
static void turns__weigh_what_two_leaves_have_in_common(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, 4, 5, EVS}, weights[] = {1, 1, 2, 2, 2, 2};
	struct lan lan;

	box_open(&lan, "stripe:4:4:2:2:2", "digits", NULL, 1);
	check_turns(&lan, 0, 2, evs, weights);
	lan_close(&lan);
}

/* A bundle of four that lost one cable carries three quarters, over three entropies. */
static void turns__weigh_bundles_by_what_is_left(void **state)
{
	static const uint32_t evs[] = {0, 1, 3, 4, 5, 6, 7, EVS}, ones[] = {1, 1, 1, 1, 1, 1, 1};
	static const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, EVS}, shares[] = {3, 3, 3, 3, 4, 4, 4, 4};
	struct lan lan;

	box_open(&lan, "leafspine:2:2:2:4", "digits", NULL, 1);
	box_avoid_up(&lan, 2, true);
	check_turns(&lan, 0, 2, evs, ones);
	box_avoid_up(&lan, 2, false);
	avoid_link(&lan, 0, 1, 0, true);
	check_turns(&lan, 0, 2, all, shares);
	lan_close(&lan);
}

/* A link of 40 among three of 10 Gb/s. */
static void turns__weigh_rates(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, EVS}, weights[] = {4, 1, 1};
	struct weft_topo topo;
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	assert_int_equal(weft_topo_preset("leafspine:2:3:2", UINT64_C(10000000000), &topo, NULL), 0);
	for (uint32_t leaf = 0; leaf < 2; leaf++)
		topo.link[topo.link_count++] = (struct weft_topo_link){.bps = UINT64_C(40000000000), .sw = leaf};
	lan_open_topo(&lan, &topo, conf);
	check_turns(&lan, 0, 2, evs, weights);
	lan_close(&lan);
}

/* What routing knows of a link's rate counts, not what it has. One cable of a bundle of two has a quarter: the bundle
 * has five eighths of the other, and its cables share that 1 : 4. */
static void turns__weigh_rates_that_routing_knows(void **state)
{
	static const uint32_t evs[] = {0, 1, 2, 3, EVS}, weights[] = {1, 4, 4, 4};
	const uint64_t quarter = BOX_BPS_GBPS * UINT64_C(1000000000) / 4;
	struct weft_link_id id;
	struct lan lan;

	box_open(&lan, "leafspine:2:2:2:2", "digits", NULL, 1);
	assert_int_equal(weft_net_link_find(lan.net, 0, 0, 0, false, &id), 0);
	weft_net_link_set_bps(lan.net, id, quarter);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	assert_null(turns_of(&lan, 0, 2));
	weft_net_route_bps(lan.net, id, quarter);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	check_turns(&lan, 0, 2, evs, weights);
	assert_null(turns_of(&lan, 2, 0)); /* the other direction */
	weft_net_route_bps(lan.net, id, 4 * quarter);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	assert_null(turns_of(&lan, 0, 2));
	lan_close(&lan);
}

/* Cables whose rates have little in common: weights are rounded, and all of them have turns. */
static void turns__weigh_odd_rates(void **state)
{
	struct weft_link_id id;
	uint32_t count[EVS];
	struct lan lan;

	box_open(&lan, "tree:2:2:8:8:8", "digits", NULL, 1);
	for (uint32_t up = 0; up < 8; up++) {
		assert_int_equal(weft_net_link_find(lan.net, 0, 0, up, false, &id), 0);
		weft_net_route_bps(lan.net, id, UINT64_C(99991000000) - up * UINT64_C(9973000000));
		assert_int_equal(weft_net_link_find(lan.net, 1, up, up, false, &id), 0);
		weft_net_route_bps(lan.net, id, UINT64_C(17) << up);
	}
	assert_int_equal(weft_net_reroute(lan.net), 0);
	const struct weft_lb_turns *t = turns_of(&lan, 0, 31);
	assert_non_null(t);
	count_turns(t, count);
	assert_in_range(t->count, TURNS_MAX - 64, TURNS_MAX + 64);
	for (uint32_t leaf = 0; leaf < 8; leaf++)
		for (uint32_t spine = 0; spine < 8; spine++) {
			double share = (99991.0 - 9973.0 * leaf) / (7 * (8 * 99991.0 - 28 * 9973.0));
			double turns = count[leaf + 8 * spine];
			if (leaf == spine)
				assert_true(turns == 1); /* of 1 Mb/s */
			else
				assert_true(turns > share * t->count - 1.5 && turns < share * t->count + 1.5);
		}
	lan_close(&lan);
}

/* fattree:4: two uplinks at leaves and at spines, the leaves' digit lowest. Spine 0 of pod 0 loses its first core: that
 * core's path is out, the others have equal turns, and the spine gets one of three. */
static void turns__three_tiers(void **state)
{
	static const uint32_t evs[] = {1, 2, 3, EVS}, ones[] = {1, 1, 1};
	struct lan lan;

	box_open(&lan, "fattree:4", "digits", NULL, 1);
	avoid_link(&lan, 1, 0, 0, false);
	check_turns(&lan, 0, 15, evs, ones);
	assert_null(turns_of(&lan, 0, 2)); /* within the pod */
	assert_null(turns_of(&lan, 15, 0));
	lan_close(&lan);
}

/* ---- against the switches, whatever has failed ---- */

/* The switches send a packet of this entropy where it says, all the way up. */
static bool is_intact(const struct lan *lan, uint32_t src, uint32_t dst, uint16_t ev, const struct weft_lb_digits *d)
{
	const struct weft_net *net = lan->net;
	uint32_t per_leaf = net->tree.topo.tier[0].radix_down, sw = src / per_leaf, tier = 0;

	while (dst - net->tree.switches[sw].low >= net->tree.switches[sw].span) {
		const struct net_switch *s = &net->tree.switches[sw];
		uint32_t digit = weft_lb_digit(d, ev, tier++);
		if (digit >= s->up_cables)
			return false;
		if (net->tree.routes && !route_usable(&net->tree, s->first_up + digit, dst / per_leaf))
			return false;
		assert_int_equal(box_choose_up(lan, sw, src, dst, ev), digit);
		sw = net->tree.ports[s->first_up + digit].peer;
	}
	for (; tier < WEFT_LB_PARTS; tier++)
		if (weft_lb_digit(d, ev, tier))
			return false; /* another one says the same */
	uint32_t leaf = dst / per_leaf;
	return !net->tree.routes || sw < net->tree.topo.tier[0].switches ||
	       net->tree.routes->reach[(size_t)(sw - net->tree.topo.tier[0].switches) * net->tree.routes->row_words +
				       leaf / 64] >>
			       leaf % 64 &
		       1;
}

static void check_pair(const struct lan *lan, uint32_t src, uint32_t dst, uint32_t *unlike)
{
	const struct weft_lb_turns *t = turns_of(lan, src, dst);
	struct weft_lb_digits d;
	uint32_t count[EVS], evs, intact = 0, all, pod_hosts = lan->net->tree.topo.pod_hosts;

	weft_topo_digits(&lan->net->tree.topo, &d);
	evs = 1u << (d.bits[0] + d.bits[1] + d.bits[2]);
	all = d.values[0] * (src / pod_hosts == dst / pod_hosts ? 1 : d.values[1]);
	assert_true(evs <= EVS);
	count_turns(t, count);
	for (uint32_t ev = 0; ev < evs; ev++) {
		bool is = is_intact(lan, src, dst, (uint16_t)ev, &d);
		assert_true(!t || is == (count[ev] > 0));
		intact += is;
	}
	*unlike += t != NULL;
	assert_true(t || intact == 0 || intact == all);
}

static void check_failures(const char *topology, uint64_t seed)
{
	struct rng rng = {seed};
	uint32_t unlike = 0;
	struct lan lan;

	box_open(&lan, topology, "digits", NULL, seed);
	uint32_t hosts = lan.net->tree.topo.hosts;
	for (uint32_t round = 0; round < 6; round++) {
		uint32_t tier = rng_below(&rng, lan.net->tree.topo.tiers - 1);
		uint32_t sw = rng_below(&rng, lan.net->tree.topo.tier[tier].switches);
		avoid_link(&lan, tier, sw, rng_below(&rng, 2), round % 2);
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t src = rng_below(&rng, hosts), dst = rng_below(&rng, hosts);
			if (src / lan.net->tree.topo.tier[0].radix_down != dst / lan.net->tree.topo.tier[0].radix_down)
				check_pair(&lan, src, dst, &unlike);
		}
	}
	assert_true(unlike > 0);
	lan_close(&lan);
}

static void turns__are_the_paths_that_are_left(void **state)
{
	static const char *const topologies[] = {"leafspine:4:4:2", "leafspine:3:2:2:2", "stripe:4:4:2:2:2",
						 "fattree:4",       "fattree:8",         "vl2:8:4:4:2"};

	for (uint32_t i = 0; i < 6; i++)
		for (uint64_t seed = 1; seed < 6; seed++)
			check_failures(topologies[i], seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__equal_weights_are_round_robin),
		cmocka_unit_test(create__counts_are_the_weights),
		cmocka_unit_test(create__turns_are_spread),
		cmocka_unit_test(create__long_periods_are_rounded),
		cmocka_unit_test(turns__none_where_all_is_alike),
		cmocka_unit_test(turns__a_failed_uplink_has_none),
		cmocka_unit_test(turns__nor_has_what_leads_to_a_failed_downlink),
		cmocka_unit_test(turns__weigh_imbalanced_striping),
		cmocka_unit_test(turns__weigh_what_two_leaves_have_in_common),
		cmocka_unit_test(turns__weigh_bundles_by_what_is_left),
		cmocka_unit_test(turns__weigh_rates),
		cmocka_unit_test(turns__weigh_rates_that_routing_knows),
		cmocka_unit_test(turns__weigh_odd_rates),
		cmocka_unit_test(turns__three_tiers),
		cmocka_unit_test(turns__are_the_paths_that_are_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
