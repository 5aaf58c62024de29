/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of neighbours, and what a host sends to them. */
#ifndef WEFT_TEST_NEIGH_FRAMES_H
#define WEFT_TEST_NEIGH_FRAMES_H

#include <string.h>

#include <rte_arp.h>
#include <rte_ip.h>

#include "ethdev_fixture.h"

enum { ME = 0x0a000001, PEER = 0x0a000002, OTHER = 0x0a000003 };

static const struct rte_ether_addr PEER_MAC = {{0x52, 0x54, 0, 1, 2, 3}};
static const struct weft_ip ME6 = {{0xfd, 0, 0, 0x77, [15] = 1}}, PEER6 = {{0xfd, 0, 0, 0x77, [15] = 2}};
static const struct weft_ip NOBODY;

struct arp_frame {
	struct rte_ether_hdr eth;
	struct rte_arp_hdr arp;
} __attribute__((packed, aligned(2)));

static inline struct arp_frame arp_from(struct rte_ether_addr mac, uint16_t op, uint32_t sender, uint32_t target)
{
	return (struct arp_frame){
		.eth = {.dst_addr = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
			.src_addr = mac,
			.ether_type = RTE_BE16(RTE_ETHER_TYPE_ARP)},
		.arp = {.arp_hardware = RTE_BE16(1),
			.arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4),
			.arp_hlen = 6,
			.arp_plen = 4,
			.arp_opcode = rte_cpu_to_be_16(op),
			.arp_data = {.arp_sha = mac,
				     .arp_sip = rte_cpu_to_be_32(sender),
				     .arp_tip = rte_cpu_to_be_32(target)}},
	};
}

static inline struct arp_frame arp(uint16_t op, uint32_t sender, uint32_t target)
{
	return arp_from(PEER_MAC, op, sender, target);
}

/* Gives the host a frame that is not for its caller. */
static inline void feed(struct fixture *f, const void *frame, uint16_t len)
{
	struct weft_pkt *pkt;
	fixture_inject(f, frame, len);
	assert_int_equal(f->host->ops->rx(f->host, &pkt, 1), 0);
}

static inline struct weft_ethdev_stats stats_of(struct fixture *f)
{
	return port_stats(f->host);
}

static inline void send_one(struct fixture *f, uint32_t dst)
{
	struct weft_pkt *pkt = fixture_pkt(f->host, dst, "x", 1);
	assert_int_equal(f->host->ops->tx(f->host, &pkt, 1), 1);
}

/* The next frame the host sent goes to `mac`. */
static inline void expect_sent_to(struct fixture *f, const struct rte_ether_addr *mac)
{
	struct rte_mbuf *m = fixture_sent(f);
	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), mac, 6);
	rte_pktmbuf_free(m);
}

static inline struct arp_frame take_arp(struct fixture *f)
{
	struct rte_mbuf *m = fixture_sent(f);
	struct arp_frame frame;
	assert_non_null(m);
	assert_int_equal(m->data_len, sizeof frame);
	memcpy(&frame, rte_pktmbuf_mtod(m, void *), sizeof frame);
	rte_pktmbuf_free(m);
	assert_int_equal(frame.eth.ether_type, RTE_BE16(RTE_ETHER_TYPE_ARP));
	return frame;
}

#endif
