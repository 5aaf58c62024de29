/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixed addresses: port 0 is the uplink, the others have one or two each. */
#include "assigned.h"
#include "cmocka_all.h"
#include "rtnet_lab.h"

#define BASE UINT32_C(0x0a010000) /* 10.1.0.0 */

static const struct rtnet_addr addrs[] = {
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 1}}, 1},
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 2}}, 2},
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 3}}, 3},
	{{{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 0, 3}}, 2}, /* the low 32 bits of another */
};
static const struct rtnet_assigned ASSIGNED = {.uplink = 0, .addrs = addrs, .count = 4};
static const struct rtnet_conf FIXED = {
	.assigned = &ASSIGNED, .net = {.tune.trim = WEFT_TRIM_OFF, .tune.queue_bytes = 100000, .brtt_ns = WEFT_US(50)}};

static void run(struct lab *l, weft_ns from, weft_ns to)
{
	for (weft_ns now = from; now < to; now += 1000)
		rtnet_poll(l->rtnet, now);
}

static void may_send__its_own_and_the_uplink_for_strangers(void **state)
{
	const struct weft_ip stranger = weft_ip_v4(BASE + 77);
	struct assigned *a = assigned_create(&ASSIGNED, HOSTS);
	assert_non_null(a);
	for (uint32_t port = 1; port < HOSTS; port++)
		for (unsigned i = 0; i < ASSIGNED.count; i++)
			assert_int_equal(assigned_may_send(a, port, &addrs[i].ip), addrs[i].port == port);
	for (unsigned i = 0; i < ASSIGNED.count; i++)
		assert_false(assigned_may_send(a, 0, &addrs[i].ip));
	assert_true(assigned_may_send(a, 0, &stranger));
	assert_false(assigned_may_send(a, 1, &stranger));
	assigned_destroy(a);
}

/* Between ports, out to strangers, in from them. */
static void poll__forwards_by_assignment(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, BASE, &FIXED);
	assert_true(send_data(l.host[1], BASE + 1, BASE + 2, 1));
	assert_true(send_data(l.host[1], BASE + 1, BASE + 200, 2));
	assert_true(send_data(l.host[0], BASE + 200, BASE + 3, 3));
	run(&l, 1000, WEFT_US(50));
	for (unsigned h = 0; h < HOSTS; h++) {
		full = 0;
		drain(l.host[h], &full, &trimmed);
		assert_int_equal(full, h != 1);
	}
	lab_close(&l);
}

static void poll__refuses_what_is_not_assigned(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, BASE, &FIXED);
	assert_true(send_data(l.host[1], BASE + 2, BASE + 3, 1));            /* another port's */
	assert_true(send_data(l.host[1], BASE + 99, BASE + 200, 2));         /* nobody's */
	assert_true(send_data(l.host[1], weft_net_host_ip(1), BASE + 3, 3)); /* of the lab's fabrics */
	assert_true(send_data(l.host[0], BASE + 1, BASE + 3, 4));            /* from outside, as one of us */
	assert_true(send_data(l.host[0], BASE + 200, BASE + 201, 5));        /* to nobody here */
	run(&l, 1000, WEFT_US(50));
	for (unsigned h = 0; h < HOSTS; h++)
		drain(l.host[h], &full, &trimmed);
	assert_int_equal(full, 0);
	rtnet_get_stats(l.rtnet, 1, &s);
	assert_int_equal(s.src_refused, 3);
	rtnet_get_stats(l.rtnet, 0, &s);
	assert_int_equal(s.src_refused, 1);
	assert_int_equal(s.unknown_dst, 1);
	lab_close(&l);
}

/* What ARP and ND say changes nothing; a lie is counted. */
static void learn__is_no_claim(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, BASE, &FIXED);
	rtnet_learn(l.rtnet, 3, &addrs[1].ip);
	rtnet_learn(l.rtnet, 2, &addrs[1].ip);
	rtnet_get_stats(l.rtnet, UINT32_MAX, &s);
	assert_int_equal(s.src_refused, 1);
	assert_true(send_data(l.host[1], BASE + 1, BASE + 2, 1));
	run(&l, 1000, WEFT_US(50));
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, 1);
	lab_close(&l);
}

/* Two ports flood the uplink, which carries 10 Gb/s; the third one sends a fifth of it and is not one of them. */
static void poll__a_flood_takes_no_share_of_others(void **state)
{
	struct lab l;
	unsigned got = 0, sent = 0, full = 0;
	lab_open(&l, BASE, &FIXED);
	for (weft_ns now = 0; now < WEFT_MS(4); now += 500) {
		for (uint32_t h = 1; h <= 2; h++)
			while (send_data(l.host[h], BASE + h, BASE, (uint32_t)now))
				;
		if (now % 17500 == 0)
			sent += send_data(l.host[3], BASE + 3, BASE, sent);
		rtnet_poll(l.rtnet, now);
		struct weft_pkt *pkts[32];
		uint16_t n = l.host[0]->ops->rx(l.host[0], pkts, 32);
		for (uint16_t i = 0; i < n; i++)
			got += wire_peek(pkts[i]) && pkts[i]->src == BASE + 3;
		full += n;
		l.host[0]->ops->free(l.host[0], pkts, n);
	}
	assert_true(sent > 200 && got + 20 > sent && full > 1000);
	lab_close(&l);
}

/* Two ports send more than a third takes: what waits for it is marked, and what its queue has no room for is not sent.
 */
static void poll__crowds_are_marked(void **state)
{
	struct lab l;
	struct weft_net_stats net;
	struct rtnet_conf conf = FIXED;
	unsigned full = 0, trimmed = 0;
	conf.net.tune.ecn_min_pct = 20;
	conf.net.tune.ecn_max_pct = 80;
	lab_open(&l, BASE, &conf);
	for (weft_ns now = 0; now < WEFT_MS(2); now += 1000) {
		for (uint32_t h = 2; h <= 3; h++)
			send_data(l.host[h], BASE + h, BASE + 1, (uint32_t)now);
		rtnet_poll(l.rtnet, now);
		drain(l.host[1], &full, &trimmed);
	}
	weft_net_get_stats(rtnet_net(l.rtnet), &net);
	assert_true(full > 500 && net.marked > 100);
	assert_int_equal(net.dropped_data, 0);
	lab_close(&l);
}

/* A port's own rate, both ways. */
static void set_bps__limits_a_port(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, BASE, &FIXED);
	rtnet_set_bps(l.rtnet, 1, UINT64_C(1000000000));
	for (weft_ns now = 0; now < WEFT_MS(4); now += 1000) {
		send_data(l.host[1], BASE + 1, BASE + 2, (uint32_t)now);
		rtnet_poll(l.rtnet, now);
		drain(l.host[2], &full, &trimmed);
	}
	assert_in_range(full, 100, 120); /* 4.3 KB at 1 Gb/s last 34 us */
	lab_close(&l);
}

/* A port that takes nothing gives back what waited for it, is asked with one packet, and comes back. */
static void poll__a_stuck_port_keeps_no_buffers(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	unsigned full = 0, trimmed = 0, sent = 0;
	weft_ns now = 0;
	lab_open(&l, BASE, &FIXED);
	for (; now < WEFT_MS(100); now += 5000) {
		sent += sent < RING + 200 && send_data(l.host[1], BASE + 1, BASE + 2, sent);
		rtnet_poll(l.rtnet, now);
	}
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_int_equal(s.stuck, 1);
	assert_int_equal(s.tx_pkts, RING);
	drain(l.host[2], &full, &trimmed);
	assert_true(send_data(l.host[1], BASE + 1, BASE + 2, sent++));
	run(&l, now, now + WEFT_US(50));
	for (unsigned i = 0; i < 20; i++)
		assert_true(send_data(l.host[1], BASE + 1, BASE + 2, sent++));
	run(&l, now + WEFT_US(50), now + WEFT_MS(1));
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_in_range(s.tx_pkts, RING + 21, RING + 22);
	assert_int_equal(s.stuck, 1);
	lab_close(&l);
}

/* What comes from outside for a port that takes it slowly holds only so many of the uplink's buffers. */
static void poll__a_slow_port_holds_a_share_of_the_uplinks_buffers(void **state)
{
	enum { HELD = 40 };
	struct lab l;
	struct rtnet_stats s;
	struct rtnet_conf conf = FIXED;
	unsigned full = 0, trimmed = 0, sent = 0;
	conf.held_pkts = HELD;
	lab_open(&l, BASE, &conf);
	for (weft_ns now = 0; now < WEFT_MS(12); now += 5000) {
		sent += sent < RING + 300 && send_data(l.host[0], BASE + 200, BASE + 2, sent);
		rtnet_poll(l.rtnet, now);
	}
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_int_equal(sent, RING + 300);
	assert_int_equal(s.downlink_full, 300 - HELD);
	drain(l.host[2], &full, &trimmed);
	run(&l, WEFT_MS(12), WEFT_MS(13));
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, RING + HELD);
	/* All were given back: as many can wait again. */
	for (unsigned i = 0; i < HELD; i++)
		assert_true(send_data(l.host[0], BASE + 200, BASE + 2, i));
	run(&l, WEFT_MS(13), WEFT_MS(14));
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, RING + 2 * HELD);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(may_send__its_own_and_the_uplink_for_strangers),
		cmocka_unit_test(poll__forwards_by_assignment),
		cmocka_unit_test(poll__refuses_what_is_not_assigned),
		cmocka_unit_test(learn__is_no_claim),
		cmocka_unit_test(poll__a_flood_takes_no_share_of_others),
		cmocka_unit_test(poll__crowds_are_marked),
		cmocka_unit_test(set_bps__limits_a_port),
		cmocka_unit_test(poll__a_stuck_port_keeps_no_buffers),
		cmocka_unit_test(poll__a_slow_port_holds_a_share_of_the_uplinks_buffers),
	};
	return cmocka_run_group_tests(tests, lab_setup, NULL);
}
