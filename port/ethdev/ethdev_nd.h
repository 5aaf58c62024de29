/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbour solicitations and advertisements (RFC 4861 sec. 4.3, 4.4) as bytes. */
#ifndef WEFT_ETHDEV_ND_H
#define WEFT_ETHDEV_ND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>

#include "weft/addr.h"

enum {
	ND_ROUTER_SOLICIT = 133,
	ND_ROUTER_ADVERT = 134,
	ND_SOLICIT = 135,
	ND_ADVERT = 136,
	ND_IP_BYTES = 40 + 24 + 8,   /* IPv6 header, message, one link-layer address option */
	ND_RS_IP_BYTES = 40 + 8 + 8, /* the same with a shorter message */
	ND_PREFIXES = 8,             /* of one router advertisement that are kept */
};
#define ND_SOLICITED 0x40000000u
#define ND_OVERRIDE  0x20000000u

struct nd_seen {
	uint8_t type; /* ND_SOLICIT, ND_ADVERT */
	bool has_source;
	bool is_solicited; /* an advertisement that says it is an answer */
	struct weft_ip source, target;
	struct rte_ether_addr mac; /* from the option; left alone when there is none */
};

/* Reads `len` bytes at an IPv6 header. False: not a valid solicitation or advertisement; never reads outside. */
bool nd_parse(const uint8_t *ip, size_t len, struct nd_seen *nd);

/* Writes ND_IP_BYTES. `flags`: ND_SOLICITED, ND_OVERRIDE. */
void nd_fill(uint8_t *ip, uint8_t type, uint32_t flags, const struct weft_ip *src, const struct weft_ip *dst,
	     const struct weft_ip *target, const struct rte_ether_addr *mac);

/* What a router says of itself (RFC 4861 sec. 4.2). */
struct nd_router {
	struct weft_ip ip;   /* link-local */
	uint16_t lifetime_s; /* as a default router; 0: it is none */
	uint32_t prefix_count;
	struct {
		struct weft_ip prefix;
		uint8_t len;         /* bits */
		uint32_t lifetime_s; /* UINT32_MAX: for ever */
	} prefixes[ND_PREFIXES];     /* of addresses on the link */
};

/* Reads `len` bytes at an IPv6 header. False: not a valid router advertisement; never reads outside. */
bool nd_parse_router(const uint8_t *ip, size_t len, struct nd_router *router);

/* Writes ND_RS_IP_BYTES. */
void nd_fill_router_solicit(uint8_t *ip, const struct weft_ip *src, const struct rte_ether_addr *mac);

struct weft_ip nd_all_nodes(void);
struct weft_ip nd_all_routers(void);
struct weft_ip nd_solicited_node(const struct weft_ip *target);
struct rte_ether_addr nd_multicast_mac(const struct weft_ip *group);

#endif
