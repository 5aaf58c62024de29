/* SPDX-License-Identifier: BSD-3-Clause */
/* What CONGA's switches know, for tests to look at. */
#ifndef WEFT_ROUTE_CONGA_H
#define WEFT_ROUTE_CONGA_H

#include "flow_table.h"
#include "route_impl.h"
#include "u64map.h"

/* Parameters of "conga". */
struct conga_tune {
	uint32_t bits;       /* Q: of a congestion metric */
	uint32_t tau_us;     /* of the estimator */
	uint32_t flowlet_us; /* T_fl: a gap that begins a new flowlet */
	uint32_t flowlets;   /* a switch remembers */
	uint32_t age_us;     /* a metric that was not heard again for so long is halved */
	uint8_t waiting;     /* the estimator takes packets that join a port's queue, not those that were sent */
};

/* Discounting rate estimator of a link (section 3.2): bytes sent (or, with conga_tune.waiting, to be sent), forgotten
 * exponentially. */
struct conga_dre {
	uint64_t bytes;
	uint64_t sent; /* the port's count up to which they are in it */
	weft_ps at;    /* up to here they are discounted */
};

struct conga_metric {
	weft_ps at;      /* when it was heard */
	uint8_t value;   /* 0 .. 2^Q - 1 */
	uint8_t changed; /* since it was last fed back */
};

enum { CONGA_LEVELS = WEFT_TOPO_TIERS_MAX - 1 }; /* of switches that decide: leaves, and spines below cores */

/* What a packet carries for one level, from the first switch of its tier to the last: CONGA's overlay header (section
 * 3.1). One cache line of metadata has no room for it, so that it is kept by packet; a packet that was lost leaves it
 * to the next one in its memory. Packed into a pointer of u64map. */
struct conga_header {
	uint16_t from;        /* peer that sent it, see struct conga_state */
	uint8_t tag;          /* LBTag: the uplink it took there */
	uint8_t ce;           /* the most congested link since */
	uint8_t fb_place;     /* feedback: for which of the destination's peers */
	uint8_t fb_tag;       /* ... an uplink there */
	uint8_t fb_metric;    /* ... and how congested its path is */
	uint8_t has_fb : 1;   /* the three above are valid */
	uint8_t is_valid : 1; /* always: not NULL */
};

_Static_assert(sizeof(struct conga_header) == sizeof(void *), "a value of u64map");

/* A switch that decides hears from the peers of its own tier. Those of leaves are the leaves. Those of spines are the
 * pods: a spine reaches one spine of each, that of its own place. Over a mesh it reaches any spine of a pod, as the
 * core chooses, and these are peers one by one. */
struct conga_state {
	struct rng rng;
	struct u64map headers[CONGA_LEVELS]; /* of all packets on their way; in the first switch's state alone */
	struct conga_dre *dre;               /* by port of the switch */
	uint32_t tier;                       /* of the switch */
	/* Of a switch that decides: */
	uint32_t tags;              /* most uplinks of one such switch of the tier */
	uint32_t peers;             /* number of them */
	uint32_t together;          /* neighbours among them that one destination may be reached through */
	uint32_t leaves;            /* behind each such group of peers */
	uint32_t self;              /* its own number as a peer */
	struct conga_metric *to;    /* by peer and tag: its own uplinks, as the peer says */
	struct conga_metric *heard; /* by peer and tag: the peer's uplinks, as its packets say */
	uint32_t *next_fb;          /* by group of peers: the one of their uplinks after the one fed back last */
	struct flow_table *flowlets;
};

#endif
