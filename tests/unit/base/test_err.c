/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/err.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

static void weft_err_set__formats_and_returns_code(void **state)
{
	struct weft_err err = {"old"};

	assert_int_equal(weft_err_set(&err, -EINVAL, "%s:%d: bad", "file", 7), -EINVAL);
	assert_string_equal(err.msg, "file:7: bad");
}

static void weft_err_set__accepts_null(void **state)
{
	assert_int_equal(weft_err_set(NULL, -ENOMEM, "no one %s", "listens"), -ENOMEM);
}

static void weft_err_set__cuts_long_messages(void **state)
{
	struct weft_err err;
	char text[2 * sizeof err.msg];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	weft_err_set(&err, -1, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_err_set__formats_and_returns_code),
		cmocka_unit_test(weft_err_set__accepts_null),
		cmocka_unit_test(weft_err_set__cuts_long_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
