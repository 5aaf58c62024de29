/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device is asked to do for us, and what it does. Everything works without any of it. */
#ifndef WEFT_ETHDEV_OFFLOAD_H
#define WEFT_ETHDEV_OFFLOAD_H

#include "ethdev_priv.h"

/* What to ask of the device: enum weft_ethdev_offload. -EINVAL: it cannot receive into buffers of the size that is
 * wanted. */
int offload_choose(const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info, uint32_t *offloads,
		   struct weft_err *err);

/* Adds it to a configuration. */
void offload_ask(uint32_t offloads, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth);

#endif
