/* SPDX-License-Identifier: BSD-3-Clause */
/* How switches choose among the ports that lead to a packet's destination: one table, which drives --route, --help,
 * the documentation and the tests. */
#ifndef WEFT_ROUTE_H
#define WEFT_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/time.h"

struct net_tree;
struct weft_pkt;
struct route_ways;
struct route_planning;

/* A way of choosing. Each switch has private state of its own; choices depend on nothing else but the packet and what
 * the switch sees of its ports, so that one switch's packets leave another's choices alone. */
struct weft_route_ops {
	const char *name;
	const char *help;
	const struct weft_param *tunes; /* NULL: no parameters */
	size_t tune_size;               /* bytes of the struct they describe */
	bool reads_digits;              /* forwards by the digits of an entropy, see struct weft_lb_digits */
	bool by_entropy;                /* hashes: an entropy keeps its path, one among many draws another */
	bool per_flow;                  /* places flows: packets of one entropy stay together, without a hash */
	bool both_ways;                 /* a link that is avoided in one direction is in the other, too */
	bool one_fabric;                /* switches tell each other what no header carries: not with weft_net_part */
	uint32_t tiers_min;             /* fewest that a topology must have; 0: any number */
	/* Bytes of switch `sw`'s private state, zeroed before `init`. NULL: none. */
	size_t (*state_bytes)(const struct net_tree *tree, uint32_t sw);
	/* NULL: nothing to do. `seed` differs between switches and from the seed of everything else random. -EINVAL
	 * with a message: not on this topology. */
	int (*init)(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err);
	/* Which of ways->count >= 2 ways the packet takes, 0..count-1. Called once per packet, at its arrival. NULL:
	 * the fabric's ECMP hash. */
	uint32_t (*choose)(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt);
	/* NULL: nothing to do. Before the state's memory goes, if `init` was called. */
	void (*fini)(void *state);
	/* Every packet that a switch sends on, to `port`, also where it had no choice (ways->count 1). NULL: not asked.
	 */
	void (*forward)(const struct net_tree *tree, const struct route_ways *ways, uint32_t port,
			const struct weft_pkt *pkt);
	/* NULL: the state has no times. Those that it has are `by` less from now on, by ps_earlier. */
	void (*set_back)(const struct net_tree *tree, uint32_t sw, void *state, weft_ps by);
	/* Where the paths to a leaf are not all alike, ways are first cut down to a part of them by hash: how, with
	 * these parameters. False, or NULL: never, `choose` gets all that can be taken. */
	bool (*plan)(const void *tune, struct route_planning *how);
};

extern const struct weft_route_ops *const weft_route_table[]; /* the first is the default; ends with NULL */

/* -ENOENT with a message that lists the valid names, and *ops NULL. */
int weft_route_find(const char *name, const struct weft_route_ops **ops, struct weft_err *err);

#endif
