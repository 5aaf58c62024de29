/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys are derived and packets encrypted as others do it. */
#include "tss_cipher.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "weft/ethdev.h"

/* Test case 16 of the GCM specification (McGrew, Viega). */
enum { TEXT_BYTES = 60, AAD_BYTES = 20 };
static const uint8_t gcm_key[32] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f,
				    0x94, 0x67, 0x30, 0x83, 0x08, 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65,
				    0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
static const uint8_t gcm_iv[TSS_IV_BYTES] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
static const char gcm_aad[] = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
static const char gcm_text[] = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
			       "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
static const char gcm_sealed[] = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
				 "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662";
static const char gcm_tag[] = "76fc6ece0f4e1768cddf8853bb2d551b";

/* Derived by another implementation (Python's cryptography), from the bytes 0 to 31 in epoch 0x1234. */
static const char derived_v4[] =
	"ec8e07a2b73e5781be8b860532aac0d023447cc8679dd4dcd59d96bfd1fe4d1d03d157df1be8633349d7cbb3";
static const char derived_v6[] =
	"2ae940133934b37da418ebd9a1f6351dbbb601f1cd62e4aeebeec34f25ac49755d6438cc8daabcfdb37b4f9a";

static struct tss_cipher *ciphers[2];

static int setup(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err))
		return -1;
	ciphers[0] = tss_cipher_libcrypto();
	ciphers[1] = tss_cipher_dpdk(4);
	return ciphers[0] ? 0 : -1;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++)
		if (ciphers[i])
			ciphers[i]->ops->close(ciphers[i]);
	return 0;
}

static void hex_equal(const uint8_t *bytes, uint32_t n, const char *hex)
{
	char text[200];
	assert_true(2 * n < sizeof text);
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	assert_string_equal(text, hex);
}

static void hex_read(const char *hex, uint8_t *out)
{
	for (; *hex; hex += 2, out++) {
		unsigned byte;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		*out = (uint8_t)byte;
	}
}

static void derive__as_others(void **state)
{
	const struct weft_ip v4 = weft_ip_v4(0x0a000001);
	const struct weft_ip v6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	struct weft_tss_key key = {.id = 0};
	struct tss_material m;
	for (uint8_t i = 0; i < sizeof key.secret; i++)
		key.secret[i] = i;
	assert_true(tss_derive(&key, 0x1234, &v4, &m));
	hex_equal(m.key, sizeof m, derived_v4);
	assert_true(tss_derive(&key, 0x1234, &v6, &m));
	hex_equal(m.key, sizeof m, derived_v6);
}

static void derive__own_key_for_each_epoch_and_source(void **state)
{
	const struct weft_ip one = weft_ip_v4(0x0a000001), other = weft_ip_v4(0x0a000002);
	const struct weft_tss_key key = {.secret = {1}};
	struct tss_material m[3];
	assert_true(tss_derive(&key, 1, &one, &m[0]));
	assert_true(tss_derive(&key, 2, &one, &m[1]));
	assert_true(tss_derive(&key, 1, &other, &m[2]));
	assert_memory_not_equal(&m[0], &m[1], sizeof m[0]);
	assert_memory_not_equal(&m[0], &m[2], sizeof m[0]);
}

struct vector {
	uint8_t text[TEXT_BYTES], tag[TSS_TAG_BYTES];
	struct tss_job job;
};

static void vector_init(struct vector *v, const char *text)
{
	*v = (struct vector){.job = {.text = v->text, .tag = v->tag, .text_bytes = TEXT_BYTES}};
	memcpy(v->job.iv, gcm_iv, sizeof gcm_iv);
	hex_read(gcm_aad, v->job.aad);
	hex_read(text, v->text);
	hex_read(gcm_tag, v->tag);
}

static void run__known_answer(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct tss_cipher *c = ciphers[i];
		struct vector v;
		if (!c)
			continue;
		void *seal = c->ops->session_new(c, gcm_key, TSS_SEAL, AAD_BYTES);
		void *open = c->ops->session_new(c, gcm_key, TSS_OPEN, AAD_BYTES);
		assert_non_null(seal);
		assert_non_null(open);
		vector_init(&v, gcm_text);
		memset(v.tag, 0, sizeof v.tag);
		c->ops->run(c, seal, &v.job, 1);
		assert_true(v.job.ok);
		hex_equal(v.text, TEXT_BYTES, gcm_sealed);
		hex_equal(v.tag, TSS_TAG_BYTES, gcm_tag);
		c->ops->run(c, open, &v.job, 1);
		assert_true(v.job.ok);
		hex_equal(v.text, TEXT_BYTES, gcm_text);
		c->ops->session_free(c, seal);
		c->ops->session_free(c, open);
	}
}

static void run__damage_is_found_in_a_burst(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct tss_cipher *c = ciphers[i];
		struct vector v[4];
		struct tss_job jobs[4];
		if (!c)
			continue;
		void *open = c->ops->session_new(c, gcm_key, TSS_OPEN, AAD_BYTES);
		for (int k = 0; k < 4; k++) {
			vector_init(&v[k], gcm_sealed);
			jobs[k] = v[k].job;
		}
		v[0].text[TEXT_BYTES - 1] ^= 1;
		jobs[1].aad[AAD_BYTES - 1] ^= 0x80;
		v[3].tag[0] ^= 1;
		c->ops->run(c, open, jobs, 4);
		assert_false(jobs[0].ok);
		assert_false(jobs[1].ok);
		assert_true(jobs[2].ok);
		assert_false(jobs[3].ok);
		c->ops->session_free(c, open);
	}
}

/* As many as were asked for, and again after they were given back. */
static void session_new__limit(void **state)
{
	struct tss_cipher *c = ciphers[1];
	void *sessions[64];
	uint32_t n = 0;
	if (!c)
		skip();
	for (int round = 0; round < 2; round++) {
		n = 0;
		while (n < 64 && (sessions[n] = c->ops->session_new(c, gcm_key, TSS_SEAL, AAD_BYTES)))
			n++;
		assert_true(n >= 4 && n < 64);
		for (uint32_t i = 0; i < n; i++)
			c->ops->session_free(c, sessions[i]);
	}
}

static void decrypt_unchecked__beginning_of_a_text(void **state)
{
	struct vector v;
	vector_init(&v, gcm_sealed);
	assert_true(tss_decrypt_unchecked(gcm_key, gcm_iv, v.text, 21));
	char expected[43];
	memcpy(expected, gcm_text, 42);
	expected[42] = 0;
	hex_equal(v.text, 21, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derive__as_others),  cmocka_unit_test(derive__own_key_for_each_epoch_and_source),
		cmocka_unit_test(run__known_answer),  cmocka_unit_test(run__damage_is_found_in_a_burst),
		cmocka_unit_test(session_new__limit), cmocka_unit_test(decrypt_unchecked__beginning_of_a_text),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
