/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash of short byte strings (table keys, five-tuples, digests): folded 64x64 multiplications. Not for secrets. The
 * value depends on the bytes only, never on the machine, so that it may go into digests. */
#ifndef WEFT_HASH_H
#define WEFT_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Both halves of the 128-bit product, folded: every input bit reaches every output bit. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Next state of a running hash after one more 64-bit word; start with any seed. */
static inline uint64_t hash_word(uint64_t state, uint64_t word)
{
	return hash_fold(state ^ 0x9e3779b97f4a7c15u, word ^ 0xd1342543de82ef95u);
}

/* Strings of different length or seed hash independently. About 5 instructions per 8 bytes when `len` is constant. */
static inline uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t state = seed, word;
	size_t left = len;

	for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		state = hash_word(state, le64toh(word));
	}
	word = 0;
	memcpy(&word, p, left);
	return hash_word(hash_word(state, le64toh(word)), len);
}

#endif
