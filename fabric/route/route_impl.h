/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways of choosing share. */
#ifndef WEFT_ROUTE_IMPL_H
#define WEFT_ROUTE_IMPL_H

#include "net_tree.h"

#include "quiver.h"
#include "rng.h"
#include "routing.h"
#include <assert.h>

/* How unlike paths are put into parts, see route_plan.c. */
struct route_planning {
	enum quiver_grouping by;
	enum quiver_factor factor;
};

/* The ways of one packet at one switch that it may choose among: cables up, or those to a child down; none that routing
 * avoids, and only those of one part of unlike paths. */
struct route_ways {
	weft_ps now;     /* when the packet is at the switch */
	void *state;     /* of the switch */
	uint32_t sw;     /* index in tree->switches */
	uint32_t from;   /* port whose link the packet came over */
	uint32_t first;  /* port of the first way while all can be taken */
	uint32_t count;  /* >= 2 */
	uint32_t group;  /* 0: up; 1 + n: the bundle to the switch's child n */
	uint32_t leaf;   /* of the destination */
	uint32_t part;   /* of unlike paths; 0 when all are alike */
	uint32_t *ports; /* those that can be taken; NULL: first..first+count-1 */
};

/* Parameters of "rr". */
struct route_rr_tune {
	uint32_t rounds;  /* over all ports, in one order; 0: always the same */
	uint32_t engines; /* of a switch, each with turns of its own; 0 is 1 */
};

/* Parameters of "adaptive". */
struct route_adaptive_tune {
	uint32_t sample_ns; /* a port's depth is read no more often; 0: at every packet */
	uint8_t bands;      /* four bands instead of bytes */
};

/* Parameters of "drill". */
struct route_drill_tune {
	uint32_t choices; /* d: ports drawn for a packet */
	uint32_t memory;  /* m: ports an engine remembers per group of equal ways */
	uint32_t engines; /* of a switch, that decide in parallel */
	/* How long a packet stays unseen on entering a queue, percent of its serialization; 0: engines / ports of it.
	 */
	uint32_t enter_pct;
	uint32_t factor;    /* enum quiver_factor */
	uint8_t components; /* only among symmetric paths */
	/* Of "drill_flow" alone: */
	uint32_t idle_us; /* a flow that is silent for longer begins anew */
	uint32_t flows;   /* a switch remembers */
};

extern const struct weft_route_ops route_ecmp;
extern const struct weft_route_ops route_random;
extern const struct weft_route_ops route_rr;
extern const struct weft_route_ops route_adaptive;
extern const struct weft_route_ops route_digits;
extern const struct weft_route_ops route_drill;
extern const struct weft_route_ops route_drill_flow;
extern const struct weft_route_ops route_conga;
extern const struct weft_route_ops route_symmetric;
extern const struct weft_route_ops route_wcmp;

static inline uint32_t ways_port(const struct route_ways *ways, uint32_t way)
{
	assert(way < ways->count);
	return ways->ports ? ways->ports[way] : ways->first + way;
}

/* The way over `port`; ways->count: there is none. */
static inline uint32_t ways_find(const struct route_ways *ways, uint32_t port)
{
	uint32_t way = 0;

	if (!ways->ports)
		return port - ways->first < ways->count ? port - ways->first : ways->count;
	while (way < ways->count && ways->ports[way] != port)
		way++;
	return way;
}

/* The forwarding engine of the packet, of `engines`: incoming ports are dealt out to them. */
static inline uint32_t ways_engine(const struct net_tree *tree, const struct route_ways *ways, uint32_t engines)
{
	assert(engines > 0);
	return (tree->cold[ways->from].reverse - tree->switches[ways->sw].first_down) % engines;
}

/* Of a switch, as an index in tree->switches. */
static inline uint32_t switch_tier(const struct net_tree *tree, uint32_t sw)
{
	assert(sw < tree->switch_count);
	uint32_t tier = 0;

	while (tier + 1 < tree->topo.tiers && sw >= tree->tier_first[tier + 1])
		tier++;
	return tier;
}

/* Groups of equal ways at a switch, see struct route_ways. */
static inline uint32_t switch_groups(const struct net_switch *s)
{
	return 1 + s->children;
}

/* Ways in a group while all can be taken. */
static inline uint32_t switch_group(const struct net_tree *tree, const struct net_switch *s, uint32_t group)
{
	assert(group < switch_groups(s));
	uint32_t count = s->up_cables;

	if (group)
		switch_child(tree, s, group - 1, &count);
	return count;
}

/* Most ways in one group. */
static inline uint32_t switch_widest(const struct net_tree *tree, const struct net_switch *s)
{
	uint32_t widest = s->up_cables;

	for (uint32_t group = 1; group <= s->children; group++) {
		uint32_t ways = switch_group(tree, s, group);
		widest = ways > widest ? ways : widest;
	}
	return widest;
}

/* What a port that is told to pause (PFC) counts for: more than any queue, for nobody knows how long. */
#define PAUSED_BACKLOG (UINT64_C(1) << 40)

/* Bytes before a packet that joins the port now: what waits, and data in service until its last bit has left. */
static inline uint64_t port_backlog(const struct net_tree *tree, uint32_t port, weft_ps now)
{
	assert(port < tree->port_count);
	const struct net_port *p = &tree->ports[port];
	uint64_t waiting = port_data_bytes(tree, port) + p->ctl_bytes + (p->flags & PORT_PAUSED ? PAUSED_BACKLOG : 0);

	return now < p->busy_until ? waiting + p->service_data_bytes : waiting;
}

/* route.c: hashes. A hash of the packet's flow at this switch that says nothing of the choice by ECMP hash after it. */
uint32_t route_part_hash(const struct net_switch *sw, const struct weft_pkt *pkt);
/* 0..n-1 by the ECMP hash of the packet at this switch. */
uint32_t route_hash(const struct net_switch *sw, const struct weft_pkt *pkt, uint32_t n);
/* True when routing leaves the port's link out. */
static inline bool route_avoided(const struct net_tree *tree, uint32_t port)
{
	assert(port < tree->port_count);
	const struct weft_route_ops *ops = tree->choice.ops;

	return tree->cold[port].avoided || (ops && ops->both_ways && tree->cold[tree->cold[port].reverse].avoided);
}
/* False: as far as routing knows all links of a tier are alike. */
static inline bool route_unlike(const struct net_tree *tree)
{
	return tree->avoided_ports || tree->slow_ports || tree->topo.link_count;
}
/* Ports from `first` on to one peer: their end, how many of them routing uses, and the rate it takes them to have. */
static inline uint32_t route_same_peer(const struct net_tree *tree, uint32_t first, uint32_t end, uint32_t *cables,
				       uint64_t *bps)
{
	uint32_t port = first;

	assert(first < end && end <= tree->port_count);
	*cables = 0;
	*bps = 0;
	for (; port < end && tree->ports[port].peer == tree->ports[first].peer; port++) {
		if (route_avoided(tree, port))
			continue;
		++*cables;
		*bps += tree->known_bps[port];
	}
	return port;
}
/* True when `port` is not avoided and what is behind it still leads to `leaf`. Only with tree->routes. */
bool route_usable(const struct net_tree *tree, uint32_t port, uint32_t leaf);
/* The same choice with unlike links, and among the usable ports with tree->routes: uniform over them; flows whose port
 * is usable keep it. PORT_NONE: there is no way. */
uint32_t route_around(const struct net_tree *tree, const struct net_switch *sw, uint32_t host,
		      const struct weft_pkt *pkt);

/* route_plan.c: parts of unlike paths. */
/* For what is avoided now and the choice's parameters; *out NULL: nothing to tell apart. -ENOMEM. */
int route_plan_build(const struct net_tree *tree, struct net_plan **out);
void route_plan_free(struct net_plan *plan);
/* Cuts the ways down to the part that the packet's flow is assigned to; false: all are alike. Only with tree->plan. */
bool route_plan_part(const struct net_tree *tree, struct route_ways *ways, const struct weft_pkt *pkt);

#endif
