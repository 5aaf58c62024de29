/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and counts of ports. */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "lan.h"

#define GBPS800 UINT64_C(800000000000)

static struct weft_port_info port_named(const struct lan *lan, const char *name)
{
	struct weft_port_info info, found = {.name = ""};
	uint32_t seen = 0;

	for (uint32_t i = 0; i < weft_net_port_count(lan->net); i++) {
		assert_int_equal(weft_net_port_info(lan->net, i, &info), 0);
		if (strcmp(info.name, name) != 0)
			continue;
		found = info;
		seen++;
	}
	if (seen != 1)
		fail_msg("%u ports are named %s", seen, name);
	return found;
}

static void check_port(const struct lan *lan, const char *name, struct weft_port_info expect)
{
	struct weft_port_info info = port_named(lan, name);

	assert_int_equal(info.dir, expect.dir);
	assert_int_equal(info.tier, expect.tier);
	assert_int_equal(info.sw, expect.sw);
	assert_int_equal(info.index, expect.index);
	assert_int_equal(info.bps, GBPS800);
	assert_true(info.up);
}

static void port_info__two_tiers(void **state)
{
	struct weft_port_info info;
	struct lan lan;

	lan_open(&lan, "leafspine:4:3:2", GBPS800, lan_conf());
	/* 8 NICs, 8 ports to hosts, 12 cables with two ends. */
	assert_int_equal(weft_net_port_count(lan.net), 8 + 8 + 24);
	assert_int_equal(weft_net_port_info(lan.net, 40, &info), -ENOENT);
	check_port(&lan, "host5", (struct weft_port_info){.dir = WEFT_PORT_NIC, .sw = 5, .index = 5});
	check_port(&lan, "leaf2:host5", (struct weft_port_info){.dir = WEFT_PORT_HOST, .sw = 2, .index = 5});
	check_port(&lan, "leaf3:up2", (struct weft_port_info){.dir = WEFT_PORT_UP, .sw = 3, .index = 2});
	check_port(&lan, "spine2:down3",
		   (struct weft_port_info){.dir = WEFT_PORT_DOWN, .tier = 1, .sw = 2, .index = 3});
	lan_close(&lan);
}

static void port_info__three_tiers(void **state)
{
	struct lan lan;

	lan_open(&lan, "fattree:4", GBPS800, lan_conf());
	assert_int_equal(weft_net_port_count(lan.net), 16 + 16 + 2 * 16 + 2 * 16);
	check_port(&lan, "spine7:up1", (struct weft_port_info){.dir = WEFT_PORT_UP, .tier = 1, .sw = 7, .index = 1});
	check_port(&lan, "core3:down2", (struct weft_port_info){.dir = WEFT_PORT_DOWN, .tier = 2, .sw = 3, .index = 2});
	lan_close(&lan);
}

/* 4:1 at one port: every packet that is sent, trimmed or dropped is counted where it happened, and only there. */
static void port_counts__sum_up(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_port_counts sum = {0}, c;
	struct lan lan;

	conf.tune.trim = WEFT_TRIM_ARRIVING;
	conf.tune.ecn_min_pct = 20;
	conf.tune.ecn_max_pct = 80;
	lan_open(&lan, "leafspine:2:4:4", GBPS800, conf);
	for (uint32_t h = 0; h < 4; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 4, .count = 300, .spray = true});
	lan_send(&lan, 0, (struct lan_send){.src = 5, .dst = 4, .count = 300, .no_trim = true});
	weft_net_run(lan.net, 100 * LAN_MTU * 10);
	assert_true(port_named(&lan, "leaf1:host4").counts.queue_bytes > 0);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	for (uint32_t i = 0; i < weft_net_port_count(lan.net); i++) {
		weft_net_port_counts(lan.net, i, &c);
		assert_int_equal(c.queue_bytes, 0);
		sum.sent_pkts += c.sent_pkts;
		sum.marked += c.marked;
		sum.trimmed += c.trimmed;
		sum.dropped += c.dropped;
	}
	struct weft_net_stats stats = lan_stats(&lan);
	assert_int_equal(sum.sent_pkts, stats.hops);
	assert_int_equal(sum.marked, stats.marked);
	assert_int_equal(sum.trimmed, stats.trimmed);
	assert_int_equal(sum.dropped, stats.dropped_data);
	struct weft_port_info last = port_named(&lan, "leaf1:host4");
	assert_int_equal(last.counts.sent_bytes, lan.hosts[4].bytes);
	assert_true(last.counts.marked > 0 && last.counts.trimmed > 0 && last.counts.dropped > 0);
	assert_int_equal(last.counts.sent_pkts + last.counts.dropped, 5 * 300);
	assert_int_equal(port_named(&lan, "host2").counts.sent_pkts, 300);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_info__two_tiers),
		cmocka_unit_test(port_info__three_tiers),
		cmocka_unit_test(port_counts__sum_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
