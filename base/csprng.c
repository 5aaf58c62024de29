/* SPDX-License-Identifier: BSD-3-Clause */
#include "csprng.h"

#include <assert.h>
#include <string.h>

enum { DOUBLE_ROUNDS = 10 };

static uint32_t rotl(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static void quarter_round(uint32_t x[16], int a, int b, int c, int d)
{
	x[a] += x[b];
	x[d] = rotl(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotl(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotl(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotl(x[b] ^ x[c], 7);
}

void chacha20_block(const uint32_t key[8], uint32_t counter, const uint32_t nonce[3], uint32_t out[16])
{
	uint32_t x[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	memcpy(x + 4, key, 32);
	x[12] = counter;
	memcpy(x + 13, nonce, 12);
	memcpy(out, x, sizeof x);
	for (int i = 0; i < DOUBLE_ROUNDS; i++) {
		for (int col = 0; col < 4; col++)
			quarter_round(x, col, 4 + col, 8 + col, 12 + col);
		for (int diagonal = 0; diagonal < 4; diagonal++)
			quarter_round(x, diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4,
				      12 + (diagonal + 3) % 4);
	}
	for (int i = 0; i < 16; i++)
		out[i] += x[i];
}

void csprng_init(struct csprng *r, const uint8_t secret[CSPRNG_SECRET_BYTES])
{
	memcpy(r->key, secret, sizeof r->key);
	r->left = 0;
}

uint64_t csprng_next(struct csprng *r)
{
	static const uint32_t nonce[3];
	uint32_t block[16];
	assert(r->left <= 4);
	if (!r->left) {
		chacha20_block(r->key, 0, nonce, block);
		memcpy(r->key, block, sizeof r->key);
		memcpy(r->out, block + 8, sizeof r->out);
		r->left = 4;
	}
	uint64_t n = r->out[--r->left];
	r->out[r->left] = 0;
	return n;
}
