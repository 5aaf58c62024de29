/* SPDX-License-Identifier: BSD-3-Clause */
/* SipHash-2-4 (Aumasson, Bernstein 2012) of 64-bit words: a hash whose collisions nobody finds who does not have the
 * key. */
#ifndef WEFT_SIPHASH_H
#define WEFT_SIPHASH_H

#include <stdint.h>

struct siphash_key {
	uint64_t k[2];
};

/* The hash of `count` words, as of 8 * `count` bytes in little-endian order. */
uint64_t siphash(const struct siphash_key *key, const uint64_t *words, uint32_t count);

#endif
