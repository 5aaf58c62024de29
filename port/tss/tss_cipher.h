/* SPDX-License-Identifier: BSD-3-Clause */
/* AES-256-GCM in bursts, by a driver of DPDK's that works on the calling CPU, or by libcrypto. */
#ifndef TSS_CIPHER_H
#define TSS_CIPHER_H

#include <stdbool.h>
#include <stdint.h>

#include "tss_kdf.h"

enum {
	TSS_TAG_BYTES = 16,
	TSS_AAD_MAX = 32 + 4 + 12, /* addresses, ports or entropy, TSS header */
	TSS_BURST = 32,            /* jobs of a run at most */
};

/* A packet, for one run. */
struct tss_job {
	uint8_t *text; /* sealed or opened in place */
	uint8_t *tag;  /* TSS_TAG_BYTES, written by sealing */
	uint32_t text_bytes;
	bool ok; /* result: done; when opening, also authentic. Otherwise the text may be anything */
	uint8_t iv[TSS_IV_BYTES];
	uint8_t aad[TSS_AAD_MAX]; /* as many bytes as the session was made for */
};

enum tss_way { TSS_SEAL, TSS_OPEN };

struct tss_cipher;

struct tss_cipher_ops {
	const char *name;
	/* What a key is expanded to, for one direction and length of AAD. NULL: no memory. */
	void *(*session_new)(struct tss_cipher *c, const uint8_t *key, enum tss_way way, uint32_t aad_bytes);
	void (*session_free)(struct tss_cipher *c, void *session);
	/* Up to TSS_BURST jobs of one session. */
	void (*run)(struct tss_cipher *c, void *session, struct tss_job *jobs, uint32_t n);
	void (*close)(struct tss_cipher *c);
};

/* Head of a cipher; what it keeps for itself follows. */
struct tss_cipher {
	const struct tss_cipher_ops *ops;
};

/* Ciphers for up to `sessions` sessions at a time. NULL: there is no such driver, or EAL is not started; of libcrypto:
 * no memory. */
struct tss_cipher *tss_cipher_dpdk(uint32_t sessions);
struct tss_cipher *tss_cipher_libcrypto(void);

/* Decrypts what a switch has left of a text, which is too short to be authenticated. False: no memory. */
bool tss_decrypt_unchecked(const uint8_t *key, const uint8_t *iv, uint8_t *text, uint32_t bytes);

#endif
