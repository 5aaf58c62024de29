/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN tags and DSCPs as the wire sees them. */
#include <errno.h>

#include "neigh_frames.h"

enum { VLAN = 100, PCP = 3, TAG = 4 };

static const struct weft_ethdev_net TAGGED = {.vlan = VLAN, .vlan_pcp = PCP};
static const struct weft_dscp THEIRS = {
	.data = 46, .ordered = 11, .unscheduled = 13, .trimmed = 8, .trimmed_lasthop = 17, .credit = 40, .control = 0};

struct tagged_arp {
	struct rte_ether_addr dst, src;
	rte_be16_t tpid, tci, type;
	struct rte_arp_hdr arp;
} __attribute__((packed, aligned(2)));

static struct tagged_arp tagged(uint16_t vid)
{
	struct arp_frame plain = arp(RTE_ARP_OP_REPLY, PEER, ME);
	return (struct tagged_arp){plain.eth.dst_addr,    plain.eth.src_addr,   RTE_BE16(0x8100),
				   rte_cpu_to_be_16(vid), plain.eth.ether_type, plain.arp};
}

static struct rte_mbuf *next_frame(struct fixture *f, uint16_t type)
{
	struct rte_mbuf *m;
	while (rte_ring_dequeue(to_ethdev(f->sw)->rx_ring, (void **)&m) == 0) {
		const struct tagged_arp *frame = rte_pktmbuf_mtod(m, const struct tagged_arp *);
		assert_int_equal(frame->tpid, RTE_BE16(0x8100));
		assert_int_equal(frame->tci, RTE_BE16(PCP << 13 | VLAN));
		bool announcement = frame->type == RTE_BE16(RTE_ETHER_TYPE_ARP) &&
				    frame->arp.arp_data.arp_sip == frame->arp.arp_data.arp_tip;
		if (frame->type == type && !announcement)
			return m;
		rte_pktmbuf_free(m);
	}
	return NULL;
}

static void vlan__tag_on_all_that_leaves(void **state)
{
	struct fixture f;
	struct tagged_arp reply = tagged(VLAN);
	fixture_open_net(&f, weft_ip_v4(ME), &TAGGED);
	send_one(&f, PEER);
	struct rte_mbuf *m = next_frame(&f, RTE_BE16(RTE_ETHER_TYPE_ARP));
	assert_non_null(m);
	rte_pktmbuf_free(m);
	feed(&f, &reply, sizeof reply);
	m = next_frame(&f, RTE_BE16(0x0800));
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 14 + TAG + 29);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &PEER_MAC, 6);
	rte_pktmbuf_free(m);
	fixture_close(&f);
}

static void vlan__others_are_dropped(void **state)
{
	struct fixture f;
	struct arp_frame plain = arp(RTE_ARP_OP_REPLY, PEER, ME);
	struct tagged_arp other = tagged(VLAN + 1), priority = tagged(0);
	fixture_open_net(&f, weft_ip_v4(ME), &TAGGED);
	feed(&f, &plain, sizeof plain);
	feed(&f, &other, sizeof other);
	feed(&f, &priority, sizeof priority);
	assert_int_equal(stats_of(&f).rx_bad_vlan, 3);
	fixture_close(&f);
}

static void vlan__a_full_ring_changes_nothing(void **state)
{
	struct fixture f;
	struct tagged_arp reply = tagged(VLAN);
	struct weft_pkt *pkt;
	fixture_open_net(&f, weft_ip_v4(ME), &TAGGED);
	send_one(&f, PEER);
	feed(&f, &reply, sizeof reply);
	for (unsigned i = 0; i < FIXTURE_RING + 1; i++) {
		pkt = fixture_pkt(f.host, PEER, "x", 1);
		if (f.host->ops->tx(f.host, &pkt, 1) == 0)
			break;
		pkt = NULL;
	}
	assert_non_null(pkt);
	assert_int_equal(pkt_mbuf(pkt)->pkt_len, 14 + 29);
	while (next_frame(&f, RTE_BE16(0)) != NULL)
		;
	assert_int_equal(f.host->ops->tx(f.host, &pkt, 1), 1);
	struct rte_mbuf *m = next_frame(&f, RTE_BE16(0x0800));
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 14 + TAG + 29);
	rte_pktmbuf_free(m);
	fixture_close(&f);
}

static void ip_tos(struct weft_pkt *pkt, uint8_t dscp)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)pkt->head;
	ip->type_of_service = (uint8_t)(dscp << 2 | 2);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static void dscp__theirs_on_the_wire_ours_within(void **state)
{
	static const uint8_t classes[][2] = {{8, 46}, {46, 0}, {16, 8}, {18, 17}, {40, 40}};
	const struct weft_ethdev_net net = {.dscp = THEIRS};
	struct fixture f;
	struct arp_frame reply = arp(RTE_ARP_OP_REPLY, PEER, ME);
	fixture_open_net(&f, weft_ip_v4(ME), &net);
	feed(&f, &reply, sizeof reply);
	struct arp_frame announce = arp(RTE_ARP_OP_REQUEST, PEER, ME);
	feed(&f, &announce, sizeof announce);
	struct rte_mbuf *m = fixture_sent(&f);
	rte_pktmbuf_free(m); /* our answer; the peer is known now */
	for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
		struct weft_pkt *pkt = fixture_pkt(f.host, PEER, "x", 1);
		ip_tos(pkt, classes[i][0]);
		assert_int_equal(f.host->ops->tx(f.host, &pkt, 1), 1);
		m = fixture_sent(&f);
		assert_non_null(m);
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
		assert_int_equal(ip->type_of_service, classes[i][1] << 2 | 2);
		assert_int_equal(rte_ipv4_cksum(ip), 0);
		/* The same frame back to us. */
		eth->dst_addr = to_ethdev(f.host)->mac;
		fixture_inject(&f, eth, m->data_len);
		rte_pktmbuf_free(m);
		assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
		assert_int_equal(pkt->head[1], classes[i][0] << 2 | 2);
		assert_int_equal(rte_ipv4_cksum((struct rte_ipv4_hdr *)pkt->head), 0);
		f.host->ops->free(f.host, &pkt, 1);
	}
	fixture_close(&f);
}

static void refused(const struct weft_ethdev_net *net, const char *word)
{
	struct weft_ethdev_conf conf = {.dev = "edge", .ip = weft_ip_v4(ME), .pool_pkts = 255, .net = *net};
	struct weft_port *sw, *host;
	struct weft_err err;
	assert_int_equal(weft_ethdev_ring_pair("edge", FIXTURE_RING, &sw, &err), 0);
	assert_int_equal(weft_ethdev_open(&conf, &host, &err), -EINVAL);
	assert_non_null(strstr(err.msg, word));
	sw->ops->close(sw);
}

static void create__nonsense_is_refused(void **state)
{
	struct weft_ethdev_net twice = {.dscp = THEIRS}, large = {.dscp = THEIRS};
	twice.dscp.control = 46;
	large.dscp.data = 64;
	refused(&(struct weft_ethdev_net){.vlan = 4095}, "4095");
	refused(&(struct weft_ethdev_net){.vlan = 1, .vlan_pcp = 8}, "priority 8");
	refused(&twice, "data and control");
	refused(&large, "64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vlan__tag_on_all_that_leaves),
		cmocka_unit_test(vlan__others_are_dropped),
		cmocka_unit_test(vlan__a_full_ring_changes_nothing),
		cmocka_unit_test(dscp__theirs_on_the_wire_ours_within),
		cmocka_unit_test(create__nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
