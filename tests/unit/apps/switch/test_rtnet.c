/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "rtnet_lab.h"

/* A credit, likewise. */
static bool send_credit(struct weft_port *port, uint32_t src, uint32_t dst, uint32_t number)
{
	struct plain_pkt w = port_data_pkt(src, dst, (uint16_t)(49152 + number % 1000), number, 0);
	w.net.dscp = WIRE_DSCP_CREDIT;
	w.pds = (struct plain_pds){.type = WIRE_PDS_ACK, .psn = number};
	return port_send(port, &w, NULL);
}

/* Receives and frees credits that wait at a host; counts those that are marked, too. */
static uint32_t drain_credits(struct weft_port *port, uint32_t *marked)
{
	struct weft_pkt *pkts[32];
	uint32_t credits = 0;
	uint16_t n;
	while ((n = port->ops->rx(port, pkts, 32)) > 0) {
		for (uint16_t i = 0; i < n; i++) {
			assert_true(wire_peek(pkts[i]));
			credits += (pkts[i]->flags & WEFT_PKT_CREDIT) != 0;
			*marked += pkts[i]->ecn == WEFT_ECN_CE;
		}
		port->ops->free(port, pkts, n);
	}
	return credits;
}

static const struct rtnet_conf TRIMMING = {
	.net = {.tune.trim = WEFT_TRIM_ARRIVING, .tune.ecn_min_pct = 20, .tune.ecn_max_pct = 80}};
static const struct rtnet_conf DROPPING = {.net = {.tune.trim = WEFT_TRIM_OFF, .tune.queue_bytes = 20000}};

static void create__needs_a_host_per_port(void **state)
{
	struct weft_topo topo;
	struct weft_err err;
	struct weft_port *ports[3] = {NULL};
	struct rtnet *r;
	assert_int_equal(weft_topo_preset("star:2", 1000000000, &topo, &err), 0);
	struct rtnet_conf conf = {.topo = &topo, .ports = ports, .port_count = 3, .net = {.mtu_bytes = 4096}};
	assert_int_equal(rtnet_create(&conf, 0, &r, &err), -EINVAL);
	conf.port_count = 0;
	assert_int_equal(rtnet_create(&conf, 0, &r, &err), -EINVAL);
}

/* Time is an argument: serialization twice and latencies before a packet is there, not earlier. */
static void poll__packet_takes_its_time(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	assert_true(send_data(l.host[0], weft_net_host_ip(0), weft_net_host_ip(2), 1));
	assert_int_equal(rtnet_poll(l.rtnet, 1000), 1000);
	weft_ns next = rtnet_poll(l.rtnet, 1001);
	assert_true(next > 1001 && next != WEFT_NEVER);
	/* 4.3 KB at 10 Gb/s last 3.4 us, twice; two links of 600 ns, one switch of 400 ns */
	for (weft_ns now = 1001; now < 1000 + 6800 + 1600; now += 100)
		rtnet_poll(l.rtnet, now);
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, 0);
	for (weft_ns now = 9400; now < 12000; now += 100)
		rtnet_poll(l.rtnet, now);
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, 1);
	assert_int_equal(rtnet_poll(l.rtnet, 20000), WEFT_NEVER);
	lab_close(&l);
}

static void poll__burst_arrives_complete_at_link_rate(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0, sent = 0;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	weft_ns now = 0;
	for (; sent < 500 && now < WEFT_MS(100); now += 1000) {
		while (sent < 500 && send_data(l.host[1], weft_net_host_ip(1), weft_net_host_ip(3), sent))
			sent++;
		rtnet_poll(l.rtnet, now);
		drain(l.host[3], &full, &trimmed);
	}
	for (weft_ns end = now + WEFT_MS(3); now < end; now += 1000) {
		rtnet_poll(l.rtnet, now);
		drain(l.host[3], &full, &trimmed);
	}
	assert_int_equal(full, 500);
	assert_int_equal(trimmed, 0);
	struct rtnet_stats s;
	rtnet_get_stats(l.rtnet, 1, &s);
	assert_int_equal(s.rx_pkts, 500);
	/* More than its link carries waits in the port, not in the fabric. */
	assert_true(s.uplink_full > 0);
	lab_close(&l);
}

/* Three hosts at full rate towards one. */
static void incast(struct lab *l, unsigned *sent, unsigned *full, unsigned *trimmed)
{
	for (weft_ns now = 0; now < WEFT_MS(2); now += 1000) {
		for (uint32_t h = 1; h < HOSTS && now < WEFT_US(300); h++)
			*sent += send_data(l->host[h], weft_net_host_ip(h), weft_net_host_ip(0), *sent);
		rtnet_poll(l->rtnet, now);
		drain(l->host[0], full, trimmed);
	}
}

static void poll__overload_trims(void **state)
{
	struct lab l;
	unsigned sent = 0, full = 0, trimmed = 0;
	struct weft_net_stats net;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	incast(&l, &sent, &full, &trimmed);
	weft_net_get_stats(rtnet_net(l.rtnet), &net);
	assert_true(trimmed > 0);
	assert_int_equal(trimmed, net.trimmed);
	assert_int_equal(full + trimmed, sent);
	assert_true(net.marked > 0);
	lab_close(&l);
}

/* Paused data waits in front of the fabric, and from there back in the sender's ring. */
static void poll__overload_pauses(void **state)
{
	static const struct rtnet_conf PAUSING = {.net = {.tune.pfc = true,
							  .tune.pfc_xoff_pct = 100,
							  .tune.pfc_xon_pct = 80,
							  .tune.trim = WEFT_TRIM_OFF}};
	struct lab l;
	unsigned sent = 0, full = 0, trimmed = 0;
	struct weft_net_stats net;
	lab_open(&l, weft_net_host_ip(0), &PAUSING);
	incast(&l, &sent, &full, &trimmed);
	for (weft_ns now = WEFT_MS(2); now < WEFT_MS(5); now += 1000) {
		rtnet_poll(l.rtnet, now);
		drain(l.host[0], &full, &trimmed);
	}
	weft_net_get_stats(rtnet_net(l.rtnet), &net);
	assert_true(net.pauses > 0);
	assert_int_equal(net.dropped_data, 0);
	assert_int_equal(full, sent);
	lab_close(&l);
}

/* A host sends credits twice as fast as their share of 10 Gb/s, one per (4,296 + 84 + 110) bytes' time: what its uplink
 * has no room for is dropped, half of the rest is marked. */
static void poll__credit_queue(void **state)
{
	static const struct rtnet_conf CREDITS = {.net = {.tune.credit_queue = 8}};
	struct lab l;
	struct weft_net_stats net;
	uint32_t sent = 0, got = 0, marked = 0;
	lab_open(&l, weft_net_host_ip(0), &CREDITS);
	for (weft_ns now = 0; now < WEFT_MS(4); now += 1796) {
		sent += send_credit(l.host[1], weft_net_host_ip(1), weft_net_host_ip(0), sent);
		rtnet_poll(l.rtnet, now);
		got += drain_credits(l.host[0], &marked);
	}
	rtnet_poll(l.rtnet, WEFT_MS(5));
	got += drain_credits(l.host[0], &marked);
	weft_net_get_stats(rtnet_net(l.rtnet), &net);
	assert_int_equal(got, sent - net.credits.dropped);
	assert_in_range(got, 4000000 / 3593, 4000000 / 3593 + 10);
	assert_int_equal(marked, net.credits.marked);
	assert_in_range(marked * 100 / got, 40, 60);
	lab_close(&l);
}

/* Without such queues credits pass as control packets do. */
static void poll__credits_are_control(void **state)
{
	struct lab l;
	uint32_t sent = 0, marked = 0;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	while (sent < 100 && send_credit(l.host[1], weft_net_host_ip(1), weft_net_host_ip(0), sent))
		sent++;
	for (weft_ns now = 0; now < WEFT_MS(1); now += 1000)
		rtnet_poll(l.rtnet, now);
	assert_int_equal(drain_credits(l.host[0], &marked), 100);
	assert_int_equal(marked, 0);
	lab_close(&l);
}

static void poll__overload_without_trimming_drops(void **state)
{
	struct lab l;
	unsigned sent = 0, full = 0, trimmed = 0;
	struct weft_net_stats net;
	lab_open(&l, weft_net_host_ip(0), &DROPPING);
	incast(&l, &sent, &full, &trimmed);
	weft_net_get_stats(rtnet_net(l.rtnet), &net);
	assert_int_equal(trimmed, 0);
	assert_true(net.dropped_data > 0);
	assert_int_equal(full + net.dropped_data, sent);
	lab_close(&l);
}

/* Nobody takes packets from the port: what does not fit in ring and queue is lost, counted, and given back. */
static void poll__stuck_port_drops_and_counts(void **state)
{
	struct lab l;
	struct rtnet_conf conf = TRIMMING;
	unsigned full = 0, trimmed = 0, sent = 0;
	conf.downlink_pkts = 16;
	lab_open(&l, weft_net_host_ip(0), &conf);
	for (weft_ns now = 0; now < WEFT_MS(6); now += 2000) {
		sent += sent < RING + 100 && send_data(l.host[1], weft_net_host_ip(1), weft_net_host_ip(0), sent);
		rtnet_poll(l.rtnet, now);
	}
	struct rtnet_stats s;
	rtnet_get_stats(l.rtnet, UINT32_MAX, &s);
	assert_int_equal(sent, RING + 100);
	assert_int_equal(s.downlink_full, 100 - 16);
	drain(l.host[0], &full, &trimmed);
	rtnet_poll(l.rtnet, WEFT_MS(7));
	drain(l.host[0], &full, &trimmed);
	assert_int_equal(full, RING + 16);
	lab_close(&l);
}

/* The usual room for packets that wait for a port: what it does not take waits in the fabric's queue, and is trimmed
 * there, so that senders learn of it at once. */
static void poll__stuck_port_trims(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0, sent = 0;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	for (weft_ns now = 0; now < WEFT_MS(8); now += 2000) {
		sent += sent < RING + 500 && send_data(l.host[1], weft_net_host_ip(1), weft_net_host_ip(0), sent);
		rtnet_poll(l.rtnet, now);
	}
	for (weft_ns now = WEFT_MS(8); now < WEFT_MS(10); now += 2000) {
		drain(l.host[0], &full, &trimmed);
		rtnet_poll(l.rtnet, now);
	}
	struct rtnet_stats s;
	rtnet_get_stats(l.rtnet, UINT32_MAX, &s);
	assert_int_equal(s.downlink_full, 0);
	assert_int_equal(sent, RING + 500);
	assert_int_equal(full + trimmed, sent);
	assert_true(trimmed > 100);
	lab_close(&l);
}

static void learn__addresses_of_any_range(void **state)
{
	struct lab l;
	unsigned full = 0, trimmed = 0;
	struct rtnet_stats s;
	const uint32_t base = 0xc0a80005; /* 192.168.0.5 and following */
	lab_open(&l, base, &TRIMMING);
	struct weft_ip ip3 = weft_ip_v4(base + 3);
	rtnet_poll(l.rtnet, 0);
	/* Unknown, then told, then learned from a packet's source. */
	assert_true(send_data(l.host[0], base, base + 3, 1));
	rtnet_poll(l.rtnet, 1000);
	rtnet_get_stats(l.rtnet, 0, &s);
	assert_int_equal(s.unknown_dst, 1);
	rtnet_learn(l.rtnet, 3, &ip3);
	assert_true(send_data(l.host[0], base, base + 3, 2));
	rtnet_poll(l.rtnet, 2000);
	rtnet_poll(l.rtnet, 20000);
	drain(l.host[3], &full, &trimmed);
	assert_int_equal(full, 1);
	assert_true(send_data(l.host[3], base + 3, base, 3));
	rtnet_poll(l.rtnet, 30000);
	rtnet_poll(l.rtnet, 50000);
	drain(l.host[0], &full, &trimmed);
	assert_int_equal(full, 2);
	lab_close(&l);
}

/* Neither packets nor announcements redirect what is for another port. */
static void learn__another_ports_address_is_refused(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	const uint32_t plan = weft_net_host_ip(0);
	struct weft_ip of2 = weft_ip_v4(plan + 2);
	lab_open(&l, plan, &TRIMMING);
	assert_true(send_data(l.host[1], plan + 2, plan, 1));
	rtnet_poll(l.rtnet, 0);
	rtnet_learn(l.rtnet, 1, &of2);
	assert_true(send_data(l.host[0], plan, plan + 2, 2));
	rtnet_poll(l.rtnet, 0);
	rtnet_poll(l.rtnet, WEFT_US(50));
	rtnet_get_stats(l.rtnet, 1, &s);
	assert_int_equal(s.src_refused, 2);
	assert_int_equal(s.tx_pkts, 0);
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_int_equal(s.tx_pkts, 1);
	lab_close(&l);
}

static void poll__what_the_port_drops_is_not_sent(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	for (unsigned i = 0; i < 5; i++) {
		l.sw[2]->max_ip_bytes = i < 3 ? PAYLOAD : PAYLOAD + 200;
		assert_true(send_data(l.host[0], weft_net_host_ip(0), weft_net_host_ip(2), i));
		for (weft_ns now = i * WEFT_US(20); now < (i + 1) * WEFT_US(20); now += 1000)
			rtnet_poll(l.rtnet, now);
	}
	drain(l.host[2], &full, &trimmed);
	assert_int_equal(full, 2);
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_int_equal(s.port_dropped, 3);
	assert_int_equal(s.tx_pkts, 2);
	rtnet_get_stats(l.rtnet, UINT32_MAX, &s);
	assert_int_equal(s.port_dropped, 3);
	lab_close(&l);
}

static void poll__foreign_packets_are_dropped(void **state)
{
	struct lab l;
	struct rtnet_stats s;
	struct weft_pkt *pkt;
	static const uint8_t icmp[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 8};
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	assert_int_equal(l.host[0]->ops->alloc(l.host[0], &pkt, 1), 1);
	memcpy(pkt->head, icmp, sizeof icmp);
	pkt->head_len = sizeof icmp;
	assert_int_equal(l.host[0]->ops->tx(l.host[0], &pkt, 1), 1);
	rtnet_poll(l.rtnet, 1000);
	rtnet_get_stats(l.rtnet, 0, &s);
	assert_int_equal(s.rx_foreign, 1);
	assert_int_equal(s.rx_pkts, 1);
	lab_close(&l);
}

/* Leaf 0 by itself: ports 0 and 1 are its hosts', 2 and 3 lead to the spines. */
static void part__between_hosts_and_switches(void **state)
{
	static const struct rtnet_part leaf0 = {0, 0};
	static const struct rtnet_conf LEAF = {.part = &leaf0};
	struct lab l;
	struct rtnet_stats up[2], s;
	unsigned full[HOSTS] = {0}, trimmed = 0;
	weft_ns now = 0;
	lab_open(&l, weft_net_host_ip(0), &LEAF);
	for (unsigned i = 0; i < 40; i++) {
		assert_true(send_data(l.host[0], weft_net_host_ip(0), weft_net_host_ip(2), i));
		assert_true(send_data(l.host[i % 2 + 2], weft_net_host_ip(2), weft_net_host_ip(1), i));
	}
	assert_true(send_data(l.host[1], weft_net_host_ip(1), weft_net_host_ip(4), 0));
	assert_true(send_data(l.host[1], weft_net_host_ip(0), weft_net_host_ip(2), 0));
	for (; now < WEFT_MS(1); now += 1000)
		rtnet_poll(l.rtnet, now);
	for (unsigned h = 0; h < HOSTS; h++)
		drain(l.host[h], &full[h], &trimmed);
	assert_int_equal(full[0], 0);
	assert_int_equal(full[1], 40);
	assert_int_equal(full[2] + full[3], 40);
	for (unsigned i = 0; i < 2; i++) {
		struct weft_port_info info;
		rtnet_get_stats(l.rtnet, 2 + i, &up[i]);
		assert_int_equal(up[i].rx_pkts, 20);
		assert_int_equal(up[i].tx_pkts, full[2 + i]);
		assert_int_equal(weft_net_port_info(rtnet_net(l.rtnet), rtnet_link(l.rtnet, 2 + i).index, &info), 0);
		assert_int_equal(info.counts.sent_pkts, full[2 + i]);
		assert_true(info.counts.sent_pkts > 0);
	}
	rtnet_get_stats(l.rtnet, 1, &s);
	assert_int_equal(s.unknown_dst, 1);
	assert_int_equal(s.src_refused, 1);
	lab_close(&l);
}

/* What comes from a switch faster than its link's rate waits in its port. */
static void part__keeps_the_rate_of_what_comes(void **state)
{
	static const struct rtnet_part leaf0 = {0, 0};
	static const struct rtnet_conf LEAF = {.part = &leaf0};
	struct lab l;
	struct rtnet_stats s;
	unsigned full = 0, trimmed = 0;
	lab_open(&l, weft_net_host_ip(0), &LEAF);
	for (unsigned i = 0; i < 200; i++)
		assert_true(send_data(l.host[2], weft_net_host_ip(2), weft_net_host_ip(1), i));
	for (weft_ns now = 0; now < WEFT_US(100); now += 1000)
		rtnet_poll(l.rtnet, now);
	rtnet_get_stats(l.rtnet, 2, &s);
	assert_int_equal(s.rx_pkts, 64);
	assert_true(s.uplink_full > 0);
	for (weft_ns now = WEFT_US(100); now < WEFT_MS(2); now += 1000)
		rtnet_poll(l.rtnet, now);
	drain(l.host[1], &full, &trimmed);
	assert_int_equal(full, 200);
	lab_close(&l);
}

static void part__needs_a_port_per_cable(void **state)
{
	static const struct rtnet_part spine1 = {1, 1}, spine2 = {1, 2};
	struct weft_topo topo;
	struct weft_err err;
	struct lab l;
	struct rtnet *r;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	assert_int_equal(weft_topo_preset("leafspine:2:2:2", 1000000000, &topo, &err), 0);
	struct rtnet_conf conf = {
		.topo = &topo, .part = &spine1, .ports = l.sw, .port_count = 3, .net = {.mtu_bytes = PAYLOAD}};
	assert_int_equal(rtnet_create(&conf, 0, &r, &err), -EINVAL);
	assert_string_equal(err.msg, "3 ports, but spine1 has 2 cables");
	conf.port_count = 1;
	assert_int_equal(rtnet_create(&conf, 0, &r, &err), -EINVAL);
	assert_string_equal(err.msg, "1 port, but spine1 has 2 cables");
	conf.part = &spine2;
	assert_int_equal(rtnet_create(&conf, 0, &r, &err), -ENOENT);
	lab_close(&l);
}

struct stopper {
	atomic_bool stop;
	unsigned ticks;
};

static void stop_after_two(void *arg)
{
	struct stopper *s = arg;
	if (++s->ticks == 2)
		atomic_store(&s->stop, true);
}

static void run__ticks_and_stops(void **state)
{
	struct lab l;
	struct stopper s = {.stop = false};
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	rtnet_run(l.rtnet, &s.stop, WEFT_MS(1), stop_after_two, &s);
	assert_int_equal(s.ticks, 2);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__needs_a_host_per_port),
		cmocka_unit_test(poll__packet_takes_its_time),
		cmocka_unit_test(poll__burst_arrives_complete_at_link_rate),
		cmocka_unit_test(poll__overload_trims),
		cmocka_unit_test(poll__overload_pauses),
		cmocka_unit_test(poll__credit_queue),
		cmocka_unit_test(poll__credits_are_control),
		cmocka_unit_test(poll__overload_without_trimming_drops),
		cmocka_unit_test(poll__stuck_port_drops_and_counts),
		cmocka_unit_test(poll__stuck_port_trims),
		cmocka_unit_test(learn__addresses_of_any_range),
		cmocka_unit_test(learn__another_ports_address_is_refused),
		cmocka_unit_test(poll__what_the_port_drops_is_not_sent),
		cmocka_unit_test(poll__foreign_packets_are_dropped),
		cmocka_unit_test(part__between_hosts_and_switches),
		cmocka_unit_test(part__keeps_the_rate_of_what_comes),
		cmocka_unit_test(part__needs_a_port_per_cable),
		cmocka_unit_test(run__ticks_and_stops),
	};
	return cmocka_run_group_tests(tests, lab_setup, NULL);
}
