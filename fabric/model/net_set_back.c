/* SPDX-License-Identifier: BSD-3-Clause */
/* Times that are counted from another moment on: 2^64 ps are 213 days, and switches run for longer. */
#include "net_impl.h"

/* Those in data queues have the time when they joined, those on a link the arrival of the next one, in the same place.
 */
static void pkts_set_back(struct weft_pkt *pkt, weft_ps by)
{
	for (; pkt; pkt = pkt->next)
		pkt->fabric.queued_ps = ps_earlier(pkt->fabric.queued_ps, by);
}

static void port_set_back(struct weft_net *net, uint32_t port, weft_ps by)
{
	struct net_port *p = &net->tree.ports[port];

	p->busy_until = ps_earlier(p->busy_until, by);
	pkts_set_back(p->data_head, by);
	pkts_set_back(p->pipe_head, by);
	if (net->ordered)
		pkts_set_back(net->ordered[port].head, by);
	if (net->credits)
		credit_queue_set_back(&net->credits[port].q, by);
	if (net->pfc)
		net->pfc[port].paused_since = ps_earlier(net->pfc[port].paused_since, by);
}

static void hosts_set_back(struct weft_net *net, weft_ps by)
{
	for (uint32_t i = 0; i < net->tree.topo.hosts; i++)
		if (net->hosts[i].wake_at != WEFT_NEVER)
			net->hosts[i].wake_at = ps_earlier(net->hosts[i].wake_at, by);
}

weft_ps weft_net_set_back(struct weft_net *net, weft_ps now, weft_ps unit)
{
	weft_ps step = evq_turn(&net->evq) * unit, steps = now / step;

	assert(unit > 0 && step / unit == evq_turn(&net->evq));
	if (steps < 2)
		return 0;
	weft_ps by = (steps - 1) * step;
	net_depth_change(net, 0);
	net->depth_since = ps_earlier(net->depth_since, by);
	evq_set_back(&net->evq, now, by);
	for (uint32_t port = 0; port < net->tree.port_count; port++)
		port_set_back(net, port, by);
	hosts_set_back(net, by);
	route_set_back(&net->tree, by);
	return by;
}
