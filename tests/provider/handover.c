/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover.h"

#ifdef __SANITIZE_THREAD__

#include <stddef.h>

#include <rte_ethdev.h>
#include <sanitizer/tsan_interface.h>

static uint16_t before_tx(uint16_t device, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *arg)
{
	for (uint16_t i = 0; i < n; i++)
		__tsan_release(mbufs[i]);
	return n;
}

static uint16_t after_rx(uint16_t device, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, uint16_t room, void *arg)
{
	for (uint16_t i = 0; i < n; i++)
		__tsan_acquire(mbufs[i]);
	return n;
}

int handover_watch(uint16_t device, uint16_t queues)
{
	for (uint16_t q = 0; q < queues; q++)
		if (rte_eth_add_rx_callback(device, q, after_rx, NULL) == NULL ||
		    rte_eth_add_tx_callback(device, q, before_tx, NULL) == NULL)
			return -1;
	return 0;
}

void handover_taken(struct rte_mbuf *mbuf)
{
	__tsan_acquire(mbuf);
}

#else

int handover_watch(uint16_t device, uint16_t queues)
{
	return 0;
}

void handover_taken(struct rte_mbuf *mbuf)
{
}

#endif
