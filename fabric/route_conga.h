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
	uint32_t flowlets;   /* a leaf remembers */
	uint32_t age_us;     /* a metric that was not heard again for so long is halved */
};

/* Discounting rate estimator of a link (section 3.2): bytes sent, forgotten exponentially. */
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

/* What a packet carries between leaves: CONGA's overlay header (section 3.1). One cache line of metadata has no room
 * for it, so that it is kept by packet, from its first leaf to its last; a packet that was lost leaves it to the next
 * one in its memory. Packed into a pointer of u64map. */
struct conga_header {
	uint16_t leaf;     /* that sent it */
	uint8_t tag;       /* LBTag: the uplink it took there */
	uint8_t ce;        /* the most congested link so far */
	uint8_t fb_tag;    /* feedback: an uplink of the leaf it goes to */
	uint8_t fb_metric; /* ... and how congested its path is */
	uint8_t has_fb;
	uint8_t used; /* 1: not NULL */
};

_Static_assert(sizeof(struct conga_header) == sizeof(void *), "a value of u64map");

struct conga_state {
	struct rng rng;
	struct u64map headers; /* of all packets between leaves; in the first switch's state alone */
	uint32_t tags;         /* most uplinks of a leaf */
	struct conga_dre *dre; /* by port of the switch */
	/* Of a leaf, by other leaf and uplink: */
	struct conga_metric *to_leaf;   /* its own uplinks, as the other leaf says */
	struct conga_metric *from_leaf; /* the other's uplinks, as its packets say */
	uint32_t *next_fb;              /* by other leaf: the uplink after the one fed back last */
	struct flow_table *flowlets;
};

#endif
