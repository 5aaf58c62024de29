/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue_spread.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 4, BUCKETS = 4096 }; /* of a packet; the last bucket: or more */

struct direction {
	uint64_t samples; /* of groups */
	uint64_t lengths; /* of ports */
	double sd, sd_max, length, length_max;
	uint64_t buckets[BUCKETS]; /* lengths, rounded up */
};

struct queue_spread {
	const struct weft_net *net;
	double packet; /* bytes */
	struct direction dirs[SPREAD_DIRS];
	uint32_t *ports[SPREAD_DIRS]; /* by leaf, */
	uint32_t *first;              /* leaf l has those from first[l] to first[l + 1] */
	uint32_t leaves;
};

/* The cables of all leaves; with `q->ports` they are noted, else only counted. */
static uint32_t find_ports(struct queue_spread *q)
{
	struct weft_link_id up, down;
	uint32_t n = 0, leaf = 0;
	for (; !weft_net_link_find(q->net, 0, leaf, 0, false, &up); leaf++) {
		if (q->first)
			q->first[leaf] = n;
		for (uint32_t i = 0; !weft_net_link_find(q->net, 0, leaf, i, false, &up); i++, n++) {
			weft_net_link_find(q->net, 0, leaf, i, true, &down);
			if (!q->first)
				continue;
			q->ports[SPREAD_UP][n] = up.index;
			q->ports[SPREAD_DOWN][n] = down.index;
		}
	}
	if (q->first)
		q->first[leaf] = n;
	q->leaves = leaf;
	return n;
}

struct queue_spread *queue_spread_create(const struct weft_net *net, uint32_t mtu_bytes)
{
	struct queue_spread *q = calloc(1, sizeof *q);
	if (!q)
		return NULL;
	q->net = net;
	q->packet = mtu_bytes;
	uint32_t n = find_ports(q);
	q->ports[SPREAD_UP] = calloc(2 * (size_t)n + 1, sizeof **q->ports);
	q->ports[SPREAD_DOWN] = q->ports[SPREAD_UP] + n;
	q->first = calloc(q->leaves + 1, sizeof *q->first);
	if (!q->ports[SPREAD_UP] || !q->first) {
		queue_spread_free(q);
		return NULL;
	}
	find_ports(q);
	return q;
}

void queue_spread_free(struct queue_spread *q)
{
	if (!q)
		return;
	free(q->ports[SPREAD_UP]);
	free(q->first);
	free(q);
}

static void note_length(struct direction *d, double length, uint64_t times)
{
	double bucket = ceil(length * STEPS);
	d->buckets[bucket < BUCKETS - 1 ? (uint32_t)bucket : BUCKETS - 1] += times;
	d->lengths += times;
	d->length += length * (double)times;
	d->length_max = length > d->length_max ? length : d->length_max;
}

static void sample_group(const struct queue_spread *q, struct direction *d, const uint32_t *ports, uint32_t n,
			 uint64_t times)
{
	double sum = 0, squares = 0, up = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct weft_port_counts c;
		weft_net_port_counts(q->net, ports[i], &c);
		if (!c.up)
			continue;
		double length = (double)c.queue_bytes / q->packet;
		sum += length;
		squares += length * length;
		up++;
		note_length(d, length, times);
	}
	if (up < 2)
		return;
	assert(up <= n);
	double variance = squares / up - sum / up * (sum / up), sd = variance > 0 ? sqrt(variance) : 0;
	d->samples += times;
	d->sd += sd * (double)times;
	d->sd_max = sd > d->sd_max ? sd : d->sd_max;
}

void queue_spread_sample(struct queue_spread *q, uint64_t times)
{
	for (uint32_t dir = 0; dir < SPREAD_DIRS; dir++) {
		for (uint32_t leaf = 0; leaf < q->leaves; leaf++)
			sample_group(q, &q->dirs[dir], q->ports[dir] + q->first[leaf],
				     q->first[leaf + 1] - q->first[leaf], times);
	}
}

static double percentile(const struct direction *d, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)d->lengths), below = d->buckets[0];
	uint32_t bucket = 0;
	while (below < rank && bucket + 1 < BUCKETS)
		below += d->buckets[++bucket];
	return bucket + 1 < BUCKETS ? (double)bucket / STEPS : d->length_max;
}

struct spread_result queue_spread_result(const struct queue_spread *q, uint32_t dir)
{
	const struct direction *d = &q->dirs[dir];
	if (!d->lengths)
		return (struct spread_result){0};
	return (struct spread_result){.samples = d->samples,
				      .lengths = d->lengths,
				      .sd_mean = d->samples ? d->sd / (double)d->samples : 0,
				      .sd_max = d->sd_max,
				      .mean = d->length / (double)d->lengths,
				      .p99 = percentile(d, 0.99),
				      .p99999 = percentile(d, 0.99999),
				      .max = d->length_max};
}
