/* SPDX-License-Identifier: BSD-3-Clause */
/* One device, several engines: each has a port, an address and, as far as the device has so many, a queue pair of its
 * own. Whoever finds a frame for another engine's address gives it to that engine through a ring, so every way the
 * device spreads frames over its queues is right, if not the fastest. Frames from one engine to another of the device
 * take the same rings, for no switch sends them back.
 *
 * Everything here but the rings, the locks of the queues and the list of addresses belongs to one engine's thread. */
#ifndef WEFT_ETHDEV_SHARE_H
#define WEFT_ETHDEV_SHARE_H

#include <rte_ethdev.h>

#include "ethdev_priv.h"

enum { SHARE_ENGINES_MAX = 64 };

struct share;

/* What `engines` engines of one device share. NULL: no memory. */
struct share *share_create(uint16_t engines, int node);
/* No engine is left. Frames that wait are freed. NULL is nothing. */
void share_destroy(struct share *s);
/* Once the device is configured: it has `queues` pairs for the engines, at most one each. `all_ours`: nobody else uses
 * any of them. */
void share_set_queues(struct share *s, uint16_t queues, bool all_ours);

/* Whether one of the engines has that address already; all zero, as switch ports have: never. */
bool share_has_address(struct share *s, const struct weft_ip *ip);
/* Engine `d->engine`, whose queue is `d->queue`, comes with the address `d->ip`; or leaves. -ENOMEM. */
int share_join(struct ethdev *d, struct share *s);
void share_leave(struct ethdev *d);

/* For ports that have joined: as rte_eth_rx_burst and rte_eth_tx_burst, with at most ETHDEV_BURST frames. */
uint16_t share_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);
uint16_t share_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);

#endif
