/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK devices that ports share, a queue pair each. The caller holds the lock of all devices (ethdev_open.c). */
#ifndef WEFT_ETHDEV_SLOT_H
#define WEFT_ETHDEV_SLOT_H

#include <rte_ethdev.h>

#include "ethdev_priv.h"

/* The device that `conf` names: one there is, or a new one. */
int slot_get(const struct weft_ethdev_conf *conf, uint16_t *id, struct weft_err *err);
/* Stops, closes and removes the device when nobody uses it, as far as it was us who started and made it. */
void slot_release(uint16_t id);

/* Takes a queue pair; the first user configures and starts the device, with the packets of d->pool. A device the
 * application has started is used as it is. */
int slot_join(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
	      struct weft_err *err);
void slot_leave(const struct ethdev *d);
/* -EINVAL: the device has no such queue; -EBUSY: it is in use. */
int slot_check_queue(const struct weft_ethdev_conf *conf, uint16_t id, const struct rte_eth_dev_info *info,
		     struct weft_err *err);

#endif
