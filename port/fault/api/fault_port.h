/* SPDX-License-Identifier: BSD-3-Clause */
/* Wraps another port and breaks it, repeatably: what happens to a packet is a function of the seed and the packet's
 * number. */
#ifndef WEFT_PORT_FAULT_H
#define WEFT_PORT_FAULT_H

#include <stdint.h>

#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/spi/port.h"

/* Shares are in parts per million of transmitted packets. */
struct fault_conf {
	uint64_t seed;
	uint32_t loss_ppm;
	uint32_t dup_ppm;
	uint32_t reorder_ppm; /* held back and sent after `reorder_pkts` later ones */
	uint32_t reorder_pkts;
	uint32_t corrupt_ppm; /* one bit of the first 128 bytes flipped */
	uint8_t blackhole;    /* everything is lost */
	uint8_t rx;           /* break received packets too */
};

extern const struct weft_param fault_params[]; /* describes struct fault_conf: keys fault_seed, fault_loss_ppm, ... */

struct fault_stats {
	uint64_t lost, duplicated, reordered, corrupted;
};

/* `inner` becomes the new port's and is closed with it. -ENOMEM. */
int fault_port_create(const struct fault_conf *conf, struct weft_port *inner, struct weft_port **out,
		      struct weft_err *err);
void fault_port_set(struct weft_port *port, const struct fault_conf *conf); /* from now on */
void fault_port_stats(const struct weft_port *port, struct fault_stats *stats);

#endif
