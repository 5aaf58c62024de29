/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover.h"

#ifdef __SANITIZE_THREAD__

#include <stddef.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>
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

/* ---- pools: a buffer that one thread gave back is the next one's ---- */

static rte_mempool_enqueue_t pool_puts[RTE_MEMPOOL_MAX_OPS_IDX];
static rte_mempool_dequeue_t pool_gets[RTE_MEMPOOL_MAX_OPS_IDX];
static rte_mempool_get_count pool_counts[RTE_MEMPOOL_MAX_OPS_IDX];

static int watched_put(struct rte_mempool *pool, void *const *objects, unsigned n)
{
	rte_mempool_enqueue_t put = pool_puts[pool->ops_index];
	for (unsigned i = 0; i < n; i++)
		__tsan_release(objects[i]);
	__tsan_release(pool);
	return put(pool, objects, n); /* afterwards the pool may be gone */
}

static int watched_get(struct rte_mempool *pool, void **objects, unsigned n)
{
	int ret = pool_gets[pool->ops_index](pool, objects, n);
	for (unsigned i = 0; ret == 0 && i < n; i++)
		__tsan_acquire(objects[i]);
	return ret;
}

/* Whoever finds that all buffers are back frees the pool. */
static unsigned watched_count(const struct rte_mempool *pool)
{
	unsigned count = pool_counts[pool->ops_index](pool);
	__tsan_acquire((void *)(uintptr_t)pool);
	return count;
}

/* All kinds of pools; those that exist look the functions up at each call. */
void handover_watch_pools(void)
{
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++) {
		struct rte_mempool_ops *ops = &rte_mempool_ops_table.ops[i];
		if (ops->enqueue == watched_put)
			continue;
		pool_puts[i] = ops->enqueue;
		pool_gets[i] = ops->dequeue;
		pool_counts[i] = ops->get_count;
		ops->enqueue = watched_put;
		ops->dequeue = watched_get;
		ops->get_count = watched_count;
	}
}

int handover_watch(uint16_t device, uint16_t queues)
{
	handover_watch_pools();
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

void handover_given(struct rte_mbuf *mbuf)
{
	__tsan_release(mbuf);
}

#else

void handover_watch_pools(void)
{
}

int handover_watch(uint16_t device, uint16_t queues)
{
	return 0;
}

void handover_taken(struct rte_mbuf *mbuf)
{
}

void handover_given(struct rte_mbuf *mbuf)
{
}

#endif
