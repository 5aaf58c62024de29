/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a flow's packets arrive out of order. The receiver numbers them from 0 in the order of their first
 * transmission. A TCP receiver would answer arrivals beyond a gap with duplicate ACKs (DRILL sec. 3.3 and fig. 11a). */
#ifndef WEFT_REORDER_H
#define WEFT_REORDER_H

#include <stdbool.h>
#include <stdint.h>

enum { REORDER_EXTENTS = 1024, REORDER_THRESHOLD = 3 }; /* duplicate ACKs that TCP takes for a loss, RFC 5681 */

/* Counts of one flow. */
struct reorder_counts {
	uint32_t reordered;        /* packets that arrived after one sent later; retransmissions do not count */
	uint32_t dup_acks;         /* arrivals beyond a gap before it was filled: the most for one gap */
	uint32_t reorder_dup_acks; /* the same, of gaps that were filled by the late packet, not by a retransmission */
	uint32_t ooo_max;          /* most packets waiting behind a gap */
};

/* Sums over all flows of a run. */
struct reorder_sum {
	uint64_t packets, reordered;
	uint64_t beyond;                   /* arrivals beyond a gap */
	uint64_t extents[REORDER_EXTENTS]; /* late packets by how many sent later came first; the last: or more */
	uint32_t extent_max;
	uint64_t waiting;                /* arrivals after which packets waited behind a gap */
	uint64_t waits[REORDER_EXTENTS]; /* these, by how many waited (SprayPass's out-of-order degree); the last: or
					    more */
	uint32_t wait_max;
};

struct reorder_hole;

/* Which packets of a flow have arrived. All zero: none. */
struct reorder {
	uint32_t next;    /* the first packet that is missing */
	uint32_t waiting; /* packets that have arrived beyond it */
	struct reorder_hole
		*hole; /* which ones; NULL until the first of them. Owned, freed when the flow is complete */
};

/* Counts the arrival of packet `index` of `packets`; packets that arrived before are ignored. False: no memory, and
 * nothing was counted. */
bool reorder_take(struct reorder *r, uint32_t packets, uint32_t index, bool retransmitted, struct reorder_counts *c,
		  struct reorder_sum *sum);

/* The short way: counts the arrival of the packet that is next while no packet waits. False: it is another packet, and
 * reorder_take has to count it. */
static inline bool reorder_take_next(struct reorder *r, uint32_t index, struct reorder_sum *sum)
{
	bool next = index == r->next && !r->waiting && !r->hole;
	r->next += next;
	sum->packets += next;
	return next;
}

void reorder_free(struct reorder *r);

/* The smallest extent that at least `share` (0 < share <= 1) of all packets do not exceed; those in order have 0. */
uint32_t reorder_percentile(const struct reorder_sum *sum, double share);

/* The same percentile of the number of packets of the flow that wait behind a gap after an arrival. */
uint32_t reorder_wait_percentile(const struct reorder_sum *sum, double share);

#endif
