/* SPDX-License-Identifier: BSD-3-Clause */
/* How packets enter and leave an engine. Burst calls, one caller thread per port. */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/spi/pkt.h"

WEFT_BEGIN_DECLS

struct weft_port;

/* What a port does, constant. All functions are called by the one thread that polls the port. */
struct weft_port_ops {
	/* Up to `n` received packets; they become the caller's. The port sets every field but `next`. Returns how many.
	 */
	uint16_t (*rx)(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
	/* Takes the first r packets (they become the port's, payload already copied or gathered) and returns r; the
	 * rest stay the caller's. A full ring is normal: the caller counts it and tries again later. */
	uint16_t (*tx)(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
	/* Up to `n` empty packets with WEFT_PKT_HEAD_MAX bytes at `head`; fewer when the pool is short or the
	 * port hands out few at a time, 0 when there is none. */
	uint16_t (*alloc)(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
	/* Gives packets back, whether allocated or received here. */
	void (*free)(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
	/* Releases the port; all packets must have been given back. */
	void (*close)(struct weft_port *port);
	/* How far packets to `ip` get. 0: onto the link, as far as the port knows. -EINPROGRESS: they wait for the MAC
	 * address of `*next_hop`, which was asked for. -EHOSTUNREACH: `*next_hop` does not answer. -ENETUNREACH: no
	 * route leads there; `*next_hop` is all zero. NULL: always 0. Not for every packet: it may take a search. */
	int (*reach)(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop);
	/* The peer `ip` seems to be silent: its next hop is to be asked whether it is still there. NULL: nobody asks.
	 */
	void (*doubt)(struct weft_port *port, const struct weft_ip *ip);
};

/* Head of a port, set when it is opened; what the port keeps for itself follows. */
struct weft_port {
	const struct weft_port_ops *ops; /* never NULL; outlives the port */
	uint64_t link_bps;               /* bits per second, 0 when unknown */
	uint32_t max_ip_bytes;           /* largest IP packet the port carries */
	uint32_t reserved;               /* 0 */
};

WEFT_END_DECLS

#endif
