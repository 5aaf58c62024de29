/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_ops.h"
#include "cmocka_all.h"

static void weft_cc_find__by_name(void **state)
{
	assert_ptr_equal(weft_cc_find("smartt"), &weft_cc_smartt);
	assert_ptr_equal(weft_cc_find("fixed"), &weft_cc_fixed);
}

static void weft_cc_find__unknown_is_null(void **state)
{
	assert_null(weft_cc_find(""));
	assert_null(weft_cc_find("SMaRTT"));
	assert_null(weft_cc_find("smart"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_cc_find__by_name),
		cmocka_unit_test(weft_cc_find__unknown_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
