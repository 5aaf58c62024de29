/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { STRANGER = 54321 };

static char top[] = "/tmp/weft-path-XXXXXX";
static char dir[64], path[80];

static int make_free(struct weft_err *err)
{
	const struct switch_user user = {.uid = geteuid()};
	return socket_path_make_free(path, &user, err);
}

static void make_free__directory_is_made_for_us_alone(void **state)
{
	struct weft_err err;
	struct stat st;
	assert_int_equal(make_free(&err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void make_free__open_directory_is_refused(void **state)
{
	struct weft_err err;
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(make_free(&err), -EPERM);
	assert_non_null(strstr(err.msg, "everybody may write"));
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(make_free(&err), 0);
	assert_int_equal(chmod(dir, 0700), 0);
}

/* Root could remove them, and must not. */
static void make_free__another_users_are_refused(void **state)
{
	struct weft_err err;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	if (geteuid() != 0)
		skip();
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	close(fd);
	assert_int_equal(chown(path, STRANGER, STRANGER), 0);
	assert_int_equal(make_free(&err), -EPERM);
	assert_non_null(strstr(err.msg, "belongs to user 54321"));
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(make_free(&err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(chown(dir, STRANGER, STRANGER), 0);
	assert_int_equal(make_free(&err), -EPERM);
	assert_non_null(strstr(err.msg, "directory is of user 54321"));
}

static int setup(void **state)
{
	if (mkdtemp(top) == NULL)
		return -1;
	snprintf(dir, sizeof dir, "%s/d", top);
	snprintf(path, sizeof path, "%s/s", dir);
	return 0;
}

static int teardown(void **state)
{
	return rmdir(dir) == 0 ? rmdir(top) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make_free__directory_is_made_for_us_alone),
		cmocka_unit_test(make_free__open_directory_is_refused),
		cmocka_unit_test(make_free__another_users_are_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
