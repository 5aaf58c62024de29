/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "route_box.h"

enum { SAMPLES = 8000 };

static void open_entering(struct lan *lan, uint32_t choices, uint32_t memory, uint32_t engines, uint32_t enter_pct)
{
	const struct route_drill_tune tune = {choices, memory, engines, enter_pct, QUIVER_OWN, 1};

	box_open(lan, "leafspine:4:8:8", "drill", &tune, 1);
}

static void open_drill(struct lan *lan, uint32_t choices, uint32_t memory, uint32_t engines)
{
	open_entering(lan, choices, memory, engines, 0);
}

static struct net_port *uplink(const struct lan *lan, uint32_t up)
{
	return &lan->net->tree.ports[lan->net->tree.switches[0].first_up + up];
}

static void fill_all(const struct lan *lan, uint32_t bytes)
{
	for (uint32_t i = 0; i < 8; i++)
		uplink(lan, i)->data_bytes = bytes;
}

/* What leaf 0 takes for a packet of `bytes` from host `src`, as a number among its uplinks. */
static uint32_t choose_from(const struct lan *lan, uint32_t src, uint16_t bytes)
{
	struct weft_pkt pkt = {.src = weft_net_host_ip(src), .dst = weft_net_host_ip(9), .wire_bytes = bytes};

	return route_forward(&lan->net->tree, src, 9, &pkt, lan->net->evq.now) - lan->net->tree.switches[0].first_up;
}

static void drill__one_choice_is_random(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	open_drill(&lan, 1, 0, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 3)->data_bytes = 0;
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[choose_from(&lan, 0, 0)]++;
	check_uniform(count, 8, SAMPLES, 29.9);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Of eight ports that differ, the k-th best wins when it is drawn and none of the k - 1 better: of two, (8 - k) / 28.
 */
static void drill__two_choices_take_the_better(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};
	double chi2 = 0;

	open_drill(&lan, 2, 0, 1);
	for (uint32_t i = 0; i < 8; i++)
		uplink(&lan, i)->data_bytes = 1000 * i;
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[choose_from(&lan, 0, 0)]++;
	assert_int_equal(count[7], 0);
	for (uint32_t i = 0; i < 7; i++) {
		double expect = SAMPLES * (7 - i) / 28.0;
		chi2 += (count[i] - expect) * (count[i] - expect) / expect;
	}
	assert_true(chi2 < 27.9);
	fill_all(&lan, 0);
	lan_close(&lan);
}

static void drill__ties_are_uniform(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	open_drill(&lan, 8, 0, 1);
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[choose_from(&lan, 0, 0)]++;
	check_uniform(count, 8, SAMPLES, 29.9);
	lan_close(&lan);
}

/* With memory the best is found sooner or later, and then kept. */
static void drill__remembers_the_best(void **state)
{
	struct lan lan;
	uint32_t i = 0;

	open_drill(&lan, 1, 1, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 5)->data_bytes = 0;
	while (choose_from(&lan, 0, 0) != 5)
		assert_true(i++ < 200);
	for (i = 0; i < 200; i++)
		assert_int_equal(choose_from(&lan, 0, 0), 5);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* The two best are known after a while: when the first is no longer it, the second is taken at once. */
static void drill__remembers_the_second_best(void **state)
{
	struct lan lan;

	open_drill(&lan, 1, 2, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 5)->data_bytes = 0;
	uplink(&lan, 3)->data_bytes = 10;
	for (uint32_t i = 0; i < 200; i++)
		choose_from(&lan, 0, 0);
	uplink(&lan, 5)->data_bytes = 5000;
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(choose_from(&lan, 0, 0), 3);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* With as many choices and as much memory as parameters allow, more than there are ports, the best is always found; of
 * those that are left, too. */
static void drill__more_choices_and_memory_than_ports(void **state)
{
	struct lan lan;

	open_drill(&lan, 32, 32, 1);
	for (uint32_t i = 0; i < 400; i++) {
		if (i == 200)
			for (uint32_t up = 4; up < 8; up++)
				box_avoid_up(&lan, up, true);
		uint32_t best = i < 200 ? i % 8 : i % 4;
		fill_all(&lan, 1000);
		uplink(&lan, best)->data_bytes = 0;
		assert_int_equal(choose_from(&lan, 0, 0), best);
	}
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* A remembered port that routing leaves out is not taken, and comes back as any other. */
static void drill__remembered_port_goes_and_returns(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	open_drill(&lan, 1, 1, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 5)->data_bytes = 0;
	for (uint32_t i = 0; i < 200; i++)
		choose_from(&lan, 0, 0);
	box_avoid_up(&lan, 5, true);
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[choose_from(&lan, 0, 0)]++;
	assert_int_equal(count[5], 0);
	for (uint32_t up = 0; up < 8; up++)
		assert_true(up == 5 || count[up] > 0);
	box_avoid_up(&lan, 5, false);
	for (uint32_t i = 0; i < 200; i++)
		choose_from(&lan, 0, 0);
	assert_int_equal(choose_from(&lan, 0, 0), 5);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Cables down to one leaf are remembered apart from those to another: a spine has four to each. */
static void drill__groups_are_remembered_apart(void **state)
{
	const struct route_drill_tune tune = {1, 1, 1, 0, QUIVER_OWN, 1};
	struct lan lan;

	box_open(&lan, "leafspine:4:2:8:4", "drill", &tune, 1);
	uint32_t first = lan.net->tree.switches[4].first_down;
	for (uint32_t port = 0; port < 16; port++)
		lan.net->tree.ports[first + port].data_bytes = port % 4 == port / 4 ? 0 : 1000;
	for (uint32_t i = 0; i < 400; i++)
		box_choose(&lan, 4, 0, i % 4 * 8, 0);
	for (uint32_t i = 0; i < 400; i++)
		assert_int_equal(box_choose(&lan, 4, 0, i % 4 * 8, 0) - first, i % 4 * 5);
	for (uint32_t port = 0; port < 16; port++)
		lan.net->tree.ports[first + port].data_bytes = 0;
	lan_close(&lan);
}

/* Hosts 0 and 2 come in over ports of engine 0 of two, host 1 over one of engine 1. */
static void drill__engines_remember_apart(void **state)
{
	struct lan lan;
	uint32_t i = 0, fives = 0;

	open_drill(&lan, 1, 1, 2);
	fill_all(&lan, 1000);
	uplink(&lan, 5)->data_bytes = 0;
	while (choose_from(&lan, 0, 0) != 5)
		assert_true(i++ < 200);
	assert_int_equal(choose_from(&lan, 2, 0), 5);
	fives = choose_from(&lan, 1, 0) == 5;
	assert_int_equal(fives, 0); /* one in eight, by this seed not */
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* A packet of 1,250 bytes, 100 ns at 100 Gb/s, is not seen by any engine for so many ps. */
static void check_hidden(uint32_t engines, uint32_t enter_pct, weft_ps ps)
{
	struct lan lan;

	open_entering(&lan, 8, 0, engines, enter_pct);
	for (uint32_t i = 0; i < 3; i++)
		weft_net_wake(lan.net, i, (const weft_ps[]){1000000, 1000000 + ps - 1, 1000000 + ps}[i]);
	weft_net_run(lan.net, 1000000);
	fill_all(&lan, 1000);
	uplink(&lan, 2)->data_bytes = 0;
	assert_int_equal(choose_from(&lan, 0, 1250), 2);
	uplink(&lan, 2)->data_bytes = 1250;
	weft_net_run(lan.net, 1000000 + ps - 1);
	assert_int_equal(choose_from(&lan, 0, 0), 2);
	weft_net_run(lan.net, 1000000 + ps);
	assert_int_not_equal(choose_from(&lan, 0, 0), 2);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* An engine's turn: the time of one packet over 16 ports, as often as there are engines, one per port at most. */
static void drill__entering_packets_are_hidden(void **state)
{
	check_hidden(1, 0, 6250);
	check_hidden(8, 0, 50000);
	check_hidden(16, 0, 100000);
	check_hidden(48, 0, 100000);
	check_hidden(1, 100, 100000);
	check_hidden(16, 10, 10000);
}

/* By the rate of the queue it enters: here 40 Gb/s of an uplink and 100 of all else, 100 %. */
static void drill__entering_takes_its_ports_time(void **state)
{
	const struct route_drill_tune tune = {8, 0, 1, 100, QUIVER_PAIRS, 0};
	struct weft_link_id slow;
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "drill", &tune, 1);
	assert_int_equal(weft_net_link_find(lan.net, 0, 0, 2, false, &slow), 0);
	weft_net_link_set_bps(lan.net, slow, UINT64_C(40000000000));
	fill_all(&lan, 1000);
	uplink(&lan, 2)->data_bytes = 0;
	assert_int_equal(choose_from(&lan, 0, 1250), 2);
	uplink(&lan, 2)->data_bytes = 1250;
	weft_net_wake(lan.net, 0, 249999);
	weft_net_wake(lan.net, 1, 250000);
	weft_net_run(lan.net, 249999);
	assert_int_equal(choose_from(&lan, 0, 0), 2);
	weft_net_run(lan.net, 250000);
	assert_int_not_equal(choose_from(&lan, 0, 0), 2);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* What was dropped on entering never shows: the queue is empty, not fuller than all others. */
static void drill__hidden_packet_was_dropped(void **state)
{
	struct lan lan;

	open_drill(&lan, 8, 0, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 2)->data_bytes = 0;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(choose_from(&lan, 0, 1250), 2);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* More packets than the switch keeps apart, 64: the oldest are taken to be in, so that no queue gets farther ahead. */
static void drill__many_entering_at_once(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	open_entering(&lan, 8, 0, 1, 100);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t up = choose_from(&lan, 0, 1250);
		uplink(&lan, up)->data_bytes += 1250;
		count[up]++;
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_in_range(count[i], 125 - 64, 125 + 64);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Per flow, the first packet decides; after a silence the next one does again. */
static void drill_flow__stays(void **state)
{
	const struct route_drill_tune tune = {
		.choices = 8, .engines = 1, .components = 1, .idle_us = 10, .flows = 1024};
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "drill_flow", &tune, 1);
	fill_all(&lan, 1000);
	uplink(&lan, 2)->data_bytes = 0;
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 1), 2);
	fill_all(&lan, 1000);
	uplink(&lan, 5)->data_bytes = 0;
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(box_choose_up(&lan, 0, 0, 9, 1), 2);
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 2), 5);
	assert_int_equal(box_choose_up(&lan, 0, 1, 9, 1), 5);
	weft_net_wake(lan.net, 0, 10000001);
	weft_net_run(lan.net, 10000001);
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 1), 5);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* A flow that goes on sending stays, for however long. */
static void drill_flow__stays_while_it_sends(void **state)
{
	const struct route_drill_tune tune = {
		.choices = 8, .engines = 1, .components = 1, .idle_us = 10, .flows = 1024};
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "drill_flow", &tune, 1);
	for (uint32_t i = 0; i < 20; i++) {
		weft_net_wake(lan.net, 0, (i + 1) * UINT64_C(6000000));
		weft_net_run(lan.net, (i + 1) * UINT64_C(6000000));
		fill_all(&lan, 1000);
		uplink(&lan, i ? 5 : 2)->data_bytes = 0;
		assert_int_equal(box_choose_up(&lan, 0, 0, 9, 1), 2);
	}
	fill_all(&lan, 0);
	lan_close(&lan);
}

static void drill_flow__leaves_what_is_avoided(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "drill_flow", NULL, 1);
	uint32_t up = box_choose_up(&lan, 0, 0, 9, 1);
	box_avoid_up(&lan, up, true);
	uint32_t other = box_choose_up(&lan, 0, 0, 9, 1);
	assert_int_not_equal(other, up);
	box_avoid_up(&lan, up, false);
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 1), other);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(drill__one_choice_is_random),
		cmocka_unit_test(drill__two_choices_take_the_better),
		cmocka_unit_test(drill__ties_are_uniform),
		cmocka_unit_test(drill__remembers_the_best),
		cmocka_unit_test(drill__remembers_the_second_best),
		cmocka_unit_test(drill__more_choices_and_memory_than_ports),
		cmocka_unit_test(drill__remembered_port_goes_and_returns),
		cmocka_unit_test(drill__groups_are_remembered_apart),
		cmocka_unit_test(drill__engines_remember_apart),
		cmocka_unit_test(drill__entering_packets_are_hidden),
		cmocka_unit_test(drill__entering_takes_its_ports_time),
		cmocka_unit_test(drill__hidden_packet_was_dropped),
		cmocka_unit_test(drill__many_entering_at_once),
		cmocka_unit_test(drill_flow__stays),
		cmocka_unit_test(drill_flow__stays_while_it_sends),
		cmocka_unit_test(drill_flow__leaves_what_is_avoided),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
