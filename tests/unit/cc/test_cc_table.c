/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cc_ops.h"
#include "cmocka_all.h"

static void weft_cc_find__by_name(void **state)
{
	assert_ptr_equal(weft_cc_find("smartt"), &weft_cc_smartt);
	assert_ptr_equal(weft_cc_find("mprdma"), &weft_cc_mprdma);
	assert_ptr_equal(weft_cc_find("swift"), &weft_cc_swift);
	assert_ptr_equal(weft_cc_find("dcqcn"), &weft_cc_dcqcn);
	assert_ptr_equal(weft_cc_find("fixed"), &weft_cc_fixed);
}

static void weft_cc_find__unknown_is_null(void **state)
{
	assert_null(weft_cc_find(""));
	assert_null(weft_cc_find("SMaRTT"));
	assert_null(weft_cc_find("smart"));
}

static void weft_cc_choose__lists_names(void **state)
{
	const struct weft_cc_ops *ops;
	struct weft_err err = {""};
	assert_int_equal(weft_cc_choose(weft_cc_table[0]->name, &ops, &err), 0);
	assert_ptr_equal(ops, weft_cc_table[0]);
	assert_string_equal(err.msg, "");
	assert_int_equal(weft_cc_choose("nonsense", &ops, &err), -ENOENT);
	assert_null(ops);
	assert_non_null(strstr(err.msg, "'nonsense'; valid: smartt, "));
}

static void weft_cc_auto__is_in_the_table(void **state)
{
	assert_ptr_equal(weft_cc_find(weft_cc_auto()->name), weft_cc_auto());
	assert_null(weft_cc_find("auto"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_cc_find__by_name),
		cmocka_unit_test(weft_cc_find__unknown_is_null),
		cmocka_unit_test(weft_cc_choose__lists_names),
		cmocka_unit_test(weft_cc_auto__is_in_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
