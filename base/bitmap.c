/* SPDX-License-Identifier: BSD-3-Clause */
#include "bitmap.h"

enum { WORD_BITS = 64 };

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void bitmap_clear_range(uint64_t *words, uint32_t mask, uint32_t i, uint32_t n)
{
	assert(bitmap_mask_valid(mask) && n <= mask + 1);
	while (n > 0) {
		uint32_t shift = i % WORD_BITS, bits = min_u32(WORD_BITS - shift, n);
		uint64_t ones = bits == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

		words[(i & mask) / WORD_BITS] &= ~(ones << shift);
		i += bits;
		n -= bits;
	}
}

/* Distance from `i` to the first bit that differs from those of `same` (all zeros or all ones), at most `max`. */
static uint32_t run_of(const uint64_t *words, uint32_t mask, uint32_t i, uint32_t max, uint64_t same)
{
	assert(bitmap_mask_valid(mask));
	for (uint32_t done = 0; done < max;) {
		uint32_t shift = (i + done) % WORD_BITS;
		uint64_t differ = (words[((i + done) & mask) / WORD_BITS] ^ same) >> shift;

		if (differ)
			return min_u32(done + (uint32_t)__builtin_ctzll(differ), max);
		done += WORD_BITS - shift;
	}
	return max;
}

uint32_t bitmap_run(const uint64_t *words, uint32_t mask, uint32_t i, uint32_t max)
{
	return run_of(words, mask, i, max, UINT64_MAX);
}

uint32_t bitmap_find(const uint64_t *words, uint32_t mask, uint32_t i, uint32_t max)
{
	return run_of(words, mask, i, max, 0);
}
