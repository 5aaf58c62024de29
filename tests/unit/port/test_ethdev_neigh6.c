/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours over IPv6. */
#include "ethdev_nd.h"
#include "neigh_frames.h"

/* ---- IPv6 ---- */

struct nd_frame {
	struct rte_ether_hdr eth;
	uint8_t ip[ND_IP_BYTES];
} __attribute__((packed, aligned(2)));

static struct nd_frame nd(uint8_t type, const struct weft_ip *src, const struct weft_ip *target)
{
	struct weft_ip to = nd_solicited_node(target);
	struct nd_frame f = {
		.eth = {.dst_addr = nd_multicast_mac(&to), .src_addr = PEER_MAC, .ether_type = RTE_BE16(0x86dd)}};
	nd_fill(f.ip, type, 0, src, &to, target, &PEER_MAC);
	return f;
}

static struct nd_seen take_nd(struct fixture *f, struct rte_ether_hdr *eth)
{
	struct rte_mbuf *m = fixture_sent(f);
	struct nd_seen seen = {0};
	assert_non_null(m);
	*eth = *rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	assert_true(nd_parse(rte_pktmbuf_mtod_offset(m, uint8_t *, 14), m->data_len - 14, &seen));
	rte_pktmbuf_free(m);
	return seen;
}

static void nd_input__solicitation_for_us_is_answered(void **state)
{
	struct fixture f;
	struct rte_ether_hdr eth;
	fixture_open(&f, ME6, false);
	struct nd_frame ask = nd(ND_SOLICIT, &PEER6, &ME6);
	feed(&f, &ask, sizeof ask);
	struct nd_seen got = take_nd(&f, &eth);
	struct rte_ether_addr mac = to_ethdev(f.host)->mac;
	assert_int_equal(got.type, ND_ADVERT);
	assert_memory_equal(&got.target, &ME6, 16);
	assert_memory_equal(&got.source, &ME6, 16);
	assert_memory_equal(&got.mac, &mac, 6);
	assert_memory_equal(&eth.dst_addr, &PEER_MAC, 6);
	struct nd_frame other = nd(ND_SOLICIT, &PEER6, &PEER6);
	feed(&f, &other, sizeof other);
	assert_null(fixture_sent(&f));
	fixture_close(&f);
}

static void nd_input__duplicate_check_is_answered_to_all(void **state)
{
	struct fixture f;
	struct rte_ether_hdr eth;
	struct weft_ip all = nd_all_nodes();
	struct rte_ether_addr all_mac = nd_multicast_mac(&all);
	fixture_open(&f, ME6, false);
	struct nd_frame ask = nd(ND_SOLICIT, &NOBODY, &ME6);
	feed(&f, &ask, sizeof ask);
	/* It goes where announcements go, so look at the ring itself. */
	struct rte_mbuf *m = NULL;
	bool found = false;
	while (rte_ring_dequeue(to_ethdev(f.sw)->rx_ring, (void **)&m) == 0) {
		eth = *rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
		found |= rte_is_same_ether_addr(&eth.dst_addr, &all_mac);
		rte_pktmbuf_free(m);
	}
	assert_true(found);
	assert_int_equal(stats_of(&f).arp_answered, 1);
	fixture_close(&f);
}

static void nd_input__damaged_is_no_solicitation(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	fixture_open(&f, ME6, false);
	struct nd_frame ask = nd(ND_SOLICIT, &PEER6, &ME6);
	ask.ip[50] ^= 1;
	fixture_inject(&f, &ask, sizeof ask);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 0);
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).rx_foreign, 1);
	fixture_close(&f);
}

/* An IPv6 packet with 8 bytes behind its header. */
static void ipv6_fill(uint8_t ip[48], const struct weft_ip *src, const struct weft_ip *dst)
{
	memset(ip, 0, 48);
	ip[0] = 0x60;
	ip[5] = 8;
	memcpy(ip + 8, src->b, 16);
	memcpy(ip + 24, dst->b, 16);
}

static void send_one6(struct fixture *f)
{
	struct weft_pkt *pkt;
	assert_int_equal(f->host->ops->alloc(f->host, &pkt, 1), 1);
	ipv6_fill(pkt->head, &ME6, &PEER6);
	pkt->head_len = 48;
	assert_int_equal(f->host->ops->tx(f->host, &pkt, 1), 1);
}

static void learn_sender__ipv6(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	fixture_open(&f, ME6, false);
	struct {
		struct rte_ether_hdr eth;
		uint8_t ip[48];
	} __attribute__((packed, aligned(2)))
	frame = {.eth = {.dst_addr = to_ethdev(f.host)->mac, .src_addr = PEER_MAC, .ether_type = RTE_BE16(0x86dd)}};
	ipv6_fill(frame.ip, &PEER6, &ME6);
	fixture_inject(&f, &frame, sizeof frame);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
	f.host->ops->free(f.host, &pkt, 1);
	send_one6(&f);
	expect_sent_to(&f, &PEER_MAC);
	fixture_close(&f);
}

static void tx__asks_by_nd_for_ipv6(void **state)
{
	struct fixture f;
	struct rte_ether_hdr eth;
	fixture_open(&f, ME6, false);
	send_one6(&f);
	struct nd_seen ask = take_nd(&f, &eth);
	assert_int_equal(ask.type, ND_SOLICIT);
	assert_memory_equal(&ask.target, &PEER6, 16);
	struct nd_frame reply = nd(ND_ADVERT, &PEER6, &PEER6);
	feed(&f, &reply, sizeof reply);
	struct rte_mbuf *m = fixture_sent(&f);
	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &PEER_MAC, 6);
	assert_int_equal(m->data_len, 14 + 48);
	rte_pktmbuf_free(m);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nd_input__solicitation_for_us_is_answered),
		cmocka_unit_test(nd_input__duplicate_check_is_answered_to_all),
		cmocka_unit_test(nd_input__damaged_is_no_solicitation),
		cmocka_unit_test(learn_sender__ipv6),
		cmocka_unit_test(tx__asks_by_nd_for_ipv6),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
