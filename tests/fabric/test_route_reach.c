/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing that goes around what has failed: own and remote links, bundles, switches, random cables. */
#include "fault_lan.h"
#include "rng.h"

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
		cmocka_unit_test(reroute__own_uplink),       cmocka_unit_test(reroute__remote_downlink),
		cmocka_unit_test(reroute__keeps_good_paths), cmocka_unit_test(reroute__back_to_all),
		cmocka_unit_test(reroute__no_way),           cmocka_unit_test(reroute__bundle),
		cmocka_unit_test(reroute__three_tiers),      cmocka_unit_test(reroute__random_failures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
