/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include <stdlib.h>

#include "cmocka_all.h"
#include "rng.h"

/* Digests of runs depend on it: the value must never change, on any machine. */
static void hash_bytes__known_values(void **state)
{
	assert_int_equal(hash_bytes("", 0, 0), UINT64_C(0x960dff9e8ab5a182));
	assert_int_equal(hash_bytes("weft", 4, 0), UINT64_C(0x4fee57dde3c792da));
	assert_int_equal(hash_bytes("0123456789abcdefXYZ", 19, 42), UINT64_C(0xa02af2e4ca347da8));
}

static void hash_bytes__depends_on_length_and_seed(void **state)
{
	const uint8_t zeros[64] = {0};

	for (size_t a = 0; a < sizeof zeros; a++) {
		assert_int_not_equal(hash_bytes(zeros, a, 1), hash_bytes(zeros, a, 2));
		for (size_t b = 0; b < a; b++)
			assert_int_not_equal(hash_bytes(zeros, a, 1), hash_bytes(zeros, b, 1));
	}
}

/* One changed bit changes each output bit half of the time: over 20-byte keys, 160 input bits x 64 output bits. */
static void hash_bytes__avalanche(void **state)
{
	enum { KEYS = 400, LEN = 20 };
	static unsigned flips[LEN * 8][64];
	struct rng r = {7};
	uint8_t key[LEN];

	for (unsigned k = 0; k < KEYS; k++) {
		for (unsigned i = 0; i < LEN; i++)
			key[i] = (uint8_t)rng_next(&r);
		uint64_t h = hash_bytes(key, LEN, 0);
		for (unsigned in = 0; in < LEN * 8; in++) {
			key[in / 8] ^= (uint8_t)(1 << in % 8);
			uint64_t diff = h ^ hash_bytes(key, LEN, 0);
			key[in / 8] ^= (uint8_t)(1 << in % 8);
			for (unsigned out = 0; out < 64; out++)
				flips[in][out] += diff >> out & 1;
		}
	}
	/* Six standard deviations (10 each) around one half. */
	for (unsigned in = 0; in < LEN * 8; in++) {
		for (unsigned out = 0; out < 64; out++)
			assert_in_range(flips[in][out], KEYS / 2 - 60, KEYS / 2 + 60);
	}
}

/* Counters are the keys of real tables: low bits must spread as well as random numbers would. */
static void hash_bytes__spreads_counters(void **state)
{
	enum { BUCKETS = 256, PER_BUCKET = 64 };
	unsigned low[BUCKETS] = {0}, high[BUCKETS] = {0};

	for (uint32_t i = 0; i < BUCKETS * PER_BUCKET; i++) {
		uint64_t h = hash_bytes(&i, sizeof i, 0);
		low[h % BUCKETS]++;
		high[h >> 56]++;
	}
	for (unsigned b = 0; b < BUCKETS; b++) {
		assert_in_range(low[b], PER_BUCKET / 4, PER_BUCKET * 2);
		assert_in_range(high[b], PER_BUCKET / 4, PER_BUCKET * 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_bytes__known_values),
		cmocka_unit_test(hash_bytes__depends_on_length_and_seed),
		cmocka_unit_test(hash_bytes__avalanche),
		cmocka_unit_test(hash_bytes__spreads_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
