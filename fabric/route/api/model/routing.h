/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fabric asks of its routing: the port of each packet, and what is left when links fail. */
#ifndef WEFT_ROUTING_H
#define WEFT_ROUTING_H

#include "net_tree.h"
#include "weft/spi/lb.h"

/* Once all is wired. `ops`: how switches choose, NULL by ECMP; `tune`: its parameters, copied, NULL for defaults.
 * -ENOMEM, or why this topology has no such choice. */
int route_build(struct net_tree *tree, const struct weft_route_ops *ops, const void *tune, struct weft_err *err);
/* All that routing keeps in `tree`; also after a route_build that failed, or none. */
void route_free(struct net_tree *tree);

/* The port of `sw` that leads to `host`; up ports and cables of a bundle are chosen by the ECMP hash. */
uint32_t route_port(const struct net_switch *sw, uint32_t host, const struct weft_pkt *pkt);
/* True: route_port does not do for this tree, as it is now: links are avoided or unlike, or switches choose otherwise.
 */
bool route_is_special(const struct net_tree *tree);
/* The port to `host` for a packet that came over the link of port `from` and is at the switch there at `now`; moves
 * that switch's state. PORT_NONE: there is no way. */
uint32_t route_forward(const struct net_tree *tree, uint32_t from, uint32_t host, const struct weft_pkt *pkt,
		       weft_ps now);

/* What routing learns of the link of `port`, for the next route_update: a reason to avoid it, or none any more; the
 * rate it has. */
void route_avoid(struct net_tree *tree, uint32_t port, enum down_reason reason, bool avoid);
void route_learn_bps(struct net_tree *tree, uint32_t port, uint64_t bps);
/* Forwards by all that was learnt. -ENOMEM: routes stay as they were. */
int route_update(struct net_tree *tree);

/* All times are `by` less from now on. */
void route_set_back(struct net_tree *tree, weft_ps by);

/* See weft_net_turns. */
int route_turns(struct net_tree *tree, uint32_t src, uint32_t dst, const struct weft_lb_turns **out);

#endif
