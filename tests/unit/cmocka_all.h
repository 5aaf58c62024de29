/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka with the headers it wants before it. A program in which every test was skipped exits with 77, which meson
 * calls SKIP, and one in which some were says so in its last line: cmocka itself takes them for passed. */
#ifndef WEFT_TEST_CMOCKA_ALL_H
#define WEFT_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TESTS_SKIPPED = 77 };

/* One of each in a program, however many files it has. */
__attribute__((weak)) size_t skip_count;
__attribute__((weak)) char skip_names[1024];

/* `name`: of the function that skips. */
static inline void skip_note(const char *name)
{
	size_t used = strlen(skip_names);
	snprintf(skip_names + used, sizeof skip_names - used, " %s", name);
	skip_count++;
}

/* The exit status of a program with `total` tests, of which `failed` failed. scripts/test.sh reads the line. */
static inline int skip_status(int failed, size_t total)
{
	if (skip_count > 0)
		printf("skipped %zu of %zu tests:%s\n", skip_count, total, skip_names);
	return failed == 0 && skip_count > 0 && skip_count == total ? TESTS_SKIPPED : failed;
}

static inline int tests_run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
			    CMFixtureFunction teardown)
{
	return skip_status(_cmocka_run_group_tests(name, tests, count, setup, teardown), count);
}

#undef skip
#define skip()                                                                                                         \
	do {                                                                                                           \
		skip_note(__func__);                                                                                   \
		_skip(__FILE__, __LINE__);                                                                             \
	} while (0)

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                                                 \
	tests_run(#tests, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#endif
