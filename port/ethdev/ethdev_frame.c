/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_frame.h"

#include <assert.h>

#include "ethdev_edge.h"
#include "ethdev_share.h"
#include "shm_port.h"

static uint16_t device_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (d->shm != NULL)
		return shm_port_tx(d, m, n);
	return d->share != NULL ? share_tx(d, m, n) : rte_eth_tx_burst(d->id, d->queue, m, n);
}

static uint16_t device_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (d->shm != NULL)
		return shm_port_rx(d, m, n);
	return d->share != NULL ? share_rx(d, m, n) : rte_eth_rx_burst(d->id, d->queue, m, n);
}

uint16_t ethdev_special_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (d->tx_ring != NULL)
		return (uint16_t)rte_ring_sp_enqueue_burst(d->tx_ring, (void **)m, n, NULL);
	if (d->edge == NULL)
		return device_tx(d, m, n);
	n = edge_out(d, m, n);
	uint16_t sent = device_tx(d, m, n);
	edge_take_back(d, m + sent, (uint16_t)(n - sent));
	return sent;
}

uint16_t ethdev_special_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (d->rx_ring != NULL)
		return (uint16_t)rte_ring_sc_dequeue_burst(d->rx_ring, (void **)m, n, NULL);
	uint16_t got = device_rx(d, m, n);
	return d->edge != NULL ? edge_in(d, m, got) : got;
}

void ethdev_special_flush(struct ethdev *d)
{
	if (d->shm != NULL)
		shm_link_flush(&d->shm->link);
}

bool frame_xmit(struct ethdev *d, struct rte_mbuf *m)
{
	assert(m->data_len >= RTE_ETHER_HDR_LEN && rte_mbuf_refcnt_read(m) == 1);
	if (ethdev_burst_tx(d, &m, 1) == 1) {
		ethdev_burst_flush(d);
		return true;
	}
	rte_pktmbuf_free(m);
	return false;
}

void frame_drop(struct ethdev *d, struct rte_mbuf *m)
{
	d->stats.rx_foreign++;
	rte_pktmbuf_free(m);
}
