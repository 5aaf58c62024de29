/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_mempool.h>

#include "neigh_frames.h"

static void arp_input__request_for_us_is_answered(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, ME);
	feed(&f, &ask, sizeof ask);
	struct arp_frame got = take_arp(&f);
	struct rte_ether_addr mac = to_ethdev(f.host)->mac;
	assert_int_equal(got.arp.arp_opcode, RTE_BE16(RTE_ARP_OP_REPLY));
	assert_memory_equal(&got.eth.dst_addr, &PEER_MAC, 6);
	assert_memory_equal(&got.eth.src_addr, &mac, 6);
	assert_memory_equal(&got.arp.arp_data.arp_sha, &mac, 6);
	assert_memory_equal(&got.arp.arp_data.arp_tha, &PEER_MAC, 6);
	assert_int_equal(got.arp.arp_data.arp_sip, rte_cpu_to_be_32(ME));
	assert_int_equal(got.arp.arp_data.arp_tip, rte_cpu_to_be_32(PEER));
	assert_int_equal(stats_of(&f).arp_answered, 1);
	/* The asker is known now: no question of ours before talking back. */
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	fixture_close(&f);
}

static void arp_input__request_for_others_is_not_answered(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, OTHER);
	feed(&f, &ask, sizeof ask);
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).arp_answered, 0);
	fixture_close(&f);
}

/* A port with addresses behind it answers for them, but for questions from behind it. */
static void arp_input__request_for_proxied_is_answered(void **state)
{
	struct fixture f;
	const struct weft_ip behind[] = {weft_ip_v4(ME + 100), weft_ip_v4(ME + 101)};
	fixture_open_proxied(&f, weft_ip_v4(ME), behind, 2);
	struct rte_ether_addr mac = to_ethdev(f.host)->mac;
	for (uint32_t i = 0; i < 2; i++) {
		struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, ME + 100 + i);
		feed(&f, &ask, sizeof ask);
		struct arp_frame got = take_arp(&f);
		assert_memory_equal(&got.arp.arp_data.arp_sha, &mac, 6);
		assert_int_equal(got.arp.arp_data.arp_sip, rte_cpu_to_be_32(ME + 100 + i));
	}
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, ME + 100, ME + 101);
	feed(&f, &ask, sizeof ask);
	ask = arp(RTE_ARP_OP_REQUEST, PEER, ME + 102);
	feed(&f, &ask, sizeof ask);
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).arp_answered, 2);
	fixture_close(&f);
}

static void arp_input__malformed_is_dropped(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, ME);
	feed(&f, &ask, sizeof ask - 1);
	ask.arp.arp_hardware = RTE_BE16(6);
	feed(&f, &ask, sizeof ask);
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).rx_foreign, 2);
	fixture_close(&f);
}

/* A switch port answers for everybody it does not know, with an address that leads back to it. */
static void arp_input__switch_answers_for_others(void **state)
{
	struct fixture f;
	fixture_open(&f, NOBODY, false);
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, OTHER);
	struct rte_ether_addr derived = mac_derive(OTHER);
	feed(&f, &ask, sizeof ask);
	struct arp_frame got = take_arp(&f);
	assert_memory_equal(&got.arp.arp_data.arp_sha, &derived, 6);
	assert_int_equal(got.arp.arp_data.arp_sip, rte_cpu_to_be_32(OTHER));
	/* Neither checks for duplicate addresses, nor announcements, nor questions among neighbours of one port. */
	struct arp_frame quiet[] = {arp(RTE_ARP_OP_REQUEST, 0, PEER), arp(RTE_ARP_OP_REQUEST, OTHER, OTHER),
				    arp(RTE_ARP_OP_REQUEST, PEER, OTHER)};
	for (unsigned i = 0; i < 3; i++)
		feed(&f, &quiet[i], sizeof quiet[i]);
	assert_null(fixture_sent(&f));
	fixture_close(&f);
}

static void note_heard(void *arg, const struct weft_ip *ip)
{
	*(struct weft_ip *)arg = *ip;
}

static void on_neigh__told_of_announcements(void **state)
{
	struct fixture f;
	struct weft_ip seen = {{0}}, want = weft_ip_v4(PEER);
	fixture_open(&f, NOBODY, false);
	weft_ethdev_on_neigh(f.host, note_heard, &seen);
	struct arp_frame announce = arp(RTE_ARP_OP_REQUEST, PEER, PEER);
	feed(&f, &announce, sizeof announce);
	assert_memory_equal(&seen, &want, sizeof want);
	fixture_close(&f);
}

static void tx__asks_holds_and_sends_when_answered(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	for (unsigned i = 0; i < ETHDEV_PENDING + 2; i++)
		send_one(&f, PEER);
	struct arp_frame ask = take_arp(&f);
	assert_int_equal(ask.arp.arp_opcode, RTE_BE16(RTE_ARP_OP_REQUEST));
	assert_int_equal(ask.arp.arp_data.arp_tip, rte_cpu_to_be_32(PEER));
	assert_int_equal(ask.arp.arp_data.arp_sip, rte_cpu_to_be_32(ME));
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).arp_sent, 1);
	assert_int_equal(stats_of(&f).arp_pending_dropped, 2);
	struct arp_frame reply = arp(RTE_ARP_OP_REPLY, PEER, ME);
	feed(&f, &reply, sizeof reply);
	for (unsigned i = 0; i < ETHDEV_PENDING; i++) {
		struct rte_mbuf *m = fixture_sent(&f);
		assert_non_null(m);
		assert_int_equal(m->data_len, 14 + 29);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), &PEER_MAC, 6);
		rte_pktmbuf_free(m);
	}
	assert_null(fixture_sent(&f));
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	fixture_close(&f);
}

static void tx__first_burst_is_kept_whole(void **state)
{
	enum { BURST = 20 };
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	for (unsigned i = 0; i < BURST; i++)
		send_one(&f, PEER);
	take_arp(&f);
	struct arp_frame reply = arp(RTE_ARP_OP_REPLY, PEER, ME);
	feed(&f, &reply, sizeof reply);
	for (unsigned i = 0; i < BURST; i++) {
		struct rte_mbuf *m = fixture_sent(&f);
		assert_non_null(m);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(stats_of(&f).arp_pending_dropped, 0);
	fixture_close(&f);
}

/* Time is the argument of neigh_periodic. */
static void periodic__ask_again_then_give_up(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	send_one(&f, PEER);
	weft_ns now = weft_clock_ns();
	for (unsigned i = 0; i < 10; i++) {
		now += WEFT_S(2);
		neigh_periodic(to_ethdev(f.host), now);
		for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
			rte_pktmbuf_free(m);
	}
	assert_int_equal(stats_of(&f).arp_sent, 5);
	assert_int_equal(stats_of(&f).arp_pending_dropped, 1);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	fixture_close(&f);
}

static void periodic__announce_every_second(void **state)
{
	struct fixture f;
	struct rte_mbuf *m = NULL;
	fixture_open(&f, weft_ip_v4(ME), false);
	struct ethdev *d = to_ethdev(f.host);
	neigh_periodic(d, WEFT_S(100));
	neigh_periodic(d, WEFT_S(100) + WEFT_MS(999));
	neigh_periodic(d, WEFT_S(101));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rte_ring_dequeue(to_ethdev(f.sw)->rx_ring, (void **)&m), 0);
		const struct arp_frame *frame = rte_pktmbuf_mtod(m, struct arp_frame *);
		assert_int_equal(frame->arp.arp_data.arp_sip, rte_cpu_to_be_32(ME));
		assert_int_equal(frame->arp.arp_data.arp_tip, rte_cpu_to_be_32(ME));
		rte_pktmbuf_free(m);
	}
	assert_int_not_equal(rte_ring_dequeue(to_ethdev(f.sw)->rx_ring, (void **)&m), 0);
	fixture_close(&f);
}

static void close__gives_held_packets_back(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	char name[RTE_MEMPOOL_NAMESIZE];
	strcpy(name, to_ethdev(f.host)->pool->name);
	send_one(&f, PEER);
	for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
		rte_pktmbuf_free(m);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 1);
	fixture_close(&f);
	assert_null(rte_mempool_lookup(name));
}

static void table__full_drops_and_counts(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	for (uint32_t i = 0; i < ETHDEV_NEIGHS + 100; i++) {
		send_one(&f, 0x0b000000 + i);
		for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
			rte_pktmbuf_free(m);
		if (i % 100 == 99) /* the pool is smaller than the table */
			for (unsigned k = 1; k <= 10; k++)
				neigh_periodic(to_ethdev(f.host), weft_clock_ns() + WEFT_S(1000 + 20 * (i + k)));
		for (struct rte_mbuf *m; (m = fixture_sent(&f)) != NULL;)
			rte_pktmbuf_free(m);
	}
	assert_true(stats_of(&f).arp_pending_dropped >= 100);
	fixture_close(&f);
}

/* ---- Who speaks needs no question ---- */

static const struct rte_ether_addr FORGED_MAC = {{0x52, 0x54, 0, 9, 9, 9}};

/* An IPv4 packet without content from `src`, in a frame of `mac`. The host's caller gets it. */
static void speak(struct fixture *f, uint32_t src, const struct rte_ether_addr *mac)
{
	struct weft_pkt *pkt;
	struct {
		struct rte_ether_hdr eth;
		struct rte_ipv4_hdr ip;
		uint8_t padding[26]; /* to the shortest frame there is */
	} __attribute__((packed, aligned(2))) frame = {
		.eth = {.dst_addr = to_ethdev(f->host)->mac, .src_addr = *mac, .ether_type = RTE_BE16(0x0800)},
		.ip = {.version_ihl = 0x45,
		       .total_length = RTE_BE16(sizeof frame.ip),
		       .src_addr = rte_cpu_to_be_32(src),
		       .dst_addr = rte_cpu_to_be_32(ME)},
	};
	fixture_inject(f, &frame, sizeof frame);
	assert_int_equal(f->host->ops->rx(f->host, &pkt, 1), 1);
	f->host->ops->free(f->host, &pkt, 1);
}

static void learn_sender__answer_needs_no_question(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	speak(&f, PEER, &PEER_MAC);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	assert_int_equal(stats_of(&f).arp_sent, 0);
	fixture_close(&f);
}

static void learn_sender__held_packets_leave(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	send_one(&f, PEER);
	take_arp(&f);
	speak(&f, PEER, &PEER_MAC);
	expect_sent_to(&f, &PEER_MAC);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	fixture_close(&f);
}

/* Neither what ARP told nor what came first; ARP itself may. */
static void learn_sender__forged_frames_change_nothing_known(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	struct arp_frame ask = arp(RTE_ARP_OP_REQUEST, PEER, ME), announce = arp(RTE_ARP_OP_REQUEST, OTHER, OTHER);
	feed(&f, &ask, sizeof ask);
	take_arp(&f);
	speak(&f, PEER, &FORGED_MAC);
	send_one(&f, PEER);
	expect_sent_to(&f, &PEER_MAC);
	speak(&f, OTHER, &FORGED_MAC);
	/* Another address with the same place among those met. */
	speak(&f, OTHER + ETHDEV_LEARNED, &PEER_MAC);
	speak(&f, OTHER, &PEER_MAC);
	send_one(&f, OTHER);
	expect_sent_to(&f, &FORGED_MAC);
	feed(&f, &announce, sizeof announce);
	send_one(&f, OTHER);
	expect_sent_to(&f, &PEER_MAC);
	fixture_close(&f);
}

static void learn_sender__no_address_of_one_host(void **state)
{
	static const struct rte_ether_addr bad[] = {{{0}}, {{1, 0, 0x5e, 1, 2, 3}}};
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	speak(&f, PEER, &bad[0]);
	speak(&f, PEER, &bad[1]);
	speak(&f, ME, &FORGED_MAC);
	send_one(&f, PEER);
	take_arp(&f);
	send_one(&f, ME);
	assert_null(fixture_sent(&f)); /* but a question, which looks like an announcement */
	speak(&f, PEER, &PEER_MAC);
	expect_sent_to(&f, &PEER_MAC);
	fixture_close(&f);
}

static void learn_sender__strangers_leave_room_for_others(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(ME), false);
	for (uint32_t i = 0; i < 2 * ETHDEV_NEIGHS; i++)
		speak(&f, 0x0b000000 + i, &FORGED_MAC);
	send_one(&f, PEER);
	take_arp(&f);
	assert_int_equal(stats_of(&f).arp_pending_dropped, 0);
	fixture_close(&f);
}

static void learn_sender__derived_addresses_stay(void **state)
{
	struct fixture f;
	struct rte_ether_addr derived = mac_derive(PEER);
	fixture_open(&f, weft_ip_v4(ME), true);
	speak(&f, PEER, &FORGED_MAC);
	send_one(&f, PEER);
	expect_sent_to(&f, &derived);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_input__request_for_us_is_answered),
		cmocka_unit_test(arp_input__request_for_others_is_not_answered),
		cmocka_unit_test(arp_input__request_for_proxied_is_answered),
		cmocka_unit_test(arp_input__malformed_is_dropped),
		cmocka_unit_test(arp_input__switch_answers_for_others),
		cmocka_unit_test(on_neigh__told_of_announcements),
		cmocka_unit_test(tx__asks_holds_and_sends_when_answered),
		cmocka_unit_test(tx__first_burst_is_kept_whole),
		cmocka_unit_test(periodic__ask_again_then_give_up),
		cmocka_unit_test(periodic__announce_every_second),
		cmocka_unit_test(close__gives_held_packets_back),
		cmocka_unit_test(table__full_drops_and_counts),
		cmocka_unit_test(learn_sender__answer_needs_no_question),
		cmocka_unit_test(learn_sender__held_packets_leave),
		cmocka_unit_test(learn_sender__forged_frames_change_nothing_known),
		cmocka_unit_test(learn_sender__no_address_of_one_host),
		cmocka_unit_test(learn_sender__strangers_leave_room_for_others),
		cmocka_unit_test(learn_sender__derived_addresses_stay),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
