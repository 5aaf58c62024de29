/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that fail, slow down and count. Two leaves with two spines and two hosts each: hosts 0, 1 | 2, 3. */
#include <errno.h>

#include "cmocka_all.h"
#include "lan.h"

#define GBPS800 UINT64_C(800000000000)

enum { SER = LAN_MTU * 10 };

static struct weft_link_id find(const struct lan *lan, uint32_t sw, uint32_t up, bool down)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, 0, sw, up, down, &id), 0);
	return id;
}

static uint64_t sent(const struct lan *lan, struct weft_link_id id)
{
	uint64_t pkts, bytes;

	weft_net_link_counts(lan->net, id, &pkts, &bytes);
	assert_int_equal(bytes, pkts * LAN_MTU);
	return pkts;
}

/* Entropy whose packets from host 0 to host 2 take the given uplink of leaf 0. */
static uint16_t entropy_over(struct lan *lan, uint32_t up)
{
	for (uint16_t ev = 0; ev < 64; ev++) {
		uint64_t before = sent(lan, find(lan, 0, up, false));
		lan_send(lan, lan->hosts[2].last_at, (struct lan_send){.src = 0, .dst = 2, .entropy = ev});
		weft_net_run(lan->net, WEFT_NEVER - 1);
		if (sent(lan, find(lan, 0, up, false)) > before)
			return ev;
	}
	fail_msg("no entropy leads over uplink %u", up);
	return 0;
}

static void link_counts__both_directions(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:2:2:2", GBPS800, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 50, .spray = true});
	lan_send(&lan, 0, (struct lan_send){.src = 3, .dst = 1, .count = 30, .spray = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(sent(&lan, find(&lan, 0, 0, false)) + sent(&lan, find(&lan, 0, 1, false)), 50);
	assert_int_equal(sent(&lan, find(&lan, 1, 0, false)) + sent(&lan, find(&lan, 1, 1, false)), 30);
	for (uint32_t up = 0; up < 2; up++) {
		/* What goes up to a spine on one side comes down from it on the other. */
		assert_int_equal(sent(&lan, find(&lan, 0, up, false)), sent(&lan, find(&lan, 1, up, true)));
		assert_int_equal(sent(&lan, find(&lan, 1, up, false)), sent(&lan, find(&lan, 0, up, true)));
	}
	lan_close(&lan);
}

static void check_down(bool down_direction)
{
	struct lan lan;

	lan_open(&lan, "leafspine:2:2:2", GBPS800, lan_conf());
	uint16_t ev = entropy_over(&lan, 1), other = entropy_over(&lan, 0);
	uint64_t before = lan.hosts[2].data;
	weft_ps now = lan.hosts[2].last_at;
	struct weft_link_id dead = find(&lan, down_direction ? 1 : 0, 1, down_direction);

	weft_net_link_set_up(lan.net, dead, false);
	lan_send(&lan, now, (struct lan_send){.src = 0, .dst = 2, .count = 10, .entropy = ev});
	lan_send(&lan, now, (struct lan_send){.src = 0, .dst = 2, .count = 5, .entropy = other});
	now = weft_net_run(lan.net, now + 1000000000);
	assert_true(now == WEFT_NEVER);
	assert_int_equal(lan.hosts[2].data, before + 5);
	assert_int_equal(lan_stats(&lan).dropped_down, 10);
	assert_int_equal(lan.freed, 10);

	now = lan.hosts[2].last_at + 1000000000;
	weft_net_link_set_up(lan.net, dead, true);
	lan_send(&lan, now, (struct lan_send){.src = 0, .dst = 2, .count = 10, .entropy = ev});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, before + 15);
	assert_int_equal(lan_stats(&lan).dropped_down, 10);
	lan_close(&lan);
}

static void link_set_up__uplink(void **state)
{
	check_down(false);
}

static void link_set_up__downlink(void **state)
{
	check_down(true);
}

/* What waits is lost, what is on the wire arrives, what comes later is lost but counted as sent into the link. */
static void link_set_up__flushes_the_queue(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 100000000;
	lan_open(&lan, "leafspine:2:1:2", GBPS800, conf);
	struct weft_link_id id = find(&lan, 0, 0, false);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 200});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 3, .count = 200});
	/* 100 pairs have come, 99 packets have left and one is leaving. */
	weft_net_run(lan.net, 1000000 + 100 * SER);
	assert_int_equal(sent(&lan, id), 100);
	weft_net_link_set_up(lan.net, id, false);
	assert_int_equal(lan_stats(&lan).dropped_down, 100);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(&lan), 100);
	assert_int_equal(lan_stats(&lan).dropped_down, 300);
	/* One goes into the dead link as soon as it is free, the others wait behind it. */
	assert_in_range(sent(&lan, id), 290, 300);
	lan_close(&lan);
}

/* A quarter of the rate: the flow takes as long as arithmetic with that rate says. */
static void link_set_bps__slows(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct weft_topo slow;
	struct lan lan;

	conf.tune.queue_bytes = 100000000;
	lan_open(&lan, "leafspine:2:1:2", GBPS800, conf);
	weft_net_link_set_bps(lan.net, find(&lan, 0, 0, false), GBPS800 / 4);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	/* Three fast links for the first packet, the slow one for all, 3 switches and 4 wires. */
	assert_int_equal(lan.hosts[2].last_at, 3 * SER + 100 * 4 * SER + 4 * 600000 + 3 * 400000);
	lan_close(&lan);

	/* Nonsense rates neither divide by zero nor stop the link. */
	assert_int_equal(weft_topo_preset("leafspine:2:1:2", GBPS800, &slow, NULL), 0);
	lan_open_topo(&lan, &slow, conf);
	weft_net_link_set_bps(lan.net, find(&lan, 0, 0, false), 0);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 2});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, 2);
	lan_close(&lan);
}

enum { HOLD_PS = 1000000, WIRE_PS = 600000 };

static void hold_once(struct lan_host *host, const struct weft_pkt *pkt, weft_ps now)
{
	struct weft_link_id down;

	assert_int_equal(weft_net_host_link(host->lan->net, host->id, true, &down), 0);
	if (host->data == 1)
		weft_net_link_hold(host->lan->net, down, now + HOLD_PS);
}

/* What is behind the first packet waits in the switch until the host has room, and is marked and trimmed there. */
static void link_hold__packets_wait(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 10 * LAN_MTU;
	conf.tune.trim = WEFT_TRIM_ARRIVING;
	lan_open(&lan, "star:2", GBPS800, conf);
	lan.on_deliver = hold_once;
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 60});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	/* 23 packets come in a microsecond, and ten of them fit the queue. */
	assert_in_range(lan.hosts[1].trimmed, 12, 15);
	assert_int_equal(lan.hosts[1].data + lan.hosts[1].trimmed, 60);
	assert_true(lan.hosts[1].last_at > HOLD_PS + 10 * SER);
	lan_close(&lan);
}

/* Packets wait there already: the next one leaves when the hold is over, and not when the one in service has left. */
static void link_hold__queue_waits_on(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 100 * LAN_MTU;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan.on_deliver = hold_once;
	for (uint32_t src = 0; src < 2; src++)
		lan_send(&lan, 0, (struct lan_send){.src = src, .dst = 2, .count = 20});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, 40);
	/* While the first packet is on the wire others leave behind it, and one more is in service. The rest goes out
	 * back to back when the hold is over. */
	weft_ps first = 2 * SER + 2 * WIRE_PS + 400000;
	uint32_t rest = 40 - 1 - WIRE_PS / SER - 1;
	assert_int_equal(lan.hosts[2].last_at, first + HOLD_PS + rest * SER + WIRE_PS);
	lan_close(&lan);
}

static void link_find__bounds(void **state)
{
	struct weft_link_id id;
	struct lan lan;

	lan_open(&lan, "leafspine:2:3:2", GBPS800, lan_conf());
	assert_int_equal(weft_net_link_find(lan.net, 0, 1, 2, false, &id), 0);
	assert_int_equal(weft_net_link_find(lan.net, 0, 2, 0, false, &id), -ENOENT);
	assert_int_equal(weft_net_link_find(lan.net, 0, 0, 3, true, &id), -ENOENT);
	assert_int_equal(weft_net_link_find(lan.net, 1, 0, 0, false, &id), -ENOENT);
	assert_int_equal(weft_net_link_find(lan.net, UINT32_MAX, 0, 0, false, &id), -ENOENT);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_counts__both_directions), cmocka_unit_test(link_set_up__uplink),
		cmocka_unit_test(link_set_up__downlink),        cmocka_unit_test(link_set_up__flushes_the_queue),
		cmocka_unit_test(link_set_bps__slows),          cmocka_unit_test(link_hold__packets_wait),
		cmocka_unit_test(link_hold__queue_waits_on),    cmocka_unit_test(link_find__bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
