/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames on their way out of a DPDK port, or out of the way. */
#ifndef WEFT_ETHDEV_FRAME_H
#define WEFT_ETHDEV_FRAME_H

#include <rte_ethdev.h>

#include "ethdev_priv.h"

/* The same for bare rings, for ports with an edge and for engines that share a device. */
uint16_t ethdev_special_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);
uint16_t ethdev_special_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n);

/* What follows upon the last of several calls of ethdev_burst_tx. */
void ethdev_special_flush(struct ethdev *d);

static inline void ethdev_burst_flush(struct ethdev *d)
{
	if (unlikely(d->is_special))
		ethdev_special_flush(d);
}

/* Frames the device or ring takes; the rest stay the caller's. */
static inline uint16_t ethdev_burst_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (unlikely(d->is_special))
		return ethdev_special_tx(d, m, n);
	return rte_eth_tx_burst(d->id, d->queue, m, n);
}

/* Hands a complete frame to the device; freed when it does not take it. True: taken. */
bool frame_xmit(struct ethdev *d, struct rte_mbuf *m);
/* Counts a frame that is neither ours nor ARP or ND, and frees it. */
void frame_drop(struct ethdev *d, struct rte_mbuf *m);

#endif
