/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

static void port__takes_little_at_a_time(void **state)
{
	for (uint32_t room = 1; room < 4; room++) {
		struct duo d;
		open_default(&d);
		d.port[0].tx_room = d.port[1].tx_room = room;
		duo_transfer(&d, 0, 500000);
		duo_transfer(&d, 1, 500000);
		assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 0);
		duo_close(&d);
	}
}

static void port__full_for_a_while(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(100000, 1);
	open_default(&d);
	d.port[0].tx_room = 0;
	duo_send(&d, 0, out, 100000, 7, out);
	for (int i = 0; i < 100; i++) {
		d.now += 1000;
		duo_poll(&d, 0);
		assert_int_equal(d.due[0], d.now); /* more is waiting: poll again */
	}
	assert_true(weft_engine_stats(d.e[0])->tx_full >= 100);
	assert_int_equal(d.sent[0], 0);
	d.port[0].tx_room = UINT32_MAX;
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
	free(out);
}

/* What the port did not take must not point into a buffer that is the application's again. */
static void port__refused_packets_forget_completed_messages(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(100, 1);
	open_default(&d);
	duo_send(&d, 0, out, 100, 7, out);
	duo_run(&d, d.now + 1); /* sent; its ACK is 8 us away */
	d.port[1].alloc_fail = 100;
	d.now += WEFT_US(4);
	duo_poll(&d, 1); /* received, no packet for the ACK */
	d.port[0].tx_room = 0;
	d.now += WEFT_US(80);
	duo_poll(&d, 0); /* late: grace */
	d.now += WEFT_US(80);
	duo_poll(&d, 0); /* timeout; the copy stays with the engine */
	assert_int_equal(d.e[0]->pds.out.refused, 1);
	d.port[1].alloc_fail = 0;
	duo_poll(&d, 1);
	d.now += WEFT_US(4);
	duo_poll(&d, 0);
	duo_expect(&d, 0, out, 0);
	assert_int_equal(d.e[0]->pds.out.count, 0);
	free(out);
	d.port[0].tx_room = UINT32_MAX;
	duo_run(&d, d.now + WEFT_MS(1));
	duo_close(&d);
}

/* Every allocation of packets fails once, later ones work: nothing is lost but time. */
static void alloc__packets_missing_at_every_call(void **state)
{
	for (uint32_t n = 0; n < 40; n++) {
		struct duo d;
		open_default(&d);
		for (int i = 0; i < 12; i++) {
			d.port[0].alloc_fail = n & 1 ? n : 0;
			d.port[1].alloc_fail = n & 2 ? n : 0;
			duo_transfer(&d, i & 1, 30000);
		}
		duo_close(&d);
	}
}

static void alloc__memory_missing_at_every_call(void **state)
{
	uint64_t calls = 100;
	for (uint64_t n = 1; n < calls; n++)
		for (int side = 0; side < 2; side++) {
			struct duo d;
			open_default(&d);
			d.mem[side].fail_at = d.mem[side].calls + n;
			uint64_t before = d.mem[side].calls;
			duo_transfer(&d, 0, 300000);
			duo_transfer(&d, 1, 300000);
			duo_send(&d, 0, &n, sizeof n, 3, &n);
			duo_run(&d, d.now + WEFT_MS(1));
			duo_expect(&d, 0, &n, 0);
			if (calls > d.mem[side].calls - before + 3)
				calls = d.mem[side].calls - before + 3;
			duo_close(&d);
		}
	assert_in_range(calls, 5, 90);
}

static void crowd(struct duo *d, uint32_t n, const uint8_t *out, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weft_addr addr = {weft_ip_v4(0x0a010000 + i), 1};
		struct weft_op op = {.kind = WEFT_OP_TSEND, .buf = (void *)out, .len = len};
		assert_int_equal(weft_peer_add(d->e[0], &addr, &op.peer), 0);
		assert_int_equal(weft_submit(d->ep[0], &op), 0);
	}
}

/* Twenty connections, none of them answered: each gets its share of what goes out, packet by packet. */
static void sched__round_robin(void **state)
{
	enum { PEERS = 20 };
	uint32_t count[PEERS] = {0};
	uint8_t *out = duo_pattern(100000, 1);
	struct duo d;
	open_default(&d);
	d.logging = true;
	crowd(&d, PEERS, out, 100000);
	duo_run(&d, d.now + WEFT_US(60)); /* 174 packets */
	for (uint32_t i = 0; i < d.log_len; i++) {
		uint32_t who = weft_ip_low32(&d.log[i].w.net.dst) & 0xffff;
		count[who]++;
		for (uint32_t other = 0; other < PEERS; other++)
			assert_in_range(count[who] - count[other] + 1, 0, 2);
	}
	assert_in_range(d.log_len, 170, 180);
	duo_close(&d);
	free(out);
}

static void pace__at_link_rate(void **state)
{
	for (int pacing = 0; pacing < 2; pacing++) {
		struct duo_conf conf;
		struct duo d;
		uint8_t *out = duo_pattern(80000, 1);
		duo_conf_init(&conf);
		conf.tune.pacing = (uint8_t)pacing;
		duo_open(&d, &conf);
		d.logging = true;
		duo_send(&d, 0, out, 80000, 7, out);
		weft_ns start = d.now;
		duo_run(&d, start + WEFT_US(7)); /* before the first ACK */
		weft_ns last = 0;
		for (uint32_t i = 0; i < d.log_len; i++)
			last = d.log[i].from == 0 ? d.log[i].at - start : last;
		/* 20 packets of 4218 bytes at 100 Gb/s: 337 ns each; two are given ahead of time. */
		assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_REQ, NULL), 20);
		assert_in_range(last, pacing ? 16 * 337 : 0, pacing ? 18 * 337 : 0);
		duo_close(&d);
		free(out);
	}
}

/* A congestion control's pace of a packet per microsecond holds although the polls come every 1.5. */
static void pace__of_a_connection_is_kept_by_late_polls(void **state)
{
	enum { GAP_NS = 1000, POLL_NS = 1500, PKTS = 20 };
	struct duo d;
	uint8_t *out = duo_pattern(PKTS * 4096, 1);

	open_default(&d);
	duo_transfer(&d, 0, 100);
	first_tx(d.e[0])->cc.pace = ((uint32_t)GAP_NS << 20) / 4218;
	uint64_t before = weft_engine_stats(d.e[0])->tx_data;
	duo_send(&d, 0, out, PKTS * 4096, 7, out);
	for (int i = 0; i <= PKTS * GAP_NS / POLL_NS; i++, d.now += POLL_NS) {
		duo_poll(&d, 0);
		uint64_t due = (uint64_t)i * POLL_NS / GAP_NS + 1;
		assert_in_range(weft_engine_stats(d.e[0])->tx_data - before, due - 1, due);
	}
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
	free(out);
}

/* Uptimes of hundreds of days and clocks that count from 1970. */
static void pace__late_in_the_day(void **state)
{
	static const weft_ns starts[] = {UINT64_MAX / 1000 - WEFT_US(20), WEFT_S(UINT64_C(1800000000))};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		struct duo d;
		open_default(&d);
		d.now = starts[i];
		duo_transfer(&d, 0, 1000000);
		assert_int_equal(weft_engine_stats(d.e[0])->tx_retx, 0);
		duo_close(&d);
	}
}

/* Of the packets of a full window, the longest run up to one that asks for an ACK, or to the end. */
static uint32_t longest_without_asking(uint32_t acks_per_window, uint32_t window_pkts)
{
	struct duo d;
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.ack_every = 64;
	conf.tune.acks_per_window = acks_per_window;
	conf.tune.pacing = 0; /* all of the window leaves before the first ACK comes */
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 1);
	first_tx(d.e[0])->cc.cwnd_bytes = window_pkts * d.e[0]->pds.conf.full_wire_bytes;
	d.logging = true;
	duo_transfer(&d, 0, 256 * 4096);
	uint32_t run = 0, longest = 0;
	for (uint32_t i = 0; i < window_pkts; i++) {
		const struct plain_pkt *w = &d.log[i].w;
		assert_true(d.log[i].from == 0 && is_data(w));
		longest = ++run > longest ? run : longest;
		run = w->pds.flags & WIRE_F_AR ? 0 : run;
	}
	duo_close(&d);
	return longest;
}

static void acks_per_window__sender_asks(void **state)
{
	assert_int_equal(longest_without_asking(0, 128), 128);
	for (uint32_t acks = 1; acks <= 32; acks *= 2)
		for (uint32_t window_pkts = 1; window_pkts <= 128; window_pkts *= 2) {
			uint32_t most = window_pkts / acks ? window_pkts / acks : 1;
			assert_in_range(longest_without_asking(acks, window_pkts), (most + 3) / 4, most);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port__takes_little_at_a_time),
		cmocka_unit_test(port__full_for_a_while),
		cmocka_unit_test(port__refused_packets_forget_completed_messages),
		cmocka_unit_test(alloc__packets_missing_at_every_call),
		cmocka_unit_test(alloc__memory_missing_at_every_call),
		cmocka_unit_test(sched__round_robin),
		cmocka_unit_test(pace__at_link_rate),
		cmocka_unit_test(pace__of_a_connection_is_kept_by_late_polls),
		cmocka_unit_test(pace__late_in_the_day),
		cmocka_unit_test(acks_per_window__sender_asks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
