/* SPDX-License-Identifier: BSD-3-Clause */
/* A share of a link in a byte, as Wefts tell it each other (doc/reference/protocol.md, Vendor space): a number from 16
 * to 31 times a power of two. */
#ifndef WEFT_WIRE_SHARE_H
#define WEFT_WIRE_SHARE_H

#include "wire_hdr.h"

enum {
	WIRE_SHARE_NONE = 0,
	WIRE_SHARE_MAX = 0xff,
	WIRE_SHARE_UNIT_SHIFT = 14, /* the unit: usual rates, and halves of them, are exact */
	WIRE_SHARE_FLAG_ROOM = 1,   /* in cc_flags: the link is not full */
};

#define WIRE_SHARE_UNIT_BPS UINT64_C(25000000000) /* times 2^-WIRE_SHARE_UNIT_SHIFT */

/* The largest share that is at most `bps`, or the smallest there is, 26 Mb/s. Never WIRE_SHARE_NONE. `bps` is below
 * 1 Pb/s. */
static inline uint8_t wire_share_code(uint64_t bps)
{
	uint64_t units = (bps << WIRE_SHARE_UNIT_SHIFT) / WIRE_SHARE_UNIT_BPS;
	if (units < 17)
		return 1;
	uint32_t shift = 59 - (uint32_t)__builtin_clzll(units);
	return shift > 15 ? WIRE_SHARE_MAX : (uint8_t)(shift << 4 | (units >> shift & 15));
}

/* Bits per second; 0 of WIRE_SHARE_NONE. */
static inline uint64_t wire_share_bps(uint8_t code)
{
	uint64_t units = (uint64_t)(16 | (code & 15)) << (code >> 4);
	return code ? units * WIRE_SHARE_UNIT_BPS >> WIRE_SHARE_UNIT_SHIFT : 0;
}

/* Where an ACK of a Weft has it: in place of the standard's window penalty and of what takes that back. */
static inline uint8_t wire_ack_cc_share(const struct wire_ack_cc *ack)
{
	return (uint8_t)(wire_ack_cc_rc(ack) << 7 | wire_ack_cc_rcv_cwnd_pend(ack));
}

static inline void wire_ack_cc_set_share(struct wire_ack_cc *ack, uint8_t share)
{
	wire_ack_cc_set_rc(ack, share >> 7);
	wire_ack_cc_set_rcv_cwnd_pend(ack, share & 0x7f);
}

#endif
