/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

static char top[32];

static int make(const char *name, struct run_dir *d, struct weft_err *err)
{
	const struct switch_user user = {.uid = geteuid()};
	return run_dir_make(name, &user, d, err);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void make__is_from_the_root(void **state)
{
	struct run_dir d;
	struct weft_err err;
	char want[64];
	assert_int_equal(make("d", &d, &err), 0);
	snprintf(want, sizeof want, "%s/d", top);
	assert_string_equal(d.path, want);
	assert_true(d.is_new);
	assert_int_equal(make("d/../d/", &d, &err), 0);
	assert_string_equal(d.path, want);
	assert_false(d.is_new);
}

static void open__a_new_one_lets_others_in(void **state)
{
	struct run_dir d;
	struct weft_err err;
	assert_int_equal(make("d", &d, &err), 0);
	assert_int_equal(mode_of("d"), 0700);
	assert_int_equal(run_dir_open(&d, NULL, &err), 0);
	assert_int_equal(mode_of("d"), 0755);
}

static void open__an_old_one_stays_as_it_was(void **state)
{
	struct run_dir d;
	struct weft_err err;
	assert_int_equal(mkdir("d", 0710), 0);
	assert_int_equal(make("d", &d, &err), 0);
	assert_int_equal(run_dir_open(&d, NULL, &err), 0);
	assert_int_equal(run_dir_open(&d, "54321", &err), 0);
	assert_int_equal(mode_of("d"), 0710);
	assert_int_equal(run_dir_open(&d, "nobody-at-all", &err), -ENOENT);
}

/* What is in it is read again: a sticky bit does not say whose that is. */
static void make__everybodys_is_refused(void **state)
{
	const mode_t modes[] = {0777, 01777};
	struct run_dir d;
	struct weft_err err;
	assert_int_equal(mkdir("d", 0700), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(chmod("d", modes[i]), 0);
		assert_int_equal(make("d", &d, &err), -EPERM);
		assert_non_null(strstr(err.msg, "everybody may write"));
		assert_int_equal(mode_of("d"), modes[i]);
	}
}

static void make__what_clients_cannot_read_is_refused(void **state)
{
	static const char *const names[] = {"a b", "a\tb", "a\nb", "a,b"};
	struct run_dir d;
	struct weft_err err;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(make(names[i], &d, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "--dir"));
		assert_int_equal(access(names[i], F_OK), -1);
	}
	assert_int_equal(mkdir("a b", 0700), 0);
	assert_int_equal(make("a b", &d, &err), -EINVAL);
	assert_int_equal(rmdir("a b"), 0);
}

static void make__a_file_is_refused(void **state)
{
	struct run_dir d;
	struct weft_err err;
	FILE *f = fopen("d", "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(make("d", &d, &err), -ENOTDIR);
	unlink("d");
	assert_int_equal(make("none/d", &d, &err), -ENOENT);
}

static int setup(void **state)
{
	strcpy(top, "/tmp/weft-dir-XXXXXX");
	return mkdtemp(top) != NULL ? chdir(top) : -1;
}

static int teardown(void **state)
{
	rmdir("d");
	return chdir("/") == 0 ? rmdir(top) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(make__is_from_the_root, setup, teardown),
		cmocka_unit_test_setup_teardown(open__a_new_one_lets_others_in, setup, teardown),
		cmocka_unit_test_setup_teardown(open__an_old_one_stays_as_it_was, setup, teardown),
		cmocka_unit_test_setup_teardown(make__everybodys_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(make__what_clients_cannot_read_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(make__a_file_is_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
