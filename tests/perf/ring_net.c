/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring_net.h"

#include <stdlib.h>

/* Room behind the metadata for headers. */
struct slot {
	struct weft_pkt pkt;
	uint8_t head[WEFT_PKT_HEAD_MAX];
};

static uint16_t ring_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_port *p = (struct ring_port *)port;
	uint16_t got = 0;
	while (got < n && p->head != p->tail) {
		pkts[got] = p->ring[p->head++ % RING_ENTRIES];
		pkts[got++]->time_ns = p->net->now_ns;
	}
	return got;
}

static uint16_t ring_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_net *net = ((struct ring_port *)port)->net;
	for (uint16_t i = 0; i < n; i++) {
		struct ring_port *to = &net->ports[pkts[i]->dst - RING_NET_BASE_IP];
		if (to->tail - to->head == RING_ENTRIES)
			return i;
		to->ring[to->tail++ % RING_ENTRIES] = pkts[i];
	}
	return n;
}

static uint16_t ring_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_net *net = ((struct ring_port *)port)->net;
	uint16_t got = 0;
	while (got < n && net->free_list) {
		struct weft_pkt *pkt = net->free_list;
		net->free_list = pkt->next;
		pkt->head = ((struct slot *)pkt)->head;
		pkts[got++] = pkt;
	}
	return got;
}

static void ring_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_net *net = ((struct ring_port *)port)->net;
	for (uint16_t i = 0; i < n; i++) {
		pkts[i]->next = net->free_list;
		net->free_list = pkts[i];
	}
}

static void ring_close(struct weft_port *port)
{
}

static const struct weft_port_ops ring_ops = {ring_rx, ring_tx, ring_alloc, ring_free, ring_close};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

void ring_net_open(struct ring_net *net, uint32_t count, uint32_t pkts)
{
	struct slot *slots = must(aligned_alloc(64, pkts * sizeof *slots));
	*net = (struct ring_net){.count = count, .slab = slots};
	net->ports = must(calloc(count, sizeof *net->ports));
	for (uint32_t i = 0; i < count; i++) {
		net->ports[i].port = (struct weft_port){.ops = &ring_ops, .max_ip_bytes = 9000};
		net->ports[i].net = net;
	}
	for (uint32_t i = 0; i < pkts; i++) {
		slots[i].pkt.next = net->free_list;
		net->free_list = &slots[i].pkt;
	}
}

void ring_net_close(struct ring_net *net)
{
	free(net->ports);
	free(net->slab);
}
