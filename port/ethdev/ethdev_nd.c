/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include <rte_icmp.h>
#include <rte_ip.h>

#include "ethdev_nd.h"

enum { ND_MSG_BYTES = 24, ND_OPT_SOURCE = 1, ND_OPT_TARGET = 2, ND_HOP_LIMIT = 255, ND_OPT_UNIT_BYTES = 8 };

struct nd_msg {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t flags;
	uint8_t target[16];
	uint8_t opt_type, opt_units; /* units of 8 bytes */
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct nd_msg) == ND_IP_BYTES - sizeof(struct rte_ipv6_hdr), "message and one option");

/* The link-layer address option, which may follow others. */
static void options_parse(const uint8_t *opt, size_t len, uint8_t wanted, struct rte_ether_addr *mac)
{
	while (len >= ND_OPT_UNIT_BYTES) {
		size_t bytes = opt[1] * (size_t)ND_OPT_UNIT_BYTES;
		if (bytes == 0 || bytes > len)
			return;
		if (opt[0] == wanted)
			memcpy(mac, opt + 2, sizeof *mac);
		assert(bytes >= ND_OPT_UNIT_BYTES && bytes <= len);
		opt += bytes;
		len -= bytes;
	}
}

bool nd_parse(const uint8_t *ip, size_t len, struct nd_seen *nd)
{
	static const struct weft_ip nobody;
	struct rte_ipv6_hdr hdr;
	const uint8_t *msg = ip + sizeof hdr;

	if (len < sizeof hdr + ND_MSG_BYTES)
		return false;
	memcpy(&hdr, ip, sizeof hdr);
	size_t msg_bytes = rte_be_to_cpu_16(hdr.payload_len);
	if (hdr.proto != IPPROTO_ICMPV6 || hdr.hop_limits != ND_HOP_LIMIT || msg_bytes < ND_MSG_BYTES ||
	    msg_bytes > len - sizeof hdr || (msg[0] != ND_SOLICIT && msg[0] != ND_ADVERT) || msg[1] != 0)
		return false;
	if (rte_ipv6_udptcp_cksum((const struct rte_ipv6_hdr *)ip, msg) != 0)
		return false;
	nd->type = msg[0];
	memcpy(nd->source.b, hdr.src_addr, sizeof nd->source.b);
	memcpy(nd->target.b, msg + offsetof(struct nd_msg, target), sizeof nd->target.b);
	nd->has_source = !weft_ip_eq(&nd->source, &nobody);
	options_parse(msg + ND_MSG_BYTES, msg_bytes - ND_MSG_BYTES,
		      nd->type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET, &nd->mac);
	return true;
}

void nd_fill(uint8_t *ip, uint8_t type, uint32_t flags, const struct weft_ip *src, const struct weft_ip *dst,
	     const struct weft_ip *target, const struct rte_ether_addr *mac)
{
	struct rte_ipv6_hdr *hdr = (struct rte_ipv6_hdr *)ip;
	struct nd_msg *msg = (struct nd_msg *)(hdr + 1);

	assert(type == ND_SOLICIT || type == ND_ADVERT);
	*hdr = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(UINT32_C(6) << 28),
		.payload_len = RTE_BE16(sizeof *msg),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = ND_HOP_LIMIT,
	};
	memcpy(hdr->src_addr, src->b, sizeof src->b);
	memcpy(hdr->dst_addr, dst->b, sizeof dst->b);
	*msg = (struct nd_msg){
		.type = type,
		.flags = rte_cpu_to_be_32(flags),
		.opt_type = type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET,
		.opt_units = 1,
		.mac = *mac,
	};
	memcpy(msg->target, target->b, sizeof target->b);
	msg->cksum = rte_ipv6_udptcp_cksum(hdr, msg);
}

struct weft_ip nd_all_nodes(void)
{
	return (struct weft_ip){{0xff, 2, [15] = 1}};
}

struct weft_ip nd_solicited_node(const struct weft_ip *target)
{
	const uint8_t *t = target->b;
	return (struct weft_ip){{0xff, 2, [11] = 1, 0xff, t[13], t[14], t[15]}};
}

struct rte_ether_addr nd_multicast_mac(const struct weft_ip *group)
{
	const uint8_t *g = group->b;
	return (struct rte_ether_addr){{0x33, 0x33, g[12], g[13], g[14], g[15]}};
}
