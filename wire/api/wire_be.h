/* SPDX-License-Identifier: BSD-3-Clause */
/* Big-endian fields of headers: types of alignment 1 that nothing but these functions can read or write. */
#ifndef WEFT_WIRE_BE_H
#define WEFT_WIRE_BE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	uint8_t b[2];
} wire_be16;
typedef struct {
	uint8_t b[3];
} wire_be24;
typedef struct {
	uint8_t b[4];
} wire_be32;
typedef struct {
	uint8_t b[8];
} wire_be64;

/* The number in 1, 2, 3, 4 or 8 bytes at `p`; `bytes` is a constant wherever this is called. */
static inline __attribute__((always_inline)) uint64_t wire_load(const void *p, size_t bytes)
{
	const uint8_t *b = p;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (bytes) {
	case 1:
		return b[0];
	case 2:
		memcpy(&v16, p, sizeof v16);
		return __builtin_bswap16(v16);
	case 3:
		return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
	case 4:
		memcpy(&v32, p, sizeof v32);
		return __builtin_bswap32(v32);
	default:
		memcpy(&v64, p, sizeof v64);
		return __builtin_bswap64(v64);
	}
}

/* Writes the lowest 1, 2, 3, 4 or 8 bytes of `v`. */
static inline __attribute__((always_inline)) void wire_store(void *p, size_t bytes, uint64_t v)
{
	uint8_t *b = p;
	uint16_t v16 = __builtin_bswap16((uint16_t)v);
	uint32_t v32 = __builtin_bswap32((uint32_t)v);
	uint64_t v64 = __builtin_bswap64(v);

	switch (bytes) {
	case 1:
		b[0] = (uint8_t)v;
		break;
	case 2:
		memcpy(p, &v16, sizeof v16);
		break;
	case 3:
		b[0] = (uint8_t)(v >> 16);
		b[1] = (uint8_t)(v >> 8);
		b[2] = (uint8_t)v;
		break;
	case 4:
		memcpy(p, &v32, sizeof v32);
		break;
	default:
		memcpy(p, &v64, sizeof v64);
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are swapped");

#endif
