/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells ThreadSanitizer of packets that go from thread to thread through a ring or a pool: DPDK's libraries are not
 * instrumented, so it does not see that what happened before a packet went in happened before what follows its coming
 * out. Nothing in other builds. */
#ifndef WEFT_TEST_HANDOVER_H
#define WEFT_TEST_HANDOVER_H

#include <stdint.h>

struct rte_mbuf;

/* Watches all pools: those that exist and those to come. */
void handover_watch_pools(void);

/* Watches the first `queues` queues of a device, and all pools. -1: it cannot be watched. */
int handover_watch(uint16_t device, uint16_t queues);

/* A packet was taken out of a ring without the device. */
void handover_taken(struct rte_mbuf *mbuf);

/* A packet is about to be put into one. */
void handover_given(struct rte_mbuf *mbuf);

#endif
