/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that engines of one device give each other: a ring that many threads fill and one empties. */
#ifndef WEFT_ETHDEV_INBOX_H
#define WEFT_ETHDEV_INBOX_H

#include <rte_mbuf.h>
#include <rte_ring.h>

enum { INBOX_FRAMES = 1024 };

/* NULL: no memory. */
struct rte_ring *inbox_create(int node);
/* Frees what is in it, too. NULL is nothing. */
void inbox_destroy(struct rte_ring *ring);
/* Frees what is in it. */
void inbox_drain(struct rte_ring *ring);
/* Frames that found room; the rest stay the caller's. */
uint16_t inbox_put(struct rte_ring *ring, struct rte_mbuf **m, uint16_t n);
/* At most `n` frames. */
uint16_t inbox_take(struct rte_ring *ring, struct rte_mbuf **m, uint16_t n);

#endif
