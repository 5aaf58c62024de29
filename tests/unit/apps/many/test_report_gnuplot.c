/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_gnuplot.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

static void run__tells_what_gnuplot_says(void **state)
{
	struct weft_err err;
	FILE *script = tmpfile();
	fputs("set terminal svg\nplot nosuchthing\n", script);
	assert_null(gnuplot_run(script, 1, &err));
	assert_int_equal(strncmp(err.msg, "gnuplot: ", 9), 0);
	assert_non_null(strstr(err.msg, "undefined variable: nosuchthing"));
	fclose(script);
}

static void run__nothing_drawn(void **state)
{
	struct weft_err err;
	FILE *script = tmpfile();
	fputs("x = 1\n", script);
	assert_null(gnuplot_run(script, 1, &err));
	assert_string_equal(err.msg, "gnuplot drew nothing");
	fclose(script);
}

static void string__nothing_that_gnuplot_reads(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	gnuplot_string(f, "it's 5%\n\"`\\<&");
	gnuplot_tic(f, "5%");
	fclose(f);
	assert_string_equal(text,
			    "'it\xee\x80\x82s 5% \xee\x80\x83\xee\x80\x84\xee\x80\x85\xee\x80\x81\xee\x80\x80''5%%'");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run__tells_what_gnuplot_says),
		cmocka_unit_test(run__nothing_drawn),
		cmocka_unit_test(string__nothing_that_gnuplot_reads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
