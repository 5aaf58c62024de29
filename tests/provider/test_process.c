/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes joined by a vhost-user socket or a memif: this program starts itself twice for each scenario. The two
 * sides exchange names, and wait for each other, through a socket pair; side 0 has the server's port and ends last. */
#include "fixture.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 500, BYTES_MAX = 100000, WINDOW = 8 };

static struct host host;
static int oob; /* our end of the socket pair */

static void oob_send(const void *buf, size_t len)
{
	assert_int_equal(write(oob, buf, len), len);
}

/* False: the other side is gone. */
static bool oob_recv(void *buf, size_t len)
{
	ssize_t n = recv(oob, buf, len, MSG_WAITALL);
	assert_true(n == (ssize_t)len || n == 0);
	return n != 0;
}

static void names_exchange(void)
{
	char mine[FI_NAME_MAX] = {0}, theirs[FI_NAME_MAX];
	size_t len = sizeof mine;
	ok(fi_getname(&host.ep->fid, mine, &len));
	oob_send(mine, sizeof mine);
	assert_true(oob_recv(theirs, sizeof theirs));
	assert_int_equal(fi_av_insert(host.av, theirs, 1, &host.peer, 0, NULL), 1);
}

/* Both at once: side 1 waits for the socket that side 0 makes. */
static void side_open(void)
{
	static const struct host_opts none;
	struct fi_info *hints = fi_allocinfo();
	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	host.other = &host;
	host_open_domain(&host, hints);
	host_open_ep(&host, &none);
	names_exchange();
}

/* The transport works while we wait for a byte of the other side (1), or for its end (0). */
static void wait_polling(ssize_t received)
{
	char c;
	ssize_t n;
	while ((n = recv(oob, &c, 1, MSG_DONTWAIT)) != received) {
		assert_int_equal(n, -1);
		assert_int_equal(fi_cq_read(host.cq, NULL, 0), -FI_EAGAIN);
	}
}

/* Side 1 closes first, and side 0 acknowledges what it still sends. */
static void side_close(int side)
{
	if (side == 0)
		wait_polling(0);
	host_close(&host);
}

/* The same with nothing left to acknowledge at side 0. When side 1 closes, DPDK 22.11's memif driver unmaps the shared
 * memory even while side 0 polls the port: side 0 polls no more once it said that it has all. */
static void side_close_unpolled(int side)
{
	char c = 0;
	if (side == 0) {
		oob_send(&c, 1);
		assert_false(oob_recv(&c, 1));
	} else {
		wait_polling(1);
	}
	host_close(&host);
}

static size_t length_of(uint64_t n)
{
	return (size_t)(n * 2654435761u % BYTES_MAX) >> n % 12;
}

/* Sends and receives MESSAGES in flights of WINDOW, both ways at once. */
static void exchange_flight(uint64_t first, int side, uint8_t *out[WINDOW], uint8_t *in[WINDOW])
{
	uint64_t mine = (uint64_t)side << 32, theirs = (uint64_t)!side << 32;
	int done = 0;
	for (uint64_t i = 0; i < WINDOW; i++) {
		size_t len = length_of(first + i);
		pattern_fill(out[i], len, mine + first + i);
		ok(fi_trecv(host.ep, in[i], BYTES_MAX, NULL, host.peer, first + i, 0, in[i]));
		ok(fi_tsend(host.ep, out[i], len, NULL, host.peer, first + i, out[i]));
	}
	while (done < 2 * WINDOW) {
		struct fi_cq_tagged_entry e = next_done(&host);
		done++;
		if (e.flags & FI_SEND)
			continue;
		assert_int_equal(e.len, length_of(e.tag));
		assert_int_equal(pattern_check(e.op_context, e.len, theirs + e.tag), e.len);
	}
}

static void exchange(int side, void (*close_side)(int side))
{
	uint8_t *out[WINDOW], *in[WINDOW];
	for (int i = 0; i < WINDOW; i++) {
		assert_non_null(out[i] = malloc(BYTES_MAX));
		assert_non_null(in[i] = malloc(BYTES_MAX));
	}
	side_open();
	for (uint64_t n = 0; n < MESSAGES; n += WINDOW)
		exchange_flight(n, side, out, in);
	close_side(side);
	for (int i = 0; i < WINDOW; i++) {
		free(out[i]);
		free(in[i]);
	}
}

static void side_exchange(int side)
{
	exchange(side, side_close);
}

static void side_exchange_memif(int side)
{
	exchange(side, side_close_unpolled);
}

/* Side 1 injects and leaves at once; its messages must still arrive, and side 0's last one must be acknowledged. */
static void side_leave(int side)
{
	enum { COUNT = 20 };
	char buf[2000] = {0};
	side_open();
	if (side == 1) {
		ok(fi_recv(host.ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, NULL));
		next_done(&host);
		for (int i = 0; i < COUNT; i++)
			ok(fi_inject(host.ep, buf, sizeof buf, host.peer));
	} else {
		ok(fi_send(host.ep, buf, sizeof buf, NULL, host.peer, NULL));
		next_done(&host);
		for (int i = 0; i < COUNT; i++) {
			ok(fi_recv(host.ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, NULL));
			next_done(&host);
		}
	}
	side_close(side);
}

/* Side 1 dies in the middle; side 0's sends must end with errors, and receives can be taken back. */
static void side_vanish(int side)
{
	static char buf[100000];
	setenv("FI_WEFT_PEER_TIMEOUT_MS", "1000", 1);
	side_open();
	ok(fi_recv(host.ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, buf));
	ok(fi_send(host.ep, buf, 8, NULL, host.peer, NULL));
	next_done(&host);
	next_done(&host);
	char c = 0;
	if (side == 1) {
		oob_recv(&c, 1); /* what lies in the rings dies with us: side 0 has read it now */
		raise(SIGKILL);
	}
	oob_send(&c, 1);
	assert_false(oob_recv(&c, 1));
	ok(fi_send(host.ep, buf, sizeof buf, NULL, host.peer, &host));
	struct fi_cq_err_entry e = next_error(&host);
	assert_ptr_equal(e.op_context, &host);
	assert_int_equal(e.err, FI_ETIMEDOUT);
	ok(fi_recv(host.ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, buf));
	ok(fi_cancel(&host.ep->fid, buf));
	assert_int_equal(next_error(&host).err, FI_ECANCELED);
	host_close(&host);
}

/* Nobody has the number that side 0 sends to. */
static void side_nobody(int side)
{
	struct fi_cq_err_entry e;
	uint16_t name[8];
	size_t len = sizeof name;
	fi_addr_t wrong;
	side_open();
	if (side == 0) {
		ok(fi_av_lookup(host.av, host.peer, name, &len));
		name[1] ^= 0x0100; /* another port */
		assert_int_equal(fi_av_insert(host.av, name, 1, &wrong, 0, NULL), 1);
		ok(fi_send(host.ep, name, sizeof name, NULL, wrong, name));
		e = next_error(&host);
		assert_int_equal(e.err, FI_EHOSTUNREACH);
		ok(fi_send(host.ep, name, sizeof name, NULL, host.peer, NULL));
		next_done(&host);
	} else {
		ok(fi_recv(host.ep, name, sizeof name, NULL, FI_ADDR_UNSPEC, NULL));
		next_done(&host);
	}
	side_close(side);
}

static const char *const memif[2] = {
	"net_memif0,role=server,id=0,socket=%s,socket-abstract=no,bsize=9216",
	"net_memif0,role=client,id=0,socket=%s,socket-abstract=no,bsize=9216",
};
static const char *const vhost[2] = {"net_vhost0,iface=%s", "net_virtio_user0,path=%s"};

enum scenario { EXCHANGE, EXCHANGE_MEMIF, LEAVE, VANISH, NOBODY };

static const struct {
	void (*run)(int side);
	const char *const *devices; /* by side; %s: the socket */
} scenarios[] = {
	[EXCHANGE] = {side_exchange, vhost}, [EXCHANGE_MEMIF] = {side_exchange_memif, memif},
	[LEAVE] = {side_leave, vhost},       [VANISH] = {side_vanish, vhost},
	[NOBODY] = {side_nobody, vhost},
};

static int my_side;

static void side_test(void **state)
{
	scenarios[(size_t)*state].run(my_side);
}

/* argv: program, scenario, side, socket pair's descriptor, the ports' socket. */
static int side_main(char **argv)
{
	char device[256];
	int scenario = atoi(argv[1]);
	my_side = atoi(argv[2]);
	oob = atoi(argv[3]);
	snprintf(device, sizeof device, scenarios[scenario].devices[my_side], argv[4]);
	setenv("FI_PROVIDER", "weft", 1);
	setenv("FI_WEFT_DEVICE", device, 1);
	setenv("FI_WEFT_ADDR", my_side ? "10.98.0.2" : "10.98.0.1", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(side_test, (void *)(size_t)scenario),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

static pid_t side_start(enum scenario scenario, int side, const int fds[2], const char *socket)
{
	char texts[3][16];
	snprintf(texts[0], sizeof texts[0], "%d", (int)scenario);
	snprintf(texts[1], sizeof texts[1], "%d", side);
	snprintf(texts[2], sizeof texts[2], "%d", fds[side]);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[!side]);
		execl("/proc/self/exe", "test_process", texts[0], texts[1], texts[2], socket, NULL);
		_exit(127);
	}
	return pid;
}

/* Runs both sides; returns their wait statuses. */
static void run(enum scenario scenario, int status[2])
{
	char dir[] = "/tmp/weft-test-XXXXXX", socket[64];
	int fds[2];
	pid_t pids[2];
	assert_non_null(mkdtemp(dir));
	snprintf(socket, sizeof socket, "%s/socket", dir);
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	for (int side = 0; side < 2; side++)
		pids[side] = side_start(scenario, side, fds, socket);
	close(fds[0]);
	close(fds[1]);
	for (int side = 0; side < 2; side++)
		assert_int_equal(waitpid(pids[side], &status[side], 0), pids[side]);
	unlink(socket);
	ok(rmdir(dir));
}

static void run_to_success(enum scenario scenario)
{
	int status[2];
	run(scenario, status);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], 0);
}

static void process__exchange(void **state)
{
	run_to_success(EXCHANGE);
}

static void process__exchange_memif(void **state)
{
	run_to_success(EXCHANGE_MEMIF);
}

static void process__leaves_after_inject(void **state)
{
	run_to_success(LEAVE);
}

static void process__peer_vanishes(void **state)
{
	int status[2];
	run(VANISH, status);
	assert_int_equal(status[0], 0);
	assert_true(WIFSIGNALED(status[1]) && WTERMSIG(status[1]) == SIGKILL);
}

static void process__nobody_there(void **state)
{
	run_to_success(NOBODY);
}

int main(int argc, char **argv)
{
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	if (argc == 5)
		return side_main(argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process__exchange),
		cmocka_unit_test(process__exchange_memif),
		cmocka_unit_test(process__leaves_after_inject),
		cmocka_unit_test(process__peer_vanishes),
		cmocka_unit_test(process__nobody_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
