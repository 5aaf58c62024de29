/* SPDX-License-Identifier: BSD-3-Clause */
/* A lab made of a command line runs as one made by calls. */
#include "cmocka_all.h"
#include "lab_args.h"
#include "lab_run.h"

/* The same pattern by calls and by a command line. */
static void check_against_command_line(const char *pattern, const char *const *args)
{
	struct lab_config c;
	struct options o;
	struct lab *told = NULL;
	struct weft_err err = {""};
	lab_run_configure(&c, pattern);
	struct lab *lab = lab_run_make(&c);
	lab_run_finish(lab);
	args_lab_made(&o, args, &told, &err);
	lab_run_finish(told);
	lab_run_assert_same(lab, told);
	assert_int_equal(lab_destroy(told), 0);
	assert_int_equal(lab_destroy(lab), 0);
	options_free(&o);
	weft_workload_free(&c.workload);
}

static void lab_run__is_the_run_of_the_command_line(void **state)
{
	check_against_command_line("permutation:16:1MiB",
				   (const char *const[]){"--matrix", "permutation:16:1MiB", NULL});
	check_against_command_line("alltoall:16:32KiB:2",
				   (const char *const[]){"--matrix", "alltoall:16:32KiB:2", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lab_run__is_the_run_of_the_command_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
