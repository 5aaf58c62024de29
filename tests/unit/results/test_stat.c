/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat.h"

#include <math.h>

#include "cmocka_all.h"

static void mean__by_hand(void **state)
{
	const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct stat_mean m = stat_mean(x, 8);
	assert_int_equal(m.n, 8);
	assert_float_equal(m.mean, 5, 1e-12);
	assert_float_equal(m.sd, sqrt(32.0 / 7), 1e-12);
	assert_float_equal(m.half, 2.3646 * sqrt(32.0 / 7) / sqrt(8), 1e-9);
}

static void mean__nothing_known_below_two_values(void **state)
{
	const double one = 7;
	struct stat_mean m = stat_mean(&one, 1), none = stat_mean(NULL, 0);
	assert_float_equal(m.mean, 7, 0);
	assert_float_equal(m.half, 0, 0);
	assert_float_equal(m.sd, 0, 0);
	assert_float_equal(none.mean, 0, 0);
	assert_float_equal(none.half, 0, 0);
}

static void mean__equal_values_have_no_width(void **state)
{
	const double x[] = {3.5, 3.5, 3.5};
	assert_float_equal(stat_mean(x, 3).half, 0, 0);
}

static void t975__against_published_tables(void **state)
{
	assert_true(isinf(stat_t975(0)));
	assert_float_equal(stat_t975(1), 12.706, 1e-3);
	assert_float_equal(stat_t975(4), 2.776, 1e-3);
	assert_float_equal(stat_t975(30), 2.042, 1e-3);
	assert_float_equal(stat_t975(40), 2.0211, 1e-4);
	assert_float_equal(stat_t975(100), 1.9840, 1e-4);
	assert_float_equal(stat_t975(1000000), 1.95996, 1e-4);
}

static void t975__falls_without_a_step(void **state)
{
	for (size_t f = 1; f < 200; f++)
		assert_true(stat_t975(f) > stat_t975(f + 1));
}

static void sort__ascending(void **state)
{
	double x[] = {3, -1, 2, 2};
	stat_sort(x, 4);
	assert_float_equal(x[0], -1, 0);
	assert_float_equal(x[1], 2, 0);
	assert_float_equal(x[3], 3, 0);
}

static void percentile__by_nearest_rank(void **state)
{
	const double x[] = {15, 20, 35, 40, 50};
	assert_float_equal(stat_percentile(x, 5, 0.05), 15, 0);
	assert_float_equal(stat_percentile(x, 5, 0.30), 20, 0);
	assert_float_equal(stat_percentile(x, 5, 0.40), 20, 0);
	assert_float_equal(stat_percentile(x, 5, 0.50), 35, 0);
	assert_float_equal(stat_percentile(x, 5, 1.00), 50, 0);
	assert_float_equal(stat_percentile(x, 0, 0.5), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean__by_hand),
		cmocka_unit_test(mean__nothing_known_below_two_values),
		cmocka_unit_test(mean__equal_values_have_no_width),
		cmocka_unit_test(t975__against_published_tables),
		cmocka_unit_test(t975__falls_without_a_step),
		cmocka_unit_test(sort__ascending),
		cmocka_unit_test(percentile__by_nearest_rank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
