/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { STRANGER = 54321, OWN = 54322 };

static char dir[] = "/tmp/weft-peer-XXXXXX";
static struct sockaddr_un addr = {.sun_family = AF_UNIX};
static char devargs[160];

static int listen_there(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	unlink(addr.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void trusted__root_and_oneself(void **state)
{
	int fd = listen_there();
	assert_true(peer_is_trusted(addr.sun_path, 0, OWN));
	assert_true(peer_is_trusted(addr.sun_path, OWN, OWN));
	assert_false(peer_is_trusted(addr.sun_path, STRANGER, OWN));
	close(fd);
}

/* The user of a switch's service, in a directory below root's. */
static void trusted__owner_of_the_directories(void **state)
{
	assert_true(peer_is_trusted("/usr/bin/env", STRANGER, OWN));
	assert_false(peer_is_trusted("/nowhere/at-all", STRANGER, OWN));
}

static void check__other_devices_and_no_socket_pass(void **state)
{
	struct weft_err err = {""};
	unlink(addr.sun_path);
	assert_int_equal(peer_check("net_null0", &err), 0);
	assert_int_equal(peer_check(devargs, &err), 0);
}

static void check__own_listener_passes(void **state)
{
	struct weft_err err = {""};
	int fd = listen_there();
	assert_int_equal(peer_check(devargs, &err), 0);
	close(fd);
	assert_int_equal(peer_check(devargs, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, addr.sun_path));
}

/* Another user was there first. Only root can play both. */
static void check__stranger_is_refused(void **state)
{
	struct weft_err err = {""};
	int ready[2];
	char byte;
	if (geteuid() != 0)
		skip();
	unlink(addr.sun_path);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(chmod(dir, 01777), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setuid(STRANGER) == 0 && listen_there() >= 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(peer_check(devargs, &err), -EPERM);
	assert_non_null(strstr(err.msg, "user 54321 listens there"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
}

static int setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/s", dir);
	snprintf(devargs, sizeof devargs, "net_virtio_user0,path=%s", addr.sun_path);
	return 0;
}

static int teardown(void **state)
{
	unlink(addr.sun_path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trusted__root_and_oneself),
		cmocka_unit_test(trusted__owner_of_the_directories),
		cmocka_unit_test(check__other_devices_and_no_socket_pass),
		cmocka_unit_test(check__own_listener_passes),
		cmocka_unit_test(check__stranger_is_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
