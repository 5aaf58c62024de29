/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet pools of DPDK ports. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "ethdev_priv.h"

enum {
	POOL_CACHE = 256,
	POOLS_RETIRED_MAX = 256,
	/* Without hugepages elements of 4 KiB or less alias in the L1 cache and cost twice as much. */
	POOL_ELEM_MIN_BYTES = 4096,
	BUFFER_STEP_BYTES = 1024,
	ROOM_MAX_BYTES = UINT16_MAX + 1 - RTE_CACHE_LINE_SIZE, /* lengths of mbufs have 16 bits */
	FRAME_EXTRA_BYTES = 64, /* Ethernet header, VLAN tag, CRC, what drivers put in front */
};

static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rte_mempool *retired[POOLS_RETIRED_MAX]; /* under retired_lock */

void ethdev_unique_name(char *name, size_t size, const char *what, _Atomic uint32_t *serial)
{
	assert(size > 0);
	/* The variable's address tells the copies apart. DPDK puts up to six characters in front of a name, and cuts
	 * what is then longer than 31. */
	int n = snprintf(name, size, "%s_%x_%x", what, (unsigned)((uintptr_t)serial >> 4 & 0xfffff),
			 atomic_fetch_add(serial, 1));
	assert(n > 0 && (size_t)n < size && n <= ETHDEV_NAME_MAX);
	(void)n;
}

/* A process may have loaded few of DPDK's drivers. */
static bool has_pool_driver(const char *name)
{
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, name) == 0)
			return true;
	return false;
}

/* Without hugepages the kernel gives memory to a page when it is first touched: the packet that was freed last is used
 * first, so that a pool takes what is in use at most, not all it has. NULL: DPDK's usual order. */
static const char *order_of_use(void)
{
	return !rte_eal_has_hugepages() && has_pool_driver("stack") ? "stack" : NULL;
}

/* Room for packets in an element of at most `elem_bytes`. DPDK pads elements so that they start on all memory channels
 * alike, which an odd number of cache lines needs not. */
static uint32_t room_within(uint32_t elem_bytes)
{
	uint32_t lines = (elem_bytes / RTE_CACHE_LINE_SIZE - 1) | 1;
	return lines * RTE_CACHE_LINE_SIZE - (uint32_t)(sizeof(struct rte_mbuf) + sizeof(struct weft_pkt)) -
	       (uint32_t)RTE_CACHE_LINE_ROUNDUP(sizeof(struct rte_mempool_objhdr));
}

uint32_t ethdev_pool_ip_bytes(uint32_t elem_bytes, uint32_t driver_bytes)
{
	return room_within(elem_bytes) - RTE_PKTMBUF_HEADROOM - FRAME_EXTRA_BYTES - driver_bytes;
}

/* Bytes of an element behind the metadata. Many NICs count receive buffers in KiB. */
static uint32_t room_of(const struct ethdev_pool_want *want)
{
	uint32_t frame = RTE_ALIGN_CEIL(want->ip_bytes + FRAME_EXTRA_BYTES, BUFFER_STEP_BYTES);
	uint32_t room = RTE_MAX(RTE_PKTMBUF_HEADROOM + frame, (uint32_t)POOL_ELEM_MIN_BYTES);
	room = RTE_MIN(room, (uint32_t)ROOM_MAX_BYTES);
	if (want->buffer_bytes != 0)
		return RTE_PKTMBUF_HEADROOM + want->buffer_bytes;
	return want->elem_bytes_max != 0 ? RTE_MIN(room, room_within(want->elem_bytes_max)) : room;
}

int ethdev_pool_create(const struct ethdev_pool_want *want, uint32_t pkts, struct rte_mempool **pool,
		       struct weft_err *err)
{
	static _Atomic uint32_t serial;
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t room = room_of(want);
	uint32_t cache = pkts >= 4 * POOL_CACHE ? POOL_CACHE : 0;

	ethdev_unique_name(name, sizeof name, "weft_pkts", &serial);
	*pool = rte_pktmbuf_pool_create_by_ops(name, pkts, cache, sizeof(struct weft_pkt), (uint16_t)room, want->node,
					       order_of_use());
	if (*pool == NULL)
		return weft_err_set(err, -ENOMEM,
				    "%s: no memory for %u packets of %u bytes: %s (raise -m in WEFT_EAL_ARGS or ask "
				    "for fewer packets)",
				    want->dev, pkts, room, rte_strerror(rte_errno));
	return 0;
}

struct rte_mempool *ethdev_pool_of(uint32_t pkts, uint32_t elem_bytes, struct rte_pktmbuf_pool_private *private)
{
	static _Atomic uint32_t serial;
	char name[RTE_MEMPOOL_NAMESIZE];
	const char *order = order_of_use();
	ethdev_unique_name(name, sizeof name, "weft_shm", &serial);
	struct rte_mempool *pool =
		rte_mempool_create_empty(name, pkts, elem_bytes, 0, sizeof *private, SOCKET_ID_ANY, 0);
	if (pool == NULL)
		return NULL;
	if (rte_mempool_set_ops_byname(pool, order != NULL ? order : rte_mbuf_best_mempool_ops(), NULL) == 0) {
		rte_pktmbuf_pool_init(pool, private);
		if (rte_mempool_populate_default(pool) >= 0)
			return pool;
	}
	rte_mempool_free(pool);
	return NULL;
}

void ethdev_pool_retire(struct rte_mempool *pool)
{
	pthread_mutex_lock(&retired_lock);
	for (unsigned i = 0; i < POOLS_RETIRED_MAX; i++) {
		if (retired[i] == NULL && pool != NULL) {
			retired[i] = pool;
			pool = NULL;
		}
		if (retired[i] != NULL && rte_mempool_full(retired[i])) {
			rte_mempool_free(retired[i]);
			retired[i] = NULL;
		}
	}
	pthread_mutex_unlock(&retired_lock);
}
