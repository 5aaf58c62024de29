/* SPDX-License-Identifier: BSD-3-Clause */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "temp_dir.h"

enum { BIG_BYTES = 300000 };

/* A fresh temporary file's name. */
static void temp_name(char name[32])
{
	strcpy(name, "/tmp/weft-file-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
}

static void file_read__returns_what_was_written(void **state)
{
	char name[32];
	temp_name(name);
	FILE *f = file_create(name, NULL);
	assert_non_null(f);
	for (int i = 0; i < BIG_BYTES; i++)
		fputc('a' + i % 26, f);
	assert_int_equal(file_finish(f, name, NULL), 0);
	size_t len = 0;
	int code = 0;
	char *text = file_read(name, &len, &code, NULL);
	assert_non_null(text);
	assert_int_equal(len, BIG_BYTES);
	assert_int_equal(text[BIG_BYTES - 1], 'a' + (BIG_BYTES - 1) % 26);
	assert_int_equal(text[BIG_BYTES], 0);
	free(text);
	unlink(name);
}

static void file_read__names_the_missing_file(void **state)
{
	size_t len;
	int code = 0;
	struct weft_err err = {""};
	assert_null(file_read("/nonexistent/weft.topo", &len, &code, &err));
	assert_int_equal(code, -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/weft.topo"));
}

static void file_read__refuses_a_directory(void **state)
{
	size_t len;
	int code = 0;
	assert_null(file_read("/tmp", &len, &code, NULL));
	assert_int_equal(code, -EISDIR);
}

static void file_create__names_the_file_it_could_not_create(void **state)
{
	struct weft_err err = {""};
	assert_null(file_create("/nonexistent/out.json", &err));
	assert_non_null(strstr(err.msg, "/nonexistent/out.json"));
}

static void file_finish__notices_a_full_disk(void **state)
{
	struct weft_err err = {""};
	FILE *f = file_create("/dev/full", &err);
	assert_non_null(f);
	fputs("something", f);
	assert_int_equal(file_finish(f, "/dev/full", &err), -EIO);
	assert_non_null(strstr(err.msg, "/dev/full"));
}

static void file_path__refuses_what_does_not_fit(void **state)
{
	char path[FILE_PATH_MAX], name[FILE_PATH_MAX];
	struct weft_err err = {""};
	assert_int_equal(file_path(path, "a/b", "c", NULL), 0);
	assert_string_equal(path, "a/b/c");
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(file_path(path, "a/b", name, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.msg, "a/b"));
	assert_int_equal(file_make_dir(name, NULL), -ENAMETOOLONG);
}

static void file_make_dir__and_those_above(void **state)
{
	char top[] = "/tmp/weft-file-XXXXXX", deep[64];
	struct weft_err err = {""};
	assert_non_null(mkdtemp(top));
	snprintf(deep, sizeof deep, "%s/a/b//c/", top);
	assert_int_equal(file_make_dir(deep, &err), 0);
	assert_int_equal(access(deep, W_OK), 0);
	assert_int_equal(file_make_dir(deep, &err), 0);
	snprintf(deep, sizeof deep, "%s/a/file", top);
	fclose(fopen(deep, "w"));
	assert_int_equal(file_make_dir(deep, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, deep));
	assert_int_equal(temp_dir_remove(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_read__returns_what_was_written),
		cmocka_unit_test(file_read__names_the_missing_file),
		cmocka_unit_test(file_read__refuses_a_directory),
		cmocka_unit_test(file_create__names_the_file_it_could_not_create),
		cmocka_unit_test(file_finish__notices_a_full_disk),
		cmocka_unit_test(file_path__refuses_what_does_not_fit),
		cmocka_unit_test(file_make_dir__and_those_above),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
