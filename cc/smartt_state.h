/* SPDX-License-Identifier: BSD-3-Clause */
/* What SMaRTT keeps per connection, and the constants that give its fields their units. */
#ifndef SMARTT_STATE_H
#define SMARTT_STATE_H

#include <stdint.h>

#include "weft/spi/cc.h"

enum {
	BELOW_MIN = 64,               /* the smallest paced window is this part of a packet */
	PACE_FRAC = 20,               /* weft_cc.pace */
	RTT_SHIFT = 3,                /* fraction bits of the average RTT: units of 1/8 ns */
	RTT_MAX_NS = (1 << 29) - 1,   /* larger samples count as this; above every target, and fits with the fraction */
	TRTT_MAX_NS = 1 << 28,        /* 2 CC_BRTT_MAX_NS */
	REFERENCE_BDP_BYTES = 150000, /* 100 Gb/s x 12 us: where fi and pi have their nominal values (sec. III-J) */
	GAIN_SHIFT = 7,               /* fraction bits of the gains */
	PENDING_SHIFT = 8,            /* `pending` counts 2^8 byte^2 */
	BURST_UNIT = 16,              /* of smartt_more.burst, bytes */
	BURST_SHIFT = 3,              /* its average: a sample weighs 1/8 */
	HELD_MAX = INT16_MAX,         /* of smartt_more.held_acks */
	FAST = INT32_MAX,             /* streak: longer than any window, "increase" is true */
};

/* Per connection. Times are the low 32 bits of nanoseconds; only differences are used, see window_over. */
struct smartt {
	uint32_t acked_bytes; /* "acked": acknowledged in the current QuickAdapt window */
	/* >= 0: "count", contiguous bytes without congestion, or FAST. < 0: bytes still to be ignored after a
	 * QuickAdapt, "bytes_to_ignore" - "bytes_ignored"; nothing is counted meanwhile. */
	int32_t streak_bytes;
	uint32_t window_end_ns; /* "end" */
	uint32_t decreased_ns;  /* last multiplicative decrease */
	uint32_t avg_rtt;       /* "avg_rtt", 2^-RTT_SHIFT ns */
	uint32_t pending;       /* window growth times window that is not applied yet, PENDING_SHIFT */
	/* Derived from the base RTT by rescale(). */
	uint32_t brtt_ns;
	uint32_t trtt_ns;
	uint32_t max_cwnd_bytes;
	uint32_t fi_gain, pi_gain; /* "mtu fi" and "mtu pi" scaled to the BDP, 2^-GAIN_SHIFT bytes */
	uint8_t ewma_shift : 5;    /* an RTT sample weighs 2^-n in `avg_rtt` */
	uint8_t measuring : 1;     /* a QuickAdapt window has begun ("end" != 0) */
	uint8_t trigger : 1;       /* "trigger_qa" */
	uint8_t shares : 1;        /* share_pct: the window has been that of a share since the whole link was ours */
	uint8_t quick_adapts, fast_increases, decreases; /* for traces, modulo 256 */
};
_Static_assert(sizeof(struct smartt) <= 48, "state budget");

/* What only some options need. */
struct smartt_more {
	struct smartt s;
	uint32_t held_bytes;      /* sampling: acknowledged since the window was last adjusted ... */
	uint16_t held_acks : 15;  /* ... by so many ACKs ... */
	uint16_t adapted : 1;     /* QuickAdapt has acted */
	uint16_t held_marks : 15; /* ... so many of them marked */
	uint16_t started : 1;     /* a packet was sent */
	uint32_t adjusted_ns;     /* when that was, low 32 bits */
	uint16_t below_bytes;     /* pace_below: the window when it is below a packet, else a packet */
	uint16_t burst;           /* burst_target: average of what an ACK reports, BURST_UNIT bytes */
};
_Static_assert(sizeof(struct smartt_more) <= WEFT_CC_STATE_MAX, "fits the connection");

#endif
