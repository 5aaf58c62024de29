/* SPDX-License-Identifier: BSD-3-Clause */
/* Which queue of a device arriving packets come to. */
#ifndef WEFT_ETHDEV_STEER_H
#define WEFT_ETHDEV_STEER_H

#include <rte_ethdev.h>

#include "ethdev_priv.h"

struct rte_flow;

/* Asks for RSS over addresses alone, as far as the device can. Source ports are entropy, so with them every peer's
 * packets would go to all queues. */
void steer_hash_configure(const struct rte_eth_dev_info *info, uint16_t queues, struct rte_eth_conf *eth);
/* What a running device's RSS looks at. When it looks at UDP ports, and `may_change`, it is told not to first. */
enum weft_queue_hash steer_hash_look(uint16_t id, uint16_t queues, bool may_change);

/* IP packets to `ip`, with that VLAN tag unless it is 0, come to `queue` from now on. NULL: the device cannot. */
struct rte_flow *steer_rule_add(uint16_t id, uint16_t queue, const struct weft_ip *ip, uint16_t vlan);
/* NULL is nothing. */
void steer_rule_remove(uint16_t id, struct rte_flow *rule);

#endif
