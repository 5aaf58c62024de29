/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_inbox.h"

#include <stdatomic.h>

#include "ethdev_priv.h"

/* The checker for data races does not understand how DPDK's rings order memory: it is told, and does not look. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define RING_CALL     __attribute__((noinline, no_sanitize("thread")))
#define PUBLISH(mbuf) __tsan_release(mbuf)
#define ACCEPT(mbuf)  __tsan_acquire(mbuf)
#else
#define RING_CALL
#define PUBLISH(mbuf) ((void)(mbuf))
#define ACCEPT(mbuf)  ((void)(mbuf))
#endif

/* Threads that put may be put to sleep by the kernel in the midst of it, which must not hold up others. */
struct rte_ring *inbox_create(int node)
{
	static _Atomic uint32_t serial;
	char name[RTE_RING_NAMESIZE];
	ethdev_unique_name(name, sizeof name, "weft_inbox", &serial);
	return rte_ring_create(name, INBOX_FRAMES, node, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ);
}

void inbox_drain(struct rte_ring *ring)
{
	struct rte_mbuf *m;
	while (inbox_take(ring, &m, 1) == 1)
		rte_pktmbuf_free(m);
}

void inbox_destroy(struct rte_ring *ring)
{
	if (ring != NULL)
		inbox_drain(ring);
	rte_ring_free(ring);
}

RING_CALL uint16_t inbox_put(struct rte_ring *ring, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		PUBLISH(m[i]);
	return (uint16_t)rte_ring_enqueue_burst(ring, (void **)m, n, NULL);
}

RING_CALL uint16_t inbox_take(struct rte_ring *ring, struct rte_mbuf **m, uint16_t n)
{
	uint16_t got = (uint16_t)rte_ring_dequeue_burst(ring, (void **)m, n, NULL);
	for (uint16_t i = 0; i < got; i++)
		ACCEPT(m[i]);
	return got;
}
