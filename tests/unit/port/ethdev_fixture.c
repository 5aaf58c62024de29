/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_fixture.h"

#include <stdio.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_ip.h>

#include "ethdev_nd.h"

int fixture_eal(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err) == 0)
		return 0;
	print_error("%s\n", err.msg);
	return -1;
}

static void pair_open(struct fixture *f, struct weft_ethdev_conf *conf)
{
	static unsigned serial;
	char name[16];
	snprintf(name, sizeof name, "t%u", serial++);
	conf->dev = name;
	conf->pool_pkts = 255;
	*f = (struct fixture){0};
	if (weft_ethdev_ring_pair(name, FIXTURE_RING, &f->sw, &f->err) != 0 ||
	    weft_ethdev_open(conf, &f->host, &f->err) != 0)
		fail_msg("%s", f->err.msg);
}

void fixture_open(struct fixture *f, struct weft_ip ip, bool no_arp)
{
	struct weft_ethdev_conf conf = {.ip = ip, .no_arp = no_arp};
	pair_open(f, &conf);
}

void fixture_open_net(struct fixture *f, struct weft_ip ip, const struct weft_ethdev_net *net)
{
	struct weft_ethdev_conf conf = {.ip = ip, .net = *net};
	pair_open(f, &conf);
}

void fixture_open_proxied(struct fixture *f, struct weft_ip ip, const struct weft_ip *proxied, uint32_t count)
{
	struct weft_ethdev_conf conf = {.ip = ip, .proxied = proxied, .proxied_count = count};
	pair_open(f, &conf);
}

void fixture_close(struct fixture *f)
{
	f->host->ops->close(f->host);
	f->sw->ops->close(f->sw);
}

struct weft_pkt *fixture_pkt(struct weft_port *port, uint32_t dst, const void *payload, uint16_t payload_len)
{
	struct weft_pkt *pkt;
	assert_int_equal(port->ops->alloc(port, &pkt, 1), 1);
	uint16_t total = (uint16_t)(28 + payload_len);
	uint8_t hdr[28] = {0x45,
			   0,
			   (uint8_t)(total >> 8),
			   (uint8_t)total,
			   0,
			   0,
			   0,
			   0,
			   64,
			   17,
			   0,
			   0,
			   10,
			   0,
			   0,
			   1,
			   (uint8_t)(dst >> 24),
			   (uint8_t)(dst >> 16),
			   (uint8_t)(dst >> 8),
			   (uint8_t)dst,
			   0xab,
			   0xcd,
			   0x12,
			   0xb9,
			   (uint8_t)((total - 20) >> 8),
			   (uint8_t)(total - 20)};
	memcpy(pkt->head, hdr, sizeof hdr);
	pkt->head_len = sizeof hdr;
	pkt->payload = payload;
	pkt->payload_len = payload_len;
	return pkt;
}

void fixture_inject(struct fixture *f, const void *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(to_ethdev(f->host)->pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	assert_int_equal(rte_ring_enqueue(to_ethdev(f->sw)->tx_ring, m), 0);
}

static bool is_announcement(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)(eth + 1);
	const struct rte_ipv6_hdr *ip6 = (const struct rte_ipv6_hdr *)(eth + 1);
	struct weft_ip all = nd_all_nodes();
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return arp->arp_data.arp_sip == arp->arp_data.arp_tip;
	return eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && memcmp(ip6->dst_addr, all.b, sizeof all.b) == 0;
}

struct rte_mbuf *fixture_sent(struct fixture *f)
{
	struct rte_mbuf *m;
	while (rte_ring_dequeue(to_ethdev(f->sw)->rx_ring, (void **)&m) == 0) {
		if (!is_announcement(m))
			return m;
		rte_pktmbuf_free(m);
	}
	return NULL;
}

void link_note(void *arg, enum weft_link_state state)
{
	struct link_heard *heard = arg;
	heard->count++;
	heard->state = state;
}

void port_poll(struct weft_port *port)
{
	struct weft_pkt *pkt;
	if (port->ops->rx(port, &pkt, 1) == 1)
		port->ops->free(port, &pkt, 1);
}

void expect_link(struct weft_port *port, const struct link_heard *heard, enum weft_link_state state, unsigned count)
{
	weft_ns end = weft_clock_ns() + WEFT_S(LINK_PATIENCE_S);
	while (heard->count < count && weft_clock_ns() < end)
		port_poll(port);
	assert_int_equal(heard->count, count);
	assert_int_equal(heard->state, state);
}
