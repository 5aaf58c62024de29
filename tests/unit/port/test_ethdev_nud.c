/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours that age, move and vanish. Time is the argument of neigh_periodic. */
#include <errno.h>

#include "neigh_frames.h"

static const struct rte_ether_addr NEW_MAC = {{0x52, 0x54, 0, 9, 9, 9}};

static void answer_from(struct fixture *f, const struct rte_ether_addr *mac, uint16_t op, uint32_t target)
{
	struct arp_frame frame = arp(op, PEER, target);
	frame.eth.src_addr = frame.arp.arp_data.arp_sha = *mac;
	feed(f, &frame, sizeof frame);
}

/* The peer is known and has answered itself. */
static weft_ns meet(struct fixture *f)
{
	fixture_open(f, weft_ip_v4(ME), false);
	send_one(f, PEER);
	take_arp(f);
	answer_from(f, &PEER_MAC, RTE_ARP_OP_REPLY, ME);
	expect_sent_to(f, &PEER_MAC);
	return weft_clock_ns();
}

/* Passes `seconds` in steps of 100 ms while packets flow. Returns the questions that were asked; the last one is
 * `*ask`. */
static unsigned pass(struct fixture *f, weft_ns *now, unsigned seconds, struct arp_frame ask[2])
{
	unsigned asked = 0;
	for (unsigned i = 0; i < 10 * seconds; i++) {
		*now += WEFT_MS(100);
		neigh_periodic(to_ethdev(f->host), *now);
		send_one(f, PEER);
		for (struct rte_mbuf *m; (m = fixture_sent(f)) != NULL; rte_pktmbuf_free(m)) {
			const struct arp_frame *frame = rte_pktmbuf_mtod(m, const struct arp_frame *);
			if (frame->eth.ether_type != RTE_BE16(RTE_ETHER_TYPE_ARP))
				continue;
			ask[asked > 0] = *frame;
			asked++;
		}
	}
	return asked;
}

static void periodic__old_ones_in_use_are_asked_themselves(void **state)
{
	struct fixture f;
	struct arp_frame ask[2];
	weft_ns now = meet(&f);
	assert_int_equal(pass(&f, &now, 29, ask), 0);
	assert_true(pass(&f, &now, 2, ask) >= 1);
	assert_memory_equal(&ask[0].eth.dst_addr, &PEER_MAC, 6);
	assert_int_equal(ask[0].arp.arp_data.arp_tip, rte_cpu_to_be_32(PEER));
	fixture_close(&f);
}

static void periodic__old_ones_not_in_use_are_left_alone(void **state)
{
	struct fixture f;
	weft_ns now = meet(&f);
	for (unsigned i = 0; i < 100; i++)
		neigh_periodic(to_ethdev(f.host), now += WEFT_S(1));
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).arp_sent, 1);
	fixture_close(&f);
}

/* Everybody is asked then, and packets go on to where it was. */
static void periodic__who_does_not_answer_is_lost(void **state)
{
	const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct weft_ip peer = weft_ip_v4(PEER), hop;
	struct fixture f;
	struct arp_frame ask[2];
	weft_ns now = meet(&f);
	pass(&f, &now, 33, ask);
	assert_memory_equal(&ask[1].eth.dst_addr, &everybody, 6);
	assert_int_equal(stats_of(&f).arp_failed, 1);
	assert_int_equal(f.host->ops->reach(f.host, &peer, &hop), -EHOSTUNREACH);
	assert_memory_equal(&hop, &peer, sizeof hop);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	/* Whoever answers has it now. */
	answer_from(&f, &NEW_MAC, RTE_ARP_OP_REPLY, ME);
	send_one(&f, PEER);
	expect_sent_to(&f, &NEW_MAC);
	assert_int_equal(f.host->ops->reach(f.host, &peer, &hop), 0);
	assert_int_equal(stats_of(&f).arp_moved, 1);
	fixture_close(&f);
}

static void confirm__a_claim_counts_if_the_known_one_is_silent(void **state)
{
	struct fixture f;
	struct arp_frame ask[2];
	weft_ns now = meet(&f);
	answer_from(&f, &NEW_MAC, RTE_ARP_OP_REQUEST, PEER); /* gratuitous */
	ask[0] = take_arp(&f);
	assert_memory_equal(&ask[0].eth.dst_addr, &PEER_MAC, 6);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	pass(&f, &now, 1, ask);
	send_one(&f, PEER);
	expect_sent_to(&f, &NEW_MAC);
	assert_int_equal(stats_of(&f).arp_moved, 1);
	assert_int_equal(stats_of(&f).arp_failed, 0);
	fixture_close(&f);
}

static void confirm__a_claim_is_void_if_the_known_one_answers(void **state)
{
	struct fixture f;
	struct arp_frame ask[2];
	weft_ns now = meet(&f);
	answer_from(&f, &NEW_MAC, RTE_ARP_OP_REPLY, ME); /* forged */
	take_arp(&f);
	answer_from(&f, &PEER_MAC, RTE_ARP_OP_REPLY, ME);
	assert_int_equal(pass(&f, &now, 3, ask), 0);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	assert_int_equal(stats_of(&f).arp_conflicts, 1);
	assert_int_equal(stats_of(&f).arp_moved, 0);
	fixture_close(&f);
}

static void doubt__asks_before_the_age_does(void **state)
{
	struct fixture f;
	struct weft_ip peer = weft_ip_v4(PEER);
	meet(&f);
	f.host->ops->doubt(f.host, &peer); /* it has just answered */
	assert_null(fixture_sent(&f));
	rte_delay_us_sleep(1100000);
	f.host->ops->doubt(f.host, &peer);
	struct arp_frame ask = take_arp(&f);
	assert_memory_equal(&ask.eth.dst_addr, &PEER_MAC, 6);
	fixture_close(&f);
}

static void reach__asked_for_then_unreachable(void **state)
{
	struct fixture f;
	struct weft_ip peer = weft_ip_v4(PEER), hop;
	fixture_open(&f, weft_ip_v4(ME), false);
	assert_int_equal(f.host->ops->reach(f.host, &peer, &hop), 0); /* nobody has asked */
	send_one(&f, PEER);
	assert_int_equal(f.host->ops->reach(f.host, &peer, &hop), -EINPROGRESS);
	weft_ns now = weft_clock_ns();
	for (unsigned i = 0; i < 10; i++)
		neigh_periodic(to_ethdev(f.host), now += WEFT_S(2));
	assert_int_equal(f.host->ops->reach(f.host, &peer, &hop), -EHOSTUNREACH);
	assert_memory_equal(&hop, &peer, sizeof hop);
	assert_int_equal(stats_of(&f).arp_failed, 1);
	for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
		rte_pktmbuf_free(m);
	fixture_close(&f);
}

/* Forged requests: each asker may be remembered, but neither those we talk to nor room for those we will go. */
static void table__forged_requests_do_not_fill_it(void **state)
{
	enum { FORGED = 1300 };
	struct fixture f;
	meet(&f);
	for (uint32_t i = 0; i < FORGED; i++) {
		struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, 0x0b000000 + i, ME);
		feed(&f, &ask, sizeof ask);
		for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
			rte_pktmbuf_free(m);
	}
	assert_int_equal(stats_of(&f).arp_answered, FORGED);
	assert_true(stats_of(&f).arp_evicted >= FORGED - ETHDEV_NEIGHS / 2);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	send_one(&f, OTHER);
	take_arp(&f);
	assert_int_equal(stats_of(&f).arp_pending_dropped, 0);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periodic__old_ones_in_use_are_asked_themselves),
		cmocka_unit_test(periodic__old_ones_not_in_use_are_left_alone),
		cmocka_unit_test(periodic__who_does_not_answer_is_lost),
		cmocka_unit_test(confirm__a_claim_counts_if_the_known_one_is_silent),
		cmocka_unit_test(confirm__a_claim_is_void_if_the_known_one_answers),
		cmocka_unit_test(doubt__asks_before_the_age_does),
		cmocka_unit_test(reach__asked_for_then_unreachable),
		cmocka_unit_test(table__forged_requests_do_not_fill_it),
	};

	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
