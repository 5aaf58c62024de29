/* SPDX-License-Identifier: BSD-3-Clause */
#include "reorder.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "bitmap.h"

/* Packets beyond the first gap. */
struct reorder_hole {
	uint32_t packets; /* of the flow */
	uint32_t end;     /* one beyond the last that has arrived */
	uint32_t waited;  /* arrivals since `next` moved */
	uint32_t mask;    /* bits - 1 */
	uint64_t bits[];  /* arrived, by index */
};

static struct reorder_hole *hole_of(struct reorder *r, uint32_t packets)
{
	uint32_t bits = 64;
	if (r->hole)
		return r->hole;
	while (bits < packets)
		bits *= 2;
	r->hole = calloc(1, sizeof *r->hole + bits / 8);
	if (r->hole) {
		r->hole->packets = packets;
		r->hole->end = r->next;
		r->hole->mask = bits - 1;
	}
	return r->hole;
}

/* Packets after `index` that have arrived. */
static uint32_t arrived_after(const struct reorder *r, uint32_t index)
{
	const struct reorder_hole *h = r->hole;
	uint32_t found = 0;
	if (index == r->next)
		return r->waiting;
	for (uint32_t i = index + 1; i < h->end; i += 64) {
		uint64_t word = bitmap_get64(h->bits, h->mask, i);
		if (h->end - i < 64)
			word &= (UINT64_C(1) << (h->end - i)) - 1;
		found += (uint32_t)__builtin_popcountll(word);
	}
	return found;
}

void reorder_free(struct reorder *r)
{
	free(r->hole);
	r->hole = NULL;
}

static void count_late(uint32_t extent, struct reorder_counts *c, struct reorder_sum *sum)
{
	c->reordered++;
	sum->reordered++;
	sum->extents[extent < REORDER_EXTENTS ? extent : REORDER_EXTENTS - 1]++;
	if (extent > sum->extent_max)
		sum->extent_max = extent;
}

/* The gap is filled, at least its first packet: a receiver's cumulative acknowledgement moves on. */
static void fill_gap(struct reorder *r, bool retransmitted, struct reorder_counts *c)
{
	struct reorder_hole *h = r->hole;
	if (!retransmitted && h->waited > c->reorder_dup_acks)
		c->reorder_dup_acks = h->waited;
	h->waited = 0;
	uint32_t run = bitmap_run(h->bits, h->mask, r->next + 1, h->packets - r->next - 1);
	assert(run <= r->waiting);
	r->next += 1 + run;
	r->waiting -= run;
	assert(r->next <= h->packets);
	if (r->next > h->end)
		h->end = r->next;
}

static void wait_behind(struct reorder *r, uint32_t index, struct reorder_counts *c, struct reorder_sum *sum)
{
	struct reorder_hole *h = r->hole;
	bitmap_set(h->bits, h->mask, index);
	sum->beyond++;
	if (++r->waiting > c->ooo_max)
		c->ooo_max = r->waiting;
	if (++h->waited > c->dup_acks)
		c->dup_acks = h->waited;
	if (index >= h->end)
		h->end = index + 1;
}

static void count_waiting(uint32_t waiting, struct reorder_sum *sum)
{
	if (!waiting)
		return;
	sum->waiting++;
	sum->waits[waiting < REORDER_EXTENTS ? waiting : REORDER_EXTENTS - 1]++;
	if (waiting > sum->wait_max)
		sum->wait_max = waiting;
}

bool reorder_take(struct reorder *r, uint32_t packets, uint32_t index, bool retransmitted, struct reorder_counts *c,
		  struct reorder_sum *sum)
{
	if (index < r->next || index >= packets)
		return true;
	struct reorder_hole *h = hole_of(r, packets);
	if (!h)
		return false;
	if (bitmap_test(h->bits, h->mask, index))
		return true;
	sum->packets++;
	if (index < h->end && !retransmitted)
		count_late(arrived_after(r, index), c, sum);
	if (index == r->next)
		fill_gap(r, retransmitted, c);
	else
		wait_behind(r, index, c, sum);
	count_waiting(r->waiting, sum);
	assert(h->end >= r->next && h->end - r->next >= r->waiting);
	if (r->next == packets)
		reorder_free(r);
	return true;
}

/* Of `packets` values, those counted in `counts` by value and the others 0; `max` is the largest. */
static uint32_t percentile(const uint64_t *counts, uint64_t counted, uint64_t packets, uint32_t max, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)packets), below = packets - counted;
	uint32_t value = 0;
	while (below < rank && value + 1 < REORDER_EXTENTS)
		below += counts[++value];
	return value + 1 < REORDER_EXTENTS ? value : max;
}

uint32_t reorder_percentile(const struct reorder_sum *sum, double share)
{
	return percentile(sum->extents, sum->reordered, sum->packets, sum->extent_max, share);
}

uint32_t reorder_wait_percentile(const struct reorder_sum *sum, double share)
{
	return percentile(sum->waits, sum->waiting, sum->packets, sum->wait_max, share);
}
