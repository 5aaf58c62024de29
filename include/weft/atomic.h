/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations on a peer's memory: which there are and on which types. The numbers are UET's own (UE 1.0
 * sec. 3.4), so they travel as they are. */
#ifndef WEFT_ATOMIC_H
#define WEFT_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

/* What becomes of a target element t with the operand a and, from CSWAP on, the comparand c. Integers wrap around. */
enum weft_amo_op {
	WEFT_AMO_MIN = 0x00,      /* a if a < t */
	WEFT_AMO_MAX = 0x01,      /* a if a > t */
	WEFT_AMO_SUM = 0x02,      /* t + a */
	WEFT_AMO_DIFF = 0x03,     /* t - a */
	WEFT_AMO_PROD = 0x04,     /* t * a */
	WEFT_AMO_LOR = 0x05,      /* t || a: 0 or 1 */
	WEFT_AMO_LAND = 0x06,     /* t && a */
	WEFT_AMO_BOR = 0x07,      /* t | a */
	WEFT_AMO_BAND = 0x08,     /* t & a */
	WEFT_AMO_LXOR = 0x09,     /* !t != !a */
	WEFT_AMO_BXOR = 0x0a,     /* t ^ a */
	WEFT_AMO_READ = 0x0b,     /* t */
	WEFT_AMO_WRITE = 0x0c,    /* a */
	WEFT_AMO_CSWAP = 0x0d,    /* a if c == t */
	WEFT_AMO_CSWAP_NE = 0x0e, /* a if c != t */
	WEFT_AMO_CSWAP_LE = 0x0f, /* a if c <= t */
	WEFT_AMO_CSWAP_LT = 0x10, /* a if c < t */
	WEFT_AMO_CSWAP_GE = 0x11, /* a if c >= t */
	WEFT_AMO_CSWAP_GT = 0x12, /* a if c > t */
	WEFT_AMO_MSWAP = 0x13,    /* (a & c) | (t & ~c) */
	WEFT_AMO_OPS
};

/* Elements lie in memory, and on the wire, as this machine's C types do. */
enum weft_amo_type {
	WEFT_AMO_INT8 = 0x00,
	WEFT_AMO_UINT8 = 0x01,
	WEFT_AMO_INT16 = 0x02,
	WEFT_AMO_UINT16 = 0x03,
	WEFT_AMO_INT32 = 0x04,
	WEFT_AMO_UINT32 = 0x05,
	WEFT_AMO_INT64 = 0x06,
	WEFT_AMO_UINT64 = 0x07,
	WEFT_AMO_INT128 = 0x08,
	WEFT_AMO_UINT128 = 0x09,
	WEFT_AMO_FLOAT = 0x0a,
	WEFT_AMO_DOUBLE = 0x0b,
	WEFT_AMO_FLOAT_COMPLEX = 0x0c,
	WEFT_AMO_DOUBLE_COMPLEX = 0x0d,
	WEFT_AMO_LONG_DOUBLE = 0x0e,
	WEFT_AMO_LONG_DOUBLE_COMPLEX = 0x0f,
	WEFT_AMO_TYPES
};

/* What an atomic operation says beyond its length (of the target's elements, a whole number) and address. Its buffer
 * holds the operands, and directly behind them as many comparands if there are any; WEFT_AMO_READ needs none. */
struct weft_op_atomic {
	uint8_t op;   /* enum weft_amo_op */
	uint8_t type; /* enum weft_amo_type */
	void *result; /* fetching operations without a sink: gets the target's elements as they were */
};

/* Bytes of one element; 0: no such type. */
uint32_t weft_amo_bytes(uint8_t type);

/* True when `op` can be applied to elements of `type`. Order needs real numbers, bits need integers. */
bool weft_amo_valid(uint8_t op, uint8_t type);

/* Applies an operation without comparands to `count` elements of our own at `target`. */
void weft_amo_apply(uint8_t op, uint8_t type, void *target, const void *operand, size_t count);

/* True for operations with comparands. */
static inline bool weft_amo_compares(uint8_t op)
{
	return op >= WEFT_AMO_CSWAP && op <= WEFT_AMO_MSWAP;
}

WEFT_END_DECLS

#endif
