/* SPDX-License-Identifier: BSD-3-Clause */
/* Links, hosts and switches that fail, slow down and damage packets; routing that goes around them. Every packet is
 * counted once. */
#include <errno.h>
#include <math.h>

#include "fault_lan.h"
#include "rng.h"

/* ---- one way ---- */

/* The cable between leaf 0 and spine 0 loses what goes up, or what comes down, and nothing of the other direction. */
static void link_set_up__one_way(void **state)
{
	for (int down = 0; down < 2; down++) {
		struct lan lan;
		open_with_room(&lan, "leafspine:2:1:2");
		weft_net_link_set_up(lan.net, find(&lan, 0, 0, 0, down), false);
		lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 40, .spray = true});
		lan_send(&lan, 0, (struct lan_send){.src = 3, .dst = 1, .count = 30, .spray = true});
		run(&lan);
		assert_int_equal(lan.hosts[2].data, down ? 40 : 0);
		assert_int_equal(lan.hosts[1].data, down ? 0 : 30);
		assert_int_equal(lan_stats(&lan).dropped_down, down ? 30 : 40);
		check_conserved(&lan, 70);
		lan_close(&lan);
	}
}

static void host_link__either_way(void **state)
{
	struct weft_link_id id;

	for (int down = 0; down < 2; down++) {
		struct lan lan;
		open_with_room(&lan, "star:3");
		assert_int_equal(weft_net_host_link(lan.net, 3, down, &id), -ENOENT);
		assert_int_equal(weft_net_host_link(lan.net, 1, down, &id), 0);
		weft_net_link_set_up(lan.net, id, false);
		lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 7});
		lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 1, .count = 5});
		run(&lan);
		assert_int_equal(lan.hosts[0].data, down ? 7 : 0);
		assert_int_equal(lan.hosts[1].data, down ? 0 : 5);
		check_conserved(&lan, 12);
		weft_net_link_set_up(lan.net, id, true);
		weft_ps now = lan.hosts[down ? 0 : 1].last_at;
		lan_send(&lan, now, (struct lan_send){.src = 1, .dst = 0});
		lan_send(&lan, now, (struct lan_send){.src = 2, .dst = 1});
		run(&lan);
		assert_int_equal(lan_data(&lan), 14 - (down ? 5 : 7));
		lan_close(&lan);
	}
}

/* ---- switches ---- */

/* Two senders fill the uplink of leaf 0. When the spine goes, what is on its way to it, waits in it or comes to it is
 * lost; what left it arrives. */
static void switch_set_up__loses_what_it_holds(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:2");
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 200});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 200});
	weft_net_run(lan.net, 1000000 + 100 * LAN_MTU * 10);
	struct weft_port_info spine_down;
	uint32_t port = find(&lan, 0, 1, 0, true).index;
	assert_int_equal(weft_net_switch_set_up(lan.net, 1, 0, false), 0);
	assert_int_equal(weft_net_port_info(lan.net, port, &spine_down), 0);
	assert_string_equal(spine_down.name, "spine0:down1");
	assert_false(spine_down.up);
	assert_int_equal(spine_down.counts.queue_bytes, 0);
	run(&lan);
	/* Nothing after what the spine had sent before. */
	assert_int_equal(lan.hosts[2].data, spine_down.counts.sent_pkts);
	assert_true(lan.hosts[2].data > 0);
	assert_int_equal(lan_stats(&lan).dropped_down, 400 - lan.hosts[2].data);
	check_conserved(&lan, 400);

	assert_int_equal(weft_net_switch_set_up(lan.net, 1, 0, true), 0);
	lan_send(&lan, 2 * lan.hosts[2].last_at, (struct lan_send){.src = 0, .dst = 2, .count = 10});
	run(&lan);
	assert_int_equal(lan.hosts[2].data, spine_down.counts.sent_pkts + 10);
	lan_close(&lan);
}

/* A switch that works is told to: nothing on its cables is lost. */
static void switch_set_up__again(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:2");
	for (uint32_t src = 0; src < 2; src++)
		lan_send(&lan, 0, (struct lan_send){.src = src, .dst = 2, .count = 200});
	weft_net_run(lan.net, 1000000 + 100 * LAN_MTU * 10);
	assert_int_equal(weft_net_switch_set_up(lan.net, 1, 0, true), 0);
	run(&lan);
	assert_int_equal(lan.hosts[2].data, 400);
	check_conserved(&lan, 400);
	lan_close(&lan);
}

static uint64_t sent_by(const struct lan *lan, struct weft_link_id id)
{
	struct weft_port_counts c;

	weft_net_port_counts(lan->net, id.index, &c);
	return c.sent_pkts;
}

/* A switch that is back before they are there has lost the packets on its cables, too. */
static void switch_set_up__at_once(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:2");
	struct weft_link_id up = find(&lan, 0, 0, 0, false), down = find(&lan, 0, 1, 0, true);
	for (uint32_t src = 0; src < 2; src++)
		lan_send(&lan, 0, (struct lan_send){.src = src, .dst = 2, .count = 200});
	weft_net_run(lan.net, WEFT_US(5) * 1000);
	uint64_t to_spine = sent_by(&lan, up), from_spine = sent_by(&lan, down);
	assert_true(to_spine > from_spine);
	assert_int_equal(weft_net_switch_set_up(lan.net, 1, 0, false), 0);
	assert_int_equal(weft_net_switch_set_up(lan.net, 1, 0, true), 0);
	for (uint32_t src = 0; src < 2; src++)
		lan_send(&lan, WEFT_US(5) * 1000, (struct lan_send){.src = src, .dst = 2, .count = 10});
	run(&lan);
	assert_true(sent_by(&lan, up) >= to_spine + 20);
	assert_int_equal(sent_by(&lan, down) - from_spine, sent_by(&lan, up) - to_spine);
	check_conserved(&lan, 420);
	lan_close(&lan);
}

/* A leaf that goes takes its hosts with it, both ways; one that comes back serves them again. */
static void switch_set_up__leaf(void **state)
{
	struct lan lan;

	open_with_room(&lan, "fattree:4");
	assert_int_equal(weft_net_switch_set_up(lan.net, 0, 0, false), 0);
	uint64_t sent = spray_all_pairs(&lan, 4);
	run(&lan);
	assert_int_equal(lan.hosts[0].data + lan.hosts[1].data, 0);
	assert_int_equal(lan_data(&lan), 14 * 13 * 4);
	check_conserved(&lan, sent);
	assert_int_equal(weft_net_switch_set_up(lan.net, 0, 8, false), -ENOENT);
	assert_int_equal(weft_net_switch_set_up(lan.net, 3, 0, false), -ENOENT);
	lan_close(&lan);
}

/* A cable that failed by itself does not come back with the switch, nor a switch's cable by itself. */
static void switch_set_up__keeps_other_reasons(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:1");
	struct weft_link_id up = find(&lan, 0, 0, 0, false);
	weft_net_link_set_up(lan.net, up, false);
	weft_net_switch_set_up(lan.net, 1, 0, false);
	weft_net_switch_set_up(lan.net, 0, 0, false);
	struct weft_port_info info;
	for (int step = 0; step < 3; step++) {
		weft_net_port_info(lan.net, up.index, &info);
		assert_false(info.up);
		if (step == 0)
			weft_net_switch_set_up(lan.net, 1, 0, true);
		else if (step == 1)
			weft_net_link_set_up(lan.net, up, true);
	}
	weft_net_switch_set_up(lan.net, 0, 0, true);
	weft_net_port_info(lan.net, up.index, &info);
	assert_true(info.up);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1});
	run(&lan);
	assert_int_equal(lan.hosts[1].data, 1);
	lan_close(&lan);
}

/* ---- bit errors ---- */

enum { ERROR_PKTS = 20000 };

/* Lost share of packets of `bytes` at a bit error rate, within 4 standard deviations of 1 - (1 - ber)^(8 bytes). */
static void check_errors(uint64_t rate_e18, uint32_t bytes)
{
	double expect = -expm1(8.0 * bytes * log1p(-(double)rate_e18 / 1e18));
	double sd = sqrt(expect * (1 - expect) / ERROR_PKTS);
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:1");
	weft_net_link_set_ber(lan.net, find(&lan, 0, 0, 0, false), rate_e18);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = ERROR_PKTS, .wire_bytes = bytes});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 50});
	run(&lan);
	double share = (double)lan_stats(&lan).dropped_error / ERROR_PKTS;
	if (fabs(share - expect) > 4 * sd)
		fail_msg("%u bytes at %g: %g lost, not %g", bytes, (double)rate_e18 / 1e18, share, expect);
	assert_int_equal(lan_stats(&lan).dropped_down, 0);
	assert_int_equal(lan.hosts[0].data, 50);
	check_conserved(&lan, ERROR_PKTS + 50);
	lan_close(&lan);
}

static void link_set_ber__loss_share(void **state)
{
	check_errors(UINT64_C(10000000000000), LAN_MTU); /* 1e-5: 29 % */
	check_errors(UINT64_C(1000000000000), LAN_MTU);  /* 1e-6: 3.3 % */
	check_errors(UINT64_C(10000000000000), 200);     /* 1e-5: 1.6 % */
	check_errors(UINT64_C(1000000000000000), 200);   /* 1e-3: 80 % */
	check_errors(UINT64_C(100000000000), LAN_MTU);   /* 1e-7: 0.34 % */
}

/* The smallest rate loses next to nothing, no rate nothing, the largest all. */
static void link_set_ber__extremes(void **state)
{
	static const uint64_t rates[] = {1, 0, UINT64_C(1000000000000000000), UINT64_MAX};

	for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct lan lan;
		open_with_room(&lan, "leafspine:2:1:1");
		weft_net_link_set_ber(lan.net, find(&lan, 0, 0, 0, false), UINT64_C(1000000000000));
		weft_net_link_set_ber(lan.net, find(&lan, 0, 0, 0, false), rates[i]);
		lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 1000});
		run(&lan);
		assert_int_equal(lan_data(&lan), i < 2 ? 1000 : 0);
		check_conserved(&lan, 1000);
		lan_close(&lan);
	}
}

/* ---- rates ---- */

static void link_set_bps__and_back(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:1:1");
	struct weft_link_id id = find(&lan, 0, 0, 0, false);
	weft_net_link_set_bps(lan.net, id, GBPS800 / 8);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 100});
	run(&lan);
	weft_ps slow = lan.hosts[1].last_at;
	assert_true(weft_net_link_nominal_bps(lan.net, id) == GBPS800);
	weft_net_link_set_bps(lan.net, id, weft_net_link_nominal_bps(lan.net, id));
	lan_send(&lan, slow, (struct lan_send){.src = 0, .dst = 1, .count = 100});
	run(&lan);
	/* 100 packets at an eighth of the rate or at the rate, behind the same latencies. */
	assert_int_equal(slow - (lan.hosts[1].last_at - slow), 100 * 7 * LAN_MTU * 10);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_set_up__one_way),
		cmocka_unit_test(host_link__either_way),
		cmocka_unit_test(switch_set_up__loses_what_it_holds),
		cmocka_unit_test(switch_set_up__again),
		cmocka_unit_test(switch_set_up__at_once),
		cmocka_unit_test(switch_set_up__leaf),
		cmocka_unit_test(switch_set_up__keeps_other_reasons),
		cmocka_unit_test(link_set_ber__loss_share),
		cmocka_unit_test(link_set_ber__extremes),
		cmocka_unit_test(link_set_bps__and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
