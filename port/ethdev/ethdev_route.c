/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's tables for longest prefix match by direct index (rte_lpm, rte_fib) take 64 MiB and more; its tree (rte_rib)
 * fits the few routes of a host, and destinations in use are remembered beside it (ethdev_neigh.c). */
#include "ethdev_route.h"

#include <assert.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_rib6.h>

#include "ethdev_priv.h"

enum { V4_MAPPED_BITS = 96, IP_BITS = 128 };

struct route_table {
	struct rte_rib6 *rib;      /* prefix -> index into `gateways` */
	uint32_t count;            /* of `gateways` */
	struct weft_ip gateways[]; /* all zero: on the link */
};

static uint8_t depth_of(const struct weft_ip *prefix, uint8_t prefix_len)
{
	unsigned depth = weft_ip_is_v4(prefix) ? V4_MAPPED_BITS + prefix_len : prefix_len;
	return (uint8_t)RTE_MIN(depth, (unsigned)IP_BITS);
}

struct weft_ip route_prefix(const struct weft_ip *ip, uint8_t prefix_len)
{
	struct weft_ip prefix = *ip;
	unsigned depth = depth_of(ip, prefix_len);
	for (unsigned bit = depth; bit < IP_BITS; bit++)
		prefix.b[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	return prefix;
}

bool weft_if_is_near(const struct weft_if_addr *own, const struct weft_ip *ip)
{
	struct weft_ip a = route_prefix(ip, own->prefix_len), b = route_prefix(&own->ip, own->prefix_len);
	return weft_ip_is_v4(ip) == weft_ip_is_v4(&own->ip) && weft_ip_eq(&a, &b);
}

bool weft_if_is_first_or_last(const struct weft_if_addr *own, const struct weft_ip *ip)
{
	enum { POINT_TO_POINT_BITS = 31 }; /* RFC 3021: both addresses are hosts' */
	if (!weft_if_is_near(own, ip) || !weft_ip_is_v4(ip) || own->prefix_len >= POINT_TO_POINT_BITS)
		return false;
	uint32_t host_bits = UINT32_MAX >> own->prefix_len, host = weft_ip_low32(ip) & host_bits;
	return host == 0 || host == host_bits;
}

static bool route_add(struct route_table *t, const struct weft_route *r)
{
	struct weft_ip prefix = route_prefix(&r->prefix, r->prefix_len);
	uint8_t depth = depth_of(&prefix, r->prefix_len);
	struct rte_rib6_node *node = rte_rib6_lookup_exact(t->rib, prefix.b, depth);
	if (node == NULL)
		node = rte_rib6_insert(t->rib, prefix.b, depth);
	if (node == NULL)
		return false;
	t->gateways[t->count] = r->gateway;
	rte_rib6_set_nh(node, t->count++);
	return true;
}

struct route_table *route_table_create(const struct weft_route *routes, uint32_t count, int node)
{
	static _Atomic uint32_t serial;
	char name[32];                                                   /* twice as long is the most a tree takes */
	struct rte_rib6_conf conf = {.max_nodes = (int)(2 * count + 2)}; /* a branch above each route at most */
	struct route_table *t = malloc(sizeof *t + count * sizeof *t->gateways);
	if (t == NULL)
		return NULL;
	t->count = 0;
	ethdev_unique_name(name, sizeof name, "weft_rib", &serial);
	t->rib = rte_rib6_create(name, node, &conf);
	for (uint32_t i = 0; t->rib != NULL && i < count; i++) {
		if (!route_add(t, &routes[i])) {
			rte_rib6_free(t->rib);
			t->rib = NULL;
		}
	}
	if (t->rib != NULL)
		return t;
	free(t);
	return NULL;
}

void route_table_destroy(struct route_table *t)
{
	if (t == NULL)
		return;
	rte_rib6_free(t->rib);
	free(t);
}

/* One tree has both families: IPv4 is below ::ffff:0:0/96, where IPv6's shorter prefixes, as its default route, lead
 * as well. */
static bool leads_to_family(const struct rte_rib6_node *node, const struct weft_ip *dst)
{
	uint8_t depth;
	return rte_rib6_get_depth(node, &depth) == 0 && (depth >= V4_MAPPED_BITS || !weft_ip_is_v4(dst));
}

bool route_find(const struct route_table *t, const struct weft_ip *dst, struct weft_ip *next_hop)
{
	static const struct weft_ip on_link;
	uint64_t i;
	struct rte_rib6_node *node = rte_rib6_lookup(t->rib, dst->b);
	if (node == NULL || !leads_to_family(node, dst) || rte_rib6_get_nh(node, &i) != 0)
		return false;
	assert(i < t->count);
	*next_hop = weft_ip_eq(&t->gateways[i], &on_link) ? *dst : t->gateways[i];
	return true;
}
