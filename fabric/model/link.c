/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_impl.h"

/* Probability of 2^64 that all of `bytes` cross unharmed. */
static uint64_t survives(uint64_t byte, uint32_t bytes)
{
	uint64_t all = UINT64_MAX;

	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			all = (uint64_t)((unsigned __int128)all * byte >> 64);
		byte = (uint64_t)((unsigned __int128)byte * byte >> 64);
	}
	return all;
}

static void show_sent(const struct weft_net *net, const struct net_port *p, const struct weft_pkt *pkt)
{
	if (p->flags & PORT_TAPPED)
		net->tap(net->tap_arg, (uint32_t)(p - net->tree.ports), WEFT_TAP_SENT, pkt, net->evq.now);
}

/* What is out of the ordinary at this link. True: it is down or damages the packet, which is taken and counted. */
static __attribute__((noinline)) bool link_lose(struct weft_net *net, const struct net_port *p, struct weft_pkt *pkt)
{
	uint64_t *counter = &net->stats.dropped_down;

	if (p->flags & PORT_UP) {
		if (!(p->flags & PORT_ERRORS) ||
		    rng_next(&net->error_rng) < survives(port_cold(&net->tree, p)->byte_survives, pkt->wire_bytes)) {
			show_sent(net, p, pkt);
			return false;
		}
		counter = &net->stats.dropped_error;
	}
	port_drop(net, p, pkt, counter);
	return true;
}

void link_xmit(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_port *p = &net->tree.ports[port];

	assert(p->busy_until <= net->evq.now);
	assert(pkt->wire_bytes > 0);
	p->busy_until = net->evq.now + port_serialize_ps(p, pkt->wire_bytes);
	if (pkt->flags & WEFT_PKT_CONTROL) {
		p->service_data_bytes = 0;
		net->hops[p->hop].control++;
	} else {
		p->service_data_bytes = pkt->wire_bytes;
	}
	p->sent_pkts++;
	p->sent_bytes += pkt->wire_bytes;
	if ((p->flags & (PORT_UP | PORT_ERRORS | PORT_TAPPED)) != PORT_UP && link_lose(net, p, pkt))
		return;
	link_propagate(net, p, pkt, p->busy_until + p->latency_ps);
}

struct weft_pkt *link_receive(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];
	struct weft_pkt *pkt = p->pipe_head;

	assert(pkt && pkt != pkt->next);
	p->pipe_head = pkt->next;
	if (pkt->next)
		evq_set(&net->evq, event_arrive(port), pkt->fabric.next_arrival_ps);
	assert(pkt->next || p->pipe_tail == pkt);
	net->stats.hops++;
	return pkt;
}

/* The first packet on the wire, or NULL; the event of its arrival stays. */
static struct weft_pkt *pipe_dequeue(struct net_port *p)
{
	struct weft_pkt *pkt = p->pipe_head;

	if (pkt)
		p->pipe_head = pkt->next;
	return pkt;
}

void link_cut(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];

	for (struct weft_pkt *pkt; (pkt = pipe_dequeue(p));)
		port_drop(net, p, pkt, &net->stats.dropped_down);
	evq_cancel(&net->evq, event_arrive(port));
}

void link_clear(struct weft_net *net, uint32_t port)
{
	for (struct weft_pkt *pkt; (pkt = pipe_dequeue(&net->tree.ports[port]));)
		net->conf.free_pkt(net->conf.free_arg, pkt);
}
