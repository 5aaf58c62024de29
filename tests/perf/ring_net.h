/* SPDX-License-Identifier: BSD-3-Clause */
/* The cheapest network there is: packets move between rings by reference, by destination address, at once. What is left
 * to measure is the engine. */
#ifndef PERF_RING_NET_H
#define PERF_RING_NET_H

#include "weft/spi/port.h"

enum { RING_NET_BASE_IP = 0x0a000001, RING_ENTRIES = 512 };

struct ring_net;

struct ring_port {
	struct weft_port port;
	struct ring_net *net;
	struct weft_pkt *ring[RING_ENTRIES]; /* arrived */
	uint32_t head, tail;
};

struct ring_net {
	struct ring_port *ports; /* port i has address RING_NET_BASE_IP + i */
	uint32_t count;
	struct weft_pkt *free_list;
	void *slab;
	uint64_t now_ns; /* arrival time of what is received */
};

/* `count` ports that share `pkts` packets; aborts without memory. */
void ring_net_open(struct ring_net *net, uint32_t count, uint32_t pkts);
void ring_net_close(struct ring_net *net);

#endif
