/* SPDX-License-Identifier: BSD-3-Clause */
/* Circular bitmaps over a power-of-two number of bits (>= 64), indexed modulo their size: windows of sequence numbers.
 */
#ifndef WEFT_BITMAP_H
#define WEFT_BITMAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether `mask` is a bitmap's number of bits - 1. */
static inline bool bitmap_mask_valid(uint32_t mask)
{
	return mask >= 63 && (mask & (mask + 1)) == 0;
}

static inline bool bitmap_test(const uint64_t *words, uint32_t mask, uint32_t i)
{
	assert(bitmap_mask_valid(mask));
	i &= mask;
	return words[i >> 6] >> (i & 63) & 1;
}

static inline void bitmap_set(uint64_t *words, uint32_t mask, uint32_t i)
{
	assert(bitmap_mask_valid(mask));
	i &= mask;
	words[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void bitmap_clear(uint64_t *words, uint32_t mask, uint32_t i)
{
	assert(bitmap_mask_valid(mask));
	i &= mask;
	words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* The 64 bits from index `i` on, bit 0 first. */
static inline uint64_t bitmap_get64(const uint64_t *words, uint32_t mask, uint32_t i)
{
	assert(bitmap_mask_valid(mask));
	uint32_t word = (i & mask) >> 6, shift = i & 63;
	uint64_t low = words[word] >> shift;

	return shift == 0 ? low : low | words[(word + 1) & (mask >> 6)] << (64 - shift);
}

/* Clears `n` bits from index `i` on. */
void bitmap_clear_range(uint64_t *words, uint32_t mask, uint32_t i, uint32_t n);

/* How many consecutive set bits start at index `i`, at most `max` (<= size). */
uint32_t bitmap_run(const uint64_t *words, uint32_t mask, uint32_t i, uint32_t max);

/* Distance from index `i` to the first set bit, at most `max` (returned when there is none). */
uint32_t bitmap_find(const uint64_t *words, uint32_t mask, uint32_t i, uint32_t max);

#endif
