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
	ND_SOLICIT = 135,
	ND_ADVERT = 136,
	ND_IP_BYTES = 40 + 24 + 8, /* IPv6 header, message, one link-layer address option */
};
#define ND_SOLICITED 0x40000000u
#define ND_OVERRIDE  0x20000000u

struct nd_seen {
	uint8_t type; /* ND_SOLICIT, ND_ADVERT */
	bool has_source;
	struct weft_ip source, target;
	struct rte_ether_addr mac; /* from the option; left alone when there is none */
};

/* Reads `len` bytes at an IPv6 header. False: not a valid solicitation or advertisement; never reads outside. */
bool nd_parse(const uint8_t *ip, size_t len, struct nd_seen *nd);

/* Writes ND_IP_BYTES. `flags`: ND_SOLICITED, ND_OVERRIDE. */
void nd_fill(uint8_t *ip, uint8_t type, uint32_t flags, const struct weft_ip *src, const struct weft_ip *dst,
	     const struct weft_ip *target, const struct rte_ether_addr *mac);

struct weft_ip nd_all_nodes(void);
struct weft_ip nd_solicited_node(const struct weft_ip *target);
struct rte_ether_addr nd_multicast_mac(const struct weft_ip *group);

#endif
