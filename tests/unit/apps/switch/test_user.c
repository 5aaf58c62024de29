/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that root starts for another user. Only root can play it. */
#include "user.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "cmocka_all.h"

enum { LIFE_S = 60 };

static const char name[] = "nobody";
static char top[] = "/tmp/weft-user-XXXXXX";
static char dir[64], socket_path[80], spec[96];

static void find__unknown_and_own(void **state)
{
	struct switch_user u;
	struct weft_err err = {""};
	assert_int_equal(switch_user_find("no-such-user", &u, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no-such-user"));
	assert_int_equal(switch_user_find(NULL, &u, &err), 0);
	assert_false(u.is_other);
	assert_int_equal(u.uid, geteuid());
}

/* Returns when its ports are ready. */
static pid_t start_switch(FILE **out)
{
	static char command[] = "switch", vhost[] = "--vhost", user[] = "--user";
	char *argv[] = {command, vhost, spec, user, (char *)name, NULL}, line[256] = "";
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(LIFE_S);
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		_exit(weft_cmd_switch(5, argv));
	}
	close(fds[1]);
	*out = fdopen(fds[0], "r");
	if (fgets(line, sizeof line, *out) == NULL || strstr(line, "ready") == NULL)
		fail_msg("switch says: %s", line);
	return pid;
}

/* The ids of a process, all four of them. */
static void assert_ids(pid_t pid, const char *kind, unsigned id)
{
	char path[64], line[256];
	unsigned ids[4] = {0};
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "r");
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, kind, strlen(kind)) == 0)
			sscanf(line + strlen(kind), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]);
	fclose(f);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(ids[i], id);
}

static void end_switch(pid_t pid, FILE *out, int sig)
{
	char rest[256];
	int status;
	kill(pid, sig);
	while (fgets(rest, sizeof rest, out) != NULL)
		;
	fclose(out);
	waitpid(pid, &status, 0);
	assert_true(sig == SIGKILL || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

/* Twice: the killed one's socket is the user's, too. */
static void become__after_the_devices_are_open(void **state)
{
	struct stat st;
	FILE *out;
	const struct passwd *entry = getpwnam(name);
	if (geteuid() != 0 || entry == NULL)
		skip();
	for (unsigned i = 0; i < 2; i++) {
		pid_t pid = start_switch(&out);
		assert_ids(pid, "Uid:", entry->pw_uid);
		assert_ids(pid, "Gid:", entry->pw_gid);
		assert_int_equal(stat(dir, &st), 0);
		assert_int_equal(st.st_uid, entry->pw_uid);
		assert_int_equal(st.st_mode & 07777, 0700);
		assert_int_equal(stat(socket_path, &st), 0);
		assert_int_equal(st.st_uid, entry->pw_uid);
		end_switch(pid, out, i == 0 ? SIGKILL : SIGTERM);
	}
	assert_int_equal(access(socket_path, F_OK), -1);
}

static int setup(void **state)
{
	if (mkdtemp(top) == NULL || chmod(top, 0755) != 0)
		return -1;
	snprintf(dir, sizeof dir, "%s/d", top);
	snprintf(socket_path, sizeof socket_path, "%s/v0", dir);
	snprintf(spec, sizeof spec, "%s/v:1", dir);
	return 0;
}

static int teardown(void **state)
{
	rmdir(dir);
	return rmdir(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__unknown_and_own),
		cmocka_unit_test(become__after_the_devices_are_open),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
