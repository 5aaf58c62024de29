/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "route_box.h"
#include "weft/spi/lb.h"
#include "wire_peek.h"

/* The entropy with these parts. */
static uint16_t entropy_of(const struct lan *lan, uint32_t leaf, uint32_t spine)
{
	uint32_t uplinks[WEFT_LB_PARTS] = {0};
	struct weft_lb_digits d;

	for (uint32_t i = 0; i + 1 < lan->net->tree.topo.tiers; i++)
		uplinks[i] = weft_topo_uplinks(&lan->net->tree.topo, i);
	weft_lb_digits_init(&d, uplinks);
	return (uint16_t)(leaf << d.shift[0] | spine << d.shift[1]);
}

static void digits__two_tiers(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "digits", NULL, 1);
	for (uint32_t up = 0; up < 8; up++)
		for (uint32_t leaf = 0; leaf < 4; leaf++)
			for (uint32_t i = 0; i < 20; i++)
				assert_int_equal(box_choose_up(&lan, leaf, 8 * leaf, (8 * leaf + 9 + i % 8) % 32,
							       (uint16_t)(up + 8 * i)),
						 up);
	lan_close(&lan);
}

/* Switches of other tiers do not see the part. fattree:8: 32 leaves, 32 spines, 16 cores. */
static void digits__three_tiers(void **state)
{
	struct lan lan;

	box_open(&lan, "fattree:8", "digits", NULL, 1);
	for (uint32_t leaf = 0; leaf < 4; leaf++)
		for (uint32_t spine = 0; spine < 4; spine++) {
			uint16_t ev = entropy_of(&lan, leaf, spine);
			assert_int_equal(ev, leaf + 4 * spine);
			assert_int_equal(box_choose_up(&lan, 0, 0, 127, ev), leaf);
			assert_int_equal(box_choose_up(&lan, 31, 127, 0, ev), leaf);
			assert_int_equal(box_choose_up(&lan, 32, 0, 127, ev), spine);
			assert_int_equal(box_choose_up(&lan, 63, 127, 0, ev), spine);
		}
	lan_close(&lan);
}

/* Three uplinks take two bits: values beyond them begin anew. */
static void digits__uplinks_that_are_no_power_of_two(void **state)
{
	struct lan lan;

	box_open(&lan, "tree:4:4:24:3:4", "digits", NULL, 1);
	for (uint32_t ev = 0; ev < 16; ev++) {
		assert_int_equal(box_choose_up(&lan, 0, 0, 383, (uint16_t)ev), ev % 4 % 3);
		assert_int_equal(box_choose_up(&lan, 16, 0, 383, (uint16_t)ev), ev / 4);
	}
	lan_close(&lan);
}

/* Up, each cable has a value of its own; down, the cables of a bundle are hashed. */
static void digits__bundles(void **state)
{
	struct lan lan;
	uint32_t count[4] = {0};

	box_open(&lan, "leafspine:4:2:8:4", "digits", NULL, 1);
	for (uint32_t up = 0; up < 8; up++)
		assert_int_equal(box_choose_up(&lan, 0, 0, 9, (uint16_t)up), up);
	uint32_t first = lan.net->tree.switches[4].first_down;
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t cable = box_choose(&lan, 4, 0, 16 + i % 8, (uint16_t)i) - first;
		assert_int_equal(cable / 4, 2);
		count[cable % 4]++;
	}
	check_uniform(count, 4, 4000, 21.1);
	lan_close(&lan);
}

static void digits__left_out_ports_are_spread(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	box_open(&lan, "leafspine:4:8:8", "digits", NULL, 1);
	box_avoid_up(&lan, 3, true);
	for (uint32_t i = 0; i < 56000; i++) {
		uint32_t up = box_choose_up(&lan, 0, i / 8 % 8, 8 + i / 64 % 24, (uint16_t)i);
		if (i % 8 != 3)
			assert_int_equal(up, i % 8);
		else
			count[up]++;
	}
	assert_int_equal(count[3], 0);
	check_uniform((uint32_t[]){count[0], count[1], count[2], count[4], count[5], count[6], count[7]}, 7, 7000,
		      27.9);
	lan_close(&lan);
}

/* One connection's packets with one entropy take turns, too: its share of the lost port does not settle on another. */
static void digits__left_out_ports_take_turns(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	box_open(&lan, "leafspine:4:8:8", "digits", NULL, 1);
	box_avoid_up(&lan, 3, true);
	for (uint32_t i = 0; i < 70; i++)
		count[box_choose_up(&lan, 0, 1, 9, 3)]++;
	for (uint32_t up = 0; up < 8; up++)
		assert_int_equal(count[up], up == 3 ? 0 : 10);
	lan_close(&lan);
}

/* Ordered packets go where the switches of ECMP send them, whatever digits their entropies would be. */
static void digits__ordered_packets_are_hashed(void **state)
{
	struct lan digits, ecmp;
	uint32_t as_digit = 0;

	box_open(&digits, "fattree:8", "digits", NULL, 1);
	box_open(&ecmp, "fattree:8", "ecmp", NULL, 1);
	for (uint32_t i = 0; i < 4000; i++) {
		struct weft_pkt pkt = {
			.src = weft_net_host_ip(i % 4), .entropy = (uint16_t)i, .dscp = WIRE_DSCP_ORDERED};
		for (uint32_t tier = 0; tier < 2; tier++)
			assert_int_equal(box_forward(&digits, 32 * tier, 127, pkt),
					 box_forward(&ecmp, 32 * tier, 127, pkt));
		as_digit += box_forward(&digits, 0, 127, pkt) == box_choose(&digits, 0, i % 4, 127, pkt.entropy);
	}
	assert_in_range(as_digit, 800, 1200);
	lan_close(&digits);
	lan_close(&ecmp);
}

static void no_pkt(void *arg, struct weft_pkt *pkt)
{
	fail_msg("nothing was sent");
}

/* 512 spines and 256 cores above each are 17 bits. */
static void digits__too_many_for_an_entropy(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_err err = {""};
	struct weft_topo topo;
	struct weft_net *net;

	conf.route = &route_digits;
	conf.free_pkt = no_pkt;
	assert_int_equal(weft_topo_preset("tree:1:1:2:512:256", UINT64_C(100000000000), &topo, &err), 0);
	assert_int_equal(weft_net_create(&conf, &topo, 0, &net, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "256 uplinks of a spine"));
}

/* Every packet of a round over all digits goes its own way through the whole tree and arrives. */
static void digits__rounds_load_all_cores_alike(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.route = &route_digits;
	lan_open(&lan, "fattree:4", UINT64_C(100000000000), conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 15, .count = 400, .spray = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(&lan), 400);
	for (uint32_t core = 16; core < 20; core++)
		assert_int_equal(lan.net->tree.ports[lan.net->tree.switches[core].first_down + 3].sent_pkts, 100);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits__two_tiers),
		cmocka_unit_test(digits__ordered_packets_are_hashed),
		cmocka_unit_test(digits__three_tiers),
		cmocka_unit_test(digits__uplinks_that_are_no_power_of_two),
		cmocka_unit_test(digits__bundles),
		cmocka_unit_test(digits__left_out_ports_are_spread),
		cmocka_unit_test(digits__left_out_ports_take_turns),
		cmocka_unit_test(digits__too_many_for_an_entropy),
		cmocka_unit_test(digits__rounds_load_all_cores_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
