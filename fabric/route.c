/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "net_impl.h"
#include "wire.h"

enum { IP_PROTOCOL_UDP = 17 };

/* The five-tuple, under the switch's salt: switches choose independently, a flow with one entropy keeps its path. */
static uint32_t tuple_hash(uint64_t salt, const struct weft_pkt *pkt)
{
	uint64_t addresses = (uint64_t)pkt->src << 32 | pkt->dst;
	uint64_t rest = (uint64_t)pkt->entropy << 32 | WIRE_UDP_PORT << 8 | IP_PROTOCOL_UDP;

	return (uint32_t)(hash_word(hash_word(salt, addresses), rest) >> 32);
}

/* Maps a hash to 0..n-1. */
static uint32_t choose(uint32_t hash, uint32_t n)
{
	return (uint32_t)((uint64_t)hash * n >> 32);
}

uint32_t route_port(const struct net_switch *sw, uint32_t host, const struct weft_pkt *pkt)
{
	uint32_t below = host - sw->low;

	if (below >= sw->span)
		return sw->first_up + choose(tuple_hash(sw->salt, pkt), sw->up_cables);
	uint32_t port = sw->first_down + (uint32_t)(below * sw->child_recip >> 32) * sw->bundle;
	return sw->bundle == 1 ? port : port + choose(tuple_hash(sw->salt, pkt), sw->bundle);
}
