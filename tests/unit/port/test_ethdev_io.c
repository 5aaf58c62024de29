/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_mempool.h>

#include "ethdev_fixture.h"

static const struct weft_ip HOST = {{[10] = 0xff, 0xff, 10, 0, 0, 1}};
enum { PEER = 0x0a000002 };

static uint8_t pattern[8192];

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8));
	return fixture_eal(state);
}

static uint16_t sw_rx(struct fixture *f, struct weft_pkt **pkts, uint16_t n)
{
	return f->sw->ops->rx(f->sw, pkts, n);
}

static void tx__payload_by_reference_arrives_behind_headers(void **state)
{
	struct fixture f;
	fixture_open(&f, HOST, true);
	struct weft_pkt *in, *out = fixture_pkt(f.host, PEER, pattern, 4096);
	assert_int_equal(f.host->ops->tx(f.host, &out, 1), 1);
	assert_int_equal(sw_rx(&f, &in, 1), 1);
	assert_int_equal(in->head_len, 28 + 4096);
	assert_int_equal(in->payload_len, 0);
	assert_int_equal(in->wire_bytes, 28 + 4096 + WEFT_L1_OVERHEAD_BYTES);
	assert_memory_equal(in->head + 28, pattern, 4096);
	f.sw->ops->free(f.sw, &in, 1);
	fixture_close(&f);
}

static void tx__trailer_follows_payload(void **state)
{
	struct fixture f;
	fixture_open(&f, HOST, true);
	struct weft_pkt *in, *out = fixture_pkt(f.host, PEER, pattern, 100);
	static const uint8_t want[4] = {0x44, 0x33, 0x22, 0x11};
	out->flags = WEFT_PKT_TRAILER;
	out->trailer = 0x11223344;
	out->head[3] = 28 + 100 + 4;
	assert_int_equal(f.host->ops->tx(f.host, &out, 1), 1);
	assert_int_equal(sw_rx(&f, &in, 1), 1);
	assert_int_equal(in->head_len, 28 + 104);
	assert_memory_equal(in->head + 28 + 100, want, 4);
	f.sw->ops->free(f.sw, &in, 1);
	fixture_close(&f);
}

static void tx__length_only_payload_is_zero(void **state)
{
	struct fixture f;
	fixture_open(&f, HOST, true);
	struct weft_pkt *in, *out = fixture_pkt(f.host, PEER, NULL, 64);
	static const uint8_t zero[64];
	memset(out->head + 28, 0xee, 64);
	assert_int_equal(f.host->ops->tx(f.host, &out, 1), 1);
	assert_int_equal(sw_rx(&f, &in, 1), 1);
	assert_memory_equal(in->head + 28, zero, 64);
	f.sw->ops->free(f.sw, &in, 1);
	fixture_close(&f);
}

/* More packets than the ring holds: the rest come back untouched and go later. */
static void refused(bool copies)
{
	struct fixture f;
	struct weft_pkt *pkts[FIXTURE_RING + 16], *in[FIXTURE_RING];
	fixture_open(&f, HOST, true);
	to_ethdev(f.host)->copies = copies;
	for (unsigned i = 0; i < FIXTURE_RING + 16; i++)
		pkts[i] = fixture_pkt(f.host, PEER, pattern + i, 2000);
	uint16_t sent = f.host->ops->tx(f.host, pkts, FIXTURE_RING + 16);
	assert_int_equal(sent, FIXTURE_RING);
	for (unsigned i = sent; i < FIXTURE_RING + 16; i++) {
		assert_ptr_equal(pkts[i]->payload, pattern + i);
		assert_int_equal(pkts[i]->payload_len, 2000);
		assert_int_equal(pkts[i]->head_len, 28);
	}
	assert_int_equal(f.host->ops->tx(f.host, pkts + sent, 16), 0);
	for (unsigned got = 0, n; (n = sw_rx(&f, in, FIXTURE_RING)) > 0; got += n) {
		for (unsigned i = 0; i < n; i++)
			assert_memory_equal(in[i]->head + 28, pattern + got + i, 2000);
		f.sw->ops->free(f.sw, in, (uint16_t)n);
	}
	assert_int_equal(f.host->ops->tx(f.host, pkts + sent, 16), 16);
	assert_int_equal(sw_rx(&f, in, FIXTURE_RING), 16);
	for (unsigned i = 0; i < 16; i++)
		assert_memory_equal(in[i]->head + 28, pattern + sent + i, 2000);
	f.sw->ops->free(f.sw, in, 16);
	struct weft_ethdev_stats stats;
	weft_ethdev_stats(f.host, &stats);
	assert_int_equal(stats.tx_pkts, FIXTURE_RING + 16);
	assert_int_equal(stats.tx_bytes, (FIXTURE_RING + 16) * (14 + 28 + 2000));
	assert_true(stats.tx_ring_full >= 2);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	fixture_close(&f);
}

static void tx__refused_packets_are_sent_again_intact(void **state)
{
	refused(false);
}

/* The ring passes segments on as they are, so what was chained is still the sender's memory when it arrives. */
static void tx__refused_chains_are_taken_apart(void **state)
{
	refused(true);
}

static void tx__payload_is_chained_for_drivers_that_copy(void **state)
{
	struct fixture f;
	fixture_open(&f, HOST, true);
	to_ethdev(f.host)->copies = true;
	struct weft_pkt *large = fixture_pkt(f.host, PEER, pattern, 4096);
	struct weft_pkt *small = fixture_pkt(f.host, PEER, pattern, 100);
	assert_int_equal(f.host->ops->tx(f.host, &large, 1), 1);
	assert_int_equal(f.host->ops->tx(f.host, &small, 1), 1);
	struct rte_mbuf *m = fixture_sent(&f);
	assert_int_equal(m->nb_segs, 2);
	assert_int_equal(m->pkt_len, 14 + 28 + 4096);
	assert_ptr_equal(rte_pktmbuf_mtod(m->next, uint8_t *), pattern);
	rte_pktmbuf_free(m);
	m = fixture_sent(&f);
	assert_int_equal(m->nb_segs, 1);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 28), pattern, 100);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	fixture_close(&f);
}

static void tx__oversize_is_dropped_and_counted(void **state)
{
	struct fixture f;
	fixture_open(&f, HOST, true);
	struct weft_pkt *in[2],
		*out[3] = {fixture_pkt(f.host, PEER, pattern, 10), fixture_pkt(f.host, PEER, pattern, 8192),
			   fixture_pkt(f.host, PEER, pattern, 20)};
	out[1]->head_len = 1000;
	assert_int_equal(f.host->ops->tx(f.host, out, 3), 3);
	assert_int_equal(sw_rx(&f, in, 2), 2);
	assert_int_equal(in[1]->head_len, 28 + 20);
	struct weft_ethdev_stats stats;
	weft_ethdev_stats(f.host, &stats);
	assert_int_equal(stats.tx_oversize, 1);
	f.sw->ops->free(f.sw, in, 2);
	fixture_close(&f);
}

/* What a switch does: the received packet goes out again elsewhere, without a copy. */
static void tx__forwards_received_packets(void **state)
{
	struct fixture a, b;
	fixture_open(&a, HOST, true);
	fixture_open(&b, weft_ip_v4(PEER), true);
	struct weft_pkt *pkt = fixture_pkt(a.host, PEER, pattern, 3000);
	assert_int_equal(a.host->ops->tx(a.host, &pkt, 1), 1);
	assert_int_equal(sw_rx(&a, &pkt, 1), 1);
	assert_int_equal(b.sw->ops->tx(b.sw, &pkt, 1), 1);
	assert_int_equal(b.host->ops->rx(b.host, &pkt, 1), 1);
	assert_memory_equal(pkt->head + 28, pattern, 3000);
	b.host->ops->free(b.host, &pkt, 1);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(a.host)->pool), 0);
	fixture_close(&a);
	fixture_close(&b);
}

static void inject_ip(struct fixture *f, struct rte_ether_addr dst, uint16_t type, const uint8_t *ip, uint16_t len)
{
	uint8_t frame[256] = {0};
	struct rte_ether_hdr eth = {
		.dst_addr = dst, .src_addr = mac_derive(PEER), .ether_type = rte_cpu_to_be_16(type)};
	memcpy(frame, &eth, sizeof eth);
	memcpy(frame + sizeof eth, ip, len);
	fixture_inject(f, frame, (uint16_t)(sizeof eth + len));
}

static void rx__drops_frames_of_others(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	uint8_t ip[64] = {0x45, 0, 0, 64};
	fixture_open(&f, HOST, true);
	inject_ip(&f, mac_derive(PEER), RTE_ETHER_TYPE_IPV4, ip, sizeof ip);
	inject_ip(&f, mac_derive(0x0a000001), 0x88cc, ip, sizeof ip);
	inject_ip(&f, mac_derive(0x0a000001), RTE_ETHER_TYPE_IPV6, ip, sizeof ip);
	inject_ip(&f, mac_derive(0x0a000001), RTE_ETHER_TYPE_IPV4, ip, 10);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 0);
	struct weft_ethdev_stats stats;
	weft_ethdev_stats(f.host, &stats);
	assert_int_equal(stats.rx_foreign, 4);
	fixture_close(&f);
}

static void rx__strips_padding(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	uint8_t ip[46] = {0x45, 0, 0, 30};
	fixture_open(&f, HOST, true);
	inject_ip(&f, mac_derive(0x0a000001), RTE_ETHER_TYPE_IPV4, ip, sizeof ip);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
	assert_int_equal(pkt->head_len, 30);
	assert_int_equal(pkt->wire_bytes, WEFT_WIRE_MIN_BYTES);
	f.host->ops->free(f.host, &pkt, 1);
	fixture_close(&f);
}

/* A header may claim more bytes than the frame has. */
static void rx__length_never_exceeds_frame(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	uint8_t ip[40] = {0x45, 0, 0xff, 0xff};
	fixture_open(&f, HOST, true);
	inject_ip(&f, mac_derive(0x0a000001), RTE_ETHER_TYPE_IPV4, ip, sizeof ip);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
	assert_int_equal(pkt->head_len, sizeof ip);
	f.host->ops->free(f.host, &pkt, 1);
	fixture_close(&f);
}

static void rx__joins_segments_and_copies_packets_of_other_pools(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	fixture_open(&f, HOST, true);
	struct rte_mempool *pool = rte_pktmbuf_pool_create("other", 15, 0, 0, 2048, SOCKET_ID_ANY);
	struct rte_mbuf *a = rte_pktmbuf_alloc(pool), *b = rte_pktmbuf_alloc(pool);
	struct rte_ether_hdr eth = {.dst_addr = mac_derive(0x0a000001), .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	uint8_t ip[20] = {0x45, 0, 1020 >> 8, 1020 & 0xff};
	memcpy(rte_pktmbuf_append(a, sizeof eth), &eth, sizeof eth);
	memcpy(rte_pktmbuf_append(a, sizeof ip), ip, sizeof ip);
	memcpy(rte_pktmbuf_append(b, 1000), pattern, 1000);
	assert_int_equal(rte_pktmbuf_chain(a, b), 0);
	assert_int_equal(rte_ring_enqueue(to_ethdev(f.sw)->tx_ring, a), 0);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
	assert_int_equal(pkt->head_len, 1020);
	assert_memory_equal(pkt->head + 20, pattern, 1000);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	f.host->ops->free(f.host, &pkt, 1);
	rte_mempool_free(pool);
	fixture_close(&f);
}

static void alloc__gives_room_for_headers_until_empty(void **state)
{
	struct fixture f;
	struct weft_pkt *pkts[300];
	fixture_open(&f, HOST, true);
	uint16_t got = f.host->ops->alloc(f.host, pkts, 300);
	assert_int_equal(got, 255);
	for (unsigned i = 0; i < got; i++) {
		const struct rte_mbuf *m = pkt_mbuf(pkts[i]);
		assert_true(pkts[i]->head - RTE_ETHER_HDR_LEN >= (uint8_t *)m->buf_addr);
		assert_true(pkts[i]->head + f.host->max_ip_bytes <= (uint8_t *)m->buf_addr + m->buf_len);
	}
	assert_int_equal(f.host->ops->alloc(f.host, pkts + got, 1), 0);
	f.host->ops->free(f.host, pkts, got);
	assert_int_equal(f.sw->ops->alloc(f.sw, pkts, 1), 0);
	fixture_close(&f);
}

/* What lies behind a frame in its buffer belongs to an earlier one. */
static void rx__cut_headers_are_foreign(void **state)
{
	static const uint16_t cuts[] = {RTE_ETHER_HDR_LEN + 39, RTE_ETHER_HDR_LEN + 23, 13, 1};
	struct fixture f;
	struct weft_pkt *pkt;
	fixture_open(&f, HOST, true);
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		uint8_t frame[RTE_ETHER_HDR_LEN + 40] = {[12] = 0x86, [13] = 0xdd, [14] = 0x60};
		if (cuts[i] == RTE_ETHER_HDR_LEN + 23)
			memcpy(frame + 12, (const uint8_t[6]){0x08, 0, 0x45, 0, 0, 23}, 6);
		memcpy(frame, &to_ethdev(f.host)->mac, RTE_ETHER_ADDR_LEN);
		fixture_inject(&f, frame, cuts[i]);
		assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 0);
		assert_int_equal(port_stats(f.host).rx_foreign, i + 1);
	}
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__cut_headers_are_foreign),
		cmocka_unit_test(tx__payload_by_reference_arrives_behind_headers),
		cmocka_unit_test(tx__trailer_follows_payload),
		cmocka_unit_test(tx__length_only_payload_is_zero),
		cmocka_unit_test(tx__refused_packets_are_sent_again_intact),
		cmocka_unit_test(tx__refused_chains_are_taken_apart),
		cmocka_unit_test(tx__payload_is_chained_for_drivers_that_copy),
		cmocka_unit_test(tx__oversize_is_dropped_and_counted),
		cmocka_unit_test(tx__forwards_received_packets),
		cmocka_unit_test(rx__drops_frames_of_others),
		cmocka_unit_test(rx__strips_padding),
		cmocka_unit_test(rx__length_never_exceeds_frame),
		cmocka_unit_test(rx__joins_segments_and_copies_packets_of_other_pools),
		cmocka_unit_test(alloc__gives_room_for_headers_until_empty),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
