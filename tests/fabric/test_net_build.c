/* SPDX-License-Identifier: BSD-3-Clause */
/* Every host reaches every other in every kind of tree, and only over the links it should. */
#include <string.h>

#include "cmocka_all.h"
#include "lan.h"
#include "net_impl.h"

#define GBPS100 UINT64_C(100000000000)

/* One packet per pair, each delivered at the host it was for. */
static void check_all_pairs(struct lan *lan, uint32_t stride)
{
	uint32_t n = weft_net_hosts(lan->net);
	uint64_t pairs = 0;

	for (uint32_t s = 0; s < n; s++)
		for (uint32_t d = s % stride; d < n; d += stride)
			if (s != d) {
				lan_queue(lan, (struct lan_send){.src = s, .dst = d, .entropy = (uint16_t)(s * 7 + d)});
				pairs++;
			}
	for (uint32_t s = 0; s < n; s++)
		weft_net_kick(lan->net, s, 0);
	weft_net_run(lan->net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(lan), pairs);
	assert_int_equal(lan->freed, 0);
}

static void check_dst(struct lan_host *h, const struct weft_pkt *pkt, weft_ps now)
{
	assert_int_equal(pkt->dst, weft_net_host_ip(h->id));
}

static void check_tree(const char *topology, uint32_t stride)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 1 << 30;
	lan_open(&lan, topology, GBPS100, conf);
	lan.on_deliver = check_dst;
	check_all_pairs(&lan, stride);
	lan_close(&lan);
}

static void net_build__presets(void **state)
{
	check_tree("star:9", 1);
	check_tree("leafspine:3:5:4", 1);
	check_tree("leafspine:5:1:2", 1);
	check_tree("fattree:4", 1);
	check_tree("fattree:6", 1);
	check_tree("fattree:8:4:2", 1);
	check_tree("tree:3:2:5:2:3", 1);
	check_tree("leafspine:3:2:4:3", 1);
}

static void net_build__files(void **state)
{
	check_tree("topologies/ls16_50g.topo", 1);
	check_tree("topologies/ft128_800g_tor1os.topo", 1);
	check_tree("topologies/ft1024_800g_tor1os.topo", 37);
	check_tree("topologies/ft1024_800g_tor8os.topo", 37);
}

/* Three tiers, two cables to each leaf and three to each pod, more hosts than uplinks. */
static struct weft_topo bundled(void)
{
	struct weft_topo t = {.hosts = 48, .tiers = 3, .pod_hosts = 12};

	for (int i = 0; i < 3; i++)
		t.tier[i] =
			(struct weft_topo_tier){.down_bps = GBPS100, .down_latency_ns = 100, .switch_latency_ns = 50};
	t.tier[0].radix_down = 4;
	t.tier[0].radix_up = 2;
	t.tier[0].bundle = 1;
	t.tier[1].radix_down = 3;
	t.tier[1].radix_up = 2;
	t.tier[1].bundle = 2;
	t.tier[2].radix_down = 4;
	t.tier[2].bundle = 3;
	return t;
}

static void net_build__bundles(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_topo t = bundled();
	struct lan lan;

	conf.tune.queue_bytes = 1 << 30;
	lan_open_topo(&lan, &t, conf);
	lan.on_deliver = check_dst;
	check_all_pairs(&lan, 1);
	/* 12 leaves of 4 + 4, 8 of 6 + 6, 4 of 12. */
	assert_int_equal(lan_stats(&lan).ports, 12 * 8 + 8 * 12 + 4 * 12);
	lan_close(&lan);
}

/* A cable's two ends name each other's switch, and every port has an end. */
static void check_cables(const struct weft_net *net)
{
	for (uint32_t port = net->tree.topo.hosts; port < net->tree.port_count; port++) {
		uint32_t end = net->tree.cold[port].reverse;
		assert_int_equal(net->tree.cold[end].reverse, port);
		assert_int_equal(net->tree.cold[end].bps, net->tree.cold[port].bps);
		assert_true(net->tree.ports[port].flags & PORT_UP);
		if (net->tree.cold[port].dir == WEFT_PORT_UP) {
			const struct net_switch *above = &net->tree.switches[net->tree.ports[port].peer];
			assert_in_range(end, above->first_down, above->first_up - 1);
			assert_int_equal(net->tree.cold[end].dir, WEFT_PORT_DOWN);
		}
	}
}

static void net_build__cables_lead_back(void **state)
{
	struct weft_topo t = bundled();
	struct lan lan;

	lan_open_topo(&lan, &t, lan_conf());
	check_cables(lan.net);
	lan_close(&lan);
}

/* Packets of all pairs on many paths arrive where they should; `ports` are the fabric's. */
static void check_unlike(const struct weft_topo *t, uint32_t ports)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 1 << 30;
	lan_open_topo(&lan, t, conf);
	lan.on_deliver = check_dst;
	check_cables(lan.net);
	check_all_pairs(&lan, 1);
	assert_int_equal(lan_stats(&lan).ports, ports);
	for (uint32_t port = t->hosts; port < lan.net->tree.port_count; port++)
		assert_true(lan.net->tree.ports[port].sent_pkts > 0);
	lan_close(&lan);
}

/* Figure 13 of DRILL, smaller: two cables to two spines each, one to the others. */
static void net_build__stripes(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("stripe:6:4:8:2:2", GBPS100, &t, NULL), 0);
	check_unlike(&t, 6 * (8 + 6) + 6 * 6);
}

static void net_build__mesh(void **state)
{
	struct weft_topo t;

	assert_int_equal(weft_topo_preset("vl2:8:4:3:6", GBPS100, &t, NULL), 0);
	check_unlike(&t, 8 * (6 + 2) + 4 * (4 + 3) + 3 * 4);
}

/* Cables that differ at both boundaries of three tiers, with and without a mesh. */
static void net_build__unlike_links(void **state)
{
	struct weft_topo t = bundled();

	t.link_count = 4;
	t.link[0] = (struct weft_topo_link){.sw = 3, .up = 1, .cables = 5};
	t.link[1] = (struct weft_topo_link){.sw = 4, .up = 0, .cables = 1, .bps = GBPS100 / 4};
	t.link[2] = (struct weft_topo_link){.tier = 1, .sw = 2, .up = 1, .cables = 1};
	t.link[3] = (struct weft_topo_link){.tier = 1, .sw = 7, .up = 0, .bps = GBPS100 / 2};
	check_unlike(&t, 12 * 8 + 8 * 12 + 4 * 12 + 2 * (3 - 1 - 2));
	t.mesh = 1;
	t.tier[2].radix_down = 8;
	check_unlike(&t, 12 * 8 + 8 * 12 + 2 * 24 + 2 * (3 - 1 - 2));
}

/* Neighbours on a leaf stay below it, neighbours in a pod below the cores. */
static void net_build__short_ways(void **state)
{
	struct lan lan;

	lan_open(&lan, "fattree:4", GBPS100, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).hops, 2);
	lan_send(&lan, lan.hosts[1].last_at, (struct lan_send){.src = 0, .dst = 3});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).hops, 2 + 4);
	lan_send(&lan, lan.hosts[3].last_at, (struct lan_send){.src = 0, .dst = 4});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).hops, 2 + 4 + 6);
	lan_close(&lan);
}

/* Eight hosts share one uplink: with queues that hold everything the last packet comes when it has carried all. */
static void net_build__oversubscribed(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 1 << 30;
	lan_open(&lan, "leafspine:2:1:8", GBPS100, conf);
	for (uint32_t h = 0; h < 8; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 8 + h, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	weft_ps last = 0, ser = LAN_MTU * 80;
	for (uint32_t h = 8; h < 16; h++)
		last = lan.hosts[h].last_at > last ? lan.hosts[h].last_at : last;
	assert_int_equal(last, ser + 800 * ser + 2 * ser + 4 * 600000 + 3 * 400000);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(net_build__presets),      cmocka_unit_test(net_build__files),
		cmocka_unit_test(net_build__bundles),      cmocka_unit_test(net_build__cables_lead_back),
		cmocka_unit_test(net_build__short_ways),   cmocka_unit_test(net_build__oversubscribed),
		cmocka_unit_test(net_build__stripes),      cmocka_unit_test(net_build__mesh),
		cmocka_unit_test(net_build__unlike_links),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
