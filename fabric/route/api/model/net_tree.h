/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches, their ports and the cables between them: what routing sees of a fabric. The model builds and wires them and
 * keeps the state of their queues and links; what routing knows and remembers stands beside. */
#ifndef WEFT_NET_TREE_H
#define WEFT_NET_TREE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "route.h"
#include "topo.h"
#include "weft/spi/pkt.h"

enum port_flags {
	PORT_UP = 1,       /* the link carries packets */
	PORT_NIC = 2,      /* a host's uplink: packets are pulled from the host */
	PORT_LAST_HOP = 4, /* the link leads to a host */
	PORT_ERRORS = 8,   /* the link damages packets */
	PORT_TAPPED = 16,  /* somebody looks at its packets */
	PORT_PFC = 32,     /* of a switch with PFC: its packets are accounted to the links they came over */
	PORT_PAUSED = 64,  /* PFC: data waits, control goes */
	PORT_CREDIT = 128, /* credits have a queue of their own */
};

/* Why a link is down: a link fails by itself and with the switches at its ends, and is back when no reason is left. */
enum down_reason {
	DOWN_LINK = 1,
	DOWN_SENDER = 2, /* the switch before it */
	DOWN_PEER = 4,   /* the switch behind it */
};

static inline void down_reason_set(uint8_t *reasons, enum down_reason reason, bool down)
{
	*reasons = (uint8_t)(down ? *reasons | reason : *reasons & ~reason);
}

/* Fixed point of ps_per_byte: 2^-24 ps. At 1 Mb/s a byte is 2^47 of them, times 2^16 bytes fits 64 bits. */
enum { PORT_PS_SHIFT = 24 };

#define PORT_NONE UINT32_MAX

/* An egress port and the link behind it. The model queues and sends; routing reads depth, rate and where the link
 * leads. Line 0 is what queueing touches, line 1 what sending touches. */
struct net_port {
	weft_ps busy_until;         /* the last bit of the packet in service leaves */
	struct weft_pkt *data_head; /* waiting data, without the packet in service */
	struct weft_pkt *data_tail;
	struct weft_pkt *data_prev; /* before data_tail, while there are two or more */
	struct weft_pkt *ctl_head;
	struct weft_pkt *ctl_tail;
	uint32_t data_bytes;         /* waiting */
	uint32_t ctl_bytes;          /* waiting */
	uint32_t service_data_bytes; /* of the packet in service if it is data: counts until busy_until */
	uint8_t flags;               /* enum port_flags */
	uint8_t hop;                 /* of the model's counts by tier and direction */

	struct weft_pkt *pipe_head; /* on the wire, by arrival time */
	struct weft_pkt *pipe_tail;
	weft_ps latency_ps;        /* propagation and the next switch's latency */
	uint64_t ps_per_byte;      /* serialization, see PORT_PS_SHIFT */
	uint32_t peer;             /* switch, or host with PORT_LAST_HOP */
	uint32_t limit_bytes;      /* of the data queue; control has twice that */
	uint32_t red_min, red_max; /* marking thresholds in bytes; red_max 0: no marking */
	uint64_t sent_pkts, sent_bytes;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct net_port) == 128, "two cache lines");
_Static_assert(offsetof(struct net_port, pipe_head) == 64, "line 1 begins with the wire");

/* What a port counts rarely and what describes it. Same index as its net_port. */
struct net_port_cold {
	uint64_t marked, trimmed;
	uint64_t dropped; /* by its queues, or lost on its link */
	uint64_t bps;     /* now */
	uint64_t nominal_bps;
	uint64_t byte_survives; /* probability that a byte crosses unharmed, of 2^64; with PORT_ERRORS */
	uint32_t sw;            /* of its tier, or the host with PORT_NIC */
	uint32_t place;         /* among the switch's cables up, or down */
	uint32_t reverse;       /* port of the cable's other direction */
	uint8_t tier;
	uint8_t dir;     /* enum weft_port_dir */
	uint8_t down;    /* enum down_reason; 0 with PORT_UP */
	uint8_t avoided; /* ... as the routing knows it: what is down may not be known yet */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct net_port_cold) == 64, "one cache line");

struct net_switch {
	uint64_t salt;                 /* of the ECMP hash */
	uint64_t child_recip;          /* ceil(2^32 / hosts below a child): division by multiplication */
	uint32_t low, span;            /* hosts below: low..low+span-1 */
	uint32_t first_down, first_up; /* ports; the cables to a child are neighbours */
	uint32_t bundle;               /* cables to each child; with tree->down_first only the ports of one */
	uint32_t up_cables;
	uint32_t children; /* leaves, hosts or pods that its ports down lead to */
	uint32_t down_at;  /* with tree->down_first: where its children begin there */
};

/* Which leaves a switch above the leaves can reach without the links that routing avoids. Rows of one bit per leaf, by
 * switch from the second tier on. */
struct net_routes {
	uint32_t row_words;
	uint64_t reach[];
};

/* How switches choose when it is not by ECMP. */
struct net_choice {
	const struct weft_route_ops *ops;
	void *tune;      /* its parameters */
	void **state;    /* by switch, in `states`; NULL where none is needed */
	void *states;    /* of all switches together */
	uint32_t *ports; /* room for the usable ways of one packet */
};

struct net_tree {
	struct weft_topo topo;
	struct net_port *ports; /* host h's uplink is port h, switch ports follow by tier and switch */
	struct net_port_cold *cold;
	struct net_switch *switches;
	uint32_t port_count, switch_count;
	uint32_t tier_first[WEFT_TOPO_TIERS_MAX]; /* index of a tier's first switch */
	/* First port to each child, by switch, and the end; NULL: all links have as many cables. */
	uint32_t *down_first;
	uint32_t *ordered_bytes; /* by port: ordered data that waits, apart from data_bytes; NULL: one data queue */
	uint64_t seed;           /* of the fabric, from which switches draw theirs */

	/* What routing knows; its own. */
	struct net_routes *routes; /* NULL while routing avoids nothing */
	struct net_turns *turns;   /* of unlike paths, as far as hosts asked since the last update; NULL: none did */
	struct net_plan *plan;     /* parts of unlike paths; NULL: all are alike, or it does not matter */
	uint32_t avoided_ports;    /* how many ports have a reason in `avoided` */
	uint32_t slow_ports;       /* how many have another rate than the nominal in known_bps */
	uint64_t *known_bps;       /* by port: the rate that routing takes the link to have */
	struct net_choice choice;
};

/* A time that is not to come, in a fabric that was set back by `by`: what was long before is at 0. */
static inline weft_ps ps_earlier(weft_ps at, weft_ps by)
{
	return at > by ? at - by : 0;
}

static inline weft_ps port_serialize_ps(const struct net_port *p, uint32_t bytes)
{
	return bytes * p->ps_per_byte >> PORT_PS_SHIFT;
}

static inline struct net_port_cold *port_cold(const struct net_tree *tree, const struct net_port *p)
{
	assert(p >= tree->ports && p < tree->ports + tree->port_count);
	return &tree->cold[p - tree->ports];
}

/* The host that a packet goes to; false: there is none with its address. */
static inline bool tree_host_of(const struct net_tree *tree, const struct weft_pkt *pkt, uint32_t *host)
{
	*host = (pkt->dst & 0xffffff) - 1;
	return *host < tree->topo.hosts;
}

/* Bytes of data that wait at `port`, ordered and other. */
static inline uint64_t port_data_bytes(const struct net_tree *tree, uint32_t port)
{
	assert(port < tree->port_count);
	return (uint64_t)tree->ports[port].data_bytes + (tree->ordered_bytes ? tree->ordered_bytes[port] : 0);
}

/* The ports of switch `s` to its child `child`, 0..children-1: *count from the returned one on. */
static inline uint32_t switch_child(const struct net_tree *tree, const struct net_switch *s, uint32_t child,
				    uint32_t *count)
{
	assert(child < s->children);
	if (!tree->down_first) {
		*count = s->bundle;
		return s->first_down + child * s->bundle;
	}
	const uint32_t *first = tree->down_first + s->down_at + child;
	*count = first[1] - first[0];
	return first[0];
}

#endif
