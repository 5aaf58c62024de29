/* SPDX-License-Identifier: BSD-3-Clause */
/* Behaviour of a port's queues against closed forms. Most tests send from hosts 0 and 1 to host 2 of one switch: the
 * port to host 2 is the only one that queues. */
#include "cmocka_all.h"
#include "lan.h"
#include "wire.h"

#define GBPS800 UINT64_C(800000000000)

enum { PS_PER_BYTE = 10, SER = LAN_MTU * PS_PER_BYTE };

/* One switch at 800 Gb/s: 2 x 600 ns of links, 400 ns of switch, each way. */
static uint64_t star_bdp_bytes(void)
{
	return (UINT64_C(3200000) + 2 * (LAN_MTU + 110) * PS_PER_BYTE) / PS_PER_BYTE;
}

/* Share of marked packets while `depth` of them wait all the time: hosts 0 and 1 build the queue up, then host 1 alone
 * keeps it there. */
static double marked_share(uint32_t depth, uint32_t samples, uint8_t prob_pct)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 100000000;
	conf.tune.ecn_min_pct = 20;
	conf.tune.ecn_max_pct = 80;
	conf.tune.ecn_prob_pct = prob_pct;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = depth});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = depth + samples});
	/* Both arrive from 1600 ns + one packet on; with `depth` of each inside, half of them have left. */
	weft_net_run(lan.net, 1600000 + (weft_ps)(depth + 1) * SER);
	uint64_t before = lan_stats(&lan).marked;
	weft_net_run(lan.net, 1600000 + (weft_ps)(depth + 1 + samples) * SER);
	double share = (double)(lan_stats(&lan).marked - before) / samples;
	assert_int_equal(lan_stats(&lan).dropped_data, 0);
	lan_close(&lan);
	return share;
}

/* Linear between 20 % and 80 % of a BDP of what stays behind; within one packet and four sigma. */
static void queue_service__marks_linearly(void **state)
{
	const uint32_t samples = 20000;
	double low = 0.2 * (double)star_bdp_bytes(), high = 0.8 * (double)star_bdp_bytes();

	for (uint32_t depth = 20; depth < 62; depth += 8) {
		double expect = ((double)depth * LAN_MTU - low) / (high - low);
		double slack = LAN_MTU / (high - low) + 4 * 0.5 / 141;
		double share = marked_share(depth, samples, 0);
		assert_true(share > expect - slack);
		assert_true(share < expect + slack);
	}
}

static void queue_service__marks_none_or_all(void **state)
{
	uint32_t low_pkts = (uint32_t)(star_bdp_bytes() / 5 / LAN_MTU), high_pkts = 4 * low_pkts + 5;

	assert_true(marked_share(low_pkts - 1, 5000, 0) == 0.0);
	assert_true(marked_share(high_pkts, 5000, 0) == 1.0);
}

/* A tenth of the marks up to the upper threshold, all beyond. At both ends of the time the queue is shorter. */
static void queue_service__marks_a_share(void **state)
{
	double low = 0.2 * (double)star_bdp_bytes(), high = 0.8 * (double)star_bdp_bytes();
	double expect = 0.1 * (50 * LAN_MTU - low) / (high - low), share = marked_share(50, 20000, 10);

	assert_true(share > expect - 0.1 * LAN_MTU / (high - low) - 4 * 0.3 / 141);
	assert_true(share < expect + 0.1 * LAN_MTU / (high - low) + 4 * 0.3 / 141);
	assert_true(marked_share((uint32_t)(high / LAN_MTU) + 10, 5000, 10) > 0.99); /* while the queue is full */
}

static void queue_service__never_marks_others(void **state)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 100000000;
	conf.tune.ecn_max_pct = 1;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 200, .no_ect = true});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 200, .control = true, .wire_bytes = 1000});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, 200);
	assert_int_equal(lan.hosts[2].control, 200);
	assert_int_equal(lan.hosts[2].marked, 0);
	assert_int_equal(lan_stats(&lan).marked, 0);
	lan_close(&lan);
}

static void queue_service__marks_bytes_too(void **state)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 100000000;
	conf.tune.ecn_max_pct = 1;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 100});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].marked, lan_stats(&lan).marked);
	assert_in_range(lan.hosts[2].marked, 190, 200);
	lan_close(&lan);
}

/* Fifteen hosts to one: what was sent arrives whole or trimmed, nothing else. */
static struct weft_net_stats incast(uint8_t trim, uint32_t each, struct lan_host *sink, uint64_t *freed)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.trim = trim;
	conf.tune.ecn_min_pct = 20;
	conf.tune.ecn_max_pct = 80;
	lan_open(&lan, "topologies/ls16_50g.topo", 50000000000, conf);
	for (uint32_t h = 1; h < 16; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 0, .count = each, .spray = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	*sink = lan.hosts[0];
	*freed = lan.freed;
	lan_close(&lan);
	return stats;
}

static void queue_enqueue__trimming_conserves(void **state)
{
	for (uint8_t trim = WEFT_TRIM_ARRIVING; trim <= WEFT_TRIM_COIN; trim++) {
		struct lan_host sink;
		uint64_t freed;
		struct weft_net_stats s = incast(trim, 100, &sink, &freed);
		assert_int_equal(sink.data + sink.trimmed, 1500);
		assert_int_equal(sink.trimmed, s.trimmed);
		assert_true(s.trimmed > 500);
		assert_int_equal(freed, 0);
		/* One BDP at most; 50 Gb/s are 160 ps per byte. */
		assert_in_range(s.max_queue_bytes, 40000, (7200000 + 4 * 4370 * 160) / 160);
	}
}

static void check_drops(uint8_t mode)
{
	struct lan_host sink;
	uint64_t freed;
	struct weft_net_stats s = incast(mode, 100, &sink, &freed);

	assert_int_equal(sink.data + s.dropped_data, 1500);
	assert_int_equal(freed, s.dropped_data);
	assert_true(s.dropped_data > 100);
	assert_int_equal(s.trimmed, 0);
	assert_in_range(s.max_queue_bytes, 200000, 5 * ((7200000 + 4 * 4370 * 160) / 160));
}

static void queue_enqueue__drops_without_trimming(void **state)
{
	check_drops(WEFT_TRIM_OFF);
	check_drops(WEFT_TRIM_OFF_COIN);
}

/* How many of each sender's packets get through whole. */
static uint64_t whole_from[3];

static void note_whole(struct lan_host *h, const struct weft_pkt *pkt, weft_ps now)
{
	if (!(pkt->flags & WEFT_PKT_TRIMMED))
		whole_from[pkt->src - weft_net_host_ip(0)]++;
}

/* Two senders in lockstep fill a queue; the smaller number of packets one of them gets through of 1000 each. */
static uint64_t unluckier_sender(uint8_t trim)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.trim = trim;
	conf.tune.queue_bytes = 20 * LAN_MTU;
	whole_from[1] = whole_from[2] = 0;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan.on_deliver = note_whole;
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 1000});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0, .count = 1000});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[0].data + lan.hosts[0].trimmed + lan_stats(&lan).dropped_data, 2000);
	assert_in_range(lan.hosts[0].data, 960, 1021); /* trimmed headers take their share */
	assert_true(lan_stats(&lan).max_queue_bytes <= conf.tune.queue_bytes);
	lan_close(&lan);
	return whole_from[1] < whole_from[2] ? whole_from[1] : whole_from[2];
}

/* The rule about the arriving packet always hits the same sender; the coin hits both. */
static void queue_enqueue__coin_breaks_lockstep(void **state)
{
	assert_in_range(unluckier_sender(WEFT_TRIM_ARRIVING), 1, 30);
	assert_in_range(unluckier_sender(WEFT_TRIM_COIN), 400, 510);
	assert_in_range(unluckier_sender(WEFT_TRIM_OFF), 1, 30);
	assert_in_range(unluckier_sender(WEFT_TRIM_OFF_COIN), 400, 520);
}

static void queue_enqueue__drops_untrimmable(void **state)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.trim = WEFT_TRIM_COIN;
	conf.tune.queue_bytes = 10 * LAN_MTU;
	lan_open(&lan, "star:4", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 3, .count = 50, .no_ect = true});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 3, .count = 50, .no_trim = true});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 3, .count = 50});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats s = lan_stats(&lan);
	assert_int_equal(lan.hosts[3].data + lan.hosts[3].trimmed + s.dropped_data, 150);
	assert_true(s.dropped_data > 20);
	assert_in_range(lan.hosts[3].trimmed, 10, 50);
	lan_close(&lan);
}

static uint8_t last_trim_dscp;

static void note_dscp(struct lan_host *h, const struct weft_pkt *pkt, weft_ps now)
{
	if (!(pkt->flags & WEFT_PKT_TRIMMED))
		return;
	last_trim_dscp = pkt->dscp;
	assert_int_equal(pkt->head[1] >> 2, pkt->dscp);
	assert_int_equal(pkt->payload_len, 0);
	assert_true(pkt->wire_bytes < 200);
}

/* Where a packet was trimmed shows in its code point: at the port to the host, or before. */
static void queue_enqueue__last_hop(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.trim = WEFT_TRIM_ARRIVING;
	lan_open(&lan, "star:4", GBPS800, conf);
	lan.on_deliver = note_dscp;
	for (uint32_t h = 1; h < 4; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 0, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_true(lan_stats(&lan).trimmed > 0);
	assert_int_equal(last_trim_dscp, WIRE_DSCP_TRIMMED_LASTHOP);
	lan_close(&lan);

	lan_open(&lan, "leafspine:2:1:4", GBPS800, conf);
	lan.on_deliver = note_dscp;
	for (uint32_t h = 0; h < 4; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 4 + h, .count = 300});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_true(lan_stats(&lan).trimmed > 0);
	assert_int_equal(last_trim_dscp, WIRE_DSCP_TRIMMED);
	lan_close(&lan);
}

static uint64_t ordered_seen;

static void note_ordered(struct lan_host *h, const struct weft_pkt *pkt, weft_ps now)
{
	ordered_seen += pkt->dscp == WIRE_DSCP_ORDERED;
}

/* A control packet waits for the packet in service, never for the queue. */
static void queue_service__control_first(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 100000000;
	lan_open(&lan, "star:4", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 1000});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = 1000});
	weft_ps sent = 500 * SER;
	weft_net_run(lan.net, sent);
	lan_send(&lan, sent, (struct lan_send){.src = 3, .dst = 2, .control = true, .wire_bytes = 100});
	weft_ps idle = 1600000 + 2 * 100 * PS_PER_BYTE;
	weft_net_run(lan.net, sent + idle - 1);
	assert_int_equal(lan.hosts[2].control, 0);
	weft_net_run(lan.net, sent + idle + SER);
	assert_int_equal(lan.hosts[2].control, 1);
	assert_true(lan_stats(&lan).max_queue_bytes > 200 * LAN_MTU);
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[2].data, 2000);
	lan_close(&lan);
}

/* Twice the data queue, then control is dropped and counted. */
static void queue_enqueue__control_is_bounded(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = LAN_MTU;
	lan_open(&lan, "star:16", GBPS800, conf);
	for (uint32_t h = 1; h < 16; h++)
		lan_send(&lan, 0,
			 (struct lan_send){.src = h, .dst = 0, .count = 100, .control = true, .wire_bytes = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats s = lan_stats(&lan);
	assert_int_equal(lan.hosts[0].control + s.dropped_control, 1500);
	/* 85 wait, while 100 rounds of 15 arrive and 100 leave. */
	assert_in_range(lan.hosts[0].control, 184, 188);
	assert_int_equal(s.max_queue_bytes, 0);
	lan_close(&lan);
}

/* Hosts 1 and 2 of 3 fill the link to host 0, the second with ordered data. Returns the second's share of what came
 * through until half of all was sent, in percent. */
static double ordered_share(uint8_t pct)
{
	enum { EACH = 1000 };
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 100000000;
	conf.tune.ordered_pct = pct;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan.on_deliver = note_ordered;
	ordered_seen = 0;
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = EACH});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0, .count = EACH, .ordered = true});
	weft_net_run(lan.net, EACH * SER);
	double share = 100.0 * (double)ordered_seen / (double)lan.hosts[0].data;
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[0].data, 2 * EACH);
	assert_int_equal(ordered_seen, EACH);
	lan_close(&lan);
	return share;
}

/* PRIME section IV-A2: weights between hashed and sprayed traffic, and strict priority. */
static void queue_service__ordered_gets_its_share(void **state)
{
	static const uint8_t pct[] = {10, 25, 50, 75};
	for (size_t i = 0; i < sizeof pct; i++) {
		double share = ordered_share(pct[i]);
		assert_true(share > pct[i] - 1 && share < pct[i] + 1);
	}
	assert_true(ordered_share(0) > 49 && ordered_share(0) < 51); /* as they come */
	assert_true(ordered_share(100) > 99);
}

/* Alone, either gets the whole link, and what it got then is not held against it. */
static void queue_service__idle_shares_are_not_saved(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 100000000;
	conf.tune.ordered_pct = 50;
	lan_open(&lan, "star:4", GBPS800, conf);
	lan.on_deliver = note_ordered;
	ordered_seen = 0;
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 500, .ordered = true});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0, .count = 500, .ordered = true});
	weft_net_run(lan.net, 600 * SER);
	lan_send(&lan, 600 * SER, (struct lan_send){.src = 3, .dst = 0, .count = 200});
	weft_net_run(lan.net, 800 * SER);
	assert_in_range(lan.hosts[0].data - ordered_seen, 70, 110); /* it takes a while to get there */
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan.hosts[0].data, 1200);
	lan_close(&lan);
}

/* Each queue is trimmed, marked and bounded by itself, and nothing gets lost. */
static void queue_enqueue__ordered_is_bounded_by_itself(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.tune.queue_bytes = 20 * LAN_MTU;
	conf.tune.trim = WEFT_TRIM_COIN;
	conf.tune.ordered_pct = 50;
	conf.tune.ecn_min_pct = 1;
	conf.tune.ecn_max_pct = 2;
	lan_open(&lan, "star:4", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 15});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0, .count = 200, .ordered = true});
	lan_send(&lan, 0, (struct lan_send){.src = 3, .dst = 0, .count = 200, .ordered = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats s = lan_stats(&lan);
	assert_true(s.trimmed > 100 && s.marked > 0);
	assert_int_equal(lan.hosts[0].data + lan.hosts[0].trimmed, 415);
	assert_in_range(s.max_queue_bytes, 19 * LAN_MTU, 20 * LAN_MTU);
	lan_close(&lan);

	lan_open(&lan, "star:4", GBPS800, conf); /* and what still waits at the end is given back */
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 0, .count = 200, .ordered = true});
	lan_send(&lan, 0, (struct lan_send){.src = 2, .dst = 0, .count = 200, .ordered = true});
	weft_net_run(lan.net, 100 * SER);
	lan_close(&lan);
}

/* Two packets arrive together, one waits for the other's service: the integral is its size times that. */
static void queue_depth__integral(void **state)
{
	struct lan lan;

	lan_open(&lan, "star:3", GBPS800, lan_conf());
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats s = lan_stats(&lan);
	assert_int_equal(s.queue_byte_ps, (uint64_t)LAN_MTU * SER >> 20);
	assert_int_equal(s.max_queue_bytes, 2 * LAN_MTU);
	lan_close(&lan);
}

/* Two packets arrive with every one that leaves: the i-th of all waits for ceil(i / 2). */
static void queue_service__waiting_by_hop(void **state)
{
	const uint64_t n = 100;
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 100000000;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = n});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = n});
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 1, .count = 1, .control = true});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	struct weft_hop_stats *at = &stats.at[0][WEFT_PORT_HOST];
	assert_int_equal(at->data, 2 * n);
	assert_int_equal(at->wait_ps, n * n * SER);
	assert_int_equal(at->wait_max_ps, n * SER);
	assert_int_equal(stats.at[0][WEFT_PORT_NIC].data, 2 * n);
	assert_int_equal(stats.at[0][WEFT_PORT_NIC].wait_ps, 0);
	assert_int_equal(stats.at[0][WEFT_PORT_UP].data, 0);
	assert_int_equal(at->dropped, 0);
	lan_close(&lan);
}

static void queue_service__ordered_data_waits_too(void **state)
{
	const uint64_t n = 50;
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 100000000;
	conf.tune.ordered_pct = 50;
	lan_open(&lan, "star:3", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = n, .ordered = true});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 2, .count = n});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	/* In whatever order they go: the sum of departures is the same. */
	assert_int_equal(stats.at[0][WEFT_PORT_HOST].wait_ps, n * n * SER);
	lan_close(&lan);
}

/* The queue of one switch's port overflows, and it is counted there. */
static void queue_enqueue__drops_by_hop(void **state)
{
	struct lan lan;
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = 2 * LAN_MTU;
	lan_open(&lan, "leafspine:2:1:2", GBPS800, conf);
	lan_send(&lan, 0, (struct lan_send){.src = 0, .dst = 2, .count = 50});
	lan_send(&lan, 0, (struct lan_send){.src = 1, .dst = 3, .count = 50});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	struct weft_net_stats stats = lan_stats(&lan);
	assert_true(stats.dropped_data > 0);
	assert_int_equal(stats.at[0][WEFT_PORT_UP].dropped, stats.dropped_data);
	assert_int_equal(stats.at[1][WEFT_PORT_DOWN].dropped, 0);
	assert_int_equal(stats.at[1][WEFT_PORT_DOWN].data, 100 - stats.dropped_data);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_service__marks_linearly),
		cmocka_unit_test(queue_service__marks_none_or_all),
		cmocka_unit_test(queue_service__marks_a_share),
		cmocka_unit_test(queue_service__never_marks_others),
		cmocka_unit_test(queue_service__marks_bytes_too),
		cmocka_unit_test(queue_enqueue__trimming_conserves),
		cmocka_unit_test(queue_enqueue__drops_without_trimming),
		cmocka_unit_test(queue_enqueue__coin_breaks_lockstep),
		cmocka_unit_test(queue_enqueue__drops_untrimmable),
		cmocka_unit_test(queue_enqueue__last_hop),
		cmocka_unit_test(queue_service__control_first),
		cmocka_unit_test(queue_enqueue__control_is_bounded),
		cmocka_unit_test(queue_service__ordered_gets_its_share),
		cmocka_unit_test(queue_service__idle_shares_are_not_saved),
		cmocka_unit_test(queue_enqueue__ordered_is_bounded_by_itself),
		cmocka_unit_test(queue_depth__integral),
		cmocka_unit_test(queue_service__waiting_by_hop),
		cmocka_unit_test(queue_enqueue__drops_by_hop),
		cmocka_unit_test(queue_service__ordered_data_waits_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
