/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat.h"

#include "cmocka_all.h"

static void mean__by_hand(void **state)
{
	const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
	assert_float_equal(stat_mean(x, 8), 5, 1e-12);
	assert_float_equal(stat_mean(x, 1), 2, 0);
	assert_float_equal(stat_mean(NULL, 0), 0, 0);
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
		cmocka_unit_test(sort__ascending),
		cmocka_unit_test(percentile__by_nearest_rank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
