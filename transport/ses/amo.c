/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations on memory of this process: for each type a function that says what becomes of one element, and one
 * loop around them that makes the change atomic where the machine can (UE 1.0 sec. 3.4, AMO opcodes and datatypes). */
#include <complex.h>
#include <float.h>
#include <string.h>

#include "amo.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

enum {
	AMO_BYTES_MAX = sizeof(long double complex),
	/* x87 numbers fill 10 of their 16 bytes; the others are kept 0, so that equal values are equal bytes. */
	LONG_DOUBLE_BYTES = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double),
};

/* ---- one element ---- */

/* Reads the elements at t, a and c (a and c may be anything where the operation does not use them) and writes to `next`
 * what t becomes. */
typedef void (*amo_step_fn)(uint8_t op, const void *t, const void *a, const void *c, void *next);

/* Cases of a switch over the operation, in a function with the element `t`, the operand `a`, the comparand `c` and the
 * result `next`, which is `t` when none applies. */
#define ANY_CASES                                                                                                      \
	case WEFT_AMO_LOR:                                                                                             \
		next = t || a;                                                                                         \
		break;                                                                                                 \
	case WEFT_AMO_LAND:                                                                                            \
		next = t && a;                                                                                         \
		break;                                                                                                 \
	case WEFT_AMO_LXOR:                                                                                            \
		next = !t != !a;                                                                                       \
		break;                                                                                                 \
	case WEFT_AMO_WRITE:                                                                                           \
		next = a;                                                                                              \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP:                                                                                           \
		next = c == t ? a : t;                                                                                 \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP_NE:                                                                                        \
		next = c != t ? a : t;                                                                                 \
		break;

#define ORDER_CASES                                                                                                    \
	case WEFT_AMO_MIN:                                                                                             \
		next = a < t ? a : t;                                                                                  \
		break;                                                                                                 \
	case WEFT_AMO_MAX:                                                                                             \
		next = a > t ? a : t;                                                                                  \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP_LE:                                                                                        \
		next = c <= t ? a : t;                                                                                 \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP_LT:                                                                                        \
		next = c < t ? a : t;                                                                                  \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP_GE:                                                                                        \
		next = c >= t ? a : t;                                                                                 \
		break;                                                                                                 \
	case WEFT_AMO_CSWAP_GT:                                                                                        \
		next = c > t ? a : t;                                                                                  \
		break;

#define BIT_CASES                                                                                                      \
	case WEFT_AMO_BOR:                                                                                             \
		next = t | a;                                                                                          \
		break;                                                                                                 \
	case WEFT_AMO_BAND:                                                                                            \
		next = t & a;                                                                                          \
		break;                                                                                                 \
	case WEFT_AMO_BXOR:                                                                                            \
		next = t ^ a;                                                                                          \
		break;                                                                                                 \
	case WEFT_AMO_MSWAP:                                                                                           \
		next = (a & c) | (t & ~c);                                                                             \
		break;

/* W: an unsigned type no narrower than int, in which arithmetic wraps around. */
#define ARITHMETIC_CASES(T, W)                                                                                         \
	case WEFT_AMO_SUM:                                                                                             \
		next = (T)((W)t + (W)a);                                                                               \
		break;                                                                                                 \
	case WEFT_AMO_DIFF:                                                                                            \
		next = (T)((W)t - (W)a);                                                                               \
		break;                                                                                                 \
	case WEFT_AMO_PROD:                                                                                            \
		next = (T)((W)t * (W)a);                                                                               \
		break;

/* Copies an element without the bytes that mean nothing. */
static void store(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

static void store_long(void *to, const void *from, size_t bytes)
{
	memset(to, 0, bytes);
	for (size_t i = 0; i < bytes; i += sizeof(long double))
		memcpy((char *)to + i, (const char *)from + i, LONG_DOUBLE_BYTES);
}

#define STEP(NAME, T, STORE, CASES)                                                                                    \
	static T NAME##_next(uint8_t op, T t, T a, T c)                                                                \
	{                                                                                                              \
		T next = t;                                                                                            \
		switch (op) {                                                                                          \
			CASES                                                                                          \
		default:                                                                                               \
			break;                                                                                         \
		}                                                                                                      \
		return next;                                                                                           \
	}                                                                                                              \
	static void NAME##_step(uint8_t op, const void *t, const void *a, const void *c, void *next)                   \
	{                                                                                                              \
		T v[3];                                                                                                \
		memcpy(&v[0], t, sizeof(T));                                                                           \
		memcpy(&v[1], a, sizeof(T));                                                                           \
		memcpy(&v[2], c, sizeof(T));                                                                           \
		T n = NAME##_next(op, v[0], v[1], v[2]);                                                               \
		STORE(next, &n, sizeof n);                                                                             \
	}

#define INTEGER(NAME, T, W)       STEP(NAME, T, store, ANY_CASES ORDER_CASES BIT_CASES ARITHMETIC_CASES(T, W))
#define REAL(NAME, T, STORE)      STEP(NAME, T, STORE, ANY_CASES ORDER_CASES ARITHMETIC_CASES(T, T))
#define IMAGINARY(NAME, T, STORE) STEP(NAME, T, STORE, ANY_CASES ARITHMETIC_CASES(T, T))

INTEGER(int8, int8_t, uint32_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint64, uint64_t, uint64_t)
INTEGER(int128, int128, uint128)
INTEGER(uint128, uint128, uint128)
REAL(float, float, store)
REAL(double, double, store)
REAL(long_double, long double, store_long)
IMAGINARY(float_complex, float complex, store)
IMAGINARY(double_complex, double complex, store)
IMAGINARY(long_double_complex, long double complex, store_long)

/* ---- which there are ---- */

#define BIT(op) (UINT32_C(1) << (op))

enum {
	ANY_OPS = BIT(WEFT_AMO_LOR) | BIT(WEFT_AMO_LAND) | BIT(WEFT_AMO_LXOR) | BIT(WEFT_AMO_READ) |
		  BIT(WEFT_AMO_WRITE) | BIT(WEFT_AMO_CSWAP) | BIT(WEFT_AMO_CSWAP_NE) | BIT(WEFT_AMO_SUM) |
		  BIT(WEFT_AMO_DIFF) | BIT(WEFT_AMO_PROD),
	REAL_OPS = ANY_OPS | BIT(WEFT_AMO_MIN) | BIT(WEFT_AMO_MAX) | BIT(WEFT_AMO_CSWAP_LE) | BIT(WEFT_AMO_CSWAP_LT) |
		   BIT(WEFT_AMO_CSWAP_GE) | BIT(WEFT_AMO_CSWAP_GT),
	INTEGER_OPS = REAL_OPS | BIT(WEFT_AMO_BOR) | BIT(WEFT_AMO_BAND) | BIT(WEFT_AMO_BXOR) | BIT(WEFT_AMO_MSWAP),
};

static const struct amo_type {
	amo_step_fn step;
	uint8_t bytes;
	uint32_t ops; /* BIT of each that is possible */
} types[WEFT_AMO_TYPES] = {
	[WEFT_AMO_INT8] = {int8_step, 1, INTEGER_OPS},
	[WEFT_AMO_UINT8] = {uint8_step, 1, INTEGER_OPS},
	[WEFT_AMO_INT16] = {int16_step, 2, INTEGER_OPS},
	[WEFT_AMO_UINT16] = {uint16_step, 2, INTEGER_OPS},
	[WEFT_AMO_INT32] = {int32_step, 4, INTEGER_OPS},
	[WEFT_AMO_UINT32] = {uint32_step, 4, INTEGER_OPS},
	[WEFT_AMO_INT64] = {int64_step, 8, INTEGER_OPS},
	[WEFT_AMO_UINT64] = {uint64_step, 8, INTEGER_OPS},
	[WEFT_AMO_INT128] = {int128_step, 16, INTEGER_OPS},
	[WEFT_AMO_UINT128] = {uint128_step, 16, INTEGER_OPS},
	[WEFT_AMO_FLOAT] = {float_step, sizeof(float), REAL_OPS},
	[WEFT_AMO_DOUBLE] = {double_step, sizeof(double), REAL_OPS},
	[WEFT_AMO_LONG_DOUBLE] = {long_double_step, sizeof(long double), REAL_OPS},
	[WEFT_AMO_FLOAT_COMPLEX] = {float_complex_step, sizeof(float complex), ANY_OPS},
	[WEFT_AMO_DOUBLE_COMPLEX] = {double_complex_step, sizeof(double complex), ANY_OPS},
	[WEFT_AMO_LONG_DOUBLE_COMPLEX] = {long_double_complex_step, sizeof(long double complex), ANY_OPS},
};

uint32_t weft_amo_bytes(uint8_t type)
{
	return type < WEFT_AMO_TYPES ? types[type].bytes : 0;
}

bool weft_amo_valid(uint8_t op, uint8_t type)
{
	return type < WEFT_AMO_TYPES && op < WEFT_AMO_OPS && types[type].ops & BIT(op);
}

/* ---- in memory ---- */

/* Changes the element at `t` and leaves what it was in `was`. */
#define SWAP(BITS)                                                                                                     \
	typedef uint##BITS##_t __attribute__((may_alias)) word##BITS;                                                  \
	static void swap##BITS(amo_step_fn step, uint8_t op, void *t, const void *a, const void *c, void *was)         \
	{                                                                                                              \
		word##BITS *at = t, next, have = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                \
		do                                                                                                     \
			step(op, &have, a, c, &next);                                                                  \
		while (next != have &&                                                                                 \
		       !__atomic_compare_exchange_n(at, &have, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));       \
		memcpy(was, &have, sizeof have);                                                                       \
	}

SWAP(8)
SWAP(16)
SWAP(32)
SWAP(64)

/* Too long for one instruction, or across two words. */
static void swap_bytes(const struct amo_type *type, uint8_t op, void *t, const void *a, const void *c, void *was)
{
	uint8_t next[AMO_BYTES_MAX];
	memcpy(was, t, type->bytes);
	if (op == WEFT_AMO_READ)
		return;
	type->step(op, was, a, c, next);
	if (memcmp(was, next, type->bytes) != 0)
		memcpy(t, next, type->bytes);
}

static void swap(const struct amo_type *type, uint8_t op, void *t, const void *a, const void *c, void *was)
{
	switch ((uintptr_t)t % type->bytes ? 0 : type->bytes) {
	case 1:
		swap8(type->step, op, t, a, c, was);
		break;
	case 2:
		swap16(type->step, op, t, a, c, was);
		break;
	case 4:
		swap32(type->step, op, t, a, c, was);
		break;
	case 8:
		swap64(type->step, op, t, a, c, was);
		break;
	default:
		swap_bytes(type, op, t, a, c, was);
	}
}

void amo_apply(uint8_t op, uint8_t type, void *target, const struct amo_args *args)
{
	static const uint8_t unused[AMO_BYTES_MAX];
	const struct amo_type *const ty = &types[type];
	const uint8_t *a = op == WEFT_AMO_READ ? NULL : args->operand;
	const uint8_t *c = weft_amo_compares(op) ? args->compare : NULL;
	uint8_t was[AMO_BYTES_MAX];
	for (size_t i = 0; i < args->count; i++) {
		size_t at = i * ty->bytes;
		swap(ty, op, (uint8_t *)target + at, a ? a + at : unused, c ? c + at : unused, was);
		if (args->result)
			memcpy((uint8_t *)args->result + at, was, ty->bytes);
	}
}

void weft_amo_apply(uint8_t op, uint8_t type, void *target, const void *operand, size_t count)
{
	const struct amo_args args = {.operand = operand, .count = count};
	amo_apply(op, type, target, &args);
}
