/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "route_impl.h"

static void table__ecmp_is_the_default(void **state)
{
	assert_ptr_equal(weft_route_table[0], &route_ecmp);
	assert_null(route_ecmp.choose);
}

static void table__all_are_found_and_explained(void **state)
{
	const struct weft_route_ops *ops;
	struct weft_err err;

	for (uint32_t i = 0; weft_route_table[i]; i++) {
		assert_int_equal(weft_route_find(weft_route_table[i]->name, &ops, &err), 0);
		assert_ptr_equal(ops, weft_route_table[i]);
		assert_true(strlen(ops->help) > 10);
		assert_true(!ops->tunes == !ops->tune_size);
	}
}

static void find__unknown_names_the_valid(void **state)
{
	const struct weft_route_ops *ops = &route_ecmp;
	struct weft_err err = {""};

	assert_int_equal(weft_route_find("valiant", &ops, &err), -ENOENT);
	assert_null(ops);
	assert_non_null(strstr(err.msg, "'valiant'"));
	assert_non_null(
		strstr(err.msg, "ecmp, random, rr, adaptive, digits, drill, symmetric, wcmp, drill_flow, conga"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(table__ecmp_is_the_default),
		cmocka_unit_test(table__all_are_found_and_explained),
		cmocka_unit_test(find__unknown_names_the_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
