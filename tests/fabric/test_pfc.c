/* SPDX-License-Identifier: BSD-3-Clause */
/* A lossless fabric: nothing is dropped, whatever the rates are, and pauses reach as far as congestion does. */
#include "cmocka_all.h"
#include "lan.h"
#include "member.h"
#include "rng.h"

#define GBPS100 UINT64_C(100000000000)

enum { PS_PER_BYTE = 80, SER = LAN_MTU * PS_PER_BYTE };

static struct weft_net_conf pfc_conf(uint16_t xoff_pct)
{
	struct weft_net_conf conf = lan_conf();

	conf.tune.pfc = true;
	conf.tune.pfc_xoff_pct = xoff_pct;
	conf.tune.pfc_xon_pct = 80;
	return conf;
}

/* Every host but the first sends `each` packets to it. */
static void incast(struct lan *lan, uint32_t each)
{
	for (uint32_t h = 1; h < weft_net_hosts(lan->net); h++)
		lan_send(lan, 0, (struct lan_send){.src = h, .dst = 0, .count = each, .spray = true});
}

/* All that was sent arrived, and nobody is paused any more. */
static void check_lossless(struct lan *lan, uint64_t sent)
{
	struct weft_net_stats s = lan_stats(lan);
	struct weft_port_counts c;
	uint64_t pauses = 0, paused_ns = 0;

	assert_int_equal(lan_data(lan), sent);
	assert_int_equal(lan->freed, 0);
	assert_int_equal(s.trimmed, 0);
	for (uint32_t port = 0; port < weft_net_port_count(lan->net); port++) {
		weft_net_port_counts(lan->net, port, &c);
		assert_int_equal(c.queue_bytes, 0);
		pauses += c.pauses;
		paused_ns += c.paused_ns;
	}
	assert_int_equal(pauses, s.pauses);
	assert_int_equal(paused_ns, s.paused_ns);
}

static struct weft_port_counts counts_of(const struct lan *lan, struct weft_link_id id)
{
	struct weft_port_counts c;

	weft_net_port_counts(lan->net, id.index, &c);
	return c;
}

static uint64_t paused_ns_in_all(const struct lan *lan)
{
	return lan_stats(lan).paused_ns;
}

/* At 3.2 Tb/s each direction of a cable holds many packets when the frame is under way. */
static void weft_net__pfc_incast_loses_nothing(void **state)
{
	static const struct {
		uint16_t xoff_pct;
		uint64_t bps;
	} rows[] = {{1, GBPS100}, {20, GBPS100}, {100, GBPS100}, {500, GBPS100}, {1, 32 * GBPS100}};

	for (uint32_t i = 0; i < count_of(rows); i++) {
		struct lan lan;
		lan_open(&lan, "leafspine:4:4:4", rows[i].bps, pfc_conf(rows[i].xoff_pct));
		incast(&lan, 300);
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_true(lan_stats(&lan).pauses > 0);
		check_lossless(&lan, 15 * 300);
		/* Pauses are over: time goes by and is not counted. */
		uint64_t paused_ns = paused_ns_in_all(&lan);
		lan_send(&lan, 10 * WEFT_S(1), (struct lan_send){.src = 1, .dst = 0});
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(paused_ns_in_all(&lan), paused_ns);
		lan_close(&lan);
	}
}

/* Links of 100 Mb/s to 400 Gb/s, with packets of all sizes; rates change while packets are under way. */
static void weft_net__pfc_loses_nothing_at_mixed_rates(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng rng = {seed};
		struct lan lan;
		lan_open(&lan, "leafspine:4:2:4", GBPS100, pfc_conf((uint16_t)(1 + rng_below(&rng, 100))));
		for (uint32_t h = 0; h < 16; h++)
			for (uint32_t i = 0; i < 4; i++)
				lan_send(&lan, 0,
					 (struct lan_send){.src = h,
							   .dst = rng_below(&rng, 3),
							   .count = 50,
							   .spray = true,
							   .wire_bytes = 200 + rng_below(&rng, LAN_MTU - 199)});
		for (uint32_t i = 0; i < 200; i++) {
			struct weft_link_id id = {rng_below(&rng, weft_net_port_count(lan.net))};
			weft_net_link_set_bps(lan.net, id, UINT64_C(100000000) << rng_below(&rng, 13));
			weft_net_run(lan.net, (i + 1) * WEFT_US(2) * 1000);
		}
		weft_net_run(lan.net, WEFT_NEVER - 1);
		check_lossless(&lan, 16 * 200);
		lan_close(&lan);
	}
}

/* Two hosts, each at twice its share: once the buffers are full each is paused half of the time. */
static void weft_net__pfc_halves_two_senders(void **state)
{
	struct lan lan;
	const uint32_t each = 2000;

	lan_open(&lan, "star:3", GBPS100, pfc_conf(100));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = each});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = each});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	check_lossless(&lan, 2 * each);
	/* The link was never idle. */
	assert_in_range(lan.hosts[2].last_at, 2 * each * (weft_ps)SER, (2 * each + 10) * (weft_ps)SER);
	for (uint32_t port = 0; port < 2; port++) {
		struct weft_port_counts c = counts_of(&lan, (struct weft_link_id){port});
		assert_true(c.pauses >= 2);
		/* Of the time in all, without what its buffer took to fill, and with the last pause. */
		assert_in_range(c.paused_ns, each * (uint64_t)SER / 1000 * 80 / 100,
				each * (uint64_t)SER / 1000 * 105 / 100);
	}
	assert_int_equal(counts_of(&lan, (struct weft_link_id){2}).pauses, 0);
	lan_close(&lan);
}

/* As without PFC, the deepest queue has the packet in service in it. */
static void weft_net__pfc_counts_the_deepest_queue_alike(void **state)
{
	uint64_t deepest[2];

	for (uint32_t pfc = 0; pfc < 2; pfc++) {
		struct lan lan;
		struct weft_net_conf conf = pfc_conf(10000);
		conf.tune.pfc = pfc;
		conf.tune.queue_bytes = 100 * LAN_MTU;
		lan_open(&lan, "star:3", GBPS100, conf);
		lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 20});
		lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 20});
		weft_net_run(lan.net, WEFT_NEVER - 1);
		assert_int_equal(lan.hosts[2].data, 40);
		deepest[pfc] = lan_stats(&lan).max_queue_bytes;
		lan_close(&lan);
	}
	assert_int_equal(deepest[0], 21 * LAN_MTU);
	assert_int_equal(deepest[1], deepest[0]);
}

/* A host alone cannot congest anything. */
static void weft_net__pfc_leaves_others_alone(void **state)
{
	struct lan lan;

	lan_open(&lan, "leafspine:4:4:4", GBPS100, pfc_conf(1));
	for (uint32_t h = 0; h < 16; h += 4)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = (h + 4) % 16, .count = 500});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_stats(&lan).pauses, 0);
	check_lossless(&lan, 4 * 500);
	lan_close(&lan);
}

/* When the victim's 300 packets from host 1 to the idle host 3 are there. They share a link of twice the rate with
 * packets for host 2, of which it gets twice as many as it can take. */
static weft_ps victim_done(bool pfc)
{
	struct lan lan;
	struct weft_net_conf conf = pfc_conf(100);

	conf.tune.pfc = pfc;
	lan_open(&lan, "leafspine:2:1:3", GBPS100, conf);
	for (uint32_t leaf = 0; leaf < 2; leaf++) {
		struct weft_link_id id;
		assert_int_equal(weft_net_link_find(lan.net, 0, leaf, 0, false, &id), 0);
		weft_net_link_set_bps(lan.net, id, 2 * GBPS100);
		assert_int_equal(weft_net_link_find(lan.net, 0, leaf, 0, true, &id), 0);
		weft_net_link_set_bps(lan.net, id, 2 * GBPS100);
	}
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 3, .count = 3000});
	lan_send(&lan, 0, (struct lan_send){.src = 4, .dst = 3, .count = 3000});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 5, .count = 1000});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[5].data, 1000);
	assert_true(pfc == !lan_stats(&lan).dropped_data);
	weft_ps done = lan.hosts[5].last_at;
	lan_close(&lan);
	return done;
}

static void weft_net__pfc_blocks_the_head_of_line(void **state)
{
	weft_ps without = victim_done(false), with = victim_done(true);

	assert_in_range(without, 1000 * (weft_ps)SER, 1020 * (weft_ps)SER);
	assert_in_range(with, without * 17 / 10, without * 21 / 10);
}

/* Control passes data that is paused, at the host and in the switches. */
static void weft_net__pfc_lets_control_pass(void **state)
{
	struct lan lan;
	const weft_ps at = WEFT_US(200) * 1000;

	lan_open(&lan, "star:3", GBPS100, pfc_conf(10));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 4000});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 4000});
	weft_net_run(lan.net, at);
	assert_true(counts_of(&lan, (struct weft_link_id){0}).pauses > 0);
	for (uint32_t i = 0; i < 100; i++) {
		weft_ps now = at + i * WEFT_US(1) * 1000;
		lan_send(&lan, now,
			 (struct lan_send){.src = 0, .dst = 2, .count = 1, .control = true, .wire_bytes = 100});
		weft_net_run(lan.net, now + WEFT_US(1) * 1000);
	}
	/* These hosts send control once they are paused, which they are every few us. The data takes 2.7 ms. */
	weft_net_run(lan.net, at + WEFT_US(120) * 1000);
	assert_int_equal(lan.hosts[2].control, 100);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	check_lossless(&lan, 8000);
	lan_close(&lan);
}

/* Packets that are lost with a link give their buffer back. */
static void weft_net__pfc_ends_pauses_when_links_fail(void **state)
{
	struct lan lan;
	struct weft_link_id id;

	lan_open(&lan, "leafspine:4:4:4", GBPS100, pfc_conf(20));
	incast(&lan, 1000);
	weft_net_run(lan.net, WEFT_US(100) * 1000);
	assert_int_equal(weft_net_host_link(lan.net, 0, true, &id), 0);
	weft_net_link_set_up(lan.net, id, false);
	weft_net_run(lan.net, WEFT_US(110) * 1000);
	weft_net_link_set_up(lan.net, id, true);
	weft_net_switch_set_up(lan.net, 1, 2, false);
	weft_net_run(lan.net, WEFT_US(200) * 1000);
	weft_net_switch_set_up(lan.net, 1, 2, true);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats s = lan_stats(&lan);
	assert_true(s.dropped_down > 0);
	assert_int_equal(s.dropped_data, 0);
	assert_int_equal(lan_data(&lan) + lan.freed, 15 * 1000);
	/* Everybody can send to everybody. */
	lan.freed = 0;
	for (uint32_t h = 0; h < 16; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = (h + 5) % 16, .count = 10, .spray = true});
	uint64_t before = lan_data(&lan);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	check_lossless(&lan, before + 160);
	lan_close(&lan);
}

/* Same seed, same events, however time is given. */
static void weft_net__pfc_repeats(void **state)
{
	uint64_t digest[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct lan lan;
		lan_open(&lan, "leafspine:4:4:4", GBPS100, pfc_conf(20));
		incast(&lan, 100);
		for (weft_ps t = 0; i && t < WEFT_US(100) * 1000; t += 777777)
			weft_net_run(lan.net, t);
		weft_net_run(lan.net, WEFT_NEVER - 1);
		digest[i] = lan_stats(&lan).digest;
		lan_close(&lan);
	}
	assert_int_equal(digest[0], digest[1]);
}

/* Two packets arrive with every one that leaves: without pauses the i-th of all waits for ceil(i / 2). */
static void weft_net__pfc_knows_waiting_by_hop(void **state)
{
	const uint64_t n = 100;
	struct lan lan;

	lan_open(&lan, "star:3", GBPS100, pfc_conf(10000));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = n});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = n});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	assert_int_equal(stats.pauses, 0);
	assert_int_equal(stats.at[0][WEFT_PORT_HOST].data, 2 * n);
	assert_int_equal(stats.at[0][WEFT_PORT_HOST].wait_ps, n * n * SER);
	assert_int_equal(stats.at[0][WEFT_PORT_HOST].wait_max_ps, n * SER);
	check_lossless(&lan, 2 * n);
	lan_close(&lan);
}

/* Two senders fill their buffers up to XOFF, one BDP each: the last packet before the pause waits for both, and later
 * ones for no more than that and the headroom. */
static void weft_net__pfc_bounds_waiting(void **state)
{
	const uint64_t n = 2000;
	struct lan lan;

	lan_open(&lan, "star:3", GBPS100, pfc_conf(100));
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = n});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = n});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	const struct weft_hop_stats *at = &stats.at[0][WEFT_PORT_HOST];
	weft_ps xoff_ps = 1000 * weft_net_brtt_ns(lan.net);
	assert_true(stats.pauses > 0);
	assert_in_range(at->wait_max_ps, 2 * xoff_ps - SER, 4 * xoff_ps);
	assert_in_range(at->wait_ps, n * xoff_ps, 2 * n * at->wait_max_ps);
	check_lossless(&lan, 2 * n);
	lan_close(&lan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_net__pfc_incast_loses_nothing),
		cmocka_unit_test(weft_net__pfc_loses_nothing_at_mixed_rates),
		cmocka_unit_test(weft_net__pfc_halves_two_senders),
		cmocka_unit_test(weft_net__pfc_counts_the_deepest_queue_alike),
		cmocka_unit_test(weft_net__pfc_leaves_others_alone),
		cmocka_unit_test(weft_net__pfc_blocks_the_head_of_line),
		cmocka_unit_test(weft_net__pfc_lets_control_pass),
		cmocka_unit_test(weft_net__pfc_ends_pauses_when_links_fail),
		cmocka_unit_test(weft_net__pfc_repeats),
		cmocka_unit_test(weft_net__pfc_knows_waiting_by_hop),
		cmocka_unit_test(weft_net__pfc_bounds_waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
