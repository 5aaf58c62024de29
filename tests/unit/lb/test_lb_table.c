/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

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

static void weft_lb_choose__lists_names(void **state)
{
	const struct weft_lb_ops *ops;
	struct weft_err err = {""};
	assert_int_equal(weft_lb_choose(weft_lb_table[0]->name, &ops, &err), 0);
	assert_ptr_equal(ops, weft_lb_table[0]);
	assert_string_equal(err.msg, "");
	assert_int_equal(weft_lb_choose("nonsense", &ops, &err), -ENOENT);
	assert_null(ops);
	assert_non_null(strstr(err.msg, "'nonsense'; valid: reps, reps2, prime, prime2, co-prime, ops, bitmap"));
}

static void weft_lb_choose_from__lists_the_callers_name_first(void **state)
{
	static const char start[] = "unknown lb 'a; valid: b'; valid: auto, reps, ";
	const struct weft_lb_ops *ops;
	struct weft_err err = {""};
	assert_int_equal(weft_lb_choose_from(weft_lb_table, "auto", "a; valid: b", &ops, &err), -ENOENT);
	assert_memory_equal(err.msg, start, strlen(start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_lb_find__by_name),
		cmocka_unit_test(weft_lb_find__unknown_is_null),
		cmocka_unit_test(weft_lb_choose__lists_names),
		cmocka_unit_test(weft_lb_choose_from__lists_the_callers_name_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
