/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the largest packets that reach a host: one of a few payload sizes, by probes (RFC 8899). */
#ifndef WEFT_PATH_MTU_H
#define WEFT_PATH_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "pdc_id.h"
#include "weft/time.h"

enum {
	PATH_SIZES = 4,         /* payload sizes: 1024, 2048, 4096 and 8192 bytes, none above payload_bytes */
	PATH_BASE_BYTES = 1024, /* the smallest, which every path is taken to carry (BASE_PLPMTU) */
};

/* Of a host. With discovery only; else all zero. */
struct path_mtu {
	struct pdc timer;       /* no connection: its id is 0 */
	uint16_t payload_bytes; /* largest size that arrived, of those that were not lost later; 0: none was tried */
	uint16_t round;         /* serial number of the round of probes, in all of them */
	uint8_t wanted;         /* a bit per size: probed in this round; 0: no round is under way */
	uint8_t answered;       /* ... a probe of this size was answered; of the smallest, since the last try */
	uint8_t tries;          /* of this round */
	uint8_t heard;          /* tries of which the smallest probe was answered, so that silence means something */
	weft_ns raise_at_ns;    /* larger sizes are tried from then on */
	weft_ns quiet_until_ns; /* a loss is no reason for probes before */
};

#endif
