/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include <rte_icmp.h>
#include <rte_ip.h>

#include "ethdev_nd.h"

enum {
	ND_MSG_BYTES = 24,
	ND_RA_BYTES = 16,
	ND_OPT_SOURCE = 1,
	ND_OPT_TARGET = 2,
	ND_OPT_PREFIX = 3,
	ND_HOP_LIMIT = 255,
	ND_OPT_UNIT_BYTES = 8,
};

struct nd_msg {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t flags;
	uint8_t target[16];
	uint8_t opt_type, opt_units; /* units of 8 bytes */
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

/* A router solicitation with our MAC address. */
struct nd_rs {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t reserved;
	uint8_t opt_type, opt_units;
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

/* Prefix information of a router advertisement (RFC 4861 sec. 4.6.2). */
struct nd_prefix_opt {
	uint8_t type, units, len, flags;
	rte_be32_t valid_s, preferred_s, reserved;
	uint8_t prefix[16];
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct nd_rs) == ND_RS_IP_BYTES - sizeof(struct rte_ipv6_hdr), "message and one option");
_Static_assert(sizeof(struct nd_prefix_opt) == 32, "four units");
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

/* An IPv6 header and a message of neighbour discovery of at least `min_bytes`, all of it there, and from this link. The
 * header is read once: packets in shared buffers may change meanwhile. */
static bool is_nd(const uint8_t *ip, size_t len, size_t min_bytes, struct rte_ipv6_hdr *hdr)
{
	if (len < sizeof *hdr + min_bytes)
		return false;
	memcpy(hdr, ip, sizeof *hdr);
	size_t msg_bytes = rte_be_to_cpu_16(hdr->payload_len);
	return hdr->proto == IPPROTO_ICMPV6 && hdr->hop_limits == ND_HOP_LIMIT && msg_bytes >= min_bytes &&
	       msg_bytes <= len - sizeof *hdr && ip[sizeof *hdr + 1] == 0 &&
	       rte_ipv6_udptcp_cksum(hdr, ip + sizeof *hdr) == 0;
}

bool nd_parse(const uint8_t *ip, size_t len, struct nd_seen *nd)
{
	static const struct weft_ip nobody;
	struct rte_ipv6_hdr hdr;
	const uint8_t *msg = ip + sizeof hdr;

	if (!is_nd(ip, len, ND_MSG_BYTES, &hdr) || (msg[0] != ND_SOLICIT && msg[0] != ND_ADVERT))
		return false;
	size_t msg_bytes = rte_be_to_cpu_16(hdr.payload_len);
	nd->type = msg[0];
	nd->is_solicited = nd->type == ND_ADVERT && (msg[offsetof(struct nd_msg, flags)] & ND_SOLICITED >> 24);
	memcpy(nd->source.b, hdr.src_addr, sizeof nd->source.b);
	memcpy(nd->target.b, msg + offsetof(struct nd_msg, target), sizeof nd->target.b);
	nd->has_source = !weft_ip_eq(&nd->source, &nobody);
	options_parse(msg + ND_MSG_BYTES, msg_bytes - ND_MSG_BYTES,
		      nd->type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET, &nd->mac);
	return true;
}

static bool is_link_local(const struct weft_ip *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

static void prefix_add(struct nd_router *router, const struct nd_prefix_opt *opt)
{
	enum { ON_LINK = 0x80 };
	if (!(opt->flags & ON_LINK) || opt->len > 128 || router->prefix_count == ND_PREFIXES)
		return;
	router->prefixes[router->prefix_count].len = opt->len;
	router->prefixes[router->prefix_count].lifetime_s = rte_be_to_cpu_32(opt->valid_s);
	memcpy(router->prefixes[router->prefix_count].prefix.b, opt->prefix, sizeof opt->prefix);
	router->prefix_count++;
}

bool nd_parse_router(const uint8_t *ip, size_t len, struct nd_router *router)
{
	struct rte_ipv6_hdr hdr;
	const uint8_t *msg = ip + sizeof hdr;
	struct nd_prefix_opt opt;

	if (!is_nd(ip, len, ND_RA_BYTES, &hdr) || msg[0] != ND_ROUTER_ADVERT)
		return false;
	*router = (struct nd_router){.lifetime_s = (uint16_t)(msg[6] << 8 | msg[7])};
	memcpy(router->ip.b, hdr.src_addr, sizeof router->ip.b);
	size_t left = rte_be_to_cpu_16(hdr.payload_len) - (size_t)ND_RA_BYTES;
	for (const uint8_t *p = msg + ND_RA_BYTES; left >= ND_OPT_UNIT_BYTES;) {
		size_t bytes = p[1] * (size_t)ND_OPT_UNIT_BYTES;
		if (bytes == 0 || bytes > left)
			return false;
		if (p[0] == ND_OPT_PREFIX && bytes >= sizeof opt) {
			memcpy(&opt, p, sizeof opt);
			prefix_add(router, &opt);
		}
		p += bytes;
		left -= bytes;
	}
	return is_link_local(&router->ip);
}

static void header_fill(struct rte_ipv6_hdr *hdr, const struct weft_ip *src, const struct weft_ip *dst, uint16_t bytes)
{
	*hdr = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16(bytes),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = ND_HOP_LIMIT,
	};
	memcpy(hdr->src_addr, src->b, sizeof src->b);
	memcpy(hdr->dst_addr, dst->b, sizeof dst->b);
}

void nd_fill_router_solicit(uint8_t *ip, const struct weft_ip *src, const struct rte_ether_addr *mac)
{
	struct rte_ipv6_hdr *hdr = (struct rte_ipv6_hdr *)ip;
	struct nd_rs *msg = (struct nd_rs *)(hdr + 1);
	struct weft_ip to = nd_all_routers();

	header_fill(hdr, src, &to, sizeof *msg);
	*msg = (struct nd_rs){.type = ND_ROUTER_SOLICIT, .opt_type = ND_OPT_SOURCE, .opt_units = 1, .mac = *mac};
	msg->cksum = rte_ipv6_udptcp_cksum(hdr, msg);
}

void nd_fill(uint8_t *ip, uint8_t type, uint32_t flags, const struct weft_ip *src, const struct weft_ip *dst,
	     const struct weft_ip *target, const struct rte_ether_addr *mac)
{
	struct rte_ipv6_hdr *hdr = (struct rte_ipv6_hdr *)ip;
	struct nd_msg *msg = (struct nd_msg *)(hdr + 1);

	assert(type == ND_SOLICIT || type == ND_ADVERT);
	header_fill(hdr, src, dst, sizeof *msg);
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

struct weft_ip nd_all_routers(void)
{
	return (struct weft_ip){{0xff, 2, [15] = 2}};
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
