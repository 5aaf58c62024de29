/* SPDX-License-Identifier: BSD-3-Clause */
/* Links, hosts and switches that fail, slow down and damage packets; routing that goes around them. Every packet is
 * delivered or dropped by a named counter. */
#include <errno.h>
#include <math.h>

#include "cmocka_all.h"
#include "lan.h"
#include "rng.h"

#define GBPS800 UINT64_C(800000000000)
#define PLENTY  100000000

static void open_with_room(struct lan *lan, const char *topology)
{
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = PLENTY;
	lan_open(lan, topology, GBPS800, conf);
}

static struct weft_link_id find(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool down)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, tier, sw, up, down, &id), 0);
	return id;
}

static void run(struct lan *lan)
{
	assert_true(weft_net_run(lan->net, WEFT_NEVER - 1) == WEFT_NEVER);
}

static uint64_t dropped(const struct lan *lan)
{
	struct weft_net_stats s = lan_stats(lan);

	return s.dropped_data + s.dropped_control + s.dropped_down + s.dropped_error + s.dropped_route;
}

/* Nothing is lost without being counted, nor counted twice. */
static void check_conserved(const struct lan *lan, uint64_t sent)
{
	assert_int_equal(lan->freed, dropped(lan));
	assert_int_equal(lan_data(lan) + lan->freed, sent);
}

static uint64_t spray_all_pairs(struct lan *lan, uint32_t count)
{
	uint32_t hosts = weft_net_hosts(lan->net);
	uint64_t sent = 0;

	for (uint32_t src = 0; src < hosts; src++)
		for (uint32_t dst = 0; dst < hosts; dst++)
			if (src != dst) {
				lan_send(lan, 0,
					 (struct lan_send){.src = src, .dst = dst, .count = count, .spray = true});
				sent += count;
			}
	return sent;
}

static void set_cable(struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool works)
{
	for (int down = 0; down < 2; down++) {
		weft_net_link_set_up(lan->net, find(lan, tier, sw, up, down), works);
		weft_net_avoid_link(lan->net, find(lan, tier, sw, up, down), !works);
	}
}

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

/* ---- routing around ---- */

static uint64_t sent_into(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool down)
{
	uint64_t pkts, bytes;

	weft_net_link_counts(lan->net, find(lan, tier, sw, up, down), &pkts, &bytes);
	return pkts;
}

/* What goes over the uplinks of leaf `sw` is uniform over those that are not `dead`, which get nothing. */
static void check_spread(const struct lan *lan, uint32_t sw, uint32_t ups, uint32_t dead, uint64_t pkts)
{
	double expect = (double)pkts / (ups - 1), chi2 = 0;

	for (uint32_t up = 0; up < ups; up++) {
		double n = (double)sent_into(lan, 0, sw, up, false);
		if (up == dead)
			assert_true(n == 0);
		else
			chi2 += (n - expect) * (n - expect) / expect;
	}
	assert_true(chi2 < 29.9); /* 7 degrees of freedom: once in 10,000 honest runs, and this one is fixed */
}

/* Before routing knows, an eighth is lost; afterwards nothing is, and the others share alike. */
static void reroute__own_uplink(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:2:8:2");
	set_cable(&lan, 0, 0, 3, false);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 8000, .spray = true});
	run(&lan);
	assert_in_range(lan_stats(&lan).dropped_down, 880, 1120);
	uint64_t lost = lan_stats(&lan).dropped_down;
	check_conserved(&lan, 8000);
	lan_close(&lan);

	open_with_room(&lan, "leafspine:2:8:2");
	set_cable(&lan, 0, 0, 3, false);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 8000, .spray = true});
	run(&lan);
	assert_int_equal(lan_data(&lan), 8000);
	check_spread(&lan, 0, 8, 3, 8000);
	assert_true(lost > 0);
	lan_close(&lan);
}

/* The cable is dead at the destination's leaf: others send there over seven spines, and elsewhere over all eight. */
static void reroute__remote_downlink(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:3:8:2");
	weft_net_link_set_up(lan.net, find(&lan, 0, 1, 5, true), false);
	weft_net_avoid_link(lan.net, find(&lan, 0, 1, 5, true), true);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 8000, .spray = true});
	run(&lan);
	assert_int_equal(lan.hosts[2].data, 8000);
	check_spread(&lan, 0, 8, 5, 8000);
	lan_send(&lan, lan.hosts[2].last_at, (struct lan_send){.src = 1, .dst = 4, .count = 800, .spray = true});
	/* The cable's other direction is fine and used. */
	lan_send(&lan, lan.hosts[2].last_at, (struct lan_send){.src = 3, .dst = 4, .count = 800, .spray = true});
	run(&lan);
	assert_int_equal(lan.hosts[4].data, 1600);
	assert_in_range(sent_into(&lan, 0, 0, 5, false), 60, 140);
	assert_in_range(sent_into(&lan, 0, 1, 5, false), 60, 140);
	lan_close(&lan);
}

/* Paths that are left stay as they were. */
static void reroute__keeps_good_paths(void **state)
{
	struct lan before, after;

	open_with_room(&before, "leafspine:2:4:1");
	open_with_room(&after, "leafspine:2:4:1");
	set_cable(&after, 0, 1, 2, false);
	assert_int_equal(weft_net_reroute(after.net), 0);
	for (uint16_t ev = 0; ev < 200; ev++) {
		uint64_t dead = sent_into(&before, 0, 0, 2, false), good = sent_into(&before, 0, 0, 1, false);
		uint64_t same = sent_into(&after, 0, 0, 1, false);
		lan_send(&before, before.hosts[1].last_at, (struct lan_send){.src = 0, .dst = 1, .entropy = ev});
		lan_send(&after, after.hosts[1].last_at, (struct lan_send){.src = 0, .dst = 1, .entropy = ev});
		run(&before);
		run(&after);
		if (sent_into(&before, 0, 0, 2, false) == dead)
			assert_int_equal(sent_into(&after, 0, 0, 1, false) - same,
					 sent_into(&before, 0, 0, 1, false) - good);
	}
	assert_int_equal(after.hosts[1].data, 200);
	lan_close(&before);
	lan_close(&after);
}

/* Nothing is avoided any more: every path is what it was. */
static void reroute__back_to_all(void **state)
{
	struct lan healthy, healed;

	open_with_room(&healthy, "fattree:4");
	open_with_room(&healed, "fattree:4");
	set_cable(&healed, 0, 0, 1, false);
	set_cable(&healed, 1, 3, 0, false);
	weft_net_switch_set_up(healed.net, 2, 1, false);
	weft_net_avoid_switch(healed.net, 2, 1, true);
	assert_int_equal(weft_net_reroute(healed.net), 0);
	set_cable(&healed, 0, 0, 1, true);
	set_cable(&healed, 1, 3, 0, true);
	weft_net_switch_set_up(healed.net, 2, 1, true);
	weft_net_avoid_switch(healed.net, 2, 1, false);
	assert_int_equal(weft_net_reroute(healed.net), 0);
	spray_all_pairs(&healthy, 5);
	spray_all_pairs(&healed, 5);
	run(&healthy);
	run(&healed);
	assert_true(lan_stats(&healthy).digest == lan_stats(&healed).digest);
	lan_close(&healthy);
	lan_close(&healed);
}

/* No way is left to or from leaf 1: dropped as such, at the first switch that knows. */
static void reroute__no_way(void **state)
{
	struct lan lan;

	open_with_room(&lan, "leafspine:3:2:1");
	set_cable(&lan, 0, 1, 0, false);
	set_cable(&lan, 0, 1, 1, false);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	uint64_t sent = spray_all_pairs(&lan, 10);
	run(&lan);
	assert_int_equal(lan_stats(&lan).dropped_route, 40);
	assert_int_equal(lan_stats(&lan).dropped_down, 0);
	assert_int_equal(lan.hosts[2].data, 10);
	check_conserved(&lan, sent);
	lan_close(&lan);
}

/* Three of four cables of a bundle fail: the fourth carries all. */
static void reroute__bundle(void **state)
{
	struct weft_topo topo;
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	assert_int_equal(weft_topo_preset("leafspine:2:1:1", GBPS800, &topo, NULL), 0);
	topo.tier[1].bundle = 4;
	conf.tune.queue_bytes = PLENTY;
	lan_open_topo(&lan, &topo, conf);
	for (uint32_t up = 0; up < 3; up++)
		set_cable(&lan, 0, 1, up, false);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 100, .spray = true});
	run(&lan);
	assert_int_equal(lan.hosts[1].data, 100);
	assert_int_equal(sent_into(&lan, 0, 1, 3, true), 100);
	/* Up, leaf 0 still uses its whole bundle. */
	assert_true(sent_into(&lan, 0, 0, 0, false) > 0);
	lan_close(&lan);
}

static void fail_switch(struct lan *lan, uint32_t tier, uint32_t sw)
{
	assert_int_equal(weft_net_switch_set_up(lan->net, tier, sw, false), 0);
	assert_int_equal(weft_net_avoid_switch(lan->net, tier, sw, true), 0);
}

/* A spine, a core, and cables of both tiers: enough is left for everybody to reach everybody. */
static void reroute__three_tiers(void **state)
{
	struct lan lan;

	open_with_room(&lan, "fattree:8");
	fail_switch(&lan, 1, 5);
	fail_switch(&lan, 2, 3);
	set_cable(&lan, 0, 0, 2, false);
	set_cable(&lan, 1, 30, 1, false);
	weft_net_link_set_up(lan.net, find(&lan, 0, 17, 3, true), false);
	weft_net_avoid_link(lan.net, find(&lan, 0, 17, 3, true), true);
	assert_int_equal(weft_net_reroute(lan.net), 0);
	uint64_t sent = spray_all_pairs(&lan, 2);
	run(&lan);
	assert_int_equal(lan_data(&lan), sent);
	lan_close(&lan);
}

/* Uplinks of the leaves and spines of fattree:4 that failed: two of each of eight switches. */
struct dead {
	bool cable[2][8][2];
};

/* Whether some way leads from leaf 0 to `leaf`: up and down over one spine, or over two spines of one place and a core.
 */
static bool has_way(const struct dead *d, uint32_t leaf)
{
	for (uint32_t spine = 0; spine < 2 && leaf; spine++) {
		if (d->cable[0][0][spine] || d->cable[0][leaf][spine])
			continue;
		if (leaf == 1)
			return true;
		for (uint32_t core = 0; core < 2; core++)
			if (!d->cable[1][spine][core] && !d->cable[1][leaf / 2 * 2 + spine][core])
				return true;
	}
	return leaf == 0;
}

static void fail_random_cables(struct lan *lan, struct rng *rng, struct dead *d)
{
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t tier = rng_below(rng, 2), sw = rng_below(rng, 8), up = rng_below(rng, 2);
		d->cable[tier][sw][up] = true;
		set_cable(lan, tier, sw, up, false);
	}
	assert_int_equal(weft_net_reroute(lan->net), 0);
}

/* Random cables of a small tree fail until some pairs are cut off. All packets of a pair arrive when some way is left,
 * and none, for lack of a route, when none is. Nothing runs into a dead link. */
static void reroute__random_failures(void **state)
{
	struct rng rng = {7};
	uint32_t cut_off = 0, reached = 0;

	for (int round = 0; round < 20; round++) {
		struct dead dead = {0};
		struct lan lan;
		open_with_room(&lan, "fattree:4");
		fail_random_cables(&lan, &rng, &dead);
		for (uint32_t dst = 1; dst < 16; dst++) {
			bool way = has_way(&dead, dst / 2);
			lan_send(&lan, dst * UINT64_C(1000000000),
				 (struct lan_send){.src = 0, .dst = dst, .count = 20, .spray = true});
			run(&lan);
			assert_int_equal(lan.hosts[dst].data, way ? 20 : 0);
			reached += way;
			cut_off += !way;
		}
		assert_int_equal(lan_stats(&lan).dropped_down, 0);
		check_conserved(&lan, 300);
		lan_close(&lan);
	}
	assert_true(reached > 20 && cut_off > 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_set_up__one_way),
		cmocka_unit_test(host_link__either_way),
		cmocka_unit_test(switch_set_up__loses_what_it_holds),
		cmocka_unit_test(switch_set_up__leaf),
		cmocka_unit_test(switch_set_up__keeps_other_reasons),
		cmocka_unit_test(link_set_ber__loss_share),
		cmocka_unit_test(link_set_ber__extremes),
		cmocka_unit_test(link_set_bps__and_back),
		cmocka_unit_test(reroute__own_uplink),
		cmocka_unit_test(reroute__remote_downlink),
		cmocka_unit_test(reroute__keeps_good_paths),
		cmocka_unit_test(reroute__back_to_all),
		cmocka_unit_test(reroute__no_way),
		cmocka_unit_test(reroute__bundle),
		cmocka_unit_test(reroute__three_tiers),
		cmocka_unit_test(reroute__random_failures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
