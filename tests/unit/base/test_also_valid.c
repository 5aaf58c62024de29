/* SPDX-License-Identifier: BSD-3-Clause */
#include "also_valid.h"

#include <errno.h>

#include "cmocka_all.h"

static void weft_also_valid__names_come_first(void **state)
{
	struct weft_err err = {"unknown lb 'x'; valid: reps, ecmp"};
	assert_int_equal(weft_also_valid(&err, -ENOENT, "auto"), -ENOENT);
	assert_string_equal(err.msg, "unknown lb 'x'; valid: auto, reps, ecmp");
}

static void weft_also_valid__other_messages_stay(void **state)
{
	struct weft_err err = {"no memory"};
	assert_int_equal(weft_also_valid(&err, -ENOMEM, "auto"), -ENOMEM);
	assert_string_equal(err.msg, "no memory");
	assert_int_equal(weft_also_valid(NULL, -ENOENT, "auto"), -ENOENT);
	assert_int_equal(weft_also_valid(&err, 0, "auto"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_also_valid__names_come_first),
		cmocka_unit_test(weft_also_valid__other_messages_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
