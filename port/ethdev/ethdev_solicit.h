/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP and neighbour discovery on their way out. */
#ifndef WEFT_ETHDEV_SOLICIT_H
#define WEFT_ETHDEV_SOLICIT_H

#include "ethdev_priv.h"

/* Asks who has `target`: the host with MAC address `to`, or everybody (NULL). Our own address: announces it. Counts.
 * False: nothing was sent. */
bool solicit_send(struct ethdev *d, const struct weft_ip *target, const struct rte_ether_addr *to);

/* Asks the routers of the link about themselves (RFC 4861 sec. 6.3.7); IPv6 only. False: nothing was sent. */
bool solicit_routers(struct ethdev *d);

#endif
