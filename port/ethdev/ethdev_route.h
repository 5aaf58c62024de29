/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes of a DPDK port: longest prefix match, for both address families in one table. */
#ifndef WEFT_ETHDEV_ROUTE_H
#define WEFT_ETHDEV_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/kernel_if.h"

struct route_table;

/* Of several routes to one prefix the last counts. Nothing of `routes` is kept. NULL: no memory. */
struct route_table *route_table_create(const struct weft_route *routes, uint32_t count, int node);
void route_table_destroy(struct route_table *t);

/* The address on the link that leads to `dst`: a gateway, or `dst` itself. False: no route. */
bool route_find(const struct route_table *t, const struct weft_ip *dst, struct weft_ip *next_hop);

/* `ip` without the bits behind the prefix. */
struct weft_ip route_prefix(const struct weft_ip *ip, uint8_t prefix_len);

#endif
