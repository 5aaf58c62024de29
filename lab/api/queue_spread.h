/* SPDX-License-Identifier: BSD-3-Clause */
/* How evenly switches spread data: standard deviation of the queue lengths over the uplinks of a leaf, and over the
 * links from the spines down to a leaf, at equal intervals (DRILL sec. 3.2.3). Lengths are bytes that wait, without the
 * packet in service, in full packets. */
#ifndef WEFT_QUEUE_SPREAD_H
#define WEFT_QUEUE_SPREAD_H

#include "net.h"

enum { SPREAD_UP, SPREAD_DOWN, SPREAD_DIRS };

/* Statistics of one direction, over all leaves and samples. */
struct spread_result {
	uint64_t samples;       /* of a leaf's group of ports; groups of one have no deviation and do not count */
	uint64_t lengths;       /* of ports in all samples, also of a group's only one; 0: no numbers */
	double sd_mean, sd_max; /* standard deviation within a group, with n in the denominator */
	double mean, p99, p99999, max; /* of the lengths themselves; percentiles to a quarter of a packet */
};

struct queue_spread;

/* Watches the leaves of `net`, which must outlive it. Links that are down do not count. NULL: no memory. */
struct queue_spread *queue_spread_create(const struct weft_net *net, uint32_t mtu_bytes);
void queue_spread_free(struct queue_spread *q); /* NULL is fine */

/* Counts the queues as they are now as `times` samples. */
void queue_spread_sample(struct queue_spread *q, uint64_t times);

struct spread_result queue_spread_result(const struct queue_spread *q, uint32_t dir);

#endif
