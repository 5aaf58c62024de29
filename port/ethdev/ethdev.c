/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be asked of an open DPDK port. */
#include "weft/ethdev.h"

#include <assert.h>
#include <numa.h>
#include <stddef.h>

#include <rte_ethdev.h>

#include "counter.h"
#include "ethdev_lost.h"
#include "ethdev_priv.h"

const struct weft_counter_desc weft_port_counter_descs[] = {
#define COUNTER_DESC(name, help) {#name, help, offsetof(struct weft_ethdev_stats, name)},
	WEFT_PORT_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

_Static_assert(sizeof weft_port_counter_descs / sizeof weft_port_counter_descs[0] == WEFT_PORT_COUNTER_COUNT,
	       "one description per counter");

uint64_t weft_ethdev_stats_value(const struct weft_ethdev_stats *stats, int i)
{
	assert(i >= 0 && i < WEFT_PORT_COUNTER_COUNT);
	return counter_value(stats, &weft_port_counter_descs[i]);
}

static const struct ethdev *dev_of(const struct weft_port *port)
{
	return (const struct ethdev *)port;
}

void weft_ethdev_stats(const struct weft_port *port, struct weft_ethdev_stats *stats)
{
	const struct ethdev *d = dev_of(port);

	*stats = d->stats;
	if (d->id >= RTE_MAX_ETHPORTS)
		return;
	struct lost lost = lost_look(d->id);
	stats->rx_nombuf += lost.nombuf;
	stats->rx_missed += lost.missed;
}

void weft_ethdev_steering(const struct weft_port *port, struct weft_ethdev_steering *steering)
{
	*steering = dev_of(port)->steering;
}

void weft_ethdev_on_neigh(struct weft_port *port, weft_neigh_fn fn, void *arg)
{
	struct ethdev *d = to_ethdev(port);
	d->on_neigh = fn;
	d->on_neigh_arg = arg;
}

void weft_ethdev_on_link(struct weft_port *port, weft_link_fn fn, void *arg)
{
	struct ethdev *d = to_ethdev(port);
	d->link.changed = fn;
	d->link.changed_arg = arg;
}

const char *weft_ethdev_note(const struct weft_port *port)
{
	return dev_of(port)->note.msg;
}

void weft_ethdev_bind_thread(const struct weft_port *port)
{
	int node = dev_of(port)->node;
	if (node >= 0 && numa_available() >= 0 && numa_num_configured_nodes() > 1)
		numa_run_on_node(node);
}

int weft_ethdev_rx_fd(const struct weft_port *port)
{
	return dev_of(port)->rx_fd;
}
