/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

static size_t occurrences(const char *text, const char *part)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

static void assert_has(const char *svg, const char *part)
{
	if (!strstr(svg, part))
		fail_msg("'%s' is not in the drawing", part);
}

static char *drawn(struct plot *p)
{
	struct weft_err err = {""};
	char *svg = plot_svg(p, 7, &err);
	if (!svg)
		fail_msg("%s", err.msg);
	plot_free(p);
	return svg;
}

static struct plot *line_to(double x, double y, enum plot_unit x_unit, enum plot_unit y_unit)
{
	struct plot *p = plot_create("t", "across", x_unit, "up", y_unit);
	size_t s = plot_series(p, "s", PLOT_LINES);
	plot_point(p, s, 0, 0);
	plot_point(p, s, x, y);
	return p;
}

static void svg__shows_units_that_fit(void **state)
{
	static const struct {
		double x, y;
		const char *across, *up;
	} cases[] = {
		{9000, 8000, "across (µs)", "up (bytes)"},
		{20000, 9000, "across (ms)", "up (KiB)"},
		{5e7, 3e7, "across (s)", "up (MiB)"},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *svg = drawn(line_to(cases[i].x, cases[i].y, PLOT_TIME, PLOT_BYTES));
		assert_has(svg, cases[i].across);
		assert_has(svg, cases[i].up);
		free(svg);
	}
	char *svg = drawn(line_to(10, 0.5, PLOT_PLAIN, PLOT_SHARE));
	assert_has(svg, ">across<");
	assert_has(svg, "up (%)");
	assert_has(svg, "> 50<");
	free(svg);
}

static void svg__names_are_of_this_plot(void **state)
{
	char *svg = drawn(line_to(1, 1, PLOT_PLAIN, PLOT_PLAIN));
	assert_int_equal(strncmp(svg, "<svg", 4), 0);
	assert_int_equal(occurrences(svg, " id='") + occurrences(svg, " id=\""),
			 occurrences(svg, " id='p7-") + occurrences(svg, " id=\"p7-"));
	assert_int_equal(occurrences(svg, "href='#"), occurrences(svg, "href='#p7-"));
	assert_int_equal(occurrences(svg, "<title>"), 0);
	free(svg);
}

static void svg__hostile_labels_stay_text(void **state)
{
	static const char hostile[] = "'; system('x') <b>&amp;&#x41; \"q\" `id` 100%d %s\\n {/Bold y}\nset print";
	struct plot *p = plot_create(hostile, hostile, PLOT_PLAIN, "up", PLOT_PLAIN);
	size_t s = plot_series(p, hostile, PLOT_BARS);
	plot_tic(p, 0, hostile);
	plot_range(p, s, 3, 0, 2, 4);
	char *svg = drawn(p);
	assert_has(svg, "'; system('x') &lt;b>&amp;amp;&amp;#x41; \"q\" `id` 100%d %s\\n {/Bold y} set print</text>");
	assert_has(svg, "<text>'; system('x')");
	free(svg);
}

static void svg__long_tics_are_cut_between_characters(void **state)
{
	char label[400] = "", expected[400] = ">";
	struct plot *p = plot_create("t", "x", PLOT_PLAIN, "", PLOT_PLAIN);
	size_t s = plot_series(p, "", PLOT_BARS);
	for (int i = 0; i < 60; i++)
		strcat(label, "µ");
	for (int i = 0; i < 44; i++)
		strcat(expected, "µ");
	strcat(expected, "…<");
	plot_tic(p, 0, label);
	plot_range(p, s, 3, 0, 3, 3);
	char *svg = drawn(p);
	assert_has(svg, expected);
	free(svg);
}

/* 100,000 points of a saw with one needle up and one down: both must be drawn, in little text. */
static void svg__thinning_keeps_extremes(void **state)
{
	struct plot *p = plot_create("t", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
	size_t s = plot_series(p, "", PLOT_LINES);
	for (int i = 0; i < 100000; i++)
		plot_point(p, s, i, i == 33333 ? 1000 : i == 66666 ? -1000 : i % 7);
	char *svg = drawn(p);
	assert_true(strlen(svg) < 40000);
	assert_has(svg, "> 1000<");
	assert_has(svg, ">-1000<");
	free(svg);
}

static void svg__every_style_draws(void **state)
{
	for (enum plot_style style = PLOT_LINES; style <= PLOT_BARS; style++) {
		struct plot *p = plot_create("t", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
		size_t s = plot_series(p, "a", style);
		for (int i = 0; i < 5; i++)
			plot_range(p, s, i + 1, i, i, i + 2);
		char *svg = drawn(p);
		assert_true(occurrences(svg, "rgb( 36, 132, 198)") > 0);
		free(svg);
	}
}

static void svg__all_zero_draws(void **state)
{
	struct plot *p = plot_create("t", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
	size_t s = plot_series(p, "a", PLOT_LINES);
	p->from_zero = true;
	plot_point(p, s, 0, 0);
	plot_point(p, s, 1, 0);
	free(drawn(p));
}

static void svg__sizes_on_a_logarithmic_axis(void **state)
{
	struct plot *p = plot_create("t", "size", PLOT_BYTES, "y", PLOT_PLAIN);
	size_t s = plot_series(p, "a", PLOT_LINES);
	p->log_x = true;
	plot_point(p, s, 1024, 1);
	plot_point(p, s, 1 << 20, 2);
	char *svg = drawn(p);
	assert_has(svg, ">1 KiB<");
	assert_has(svg, ">1 MiB<");
	free(svg);
}

static void point__nan_is_left_out(void **state)
{
	struct plot *p = plot_create("t", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
	size_t s = plot_series(p, "a", PLOT_LINES);
	plot_point(p, s, NAN, 1);
	plot_point(p, s, 1, NAN);
	plot_point(p, s + 1, 1, 1);
	assert_true(plot_is_empty(p));
	struct weft_err err;
	assert_null(plot_svg(p, 1, &err));
	assert_string_equal(err.msg, "nothing to draw in the plot 't'");
	plot_point(p, s, 1, 1);
	assert_false(plot_is_empty(p));
	plot_free(p);
}

static void sort__by_x(void **state)
{
	struct plot *p = plot_create("t", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
	size_t s = plot_series(p, "a", PLOT_LINES);
	plot_point(p, s, 3, 1);
	plot_point(p, s, 1, 2);
	plot_sort(p);
	assert_float_equal(p->series[0].points[0].x, 1, 0);
	assert_float_equal(p->series[0].points[0].y, 2, 0);
	plot_free(p);
}

static void svg__names_the_package_without_gnuplot(void **state)
{
	struct weft_err err;
	char *path = strdup(getenv("PATH"));
	struct plot *p = line_to(1, 1, PLOT_PLAIN, PLOT_PLAIN);
	setenv("PATH", "/nonexistent", 1);
	assert_null(plot_svg(p, 1, &err));
	setenv("PATH", path, 1);
	assert_string_equal(err.msg, "gnuplot is not there: install the Debian package gnuplot-nox");
	plot_free(p);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(svg__shows_units_that_fit),
		cmocka_unit_test(svg__names_are_of_this_plot),
		cmocka_unit_test(svg__hostile_labels_stay_text),
		cmocka_unit_test(svg__long_tics_are_cut_between_characters),
		cmocka_unit_test(svg__thinning_keeps_extremes),
		cmocka_unit_test(svg__every_style_draws),
		cmocka_unit_test(svg__all_zero_draws),
		cmocka_unit_test(svg__sizes_on_a_logarithmic_axis),
		cmocka_unit_test(point__nan_is_left_out),
		cmocka_unit_test(sort__by_x),
		cmocka_unit_test(svg__names_the_package_without_gnuplot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
