/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "tss_cipher.h"

struct session {
	EVP_CIPHER_CTX *ctx; /* has the key */
	enum tss_way way;
	uint32_t aad_bytes;
};

static bool key_set(struct session *s, const uint8_t *key)
{
	return EVP_CipherInit_ex(s->ctx, EVP_aes_256_gcm(), NULL, key, NULL, s->way == TSS_SEAL) == 1;
}

static void session_free(struct tss_cipher *c, void *session)
{
	struct session *s = session;

	EVP_CIPHER_CTX_free(s->ctx);
	free(s);
}

static void *session_new(struct tss_cipher *c, const uint8_t *key, enum tss_way way, uint32_t aad_bytes)
{
	struct session *s = malloc(sizeof *s);

	assert(aad_bytes <= TSS_AAD_MAX);
	if (!s)
		return NULL;
	*s = (struct session){.ctx = EVP_CIPHER_CTX_new(), .way = way, .aad_bytes = aad_bytes};
	if (s->ctx && key_set(s, key))
		return s;
	session_free(c, s);
	return NULL;
}

static bool tag_set(const struct session *s, struct tss_job *job)
{
	return s->way == TSS_SEAL || EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_GCM_SET_TAG, TSS_TAG_BYTES, job->tag) == 1;
}

static bool tag_get(const struct session *s, struct tss_job *job)
{
	return s->way == TSS_OPEN || EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_GCM_GET_TAG, TSS_TAG_BYTES, job->tag) == 1;
}

static bool job_run(const struct session *s, struct tss_job *job)
{
	int n;

	return EVP_CipherInit_ex(s->ctx, NULL, NULL, NULL, job->iv, -1) == 1 &&
	       EVP_CipherUpdate(s->ctx, NULL, &n, job->aad, (int)s->aad_bytes) == 1 &&
	       EVP_CipherUpdate(s->ctx, job->text, &n, job->text, (int)job->text_bytes) == 1 && tag_set(s, job) &&
	       EVP_CipherFinal_ex(s->ctx, job->text + n, &n) == 1 && tag_get(s, job);
}

static void run(struct tss_cipher *c, void *session, struct tss_job *jobs, uint32_t n)
{
	assert(n <= TSS_BURST);
	for (uint32_t i = 0; i < n; i++)
		jobs[i].ok = job_run(session, &jobs[i]);
}

static void cipher_close(struct tss_cipher *c)
{
	free(c);
}

static const struct tss_cipher_ops ops = {
	.name = "libcrypto",
	.session_new = session_new,
	.session_free = session_free,
	.run = run,
	.close = cipher_close,
};

struct tss_cipher *tss_cipher_libcrypto(void)
{
	struct tss_cipher *c = malloc(sizeof *c);

	if (c)
		c->ops = &ops;
	return c;
}

bool tss_decrypt_unchecked(const uint8_t *key, const uint8_t *iv, uint8_t *text, uint32_t bytes)
{
	/* GCM encrypts as counter mode does, from 2 on: 1 is for the tag (SP 800-38D). */
	uint8_t counter[16] = {[15] = 2};
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	memcpy(counter, iv, TSS_IV_BYTES);
	bool ok = ctx && EVP_DecryptInit_ex(ctx, EVP_aes_256_ctr(), NULL, key, counter) == 1 &&
		  EVP_DecryptUpdate(ctx, text, &n, text, (int)bytes) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return ok;
}
