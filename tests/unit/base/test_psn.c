/* SPDX-License-Identifier: BSD-3-Clause */
#include "psn.h"

#include "cmocka_all.h"

static void psn_diff__wraps(void **state)
{
	assert_int_equal(psn_diff(5, 3), 2);
	assert_int_equal(psn_diff(1, UINT32_MAX), 2);
	assert_int_equal(psn_diff(UINT32_MAX, 1), -2);
	assert_int_equal(psn_diff(0x80000000u, 1), INT32_MAX);
}

static void psn_before__around_zero(void **state)
{
	assert_true(psn_before(UINT32_MAX, 0));
	assert_false(psn_before(0, UINT32_MAX));
	assert_false(psn_before(7, 7));
	assert_true(psn_after(0, UINT32_MAX));
	assert_false(psn_after(7, 7));
}

static void psn_max__around_zero(void **state)
{
	assert_int_equal(psn_max(UINT32_MAX, 3), 3);
	assert_int_equal(psn_max(9, 3), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_diff__wraps),
		cmocka_unit_test(psn_before__around_zero),
		cmocka_unit_test(psn_max__around_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
