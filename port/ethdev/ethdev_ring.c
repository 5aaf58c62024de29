/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of rings inside one process: a net_ring device for an engine, a bare end for a switch. The switch's end is no
 * DPDK device, because those are few. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "ethdev_priv.h"

static void ring_free(struct rte_ring *r)
{
	void *m;
	while (r != NULL && rte_ring_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(r);
}

static void pair_destroy(struct ethdev *d)
{
	if (d->name[0] != '\0')
		rte_eal_hotplug_remove("vdev", d->name);
	ring_free(d->rx_ring);
	ring_free(d->tx_ring);
	neigh_destroy(d->neigh);
	free(d);
	ethdev_pool_retire(NULL);
}

static void pair_close(struct weft_port *port)
{
	pair_destroy(to_ethdev(port));
}

static const struct weft_port_ops pair_ops = {
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.alloc = ethdev_alloc,
	.free = ethdev_free,
	.close = pair_close,
};

static struct rte_ring *ring_make(const char *name, const char *dir, uint32_t entries)
{
	char full[RTE_RING_NAMESIZE];
	if ((size_t)snprintf(full, sizeof full, "%s_%s", name, dir) >= sizeof full)
		return NULL;
	return rte_ring_create(full, entries, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

/* The rings as seen from the switch: what the device sends is received here. */
static int pair_create(struct ethdev *d, const char *name, uint32_t entries, struct weft_err *err)
{
	d->rx_ring = ring_make(name, "up", entries);
	d->tx_ring = ring_make(name, "down", entries);
	if (d->rx_ring == NULL || d->tx_ring == NULL)
		return weft_err_set(err, -ENOMEM, "ring pair %s: cannot make rings of %u packets: %s", name, entries,
				    rte_strerror(rte_errno));
	d->neigh = neigh_create(SOCKET_ID_ANY);
	if (d->neigh == NULL)
		return weft_err_set(err, -ENOMEM, "ring pair %s: no memory", name);
	assert(d->id == RTE_MAX_ETHPORTS && d->pool == NULL);
	int id = rte_eth_from_rings(name, &d->tx_ring, 1, &d->rx_ring, 1, (unsigned)SOCKET_ID_ANY);
	if (id < 0)
		return weft_err_set(err, -ENOSPC, "ring pair %s: cannot make the device (DPDK has room for %d): %s",
				    name, RTE_MAX_ETHPORTS, rte_strerror(rte_errno));
	rte_eth_dev_get_name_by_port((uint16_t)id, d->name);
	return 0;
}

int weft_ethdev_ring_pair(const char *name, uint32_t entries, struct weft_port **switch_end, struct weft_err *err)
{
	int rc = weft_eal_start(NULL, err);
	if (rc != 0)
		return rc;
	if (entries == 0 || (entries & (entries - 1)) != 0)
		return weft_err_set(err, -EINVAL, "ring pair %s: %u entries are no power of two", name, entries);
	struct ethdev *d = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof *d, RTE_CACHE_LINE_SIZE));
	if (d == NULL)
		return weft_err_set(err, -ENOMEM, "ring pair %s: no memory", name);
	*d = (struct ethdev){
		.port = {.ops = &pair_ops, .max_ip_bytes = UINT16_MAX - WEFT_L1_OVERHEAD_BYTES},
		.id = RTE_MAX_ETHPORTS,
		.tx_run = ETHDEV_BURST,
		.is_switch = true,
		.is_special = true,
		.rx_fd = -1,
		.node = SOCKET_ID_ANY,
		.periodic_at = WEFT_NEVER,
		.mac = mac_derive(0),
	};
	rc = pair_create(d, name, entries, err);
	if (rc != 0)
		pair_destroy(d);
	else
		*switch_end = &d->port;
	return rc;
}
