/* SPDX-License-Identifier: BSD-3-Clause */
/* The test plays the clients and DPDK. */
#include "door.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "local_shm.h"

enum {
	ACTIVATED_FD = 3,
	LEAVERS = 10,
	BACKLOG = 2 * LEAVERS,
	PORTS = 2,
	FIRST = 0x0a090064,
	MTU = 1500,
	STRANGER = 54321,
	PATIENCE_MS = 20000,
	SHUT_MS = 1000,
	GET_FEATURES = 1,
	NOT_SERVED = 0,
};

static char folder[32], prefix[48];
static struct door *door;

static struct sockaddr_un address(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/%s", folder, name);
	return addr;
}

/* As a service manager does: clients may come and go before anybody answers. */
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

static void door_start(uint32_t ports)
{
	const struct weft_ip ips[PORTS] = {weft_ip_v4(FIRST), weft_ip_v4(FIRST + 1)};
	struct switch_user user;
	struct weft_err err;
	assert_int_equal(switch_user_find(NULL, &user, &err), 0);
	const struct door_conf conf = {.dir = folder,
				       .private_prefix = prefix,
				       .user = &user,
				       .addrs = ips,
				       .ports = ports,
				       .per_user = ports,
				       .mtu_bytes = MTU,
				       .local = true};
	if (door_open(&conf, &door, &err) != 0)
		fail_msg("%s", err.msg);
}

static int setup(void **state)
{
	unsetenv("LISTEN_PID");
	snprintf(folder, sizeof folder, "/tmp/weft-door-XXXXXX");
	door = NULL;
	if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0) /* for clients of other users */
		return -1;
	snprintf(prefix, sizeof prefix, "%s/dpdk", folder);
	return 0;
}

/* Whom this thread connects as from now on. Root alone can be others. */
static void become(uid_t uid)
{
	if (syscall(SYS_getuid) == 0)
		assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
}

static int teardown(void **state)
{
	static const char *const names[] = {"ports/0", "ports/1", "ports/0.local", "ports/1.local",
					    "leases",  "host",    "dpdk0"};
	char path[64];
	become(0); /* should a test have failed meanwhile */
	if (door != NULL)
		door_close(door);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/ports", folder);
	rmdir(path);
	return rmdir(folder);
}

static void host_accept__clients_that_hang_up_before_the_answer(void **state)
{
	char answer[128];
	signal(SIGPIPE, SIG_DFL);
	listen_for_the_door();
	come_and_go(); /* before there is a port for them */
	door_start(1);
	int one = ask(answer);
	assert_non_null(strstr(answer, "/ports/0 10.9.0.100 1500"));
	come_and_go(); /* while there is none left */
	int other = ask(answer);
	assert_memory_equal(answer, "no ", 3);
	close(one);
	close(other);
}

/* ---- clients of ports ---- */

static int connect_at(const char *name, int type)
{
	struct sockaddr_un addr = address(name);
	int fd = socket(AF_UNIX, type, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	return fd;
}

/* DPDK's end of a port. */
static int dpdk_listen(void)
{
	struct sockaddr_un addr = address("dpdk0");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr) | listen(fd, BACKLOG), 0);
	return fd;
}

static void request(int fd, uint32_t what)
{
	const uint32_t header[3] = {what, 1, 0};
	assert_int_equal(send(fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
}

static void assert_comes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static void assert_ends(int fd)
{
	char byte;
	assert_comes(fd);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static void assert_is_asked(int dpdk)
{
	uint32_t header[3];
	assert_comes(dpdk);
	assert_int_equal(recv(dpdk, header, sizeof header, 0), sizeof header);
	assert_int_equal(header[0], GET_FEATURES);
}

static void assert_stays(int fd)
{
	char byte;
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void let_everybody_in(void)
{
	char path[64];
	snprintf(path, sizeof path, "%s/host", folder);
	assert_int_equal(chmod(path, 0666), 0);
}

/* What a user is told whose client had to go less than SHUT_MS ago; again, should this machine have been busy for
 * longer than that. */
static void offend_and_ask(char answer[128])
{
	for (;;) {
		int port = connect_at("ports/0", SOCK_STREAM);
		weft_ns start = weft_clock_ns();
		request(port, NOT_SERVED);
		assert_ends(port);
		close(port);
		close(ask(answer));
		if (weft_clock_ns() - start < WEFT_MS(SHUT_MS))
			return;
		usleep(2 * 1000 * SHUT_MS);
	}
}

/* Others do, and so does that user a moment later. */
static void host_accept__who_had_to_go_gets_no_port_at_once(void **state)
{
	char answer[128];
	door_start(PORTS);
	let_everybody_in();
	become(STRANGER);
	int lease = ask(answer);
	assert_memory_equal(answer, "port ", 5);
	offend_and_ask(answer);
	assert_string_equal(answer, "no a process of this user had to go a moment ago\n");
	become(0);
	if (geteuid() == 0) {
		close(ask(answer));
		assert_memory_equal(answer, "port ", 5);
	}
	become(STRANGER);
	weft_ns end = weft_clock_ns() + WEFT_MS(PATIENCE_MS);
	do {
		usleep(50000);
		close(ask(answer));
	} while (answer[0] == 'n' && weft_clock_ns() < end);
	assert_memory_equal(answer, "port ", 5);
	become(0);
	close(lease);
}

static void host_accept__root_gets_a_port_at_once(void **state)
{
	char answer[128];
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	door_start(PORTS);
	int lease = ask(answer);
	offend_and_ask(answer);
	assert_memory_equal(answer, "port ", 5);
	close(lease);
}

/* Who has said nothing yet does not count. */
static void port_accept__who_speaks_last_has_the_port(void **state)
{
	char answer[128];
	int listener = dpdk_listen();
	door_start(1);
	int lease = ask(answer);
	int first = connect_at("ports/0", SOCK_STREAM), silent = connect_at("ports/0", SOCK_STREAM),
	    last = connect_at("ports/0", SOCK_STREAM);
	request(first, GET_FEATURES);
	int to_first = accept(listener, NULL, NULL);
	assert_is_asked(to_first);
	request(last, GET_FEATURES);
	int to_last = accept(listener, NULL, NULL);
	assert_is_asked(to_last);
	assert_ends(first);
	assert_ends(to_first);
	assert_int_equal(send(to_last, "features", 8, MSG_NOSIGNAL), 8);
	assert_comes(last);
	assert_int_equal(recv(last, answer, sizeof answer, 0), 8);
	assert_stays(silent);
	request(silent, GET_FEATURES);
	assert_ends(last);
	const int all[] = {lease, first, silent, last, to_first, to_last, listener};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		close(all[i]);
}

/* ---- channels ---- */

static void assert_hears(int fd, uint32_t what, uint32_t about)
{
	struct local_msg m;
	const struct weft_ip ip = weft_ip_v4(FIRST + about);
	assert_comes(fd);
	assert_int_equal(recv(fd, &m, sizeof m, 0), sizeof m); /* files go */
	assert_int_equal(m.what, what);
	assert_true(weft_ip_eq(&m.ip, &ip));
}

static void port_end__channels_end_with_the_lease(void **state)
{
	static const char *const names[PORTS] = {"ports/0.local", "ports/1.local"};
	const struct local_msg question = {.what = LOCAL_ASK, .ip = weft_ip_v4(FIRST + 1)};
	char answer[128];
	int leases[PORTS], locals[PORTS];
	door_start(PORTS);
	for (int i = 0; i < PORTS; i++) {
		leases[i] = ask(answer);
		locals[i] = connect_at(names[i], SOCK_SEQPACKET);
		assert_hears(locals[i], LOCAL_HELLO, 0);
	}
	assert_int_equal(send(locals[0], &question, sizeof question, MSG_NOSIGNAL), sizeof question);
	assert_hears(locals[0], LOCAL_OPEN, 1);
	assert_hears(locals[1], LOCAL_OPEN, 0);
	close(leases[0]);
	assert_ends(locals[0]);
	assert_hears(locals[1], LOCAL_GONE, 0);
	close(locals[0]);
	locals[0] = connect_at(names[0], SOCK_SEQPACKET); /* a port that nobody has */
	assert_ends(locals[0]);
	assert_stays(locals[1]);
	for (int i = 0; i < PORTS; i++)
		close(locals[i]);
	close(leases[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(host_accept__clients_that_hang_up_before_the_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(host_accept__who_had_to_go_gets_no_port_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(host_accept__root_gets_a_port_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(port_accept__who_speaks_last_has_the_port, setup, teardown),
		cmocka_unit_test_setup_teardown(port_end__channels_end_with_the_lease, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
