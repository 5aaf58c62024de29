/* SPDX-License-Identifier: BSD-3-Clause */
/* The edge of the network: VLAN tags (IEEE 802.1Q) and a fabric's own DSCPs. The port sees neither, so ports without
 * them pay nothing. */
#ifndef WEFT_ETHDEV_EDGE_H
#define WEFT_ETHDEV_EDGE_H

#include "ethdev_priv.h"

struct edge;

/* `*edge` NULL: there is nothing to translate. -EINVAL: not a tag, or not code points, with a message naming `dev`;
 * -ENOMEM. */
int edge_create(const char *dev, const struct weft_ethdev_net *net, struct edge **edge, struct weft_err *err);
void edge_destroy(struct edge *edge);

/* Has a started device receive frames with the tag, if it drops those it was not told of. The driver's error, with a
 * message that names the device and the tag. */
int edge_admit(const struct ethdev *d, uint16_t vlan, const struct rte_eth_dev_info *info, struct weft_err *err);

/* Makes frames that are about to leave those of the network. Returns how many of the first can go. */
uint16_t edge_out(struct ethdev *d, struct rte_mbuf **m, uint16_t n);
/* Takes that back for frames the device did not take. */
void edge_take_back(const struct ethdev *d, struct rte_mbuf **m, uint16_t n);
/* Makes received frames ours, and frees those of other VLANs (counted). Returns how many are left, at the front of `m`.
 */
uint16_t edge_in(struct ethdev *d, struct rte_mbuf **m, uint16_t n);

#endif
