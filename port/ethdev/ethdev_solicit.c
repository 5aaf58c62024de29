/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_solicit.h"

#include <assert.h>

#include <rte_arp.h>

#include "ethdev_frame.h"
#include "ethdev_nd.h"

static struct rte_mbuf *frame_new(struct ethdev *d, uint16_t bytes, const struct rte_ether_addr *dst, uint16_t type)
{
	struct rte_mbuf *m = d->pool != NULL ? rte_pktmbuf_alloc(d->pool) : NULL;
	if (m == NULL)
		return NULL;
	assert(RTE_ETHER_HDR_LEN + bytes <= rte_pktmbuf_tailroom(m));
	m->data_len = (uint16_t)(RTE_ETHER_HDR_LEN + bytes);
	m->pkt_len = m->data_len;
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	eth->dst_addr = *dst;
	eth->src_addr = d->mac;
	eth->ether_type = rte_cpu_to_be_16(type);
	return m;
}

static bool arp_request(struct ethdev *d, const struct weft_ip *target, const struct rte_ether_addr *to)
{
	static const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_mbuf *m = frame_new(d, sizeof(struct rte_arp_hdr), to != NULL ? to : &everybody, RTE_ETHER_TYPE_ARP);
	if (m == NULL)
		return false;
	struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, RTE_ETHER_HDR_LEN);
	*arp = (struct rte_arp_hdr){
		.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
		.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = RTE_ETHER_ADDR_LEN,
		.arp_plen = sizeof(rte_be32_t),
		.arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REQUEST),
		.arp_data = {.arp_sha = d->mac,
			     .arp_sip = rte_cpu_to_be_32(weft_ip_low32(&d->ip)),
			     .arp_tip = rte_cpu_to_be_32(weft_ip_low32(target))},
	};
	return frame_xmit(d, m);
}

/* A solicitation for `target` or, when it is our own address, an advertisement to all nodes. */
static bool nd_send(struct ethdev *d, const struct weft_ip *target, const struct rte_ether_addr *unicast)
{
	bool announce = weft_ip_eq(target, &d->ip);
	struct weft_ip to = announce ? nd_all_nodes() : nd_solicited_node(target);
	struct rte_ether_addr to_mac = nd_multicast_mac(&to);
	if (unicast != NULL) {
		to = *target;
		to_mac = *unicast;
	}
	struct rte_mbuf *m = frame_new(d, ND_IP_BYTES, &to_mac, RTE_ETHER_TYPE_IPV6);
	if (m == NULL)
		return false;
	nd_fill(rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN), announce ? ND_ADVERT : ND_SOLICIT,
		announce ? ND_OVERRIDE : 0, &d->ip, &to, target, &d->mac);
	return frame_xmit(d, m);
}

bool solicit_send(struct ethdev *d, const struct weft_ip *target, const struct rte_ether_addr *to)
{
	bool sent = weft_ip_is_v4(&d->ip) ? arp_request(d, target, to) : nd_send(d, target, to);
	if (!sent)
		d->stats.arp_unsent++;
	else if (!weft_ip_eq(target, &d->ip))
		d->stats.arp_sent++;
	return sent;
}

bool solicit_routers(struct ethdev *d)
{
	struct weft_ip to = nd_all_routers();
	struct rte_ether_addr to_mac = nd_multicast_mac(&to);
	assert(!weft_ip_is_v4(&d->ip));
	struct rte_mbuf *m = frame_new(d, ND_RS_IP_BYTES, &to_mac, RTE_ETHER_TYPE_IPV6);
	if (m == NULL)
		return false;
	nd_fill_router_solicit(rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN), &d->ip, &d->mac);
	return frame_xmit(d, m);
}
