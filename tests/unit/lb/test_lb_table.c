/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "lb_ops.h"

static void weft_lb_find__by_name(void **state)
{
	assert_ptr_equal(weft_lb_find("reps"), &weft_lb_reps);
	assert_ptr_equal(weft_lb_find("ops"), &weft_lb_spray);
	assert_ptr_equal(weft_lb_find("ecmp"), &weft_lb_ecmp);
}

static void weft_lb_find__unknown_is_null(void **state)
{
	assert_null(weft_lb_find(""));
	assert_null(weft_lb_find("REPS"));
	assert_null(weft_lb_find("reps "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_lb_find__by_name),
		cmocka_unit_test(weft_lb_find__unknown_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
