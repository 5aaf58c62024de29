/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

static const char *const names[] = {"b", "a"};

/* A file with this text, open for columns b and a. */
struct fixture {
	char path[40];
	struct table csv;
	struct weft_err err;
	int rc;
};

static void open_text(struct fixture *f, const char *text, size_t len)
{
	strcpy(f->path, "/tmp/weft-csv-XXXXXX");
	int fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
	f->err.msg[0] = '\0';
	f->rc = table_open(&f->csv, f->path, names, 2, &f->err);
}

static void end(struct fixture *f)
{
	table_close(&f->csv);
	unlink(f->path);
}

/* Whole message: path and this. */
static void assert_says(const struct fixture *f, const char *rest)
{
	assert_memory_equal(f->err.msg, f->path, strlen(f->path));
	assert_string_equal(f->err.msg + strlen(f->path), rest);
}

static void open__finds_columns_by_name(void **state)
{
	struct fixture f;
	double x;
	open_text(&f, "a,other,b\n1,x,2.5\n,y,-1e3", 25);
	assert_int_equal(f.rc, 0);
	assert_int_equal(table_next(&f.csv, &f.err), 1);
	assert_int_equal(table_number(&f.csv, 0, &x, &f.err), 0);
	assert_float_equal(x, 2.5, 0);
	assert_string_equal(table_text(&f.csv, 1), "1");
	assert_int_equal(table_next(&f.csv, &f.err), 1);
	assert_int_equal(table_number(&f.csv, 0, &x, &f.err), 0);
	assert_float_equal(x, -1000, 0);
	assert_int_equal(table_number(&f.csv, 1, &x, &f.err), 0);
	assert_true(isnan(x));
	assert_int_equal(table_next(&f.csv, &f.err), 0);
	end(&f);
}

static void open__refuses_bad_heads(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", ":1: empty, a line with the columns' names is missing"},
		{"a,c\n", ":1: no column 'b'"},
		{"a,b,b\n", ":1: column 'b' is there twice"},
		{"a,\"b\"\n", ":1: quotes and zero bytes have no place here"},
		{",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n", ":1: more than 32 columns"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fixture f;
		open_text(&f, bad[i].text, strlen(bad[i].text));
		assert_int_equal(f.rc, -EINVAL);
		assert_says(&f, bad[i].says);
		end(&f);
	}
}

static void open__no_such_file(void **state)
{
	struct table c;
	struct weft_err err;
	assert_int_equal(table_open(&c, "/nonexistent.csv", names, 2, &err), -ENOENT);
	assert_string_equal(err.msg, "/nonexistent.csv: No such file or directory");
	table_close(&c);
}

static void next__refuses_other_counts_of_fields(void **state)
{
	struct fixture f;
	open_text(&f, "a,b\n1,2\n1,2,3\n", 14);
	assert_int_equal(table_next(&f.csv, &f.err), 1);
	assert_int_equal(table_next(&f.csv, &f.err), -EINVAL);
	assert_says(&f, ":3: 3 fields, the header has 2");
	end(&f);
}

static void next__refuses_zero_bytes(void **state)
{
	struct fixture f;
	open_text(&f, "a,b\n1,\0002\n", 9);
	assert_int_equal(table_next(&f.csv, &f.err), -EINVAL);
	assert_says(&f, ":2: quotes and zero bytes have no place here");
	end(&f);
}

static void number__names_line_and_column(void **state)
{
	static const char *const bad[] = {"12x", "nan", "inf", "1e999", " ", "--"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fixture f;
		char text[32], says[64];
		double x;
		snprintf(text, sizeof text, "a,b\n1,2\n3,%s\n", bad[i]);
		snprintf(says, sizeof says, ":3: b: '%s' is not a number", bad[i]);
		open_text(&f, text, strlen(text));
		table_next(&f.csv, &f.err);
		assert_int_equal(table_next(&f.csv, &f.err), 1);
		assert_int_equal(table_number(&f.csv, 0, &x, &f.err), -EINVAL);
		assert_says(&f, says);
		end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__finds_columns_by_name), cmocka_unit_test(open__refuses_bad_heads),
		cmocka_unit_test(open__no_such_file),          cmocka_unit_test(next__refuses_other_counts_of_fields),
		cmocka_unit_test(next__refuses_zero_bytes),    cmocka_unit_test(number__names_line_and_column),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
