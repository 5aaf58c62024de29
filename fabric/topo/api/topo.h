/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies: two- and three-tier trees. Text in the .topo format, or presets by name. */
#ifndef WEFT_TOPO_H
#define WEFT_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/err.h"
#include "weft/spi/lb.h"
#include "weft/time.h"

enum {
	WEFT_TOPO_TIERS_MAX = 3,
	WEFT_TOPO_HOSTS_MAX = 65536,
	WEFT_TOPO_PORTS_MAX = 1 << 21, /* of all switches together */
	WEFT_TOPO_LINKS_MAX = 512      /* that differ from their tier's */
};

struct weft_topo_tier {
	uint64_t down_bps;         /* rate of the links below this tier's switches */
	weft_ns down_latency_ns;   /* propagation of those links */
	weft_ns switch_latency_ns; /* between arrival of the last bit and the egress queue */
	uint32_t radix_down;       /* links down per switch, bundles counted once */
	uint32_t radix_up;         /* links up per switch; 0 in the top tier */
	uint32_t bundle;           /* parallel cables per link down, >= 1 */
	uint32_t switches;         /* in the whole tier; derived */
};

/* A link between two switches that is not like the others of its tier. */
struct weft_topo_link {
	uint64_t bps;   /* of each of its cables; 0: as its tier says */
	uint32_t sw;    /* the switch below, of its tier */
	uint16_t up;    /* which of that switch's links up, 0..radix_up-1 */
	uint8_t tier;   /* of that switch */
	uint8_t cables; /* 1..255; 0: as its tier's bundle says */
};

struct weft_topo {
	uint32_t hosts;
	uint32_t tiers;                                  /* 2 or 3; 1 only in presets: hosts on one switch */
	uint32_t pod_hosts;                              /* hosts per pod; == hosts with 2 tiers */
	struct weft_topo_tier tier[WEFT_TOPO_TIERS_MAX]; /* 0 = leaf (ToR) */
	uint32_t mesh; /* with 3 tiers: every switch of the second reaches every one of the third, which has a link to
			  each of them (VL2), not one to each pod (fat tree) */
	uint32_t link_count;                             /* of `link` */
	struct weft_topo_link link[WEFT_TOPO_LINKS_MAX]; /* in any order, each link once */
};

/* Parses .topo text. `name` is used in messages as name:line: reason. -EINVAL. Impossible trees are refused. */
int weft_topo_parse(const char *text, size_t len, const char *name, struct weft_topo *topo, struct weft_err *err);

/* One kind of preset. */
struct weft_topo_kind {
	const char *usage, *help;
};
/* All of them, ended by a NULL usage. */
extern const struct weft_topo_kind weft_topo_kinds[];

/* A topology by name, as weft_topo_kinds says, with 600 ns links, 400 ns switches and `link_bps` everywhere. -ENOENT:
 * not a preset (the message lists them), -EINVAL: bad numbers. */
int weft_topo_preset(const char *spec, uint64_t link_bps, struct weft_topo *topo, struct weft_err *err);

/* Checks that the tree can be built and derives `switches`; for topologies that come from neither of the above.
 * -EINVAL. */
int weft_topo_check(struct weft_topo *topo, struct weft_err *err);

/* Nearest rate that a link may have: 1 Mb/s to 10 Tb/s. */
uint64_t weft_topo_clamp_bps(uint64_t bps);

/* Every queue with the link behind it is a port: the hosts' NICs first, then the switches' ports. */
enum weft_port_dir {
	WEFT_PORT_NIC,  /* of a host, to its leaf: host5 */
	WEFT_PORT_HOST, /* of a leaf, to a host: leaf0:host3, with the host's number */
	WEFT_PORT_UP,   /* of a switch, to the tier above: leaf0:up2 */
	WEFT_PORT_DOWN, /* of a switch, to the tier below: spine1:down0, core3:down5 */
	WEFT_PORT_DIRS
};

/* Cables up of one switch of `tier`, the most that one has; 0 in the top tier. */
uint32_t weft_topo_uplinks(const struct weft_topo *topo, uint32_t tier);
/* Cables up of switch `sw` of `tier`, which must exist. */
uint32_t weft_topo_switch_uplinks(const struct weft_topo *topo, uint32_t tier, uint32_t sw);
/* What all links carry together that lead up from the leaf (tier 0) or from the pod (tier 1) with number `group`. */
uint64_t weft_topo_group_up_bps(const struct weft_topo *topo, uint32_t tier, uint32_t group);
/* The digits that name the uplinks of the tiers. A tier whose `values` are fewer than its uplinks did not fit. */
void weft_topo_digits(const struct weft_topo *topo, struct weft_lb_digits *digits);
/* The hosts of some leaf send more than its uplinks carry, at the topology's rates. Without uplinks: no. */
bool weft_topo_leaf_oversubscribed(const struct weft_topo *topo);
/* How the link `up` of switch `sw` of `tier` differs from others; NULL: it does not. */
const struct weft_topo_link *weft_topo_link_find(const struct weft_topo *topo, uint32_t tier, uint32_t sw, uint32_t up);
/* Groups of links down of one switch of `tier`: those of a group lead to the same leaves. */
uint32_t weft_topo_groups_down(const struct weft_topo *topo, uint32_t tier);

/* "leaf", "spine", "core"; `tier` below WEFT_TOPO_TIERS_MAX. */
const char *weft_topo_tier_name(uint32_t tier);

/* Sets every link to `bps` (the --link-gbps option). */
void weft_topo_set_bps(struct weft_topo *topo, uint64_t bps);

/* The .topo text of a topology, as snprintf. */
int weft_topo_print(const struct weft_topo *topo, char *buf, size_t size);

#endif
