/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors that processes share by name. Each process opens a device of its own that leads nowhere; this program
 * itself opens none, so that it can fork. */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: cmocka's asserts are for its own process. */
#define need(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static char name[64]; /* of the vector */
static struct host host;
static int steps; /* our end of a socket pair: one byte says that the other side may go on */

static void step_give(void)
{
	need(write(steps, "", 1) == 1);
}

static void step_take(void)
{
	char c;
	need(read(steps, &c, 1) == 1);
}

static struct sockaddr_in sock(uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x0a000009)};
	return in;
}

static void domain_open(void)
{
	struct fi_info *hints = fi_allocinfo();
	setenv("FI_PROVIDER", "weft", 1);
	setenv("FI_WEFT_DEVICE", "net_null0", 1);
	hints->caps = FI_MSG | FI_SHARED_AV;
	need(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &host.info) == 0);
	need(host.info->caps & FI_SHARED_AV);
	need(fi_fabric(host.info->fabric_attr, &host.fabric, NULL) == 0);
	need(fi_domain(host.fabric, host.info, &host.domain, NULL) == 0);
}

static int av_open(uint64_t flags, fi_addr_t **map)
{
	struct fi_av_attr attr = {.type = FI_AV_MAP, .name = name, .flags = flags};
	int ret = fi_av_open(host.domain, &attr, &host.av, NULL);
	*map = attr.map_addr;
	return ret;
}

static void expect(fi_addr_t addr, uint16_t port)
{
	struct sockaddr_in in, wanted = sock(port);
	size_t len = sizeof in;
	need(fi_av_lookup(host.av, addr, &in, &len) == 0);
	need(memcmp(&in, &wanted, sizeof in) == 0);
}

static void maker(void)
{
	struct sockaddr_in in[3] = {sock(1), sock(2), sock(3)}, other = sock(4);
	fi_addr_t addr[3], *map;
	domain_open();
	need(av_open(FI_READ, &map) == -FI_ENOENT);
	need(av_open(0, &map) == 0);
	step_give();
	step_take();
	need(fi_av_insert(host.av, in, 3, addr, 0, NULL) == 3);
	step_give();
	step_take();
	need(fi_av_remove(host.av, &addr[0], 1, 0) == 0);
	need(fi_av_insert(host.av, &other, 1, &addr[0], 0, NULL) == 1);
	need(addr[0] == map[0]);
	step_give();
	step_take(); /* and ends without closing anything */
}

static void reader(void)
{
	struct sockaddr_in in = sock(9), back;
	fi_addr_t *map, again;
	size_t len = sizeof back;
	domain_open();
	step_take();
	need(av_open(FI_READ, &map) == 0);
	step_give();
	step_take();
	for (int i = 0; i < 3; i++)
		expect(map[i], (uint16_t)(i + 1));
	need(fi_av_lookup(host.av, 3, &back, &len) == -FI_EINVAL);
	need(fi_av_insert(host.av, &in, 1, &again, 0, NULL) == -FI_EPERM);
	need(fi_av_remove(host.av, map, 1, 0) == -FI_EPERM);
	step_give();
	step_take();
	expect(map[0], 4);
	expect(map[2], 3);
	need(fi_close(&host.av->fid) == 0);

	/* Any process may add; what is there keeps its address. */
	need(av_open(0, &map) == 0);
	struct sockaddr_in known = sock(3);
	need(fi_av_insert(host.av, &known, 1, &again, 0, NULL) == 1);
	need(again == map[2]);
	need(fi_av_insert(host.av, &in, 1, &again, 0, NULL) == 1);
	need(again == 3);
	need(fi_close(&host.av->fid) == 0);
	step_give();
}

/* What dead processes left behind is no vector. */
static void successor(void)
{
	fi_addr_t *map;
	struct sockaddr_in back;
	size_t len = sizeof back;
	domain_open();
	need(av_open(FI_READ, &map) == -FI_ENOENT);
	need(av_open(0, &map) == 0);
	need(fi_av_lookup(host.av, 0, &back, &len) == -FI_EINVAL);
	need(fi_close(&host.av->fid) == 0);
	need(av_open(FI_READ, &map) == -FI_ENOENT); /* gone with its last user */
}

static pid_t start(void (*role)(void), int end, int other)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		steps = end;
		close(other);
		role();
		_exit(0);
	}
	return pid;
}

static void finish(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void share__between_processes(void **state)
{
	int fds[2];
	snprintf(name, sizeof name, "test/%d", (int)getpid());
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pid_t pids[2] = {start(maker, fds[0], fds[1]), start(reader, fds[1], fds[0])};
	close(fds[0]);
	close(fds[1]);
	finish(pids[0]);
	finish(pids[1]);
	finish(start(successor, -1, -1));
}

static void refusals(void)
{
	fi_addr_t *map;
	char long_name[400];
	struct fi_av_attr attr = {.name = long_name};
	domain_open();
	memset(long_name, 'x', sizeof long_name);
	long_name[sizeof long_name - 1] = 0;
	need(fi_av_open(host.domain, &attr, &host.av, NULL) == -FI_EINVAL);
	attr = (struct fi_av_attr){.name = "x", .count = (size_t)1 << 40};
	need(fi_av_open(host.domain, &attr, &host.av, NULL) == -FI_EINVAL);
	attr = (struct fi_av_attr){.flags = FI_READ}; /* what? */
	need(fi_av_open(host.domain, &attr, &host.av, NULL) == -FI_EINVAL);
	need(av_open(FI_READ, &map) == -FI_ENOENT);
}

static void share__refusals(void **state)
{
	finish(start(refusals, -1, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share__between_processes),
		cmocka_unit_test(share__refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
