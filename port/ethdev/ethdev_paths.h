/* SPDX-License-Identifier: BSD-3-Clause */
/* Which routes a DPDK port has: those it was opened with, those of the kernel's interface it stands on, or a router's
 * that advertises itself (IPv6). */
#ifndef WEFT_ETHDEV_PATHS_H
#define WEFT_ETHDEV_PATHS_H

#include "ethdev_priv.h"

struct nd_router;

/* -EINVAL: routes that cannot be; -ENOMEM; errors of netlink; all with a message naming the device. */
int paths_open(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err);
void paths_close(struct ethdev *d);

/* The address on the link that leads to `dst`. False: no route. */
bool paths_next_hop(const struct ethdev *d, const struct weft_ip *dst, struct weft_ip *next_hop);

/* Follows the kernel, asks for routers and forgets them in time. True: routes have changed. */
bool paths_periodic(struct ethdev *d, weft_ns now);
/* A router spoke. True: routes have changed. */
bool paths_router_heard(struct ethdev *d, const struct nd_router *router, weft_ns now);

#endif
