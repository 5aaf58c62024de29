/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that nobody predicts who does not have the secret: ChaCha20 (RFC 8439 sec. 2.3) in counter mode. After
 * each block the key is replaced by a part of it, so that what was drawn before cannot be computed from the state. */
#ifndef WEFT_CSPRNG_H
#define WEFT_CSPRNG_H

#include <stdint.h>

enum { CSPRNG_SECRET_BYTES = 32 };

struct csprng {
	uint32_t key[8];
	uint64_t out[4]; /* of the last block */
	uint32_t left;   /* of `out`, not drawn yet: the last ones */
};

/* ChaCha20's block function: the 16 words of a block. */
void chacha20_block(const uint32_t key[8], uint32_t counter, const uint32_t nonce[3], uint32_t out[16]);

void csprng_init(struct csprng *r, const uint8_t secret[CSPRNG_SECRET_BYTES]);
uint64_t csprng_next(struct csprng *r);

#endif
