/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_owner.h"

#include <assert.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_ip.h>

enum { IPV6_MULTICAST = 0xff };

static int owner_of_ip(const struct owners *o, const struct weft_ip *ip)
{
	assert(o->self < o->count && o->count <= OWNERS_MAX);
	if (weft_ip_eq(&o->ips[o->self], ip))
		return o->self;
	for (int i = 0; i < o->count; i++)
		if (weft_ip_eq(&o->ips[i], ip))
			return i;
	return OWNER_NONE;
}

static int owner_of_v4(const struct owners *o, rte_be32_t be)
{
	struct weft_ip ip = weft_ip_v4(rte_be_to_cpu_32(be));
	return be != 0 ? owner_of_ip(o, &ip) : OWNER_NONE;
}

/* Neighbours announce themselves, and ask for others, to everybody. */
static int owner_of_arp(const struct owners *o, const struct rte_ether_hdr *eth, const struct rte_arp_hdr *arp)
{
	int owner = owner_of_v4(o, arp->arp_data.arp_tip);
	return owner == OWNER_NONE && rte_is_multicast_ether_addr(&eth->dst_addr) ? OWNER_ALL : owner;
}

static int owner_of_v6(const struct owners *o, const struct rte_ipv6_hdr *v6)
{
	struct weft_ip ip;
	if (v6->dst_addr[0] == IPV6_MULTICAST)
		return OWNER_ALL;
	memcpy(ip.b, v6->dst_addr, sizeof ip.b);
	return owner_of_ip(o, &ip);
}

int owner_of(const struct owners *o, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const uint8_t *net = (const uint8_t *)(eth + 1), *end = (const uint8_t *)eth + m->data_len;
	if (m->data_len < sizeof *eth + sizeof(struct rte_vlan_hdr))
		return OWNER_NONE;
	rte_be16_t type = eth->ether_type;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		type = ((const struct rte_vlan_hdr *)net)->eth_proto;
		net += sizeof(struct rte_vlan_hdr);
	}
	size_t left = (size_t)(end - net);
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && left >= sizeof(struct rte_ipv4_hdr))
		return owner_of_v4(o, ((const struct rte_ipv4_hdr *)net)->dst_addr);
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && left >= sizeof(struct rte_ipv6_hdr))
		return owner_of_v6(o, (const struct rte_ipv6_hdr *)net);
	if (type == RTE_BE16(RTE_ETHER_TYPE_ARP) && left >= sizeof(struct rte_arp_hdr))
		return owner_of_arp(o, eth, (const struct rte_arp_hdr *)net);
	return OWNER_NONE;
}
