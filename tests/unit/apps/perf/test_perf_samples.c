/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include "perf_samples.h"

static void summary__of_several_sets(void **state)
{
	struct perf_samples a, b, *sets[] = {&a, &b};
	struct perf_summary s;
	assert_int_equal(perf_samples_init(&a, 2000), 0);
	assert_int_equal(perf_samples_init(&b, 2000), 0);
	for (uint64_t i = 1000; i >= 1; i--)
		perf_samples_add(i % 2 ? &a : &b, i * 1000);
	assert_int_equal(perf_samples_summary(sets, 2, 1, &s), 0);
	assert_int_equal(s.seen, 1000);
	assert_true(s.min_us == 1 && s.p50_us == 500 && s.p99_us == 990 && s.p999_us == 999 && s.max_us == 1000);
	assert_true(s.mean_us > 500.49 && s.mean_us < 500.51);
	assert_int_equal(perf_samples_summary(sets, 2, 2, &s), 0);
	assert_true(s.p50_us == 250);
	perf_samples_free(&a);
	perf_samples_free(&b);
}

/* More than there is room for: a share of them is kept, all are counted. */
static void add__thins_out(void **state)
{
	struct perf_samples a, *sets[] = {&a};
	struct perf_summary s;
	assert_int_equal(perf_samples_init(&a, 64), 0);
	for (uint64_t i = 0; i < 6400; i++)
		perf_samples_add(&a, i * 1000);
	assert_int_equal(a.stride, 128);
	assert_int_equal(a.count, 50);
	for (uint32_t i = 0; i < a.count; i++)
		assert_int_equal(a.ns[i], i * 128 * 1000);
	assert_int_equal(perf_samples_summary(sets, 1, 1, &s), 0);
	assert_int_equal(s.seen, 6400);
	assert_true(s.mean_us > 3199 && s.mean_us < 3200);
	perf_samples_clear(&a);
	assert_int_equal(perf_samples_summary(sets, 1, 1, &s), 0);
	assert_true(s.seen == 0 && s.max_us == 0);
	perf_samples_free(&a);
}

static void add__long_times(void **state)
{
	struct perf_samples a;
	assert_int_equal(perf_samples_init(&a, 2), 0);
	perf_samples_add(&a, UINT64_C(1) << 40);
	assert_int_equal(a.ns[0], UINT32_MAX);
	perf_samples_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summary__of_several_sets),
		cmocka_unit_test(add__thins_out),
		cmocka_unit_test(add__long_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
