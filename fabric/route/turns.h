/* SPDX-License-Identifier: BSD-3-Clause */
/* Which paths hosts that name them by digits shall take, and how often: weighted round robin over those that routing
 * has left, as Presto's controller hands out spanning trees (DRILL section 3.4). */
#ifndef WEFT_TURNS_H
#define WEFT_TURNS_H

#include "weft/spi/lb.h"

enum { TURNS_MAX = 4096 }; /* of one period, unless there are more paths */

/* A path and its share. */
struct turns_way {
	uint64_t weight; /* > 0 */
	uint16_t ev;     /* that names it */
};

/* The entropies of `ways`, at least one, each as often in a period as its weight says and spread evenly over it; at
 * equal times the smaller entropy comes first, so that equal weights are plain round robin. The period is as short as
 * it can be; where that is more than TURNS_MAX turns, weights are rounded, to one at least. NULL: no memory. The
 * caller's, to weft_mem_free. */
struct weft_lb_turns *turns_create(const struct turns_way *ways, uint32_t count);

/* All turns that were asked for since routing last changed. */
struct net_turns;
/* NULL is fine. */
void turns_free(struct net_turns *turns);

#endif
