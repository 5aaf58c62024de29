/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that breaks another one on purpose, for tests of loss: it loses, duplicates, reorders and corrupts packets.
 * Repeatable: what happens to a packet is a function of the seed and of the packet's number. */
#ifndef WEFT_FAULT_H
#define WEFT_FAULT_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/spi/port.h"

WEFT_BEGIN_DECLS

/* What to break. Shares are in parts per million of transmitted packets, 0 to 1000000. */
struct weft_fault_conf {
	uint64_t seed;         /* of all faults */
	uint32_t loss_ppm;     /* packets lost */
	uint32_t dup_ppm;      /* packets sent twice */
	uint32_t reorder_ppm;  /* packets held back and sent after `reorder_pkts` later ones */
	uint32_t reorder_pkts; /* 1 to 1024 */
	uint32_t corrupt_ppm;  /* packets with one bit of the first 128 bytes flipped */
	uint32_t mtu_bytes;    /* larger IP packets are lost; 0: none is */
	uint32_t mtu_from_pkt; /* ... but not the first so many packets of a direction */
	uint8_t blackhole;     /* everything is lost */
	uint8_t rx;            /* break received packets too */
};

/* Describes struct weft_fault_conf, for weft_param_set: keys fault_seed, fault_loss_ppm, ... */
extern const struct weft_param weft_fault_params[];

/* Wraps `inner`, which becomes the new port's and is closed with it. -ENOMEM: `inner` is still the caller's. */
int weft_fault_open(const struct weft_fault_conf *conf, struct weft_port *inner, struct weft_port **out,
		    struct weft_err *err);

WEFT_END_DECLS

#endif
