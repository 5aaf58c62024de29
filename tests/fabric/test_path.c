/* SPDX-License-Identifier: BSD-3-Clause */
/* What the arithmetic of path.c says is what an idle fabric does, to the picosecond. */
#include "cmocka_all.h"
#include "lan.h"
#include "wire.h"

enum { ACK = 110 };

/* Time from the first kick until the ACK of the last packet is back. */
static weft_ps run_flow(struct lan *lan, uint32_t src, uint32_t dst, uint32_t full_pkts, uint32_t last_bytes)
{
	lan->hosts[dst].ack_bytes = ACK;
	lan->hosts[dst].ack_from = full_pkts + 1;
	if (full_pkts)
		lan_queue(lan, (struct lan_send){.src = src, .dst = dst, .count = full_pkts});
	lan_send(lan, 0, (struct lan_send){.src = src, .dst = dst, .wire_bytes = last_bytes});
	assert_true(weft_net_run(lan->net, WEFT_NEVER - 1) == WEFT_NEVER);
	assert_int_equal(lan->hosts[src].control, 1);
	return lan->hosts[src].last_at;
}

static void check_flow(const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t full_pkts,
		       uint32_t last_bytes)
{
	struct lan lan;

	lan_open_topo(&lan, topo, lan_conf());
	weft_ps ideal =
		weft_net_ideal_ps(lan.net, src, dst, (uint64_t)full_pkts * LAN_MTU + last_bytes, last_bytes, ACK);
	assert_int_equal(run_flow(&lan, src, dst, full_pkts, last_bytes), ideal);
	assert_int_equal(lan_stats(&lan).dropped_data, 0);
	lan_close(&lan);
}

static void check_flows(const struct weft_topo *topo)
{
	static const uint32_t last[] = {WEFT_WIRE_MIN_BYTES, 1000, LAN_MTU};
	static const uint32_t full[] = {0, 1, 2, 20};

	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++) {
			check_flow(topo, 0, 1, full[i], last[k]);
			check_flow(topo, 0, topo->pod_hosts - 1, full[i], last[k]);
			check_flow(topo, 2, topo->hosts - 1, full[i], last[k]);
		}
}

static void weft_net_ideal_ps__two_tiers(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("leafspine:4:4:4", 50000000000, &t, NULL), 0);
	check_flows(&t);
}

static void weft_net_ideal_ps__three_tiers(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("fattree:4", 800000000000, &t, NULL), 0);
	check_flows(&t);
}

static void weft_net_ideal_ps__one_switch(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("star:4", 100000000000, &t, NULL), 0);
	check_flows(&t);
}

/* Rates of the tiers 0, 1 and 2 in Gb/s, latencies of their own in each. */
static struct weft_topo unequal(const char *preset, const uint64_t gbps[3])
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset(preset, 800000000000, &t, NULL), 0);
	for (uint32_t i = 0; i < 3; i++) {
		t.tier[i].down_latency_ns = 100 + 300 * i;
		t.tier[i].switch_latency_ns = 50 + 70 * i;
		t.tier[i].down_bps = gbps[i] * 1000000000;
	}
	return t;
}

/* A bottleneck in the middle: full packets arrive at the slow link's pace, a short last one may catch up with those
 * before it. */
static void weft_net_ideal_ps__unequal_tiers(void **state)
{
	static const uint64_t gbps[][3] = {{800, 100, 800}, {800, 100, 10}, {5, 100, 10}};

	for (int i = 0; i < 3; i++) {
		struct weft_topo t = unequal("tree:2:2:2:1:1", gbps[i]);
		check_flows(&t);
	}
}

/* Slow links side by side: a flow is as fast as all of them together, or the host. One packet is not. */
static void weft_net_ideal_ps__parallel_links(void **state)
{
	static const uint64_t gbps[][3] = {{100, 25, 100}, {100, 50, 25}, {100, 100, 10}};
	static const uint64_t pace[] = {50, 100, 40}; /* two uplinks of a leaf, four of a pod */
	enum { FULL = 100 };

	for (int i = 0; i < 3; i++) {
		struct lan lan;
		struct weft_topo t = unequal("fattree:4", gbps[i]);
		lan_open_topo(&lan, &t, lan_conf());
		weft_ps one = weft_net_ideal_ps(lan.net, 0, 15, LAN_MTU, LAN_MTU, ACK);
		weft_ps all = weft_net_ideal_ps(lan.net, 0, 15, (uint64_t)FULL * LAN_MTU, LAN_MTU, ACK);
		weft_ps paced = (weft_ps)(FULL - 1) * LAN_MTU * 8000 / pace[i],
			slack = 2 * LAN_MTU * 8000 / gbps[i][i > 0 ? 2 : 1];
		lan_close(&lan);
		check_flow(&t, 0, 15, 0, LAN_MTU);
		assert_in_range(all, one + paced - slack, one + paced + slack);
	}
}

/* Four links, three switches each way: 2 x (4 x 600 + 3 x 400) ns, and 4 x (4260 + 110) bytes of 160 ps. */
static void weft_net_brtt_ns__leafspine(void **state)
{
	struct lan lan;

	lan_open(&lan, "topologies/ls16_50g.topo", 50000000000, lan_conf());
	assert_int_equal(weft_net_brtt_ns(lan.net), 7200 + (4 * 4370 * 160 + 999) / 1000);
	assert_int_equal(run_flow(&lan, 0, 15, 0, LAN_MTU), 7200000 + 4 * 4370 * 160);
	lan_close(&lan);
}

/* The farthest hosts share a leaf, or a pod. */
static void weft_net_brtt_ns__small_trees(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:1:4:4", 8000000000, lan_conf());
	assert_int_equal(weft_net_brtt_ns(lan.net), 2 * (2 * 600 + 400) + 2 * 4370);
	lan_close(&lan);
	lan_open(&lan, "leafspine:4:1:1", 8000000000, lan_conf());
	assert_int_equal(weft_net_brtt_ns(lan.net), 2 * (4 * 600 + 3 * 400) + 4 * 4370);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_net_ideal_ps__two_tiers),      cmocka_unit_test(weft_net_ideal_ps__three_tiers),
		cmocka_unit_test(weft_net_ideal_ps__one_switch),     cmocka_unit_test(weft_net_ideal_ps__unequal_tiers),
		cmocka_unit_test(weft_net_ideal_ps__parallel_links), cmocka_unit_test(weft_net_brtt_ns__leafspine),
		cmocka_unit_test(weft_net_brtt_ns__small_trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
