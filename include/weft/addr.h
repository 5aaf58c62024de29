/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of engines (IP) and endpoints (IP and port). */
#ifndef WEFT_ADDR_H
#define WEFT_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

/* IPv6 address in network order; an IPv4 address is stored v4-mapped (::ffff:a.b.c.d), so equality is memcmp. */
struct weft_ip {
	uint8_t b[16];
};

/* One endpoint. `port` is the endpoint's number on its engine, 1..65535 in host order (not a UDP port): its upper
 * 12 bits travel as PIDonFEP, its lower 4 bits as resource index (doc/reference/protocol.md). */
struct weft_addr {
	struct weft_ip ip;
	uint16_t port;
};

static inline bool weft_ip_is_v4(const struct weft_ip *ip)
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	return memcmp(ip->b, prefix, sizeof prefix) == 0;
}

/* `host` is the IPv4 address in host order: 0x0a000001 is 10.0.0.1. */
static inline struct weft_ip weft_ip_v4(uint32_t host)
{
	struct weft_ip ip = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (uint8_t)(host >> 24), (uint8_t)(host >> 16),
			      (uint8_t)(host >> 8), (uint8_t)host}};

	return ip;
}

static inline bool weft_ip_eq(const struct weft_ip *a, const struct weft_ip *b)
{
	uint64_t a_low, a_high, b_low, b_high; /* words, for what memcmp compares must be in memory */
	memcpy(&a_low, a->b, sizeof a_low);
	memcpy(&b_low, b->b, sizeof b_low);
	memcpy(&a_high, a->b + 8, sizeof a_high);
	memcpy(&b_high, b->b + 8, sizeof b_high);
	return a_high == b_high && a_low == b_low;
}

/* :: or 0.0.0.0, which stand for no address, or any. */
static inline bool weft_ip_is_any(const struct weft_ip *ip)
{
	const struct weft_ip any_v4 = weft_ip_v4(0), any_v6 = {{0}};

	return weft_ip_eq(ip, &any_v4) || weft_ip_eq(ip, &any_v6);
}

/* The last four bytes in host order: the IPv4 address, or the low word of an IPv6 address. The fabric routes by it. */
static inline uint32_t weft_ip_low32(const struct weft_ip *ip)
{
	return (uint32_t)ip->b[12] << 24 | (uint32_t)ip->b[13] << 16 | (uint32_t)ip->b[14] << 8 | ip->b[15];
}

WEFT_END_DECLS

#endif
