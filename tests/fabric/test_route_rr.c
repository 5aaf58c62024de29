/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "route_box.h"

/* Takes one round of eight and checks that each way is in it. */
static void take_round(const struct lan *lan, uint32_t sw, uint32_t src, uint32_t dst, uint32_t order[8])
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 8; i++) {
		order[i] = box_choose_up(lan, sw, src, dst, (uint16_t)i);
		seen |= 1u << order[i];
	}
	assert_int_equal(seen, 0xff);
}

static void rr__each_way_once_a_round(void **state)
{
	struct lan lan;
	uint32_t order[8];

	box_open(&lan, "leafspine:4:8:8", "rr", NULL, 1);
	for (uint32_t i = 0; i < 1000; i++)
		take_round(&lan, 0, 0, 9 + i % 20, order);
	lan_close(&lan);
}

static void rr__keeps_an_order_for_its_rounds(void **state)
{
	const struct route_rr_tune tune = {.rounds = 3};
	struct lan lan;
	uint32_t first[8], order[8];

	box_open(&lan, "leafspine:4:8:8", "rr", &tune, 1);
	take_round(&lan, 0, 0, 9, first);
	for (uint32_t i = 0; i < 2; i++) {
		take_round(&lan, 0, 0, 9, order);
		assert_memory_equal(first, order, sizeof order);
	}
	take_round(&lan, 0, 0, 9, order);
	assert_memory_not_equal(first, order, sizeof order);
	lan_close(&lan);
}

static void rr__one_order_for_ever(void **state)
{
	const struct route_rr_tune tune = {.rounds = 0};
	struct lan lan;
	uint32_t first[8], order[8];

	box_open(&lan, "leafspine:4:8:8", "rr", &tune, 1);
	take_round(&lan, 0, 0, 9, first);
	for (uint32_t i = 0; i < 100; i++) {
		take_round(&lan, 0, 0, 9, order);
		assert_memory_equal(first, order, sizeof order);
	}
	lan_close(&lan);
}

static void rr__switches_differ_in_order(void **state)
{
	struct lan lan;
	uint32_t here[8], there[8];

	box_open(&lan, "leafspine:4:8:8", "rr", NULL, 1);
	take_round(&lan, 0, 0, 9, here);
	take_round(&lan, 1, 8, 0, there);
	assert_memory_not_equal(here, there, sizeof here);
	lan_close(&lan);
}

/* A new order puts every way in every place. */
static void rr__orders_are_uniform(void **state)
{
	const struct route_rr_tune tune = {.rounds = 1};
	struct lan lan;
	uint32_t count[64] = {0}, order[8];

	box_open(&lan, "leafspine:4:8:8", "rr", &tune, 1);
	for (uint32_t i = 0; i < 10000; i++) {
		take_round(&lan, 0, 0, 9, order);
		for (uint32_t j = 0; j < 8; j++)
			count[8 * j + order[j]]++;
	}
	check_uniform(count, 64, 80000, 113.5);
	lan_close(&lan);
}

/* Packets up and to either leaf have rounds of their own. */
static void rr__bundles_step_apart(void **state)
{
	struct lan lan;
	uint32_t seen[2] = {0};

	box_open(&lan, "leafspine:2:1:4:4", "rr", NULL, 1);
	const struct net_switch *spine = &lan.net->tree.switches[2];
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t leaf = i % 2, port = box_choose(&lan, 2, 4 - 4 * leaf, 4 * leaf, 0) - spine->first_down;
		assert_int_equal(port / 4, leaf);
		seen[leaf] |= 1u << port % 4;
	}
	assert_int_equal(seen[0], 0xf);
	assert_int_equal(seen[1], 0xf);
	lan_close(&lan);
}

/* Packets of one incoming port turn by turn, whatever the other engines do; orders differ. */
static void rr__engines_take_turns_apart(void **state)
{
	const struct route_rr_tune tune = {.engines = 4};
	struct lan lan;
	uint32_t seen[4] = {0}, same = 0;

	box_open(&lan, "leafspine:4:8:8", "rr", &tune, 1);
	const struct net_switch *leaf = &lan.net->tree.switches[0];
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t up[4];
		for (uint32_t host = 0; host < 4; host++) {
			struct weft_pkt pkt = {.src = weft_net_host_ip(host), .dst = weft_net_host_ip(9)};
			uint32_t from = lan.net->tree.cold[leaf->first_down + host].reverse;
			up[host] = route_forward(&lan.net->tree, from, 9, &pkt, lan.net->evq.now) - leaf->first_up;
			seen[host] |= 1u << up[host];
		}
		same += up[0] == up[1] && up[1] == up[2] && up[2] == up[3];
	}
	for (uint32_t host = 0; host < 4; host++)
		assert_int_equal(seen[host], 0xff);
	assert_true(same < 8);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rr__each_way_once_a_round),    cmocka_unit_test(rr__keeps_an_order_for_its_rounds),
		cmocka_unit_test(rr__one_order_for_ever),       cmocka_unit_test(rr__switches_differ_in_order),
		cmocka_unit_test(rr__orders_are_uniform),       cmocka_unit_test(rr__bundles_step_apart),
		cmocka_unit_test(rr__engines_take_turns_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
