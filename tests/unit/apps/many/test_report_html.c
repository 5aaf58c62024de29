/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "file.h"

/* Ends the page and gives its text, to be freed. */
static char *page_of(struct report *r)
{
	char path[] = "/tmp/weft-html-XXXXXX";
	int fd = mkstemp(path), code;
	size_t size = 0, len;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(report_end(r, path, &size, NULL), 0);
	char *text = file_read(path, &len, &code, NULL);
	assert_non_null(text);
	assert_int_equal(len, size);
	unlink(path);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in the page", part);
}

static void text__is_escaped(void **state)
{
	struct report *r = report_begin("a <b> & \"c\"", NULL);
	report_section(r, "<script>");
	report_text(r, "%s & 100%%\x01", "1 < 2");
	char *page = page_of(r);
	assert_has(page, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>");
	assert_has(page, "<h2>&lt;script&gt;</h2>");
	assert_has(page, "<p>1 &lt; 2 &amp; 100% </p>");
	assert_null(strstr(page, "<script>"));
	free(page);
}

static void table__rows_and_cells(void **state)
{
	static const char *const heads[] = {"x", "y"};
	struct report *r = report_begin("t", NULL);
	report_table(r, heads, 2);
	for (int i = 0; i < 2; i++) {
		report_row(r);
		report_cell(r, false, "%d", i);
		report_cell(r, i == 1, "y%d", i);
	}
	report_text(r, "after");
	char *page = page_of(r);
	assert_has(page, "<tr><th>x</th><th>y</th></tr>");
	assert_has(
		page,
		"<tr><td>0</td><td>y0</td></tr>\n<tr><td>1</td><td class=\"bad\">y1</td></tr>\n</tbody></table></div>\n"
		"<p>after</p>");
	free(page);
}

static void term__one_list_for_neighbours(void **state)
{
	struct report *r = report_begin("t", NULL);
	report_term(r, "a", "1");
	report_term(r, "b", "2");
	report_note(r, "end");
	char *page = page_of(r);
	assert_has(page, "<dl>\n<dt>a</dt><dd>1</dd>\n<dt>b</dt><dd>2</dd>\n</dl>\n<p class=\"note\">end</p>");
	free(page);
}

static void plot__figure_with_legend(void **state)
{
	struct report *r = report_begin("t", NULL);
	struct plot *p = plot_create("Title & more", "time", PLOT_TIME, "queue", PLOT_BYTES);
	size_t one = plot_series(p, "curve <1>", PLOT_LINES), two = plot_series(p, "unused", PLOT_LINES);
	assert_int_equal(two, 1);
	plot_point(p, one, 0, 10);
	plot_point(p, one, 5, 20);
	assert_int_equal(report_plot(r, p, "A caption", NULL), 0);
	assert_int_equal(report_plots(r), 1);
	char *page = page_of(r);
	assert_has(page, "<figcaption>Title &amp; more</figcaption>\n<svg");
	assert_has(page, "curve &lt;1&gt;</li>");
	assert_null(strstr(page, "unused"));
	assert_has(page, "<p>A caption</p>\n</figure>\n</div>");
	free(page);
}

static void plot__empty_is_left_out(void **state)
{
	struct report *r = report_begin("t", NULL);
	struct plot *p = plot_create("nothing", "x", PLOT_PLAIN, "y", PLOT_PLAIN);
	plot_series(p, "a", PLOT_LINES);
	assert_int_equal(report_plot(r, p, NULL, NULL), 0);
	assert_int_equal(report_plot(r, NULL, NULL, NULL), -ENOMEM);
	assert_int_equal(report_plots(r), 0);
	char *page = page_of(r);
	assert_null(strstr(page, "<figure>"));
	free(page);
}

static void end__tells_where_it_cannot_write(void **state)
{
	struct weft_err err;
	size_t size;
	assert_int_equal(report_end(report_begin("t", NULL), "/nonexistent/r.html", &size, &err), -EIO);
	assert_string_equal(err.msg, "/nonexistent/r.html: No such file or directory");
	assert_int_equal(report_end(report_begin("t", NULL), "/dev/full", &size, &err), -EIO);
	assert_non_null(strstr(err.msg, "/dev/full: could not be written"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__is_escaped),
		cmocka_unit_test(table__rows_and_cells),
		cmocka_unit_test(term__one_list_for_neighbours),
		cmocka_unit_test(plot__figure_with_legend),
		cmocka_unit_test(plot__empty_is_left_out),
		cmocka_unit_test(end__tells_where_it_cannot_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
