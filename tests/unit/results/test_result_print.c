/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "result_box.h"

static void print__is_readable(void **state)
{
	struct run_result r = result_of(three, 3);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_int_equal(result_print(&r, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "3 completed, 2 verified"));
	assert_non_null(strstr(text, "p99 40.0"));
	assert_non_null(strstr(text, "0000000000000abc"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print__is_readable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
