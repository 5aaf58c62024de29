/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for every way of choosing. */
#include <errno.h>
#include <string.h>

#include "route_box.h"

enum { PKTS = 200 };

/* Those that take route_special without faults. */
static const char *const names[] = {"random", "rr", "adaptive", "drill"};
enum { NAMES = sizeof names / sizeof *names };

/* What leaf 0 of 4:8:8 chose for PKTS packets. */
static void choices(const char *name, uint64_t seed, uint8_t up[PKTS])
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", name, NULL, seed);
	for (uint32_t i = 0; i < PKTS; i++)
		up[i] = (uint8_t)box_choose_up(&lan, 0, i % 8, 8 + i % 24, (uint16_t)i);
	lan_close(&lan);
}

static void special__seed_decides(void **state)
{
	uint8_t first[PKTS], again[PKTS], other[PKTS];

	for (uint32_t i = 0; i < NAMES; i++) {
		choices(names[i], 1, first);
		choices(names[i], 1, again);
		choices(names[i], 2, other);
		assert_memory_equal(first, again, sizeof first);
		assert_memory_not_equal(first, other, sizeof first);
	}
}

/* What another switch forwards leaves the choices of this one as they are. */
static void special__switches_do_not_disturb_each_other(void **state)
{
	for (uint32_t n = 0; n < NAMES; n++) {
		uint8_t alone[PKTS];
		struct lan lan;
		choices(names[n], 1, alone);
		box_open(&lan, "leafspine:4:8:8", names[n], NULL, 1);
		for (uint32_t i = 0; i < PKTS; i++) {
			assert_true(box_choose_up(&lan, 1, 8, 0, (uint16_t)i) < 8);
			assert_int_equal(box_choose_up(&lan, 0, i % 8, 8 + i % 24, (uint16_t)i), alone[i]);
		}
		lan_close(&lan);
	}
}

static void special__down_to_the_host(void **state)
{
	for (uint32_t n = 0; n < NAMES; n++) {
		struct lan lan;
		box_open(&lan, "fattree:4", names[n], NULL, 1);
		for (uint32_t host = 0; host < 2; host++)
			assert_int_equal(box_choose(&lan, 0, 15, host, 3), lan.net->tree.switches[0].first_down + host);
		/* spine 0 of pod 0 behind the eight leaves, core 0 behind the eight spines */
		for (uint32_t host = 0; host < 4; host++)
			assert_int_equal(box_choose(&lan, 8, 15, host, 3),
					 lan.net->tree.switches[8].first_down + host / 2);
		for (uint32_t host = 0; host < 16; host++)
			assert_int_equal(box_choose(&lan, 16, 15, host, 3),
					 lan.net->tree.switches[16].first_down + host / 4);
		lan_close(&lan);
	}
}

static void special__bundles_down(void **state)
{
	for (uint32_t n = 0; n < NAMES; n++) {
		struct lan lan;
		uint32_t count[4] = {0};
		box_open(&lan, "leafspine:4:2:8:4", names[n], NULL, 1);
		uint32_t first = lan.net->tree.switches[4].first_down;
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t cable = box_choose(&lan, 4, 0, 16 + i % 8, (uint16_t)i) - first;
			assert_int_equal(cable / 4, 2);
			count[cable % 4]++;
		}
		check_uniform(count, 4, 4000, 21.1);
		lan_close(&lan);
	}
}

/* Leaf 0 avoids its uplinks 1 and 6, and for hosts below leaf 2 also uplink 3, whose spine lost leaf 2. */
static void avoid_some(struct lan *lan)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, 0, 0, 1, false, &id), 0);
	weft_net_avoid_link(lan->net, id, true);
	assert_int_equal(weft_net_link_find(lan->net, 0, 0, 6, false, &id), 0);
	weft_net_avoid_link(lan->net, id, true);
	assert_int_equal(weft_net_link_find(lan->net, 0, 2, 3, true, &id), 0);
	weft_net_avoid_link(lan->net, id, true);
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

static void special__uniform_over_what_is_left(void **state)
{
	for (uint32_t n = 0; n < NAMES; n++) {
		uint32_t near[8] = {0}, far[8] = {0};
		struct lan lan;
		box_open(&lan, "leafspine:4:8:8", names[n], NULL, 1);
		avoid_some(&lan);
		for (uint32_t i = 0; i < 6000; i++)
			near[box_choose_up(&lan, 0, 0, 8 + i % 8, (uint16_t)i)]++;
		for (uint32_t i = 0; i < 6000; i++)
			far[box_choose_up(&lan, 0, 0, 16 + i % 8, (uint16_t)i)]++;
		assert_int_equal(near[1] + near[6] + far[1] + far[6] + far[3], 0);
		check_uniform((uint32_t[]){near[0], near[2], near[3], near[4], near[5], near[7]}, 6, 6000, 25.7);
		check_uniform((uint32_t[]){far[0], far[2], far[4], far[5], far[7]}, 5, 6000, 23.5);
		lan_close(&lan);
	}
}

static void special__no_way_is_none(void **state)
{
	for (uint32_t n = 0; n < NAMES; n++) {
		struct weft_link_id id;
		struct lan lan;
		box_open(&lan, "leafspine:2:2:2", names[n], NULL, 1);
		for (uint32_t up = 0; up < 2; up++) {
			assert_int_equal(weft_net_link_find(lan.net, 0, 0, up, false, &id), 0);
			weft_net_avoid_link(lan.net, id, true);
		}
		assert_int_equal(weft_net_reroute(lan.net), 0);
		assert_int_equal(box_choose(&lan, 0, 0, 2, 0), PORT_NONE);
		lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 5});
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(lan_stats(&lan).dropped_route, 5);
		lan_close(&lan);
	}
}

/* Routing that avoids nothing any more leaves the choice in force. */
static void special__survives_repair(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	box_open(&lan, "leafspine:4:8:8", "random", NULL, 1);
	box_avoid_up(&lan, 1, true);
	box_avoid_up(&lan, 1, false);
	assert_true(lan.net->special);
	for (uint32_t i = 0; i < 8000; i++)
		count[box_choose_up(&lan, 0, 0, 9, 7)]++;
	check_uniform(count, 8, 8000, 29.9);
	lan_close(&lan);
}

static void special__off_with_ecmp(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "ecmp", NULL, 1);
	assert_false(lan.net->special);
	box_avoid_up(&lan, 1, true);
	assert_true(lan.net->special);
	box_avoid_up(&lan, 1, false);
	assert_false(lan.net->special);
	lan_close(&lan);
}

static size_t too_much(const struct net_tree *tree, uint32_t sw)
{
	return SIZE_MAX / 2;
}

static void special__says_for_what_there_is_no_memory(void **state)
{
	struct weft_route_ops greedy = route_drill;
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};

	greedy.state_bytes = too_much;
	conf.route = &greedy;
	assert_int_equal(lan_refused("leafspine:4:8:8", 50 * UINT64_C(1000000000), conf, &err), -ENOMEM);
	assert_non_null(strstr(err.msg, "MiB that drill keeps in 12 switches"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(special__seed_decides),
		cmocka_unit_test(special__switches_do_not_disturb_each_other),
		cmocka_unit_test(special__down_to_the_host),
		cmocka_unit_test(special__bundles_down),
		cmocka_unit_test(special__uniform_over_what_is_left),
		cmocka_unit_test(special__no_way_is_none),
		cmocka_unit_test(special__survives_repair),
		cmocka_unit_test(special__off_with_ecmp),
		cmocka_unit_test(special__says_for_what_there_is_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
