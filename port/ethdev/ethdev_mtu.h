/* SPDX-License-Identifier: BSD-3-Clause */
/* Largest packet of a port, and of its device. */
#ifndef WEFT_ETHDEV_MTU_H
#define WEFT_ETHDEV_MTU_H

#include "ethdev_priv.h"

/* Largest IP packet to use: what the configuration wants, else what the device can, up to 9000 and to the MTU of the
 * kernel's interface that the device shares. `shared`: what the ports have that use the device already, 0: there are
 * none. -EINVAL: more than the device can. */
int mtu_choose(const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info, uint32_t shared,
	       uint32_t *ip_bytes, struct weft_err *err);

/* After the device is configured, before it starts. Many drivers learn the MTU by this call only. When the device
 * refuses d->port.max_ip_bytes, that is an error if it `is_wanted`, and Ethernet's 1500 from now on otherwise. */
int mtu_set(struct ethdev *d, bool is_wanted, const struct rte_eth_dev_info *info, struct weft_err *err);

#endif
