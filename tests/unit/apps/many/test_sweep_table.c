/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "scenario_fixture.h"

static double half_width(const double *values, uint32_t n)
{
	double sum = 0, squares = 0;
	for (uint32_t i = 0; i < n; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return sweep_half_width(sum, squares, n);
}

/* t(0.975, n - 1) * s / sqrt(n), by hand. */
static void sweep_half_width__is_students(void **state)
{
	(void)state;
	const double five[] = {10, 12, 14, 16, 18}, two[] = {1, 3}, same[] = {4, 4, 4};
	assert_true(fabs(half_width(five, 5) - 2.7764 * sqrt(10.0 / 5)) < 1e-9);
	assert_true(fabs(half_width(two, 2) - 12.7062 * sqrt(2.0 / 2)) < 1e-9);
	assert_true(half_width(same, 3) == 0);
	assert_true(half_width(five, 1) == 0);
}

static void sweep_half_width__many_values_approach_the_normal(void **state)
{
	(void)state;
	/* n values of variance 1 around 0 */
	for (uint32_t n = 2; n < 3000; n++) {
		double wide = sweep_half_width(0, n - 1, n) * sqrt(n);
		assert_true(wide >= 1.96 - 1e-9 && wide <= 12.7062 + 1e-9);
		assert_true(n < 3 || wide <= sweep_half_width(0, n - 2, n - 1) * sqrt(n - 1) + 1e-9);
	}
}

enum { TEXT_MAX = 4096 };

static void print_to(struct scenario_fixture *f, char text[TEXT_MAX])
{
	FILE *out = fmemopen(text, TEXT_MAX, "w");
	assert_non_null(out);
	sweep_print_table(&f->w, out);
	assert_int_equal(fclose(out), 0);
}

static void set(struct sweep_run *r, double tail_us, uint64_t trimmed)
{
	r->known = true;
	r->status = SWEEP_DONE;
	r->record.summary.fct_us.max = tail_us;
	r->record.result.packets.trimmed = trimmed;
}

static void sweep_print_table__a_row_per_combination(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "title: rows\ncases: [{name: a}, {name: b}, {name: c}]\nseeds: 3\n");
	set(&f->w.runs[0], 10, 100);
	set(&f->w.runs[1], 11, 100);
	set(&f->w.runs[2], 12, 100);
	set(&f->w.runs[4], 20, 7);
	char text[TEXT_MAX], *row;
	print_to(f, text);
	row = strstr(text, "\na ");
	assert_non_null(strstr(text, "rows (mean over seeds"));
	assert_non_null(row);
	assert_non_null(strstr(row, " 11.0 ±2.5 "));
	assert_non_null(strstr(row, " 100 ±0 "));
	row = strstr(text, "\nb ");
	assert_non_null(row);
	assert_non_null(strstr(row, " 20.0 ±0.0 "));
	assert_non_null(strstr(row, "(2 of 3 without result)"));
	row = strstr(text, "\nc ");
	assert_non_null(row);
	assert_non_null(strstr(row, "  -  "));
}

static void sweep_print_table__one_seed_has_no_interval(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "sweep: {lb: [ops, ecmp]}\n");
	set(&f->w.runs[0], 10, 1);
	set(&f->w.runs[1], 20, 2);
	char text[TEXT_MAX], *row;
	print_to(f, text);
	assert_null(strstr(text, "±"));
	row = strstr(text, "\nlb=ecmp");
	assert_non_null(row);
	assert_non_null(strstr(row, "  -  ")); /* no inflation */
	assert_null(strstr(row, "nan"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweep_half_width__is_students),
		cmocka_unit_test(sweep_half_width__many_values_approach_the_normal),
		SCENARIO_TEST(sweep_print_table__a_row_per_combination),
		SCENARIO_TEST(sweep_print_table__one_seed_has_no_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
