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
	uint32_t head = p->head, count = p->tail - head < n ? p->tail - head : n;
	uint64_t now_ns = p->net->now_ns;
	for (uint32_t i = 0; i < count; i++) {
		struct weft_pkt *pkt = p->ring[(head + i) % RING_ENTRIES];
		pkt->arrived_ns = now_ns;
		pkts[i] = pkt;
	}
	p->head = head + count;
	return (uint16_t)count;
}

static uint16_t ring_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_port *ports = ((struct ring_port *)port)->net->ports;
	for (uint16_t i = 0; i < n; i++) {
		struct weft_pkt *pkt = pkts[i];
		struct ring_port *to = &ports[pkt->dst - RING_NET_BASE_IP];
		uint32_t tail = to->tail;
		if (tail - to->head == RING_ENTRIES)
			return i;
		to->ring[tail % RING_ENTRIES] = pkt;
		to->tail = tail + 1;
	}
	return n;
}

static uint16_t ring_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_net *net = ((struct ring_port *)port)->net;
	struct weft_pkt *pkt = net->free_list;
	uint16_t got = 0;
	for (; got < n && pkt; pkt = pkt->next) {
		pkt->head = ((struct slot *)pkt)->head;
		pkts[got++] = pkt;
	}
	net->free_list = pkt;
	return got;
}

static void ring_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ring_net *net = ((struct ring_port *)port)->net;
	struct weft_pkt *first = net->free_list;
	for (uint16_t i = 0; i < n; i++) {
		pkts[i]->next = first;
		first = pkts[i];
	}
	net->free_list = first;
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
