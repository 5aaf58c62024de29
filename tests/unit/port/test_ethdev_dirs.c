/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>

#include "ethdev_dirs.h"
#include "weft/ethdev.h"

static char parent[64];

static int setup(void **state)
{
	strcpy(parent, "/tmp/weft-dirs-XXXXXX");
	return mkdtemp(parent) == NULL;
}

static int teardown(void **state)
{
	char command[96];
	snprintf(command, sizeof command, "rm -rf %s", parent);
	return system(command);
}

static int dead_pid(void)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

/* A directory with a socket that nobody listens on any more; the socket, if `keeps_listening`. */
static int make_dir(const char *name, bool keeps_listening)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char dir[sizeof at.sun_path / 2];
	assert_true(snprintf(dir, sizeof dir, "%s/%s", parent, name) < (int)sizeof dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/dpdk_telemetry.v2", dir);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 1), 0);
	if (keeps_listening)
		return fd;
	close(fd);
	return -1;
}

static bool is_there(const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", parent, name);
	return access(path, F_OK) == 0;
}

static void tidy__removes_what_a_killed_process_left(void **state)
{
	char name[32];
	snprintf(name, sizeof name, "weft-%d", dead_pid());
	make_dir(name, false);
	assert_int_equal(ethdev_dirs_tidy(parent), 1);
	assert_false(is_there(name));
	assert_int_equal(ethdev_dirs_tidy(parent), 0);
}

static void tidy__leaves_the_others(void **state)
{
	char alive[32], elsewhere[32], empty[32], path[128];
	snprintf(alive, sizeof alive, "weft-%d", getpid());
	snprintf(elsewhere, sizeof elsewhere, "weft-%d", dead_pid()); /* as of a container with PIDs of its own */
	snprintf(empty, sizeof empty, "weft-%d", dead_pid());
	make_dir(alive, false);
	make_dir("rte", false);
	make_dir("weft-0", false);
	make_dir("weft-12x", false);
	int listening = make_dir(elsewhere, true);
	snprintf(path, sizeof path, "%s/%s", parent, empty);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(ethdev_dirs_tidy(parent), 0);
	const char *names[] = {alive, "rte", "weft-0", "weft-12x", elsewhere, empty};
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		assert_true(is_there(names[i]));
	close(listening);
	assert_int_equal(ethdev_dirs_tidy("/tmp/weft-nowhere"), 0);
}

/* Starts EAL with telemetry, says where its directory is, and waits to be killed. */
static void child_run(int out)
{
	struct weft_err err;
	char dir[128] = "";
	if (weft_eal_start(WEFT_EAL_ALONE, &err) == 0)
		snprintf(dir, sizeof dir, "%s", rte_eal_get_runtime_dir());
	if (write(out, dir, sizeof dir) == sizeof dir)
		pause();
	_exit(1);
}

static void child_start_and_kill(char dir[128])
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		child_run(ends[1]);
	assert_int_equal(read(ends[0], dir, 128), 128);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(ends[1]);
	assert_non_null(strstr(dir, "/weft-"));
}

static void start__removes_what_a_killed_process_left(void **state)
{
	char first[128], second[128];
	child_start_and_kill(first); /* other tests that start may remove it as well */
	child_start_and_kill(second);
	assert_int_not_equal(access(first, F_OK), 0);
	ethdev_dirs_tidy(dirname(first));
	assert_int_not_equal(access(second, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tidy__removes_what_a_killed_process_left, setup, teardown),
		cmocka_unit_test_setup_teardown(tidy__leaves_the_others, setup, teardown),
		cmocka_unit_test(start__removes_what_a_killed_process_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
