/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <string.h>

#include "csprng.h"

/* RFC 8439 sec. 2.3.2. */
static void chacha20__rfc_vector(void **state)
{
	static const uint32_t nonce[3] = {0x09000000, 0x4a000000, 0};
	static const uint32_t want[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
					  0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
					  0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
	uint32_t key[8], out[16];
	uint8_t bytes[32];
	for (uint8_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i;
	memcpy(key, bytes, sizeof key);
	chacha20_block(key, 1, nonce, out);
	assert_memory_equal(out, want, sizeof want);
}

static void next__same_of_same_secret(void **state)
{
	uint8_t secret[CSPRNG_SECRET_BYTES] = {1}, other[CSPRNG_SECRET_BYTES] = {2};
	struct csprng a, b, c;
	csprng_init(&a, secret);
	csprng_init(&b, secret);
	csprng_init(&c, other);
	for (int i = 0; i < 1000; i++) {
		uint64_t n = csprng_next(&a);
		assert_int_equal(n, csprng_next(&b));
		assert_int_not_equal(n, csprng_next(&c));
	}
}

/* What was drawn is nowhere in the state. */
static void next__forgets(void **state)
{
	uint8_t secret[CSPRNG_SECRET_BYTES] = {3};
	struct csprng r;
	csprng_init(&r, secret);
	for (int i = 0; i < 100; i++) {
		uint64_t n = csprng_next(&r), words[sizeof r / 8];
		memcpy(words, &r, sizeof words);
		for (size_t k = 0; k < sizeof words / 8; k++)
			assert_int_not_equal(words[k], n);
	}
	assert_memory_not_equal(r.key, secret, sizeof secret);
}

/* Each bit is set in about half of the numbers: 10,000 draws, 6 standard deviations. */
static void next__bits_are_even(void **state)
{
	uint8_t secret[CSPRNG_SECRET_BYTES] = {4};
	int ones[64] = {0};
	struct csprng r;
	csprng_init(&r, secret);
	for (int i = 0; i < 10000; i++) {
		uint64_t n = csprng_next(&r);
		for (int bit = 0; bit < 64; bit++)
			ones[bit] += n >> bit & 1;
	}
	for (int bit = 0; bit < 64; bit++)
		assert_in_range(ones[bit], 4700, 5300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chacha20__rfc_vector),
		cmocka_unit_test(next__same_of_same_secret),
		cmocka_unit_test(next__forgets),
		cmocka_unit_test(next__bits_are_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
