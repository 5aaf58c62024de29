/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports as an observer sees them: names, rates, counts. */
#include <errno.h>
#include <stdio.h>

#include "net_impl.h"

uint32_t weft_net_port_count(const struct weft_net *net)
{
	return net->tree.port_count;
}

static void print_name(const struct weft_port_info *info, char *name, size_t size)
{
	static const char *const dirs[] = {
		[WEFT_PORT_HOST] = "host",
		[WEFT_PORT_UP] = "up",
		[WEFT_PORT_DOWN] = "down",
	};

	if (info->dir == WEFT_PORT_NIC)
		snprintf(name, size, "host%u", info->sw);
	else
		snprintf(name, size, "%s%u:%s%u", weft_topo_tier_name(info->tier), info->sw, dirs[info->dir],
			 info->index);
}

void weft_net_port_counts(const struct weft_net *net, uint32_t port, struct weft_port_counts *counts)
{
	assert(port < net->tree.port_count);
	const struct net_port *p = &net->tree.ports[port];
	const struct net_port_cold *cold = &net->tree.cold[port];

	*counts = (struct weft_port_counts){
		.queue_bytes = port_data_bytes(&net->tree, port) + p->ctl_bytes,
		.sent_pkts = p->sent_pkts,
		.sent_bytes = p->sent_bytes,
		.marked = cold->marked,
		.trimmed = cold->trimmed,
		.dropped = cold->dropped,
		.busy_until = p->busy_until,
		.up = p->flags & PORT_UP,
	};
	if (net->credits)
		credit_counts(net, port, &counts->credits);
	if (net->pfc) {
		counts->pauses = net->pfc[port].pauses;
		counts->paused_ns = pfc_paused_ps(net, port) / 1000;
	}
}

weft_ps port_busy_ps(const struct weft_net *net, uint32_t port)
{
	const struct net_past *past = &net->past[port];
	uint64_t bytes = net->tree.ports[port].sent_bytes - past->bytes;

	return past->busy_ps + (weft_ps)((unsigned __int128)bytes * UINT64_C(8000000000000) / net->tree.cold[port].bps);
}

int weft_net_port_info(const struct weft_net *net, uint32_t port, struct weft_port_info *info)
{
	if (port >= net->tree.port_count)
		return -ENOENT;
	const struct net_port *p = &net->tree.ports[port];
	const struct net_port_cold *cold = &net->tree.cold[port];
	*info = (struct weft_port_info){
		.dir = cold->dir,
		.tier = cold->tier,
		.sw = cold->sw,
		.index = cold->dir == WEFT_PORT_HOST  ? p->peer
			 : cold->dir == WEFT_PORT_NIC ? cold->sw
						      : cold->place,
		.bps = cold->bps,
		.up = p->flags & PORT_UP,
		.busy_ps = port_busy_ps(net, port),
	};
	print_name(info, info->name, sizeof info->name);
	weft_net_port_counts(net, port, &info->counts);
	return 0;
}

void weft_net_link_counts(const struct weft_net *net, struct weft_link_id id, uint64_t *pkts, uint64_t *bytes)
{
	assert(id.index < net->tree.port_count);
	*pkts = net->tree.ports[id.index].sent_pkts;
	*bytes = net->tree.ports[id.index].sent_bytes;
}
