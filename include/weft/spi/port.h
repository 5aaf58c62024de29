/* SPDX-License-Identifier: BSD-3-Clause */
/* How packets enter and leave an engine. Burst calls, one caller thread per port. */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include <stdint.h>

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
