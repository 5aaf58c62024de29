/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_impl.h"

void link_send(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_port *p = &net->ports[port];

	p->busy_until = net->evq.now + port_serialize_ps(p, pkt->wire_bytes);
	p->service_data_bytes = pkt->flags & WEFT_PKT_CONTROL ? 0 : pkt->wire_bytes;
	p->sent_pkts++;
	p->sent_bytes += pkt->wire_bytes;
	if (!(p->flags & PORT_UP)) {
		port_drop(net, p, pkt, &net->stats.dropped_down);
		return;
	}
	weft_ps arrival = p->busy_until + p->latency_ps;
	pkt->next = NULL;
	if (p->pipe_head) {
		p->pipe_tail->next = pkt;
		p->pipe_tail->time_ns = arrival;
	} else {
		p->pipe_head = pkt;
		evq_set(&net->evq, event_arrive(port), arrival);
	}
	p->pipe_tail = pkt;
}

struct weft_pkt *link_receive(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->ports[port];
	struct weft_pkt *pkt = p->pipe_head;

	p->pipe_head = pkt->next;
	if (pkt->next)
		evq_set(&net->evq, event_arrive(port), pkt->time_ns);
	net->stats.hops++;
	return pkt;
}

void link_clear(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->ports[port];

	while (p->pipe_head) {
		struct weft_pkt *pkt = p->pipe_head;
		p->pipe_head = pkt->next;
		net->conf.free_pkt(net->conf.free_arg, pkt);
	}
}
