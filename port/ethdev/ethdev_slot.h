/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK devices that ports share, a queue pair each. The caller holds the lock of all devices. */
#ifndef WEFT_ETHDEV_SLOT_H
#define WEFT_ETHDEV_SLOT_H

#include <pthread.h>
#include <stdbool.h>

#include <rte_ethdev.h>

#include "ethdev_priv.h"

extern pthread_mutex_t slot_lock; /* of all devices */

/* The device that `conf` names: one there is, or a new one. */
int slot_get(const struct weft_ethdev_conf *conf, uint16_t *id, struct weft_err *err);
/* Stops, closes and removes the device when nobody uses it, as far as it was us who started and made it. */
void slot_release(uint16_t id);

/* What the first user's configuration makes of the device: how many engines may share it, and the longest IP packet of
 * all (0: not known yet). */
uint16_t slot_engines(const struct weft_ethdev_conf *conf, uint16_t id);
uint32_t slot_ip_bytes(uint16_t id);
/* The packets of an engine, the device's as long as it is open. NULL: none yet. */
struct rte_mempool *slot_pool(uint16_t id, uint16_t engine);
void slot_give_pool(uint16_t id, uint16_t engine, struct rte_mempool *pool);
/* Small receive buffers for all queues, likewise the device's. */
void slot_give_rx_pool(uint16_t id, struct rte_mempool *pool);

/* Becomes an engine of the device; the first one configures and starts it, with the pools given for each queue. A
 * device the application has started is used as it is. */
int slot_join(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
	      struct weft_err *err);
void slot_leave(struct ethdev *d);
/* Whether it was us who configured the device. */
bool slot_is_set_up(const struct ethdev *d);
/* Whether the device is connected to another process by a socket, and is made anew when that process has ended. */
bool slot_rejoins(const struct ethdev *d);
/* The port leaves the device alone from now on, until slot_unpark ends it: when all ports on the device are parked, the
 * first to come here has it reset and set up anew, or connected again as soon as somebody listens; a failure is
 * counted, and tried again by the next call. */
void slot_park(struct ethdev *d);
void slot_unpark(struct ethdev *d);
/* -EINVAL: the device has no such queue; -EBUSY: it is in use; -EADDRINUSE: the address is. */
int slot_check_queue(const struct weft_ethdev_conf *conf, uint16_t id, const struct rte_eth_dev_info *info,
		     struct weft_err *err);

#endif
