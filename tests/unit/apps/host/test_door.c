/* SPDX-License-Identifier: BSD-3-Clause */
/* The test opens the socket of `weft host`, as a service manager does: clients may come and go before anybody answers.
 */
#include "door.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { ACTIVATED_FD = 3, LEAVERS = 10, BACKLOG = 2 * LEAVERS };

static char folder[] = "/tmp/weft-door-XXXXXX";

static struct sockaddr_un address(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/%s", folder, name);
	return addr;
}

static void listen_for_the_door(void)
{
	struct sockaddr_un addr = address("host");
	char pid[16];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr) | listen(fd, BACKLOG), 0);
	if (fd != ACTIVATED_FD) {
		assert_int_equal(dup2(fd, ACTIVATED_FD), ACTIVATED_FD);
		close(fd);
	}
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
}

static int client(void)
{
	struct sockaddr_un addr = address("host");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	return fd;
}

static void come_and_go(void)
{
	for (int i = 0; i < LEAVERS; i++)
		close(client());
}

/* A client that stays, and what it is told. */
static int ask(char answer[128])
{
	int fd = client();
	ssize_t n = read(fd, answer, 127);
	answer[n > 0 ? n : 0] = '\0';
	return fd;
}

static void clean(void)
{
	static const char *const names[] = {"ports/0", "leases", "host"};
	char path[64];
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/ports", folder);
	rmdir(path);
	rmdir(folder);
}

static void host_accept__clients_that_hang_up_before_the_answer(void **state)
{
	const struct weft_ip ip = weft_ip_v4(0x0a090064);
	struct switch_user user;
	struct door *door;
	struct weft_err err;
	char answer[128];
	assert_non_null(mkdtemp(folder));
	assert_int_equal(switch_user_find(NULL, &user, &err), 0);
	const struct door_conf conf = {.dir = folder,
				       .private_prefix = folder,
				       .user = &user,
				       .addrs = &ip,
				       .ports = 1,
				       .per_user = 1,
				       .mtu_bytes = 1500};
	signal(SIGPIPE, SIG_DFL);
	listen_for_the_door();
	come_and_go(); /* before there is a port for them */
	assert_int_equal(door_open(&conf, &door, &err), 0);
	int one = ask(answer);
	assert_non_null(strstr(answer, "/ports/0 10.9.0.100 1500"));
	come_and_go(); /* while there is none left */
	int other = ask(answer);
	assert_memory_equal(answer, "no ", 3);
	close(one);
	close(other);
	door_close(door);
	clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_accept__clients_that_hang_up_before_the_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
