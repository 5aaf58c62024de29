/* SPDX-License-Identifier: BSD-3-Clause */
#include "rng.h"

#include "cmocka_all.h"

/* First outputs of splitmix64 for seed 1234567, as published with the generator. */
static void rng_next__published_sequence(void **state)
{
	struct rng r = {1234567};

	assert_int_equal(rng_next(&r), UINT64_C(6457827717110365317));
	assert_int_equal(rng_next(&r), UINT64_C(3203168211198807973));
	assert_int_equal(rng_next(&r), UINT64_C(9817491932198370423));
}

static void rng_below__stays_below_and_covers(void **state)
{
	struct rng r = {3};
	unsigned seen[10] = {0};

	for (int i = 0; i < 10000; i++)
		seen[rng_below(&r, 10)]++;
	for (int i = 0; i < 10; i++)
		assert_in_range(seen[i], 800, 1200);
	for (int i = 0; i < 100; i++)
		assert_int_equal(rng_below(&r, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rng_next__published_sequence),
		cmocka_unit_test(rng_below__stays_below_and_covers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
