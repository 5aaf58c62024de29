/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter of SP 800-108 has one byte here, which libcrypto's own KBKDF cannot be told before 3.1. */
#include "tss_kdf.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

enum {
	BLOCK_BYTES = 16,
	BLOCKS = (sizeof(struct tss_material) + BLOCK_BYTES - 1) / BLOCK_BYTES,
	CONTEXT_V4_BYTES = 10, /* epoch, 4 bytes 0 (keys are not changed by number of packets), address */
	CONTEXT_V6_BYTES = 26, /* 4 bytes 0 before that */
	LABEL_BYTES = 2,
	INPUT_MAX = 1 + LABEL_BYTES + 1 + CONTEXT_V6_BYTES + 4,
};

static uint32_t context_write(uint8_t *p, uint16_t epoch, const struct weft_ip *src)
{
	bool v4 = weft_ip_is_v4(src);
	uint32_t bytes = v4 ? CONTEXT_V4_BYTES : CONTEXT_V6_BYTES, address = v4 ? 4 : 16, at = v4 ? 0 : 4;

	memset(p, 0, bytes);
	p[at] = (uint8_t)(epoch >> 8);
	p[at + 1] = (uint8_t)epoch;
	memcpy(p + bytes - address, src->b + 16 - address, address);
	return bytes;
}

/* Counter (written for each block), label, 0, context, bits wanted. Returns its length. */
static uint32_t input_write(uint8_t *p, uint16_t epoch, const struct weft_ip *src)
{
	const uint16_t bits = 8 * sizeof(struct tss_material);
	uint32_t n = 1;

	p[n++] = 'U';
	p[n++] = '1';
	p[n++] = 0;
	n += context_write(p + n, epoch, src);
	p[n++] = 0;
	p[n++] = 0;
	p[n++] = (uint8_t)(bits >> 8);
	p[n++] = (uint8_t)bits;
	return n;
}

static bool block_derive(EVP_MAC_CTX *ctx, const struct weft_tss_key *key, const uint8_t *input, uint32_t bytes,
			 uint8_t *out)
{
	char cipher[] = "AES-256-CBC";
	const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
				     OSSL_PARAM_construct_end()};
	size_t len;

	return EVP_MAC_init(ctx, key->secret, sizeof key->secret, params) && EVP_MAC_update(ctx, input, bytes) &&
	       EVP_MAC_final(ctx, out, &len, BLOCK_BYTES);
}

static bool blocks_derive(EVP_MAC_CTX *ctx, const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
			  uint8_t *out)
{
	uint8_t input[INPUT_MAX];
	uint32_t bytes = input_write(input, epoch, src);

	for (int i = 0; i < BLOCKS; i++) {
		input[0] = (uint8_t)(i + 1);
		if (!block_derive(ctx, key, input, bytes, out + (size_t)i * BLOCK_BYTES))
			return false;
	}
	return true;
}

bool tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src, struct tss_material *out)
{
	uint8_t blocks[BLOCKS * BLOCK_BYTES];
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "CMAC", NULL);
	EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
	bool ok = ctx && blocks_derive(ctx, key, epoch, src, blocks);

	if (ok)
		memcpy(out, blocks, sizeof *out);
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(mac);
	OPENSSL_cleanse(blocks, sizeof blocks);
	return ok;
}
