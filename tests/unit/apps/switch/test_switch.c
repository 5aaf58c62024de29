/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft switch` and its clients, each in a process of its own. This one never starts EAL. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "cmocka_all.h"
#include "net.h"
#include "port_send.h"
#include "weft/ethdev.h"

enum { PAYLOAD = 4096, PKTS = 2000, WINDOW = 32, LIFE_S = 60, ARGS_MAX = 16 };

struct child {
	pid_t pid;
	FILE *out; /* what it writes to stdout and stderr */
};

static char dir[] = "/tmp/weft-switch-XXXXXX";

/* ---- processes ---- */

static struct child spawn(int (*run)(int argc, char **argv), char **argv)
{
	int fds[2], argc = 0;
	assert_int_equal(pipe(fds), 0);
	while (argv[argc] != NULL)
		argc++;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(LIFE_S);
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		int rc = run(argc, argv);
		fflush(NULL);
		_exit(rc);
	}
	assert_true(pid > 0);
	close(fds[1]);
	return (struct child){pid, fdopen(fds[0], "r")};
}

/* Exit code, or -signal. Everything written so far goes to `text` if not NULL. */
static int reap(struct child *c, char *text, size_t size)
{
	int status;
	char rest[256];
	size_t n = text != NULL ? fread(text, 1, size - 1, c->out) : 0;
	if (text != NULL)
		text[n] = '\0';
	while (fgets(rest, sizeof rest, c->out) != NULL)
		;
	fclose(c->out);
	waitpid(c->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Splits `args`, where %s is our directory, behind "switch". */
static struct child start_switch(const char *args)
{
	char text[512], *argv[ARGS_MAX] = {"switch"}, *save = NULL;
	int argc = 1;
	snprintf(text, sizeof text, args, dir, dir, dir);
	for (char *tok = strtok_r(text, " ", &save); tok != NULL && argc < ARGS_MAX - 1;
	     tok = strtok_r(NULL, " ", &save))
		argv[argc++] = tok;
	return spawn(weft_cmd_switch, argv);
}

static struct child start_ready_switch(const char *args)
{
	char line[256] = "";
	struct child c = start_switch(args);
	if (fgets(line, sizeof line, c.out) == NULL || strstr(line, "ready") == NULL)
		fail_msg("switch says: %s", line);
	return c;
}

static int stop_switch(struct child *c, char *text, size_t size)
{
	kill(c->pid, SIGTERM);
	return reap(c, text, size);
}

/* ---- clients ---- */

static uint8_t payload_byte(uint32_t i)
{
	return (uint8_t)(i * 13 + (i >> 8));
}

static struct weft_port *open_client(const char *devargs, const char *host)
{
	struct weft_ethdev_conf conf = {.dev = devargs,
					.ip = weft_ip_v4(weft_net_host_ip((uint32_t)atoi(host))),
					.max_ip_bytes = PAYLOAD + 200,
					.pool_pkts = 1023,
					.no_arp = true};
	struct weft_port *port = NULL;
	struct weft_err err;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fprintf(stderr, "%s\n", err.msg);
	return port;
}

static bool send_one(struct weft_port *port, uint32_t psn, const uint8_t *data)
{
	struct plain_pkt w =
		port_data_pkt(weft_net_host_ip(0), weft_net_host_ip(1), (uint16_t)(49152 + psn % 64), psn, PAYLOAD);
	return port_send(port, &w, data);
}

static unsigned wrong_packets(struct weft_pkt **pkts, uint16_t n, const uint8_t *data)
{
	unsigned wrong = 0;
	for (uint16_t i = 0; i < n; i++) {
		const struct weft_pkt *p = pkts[i];
		wrong += p->head_len < PAYLOAD || memcmp(p->head + p->head_len - PAYLOAD, data, PAYLOAD) != 0;
	}
	return wrong;
}

/* Sends to host 1, which sends everything back; how many packets came back wrong. What is lost while the other side
 * connects is sent again; `says_so`: with a line each time. */
static uint32_t send_all(struct weft_port *port, bool says_so)
{
	static uint8_t data[PAYLOAD];
	uint32_t sent = 0, got = 0, wrong = 0;
	for (uint32_t i = 0; i < PAYLOAD; i++)
		data[i] = payload_byte(i);
	weft_ns last = weft_clock_ns();
	while (got < PKTS) {
		struct weft_pkt *pkts[32];
		while (sent < got + WINDOW && sent < PKTS && send_one(port, sent, data))
			sent++;
		uint16_t n = port->ops->rx(port, pkts, 32);
		wrong += wrong_packets(pkts, n, data);
		port->ops->free(port, pkts, n);
		got += n;
		weft_ns now = weft_clock_ns();
		last = n > 0 ? now : last;
		if (n == 0)
			weft_ethdev_sleep(&port, 1, WEFT_US(100));
		if (now - last > WEFT_MS(500)) {
			sent = got;
			last = now;
			if (says_so) {
				puts("no answers");
				fflush(stdout);
			}
		}
	}
	return wrong;
}

static int send_and_close(const char *devargs, bool says_so)
{
	struct weft_port *port = open_client(devargs, "0");
	if (port == NULL)
		return 2;
	uint32_t wrong = send_all(port, says_so);
	port->ops->close(port);
	return wrong == 0 ? 0 : 1;
}

/* DEVARGS: 0 when every packet came back right. */
static int client_send(int argc, char **argv)
{
	return send_and_close(argv[0], false);
}

/* The same, and says when nothing comes back. */
static int client_send_in_vain(int argc, char **argv)
{
	return send_and_close(argv[0], true);
}

/* DEVARGS: the same, then says so and stays until killed. */
static int client_send_stay(int argc, char **argv)
{
	struct weft_port *port = open_client(argv[0], "0");
	if (port == NULL)
		return 2;
	puts(send_all(port, false) == 0 ? "all came back" : "some came back wrong");
	fflush(stdout);
	for (;;)
		pause();
}

/* DEVARGS: turns every packet around, until killed. */
static int client_echo(int argc, char **argv)
{
	struct weft_port *port = open_client(argv[0], "1");
	struct weft_pkt *pkts[32];
	while (port != NULL) {
		uint16_t n = port->ops->rx(port, pkts, 32);
		for (uint16_t i = 0; i < n; i++) {
			uint8_t src[4], *ip = pkts[i]->head;
			memcpy(src, ip + 12, 4);
			memcpy(ip + 12, ip + 16, 4);
			memcpy(ip + 16, src, 4);
		}
		uint16_t sent = port->ops->tx(port, pkts, n);
		port->ops->free(port, pkts + sent, (uint16_t)(n - sent));
		if (n == 0)
			weft_ethdev_sleep(&port, 1, WEFT_US(100));
	}
	return 2;
}

static struct child start_client(int (*run)(int argc, char **argv), const char *format, int id)
{
	char devargs[256], *argv[] = {devargs, NULL};
	snprintf(devargs, sizeof devargs, format, dir, id);
	return spawn(run, argv);
}

/* Packets there and back between two processes; the echo is killed in the end. */
static void exchange(const char *format)
{
	char text[512];
	struct child echo = start_client(client_echo, format, 1), sender = start_client(client_send, format, 0);
	int rc = reap(&sender, text, sizeof text);
	kill(echo.pid, SIGKILL);
	assert_int_equal(reap(&echo, NULL, 0), -SIGKILL);
	if (rc != 0)
		fail_msg("sender: %d: %s", rc, text);
}

static unsigned files_left(void)
{
	unsigned n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* ---- tests ---- */

static const char VHOST_CLIENT[] = "net_virtio_user0,path=%s/v%d";
static const char SHM_CLIENT[] = "shm:%s/v%d";
static const char MEMIF_CLIENT[] = "net_memif0,role=client,socket=%s/m,socket-abstract=no,id=%d";

/* Clients that die without a word leave a switch that serves their successors. */
static void serve(const char *args, const char *client)
{
	char text[4096];
	unsigned long received;
	struct child sw = start_ready_switch(args);
	exchange(client);
	exchange(client);
	int rc = stop_switch(&sw, text, sizeof text);
	if (rc != 0)
		fail_msg("switch: %d: %s", rc, text);
	const char *row = strstr(text, "\n0 ");
	assert_non_null(row);
	assert_int_equal(sscanf(row, "\n0 %lu", &received), 1);
	assert_true(received >= 2 * PKTS);
	assert_int_equal(files_left(), 0);
}

static void switch__vhost_processes_talk(void **state)
{
	serve("--vhost %s/v:2", VHOST_CLIENT);
}

static void switch__shm_processes_talk(void **state)
{
	serve("--shm %s/v:2", SHM_CLIENT);
}

static void switch__shm_processes_talk_over_leaves(void **state)
{
	serve("--shm %s/v:2 --topology leafspine:2:2:1 --route adaptive", SHM_CLIENT);
}

static void assert_rate(const char *args, const char *rate)
{
	char line[256] = "";
	struct child c = start_switch(args);
	if (fgets(line, sizeof line, c.out) == NULL || strstr(line, rate) == NULL)
		fail_msg("%s: no %s: %s", args, rate, line);
	assert_int_equal(stop_switch(&c, NULL, 0), 0);
}

static void switch__links_are_as_fast_as_ports_copy(void **state)
{
	assert_rate("--shm %s/v:2", ", 400 Gb/s");
	assert_rate("--shm %s/v:1 --vhost %s/w:1", ", 100 Gb/s");
	assert_rate("--shm %s/v:2 --link-gbps 25", ", 25 Gb/s");
}

/* One process with shared buffers, one without. */
static void switch__shm_beside_vhost(void **state)
{
	char text[4096];
	struct child sw = start_ready_switch("--shm %s/v:1 --vhost %s/w:1");
	struct child echo = start_client(client_echo, "net_virtio_user0,path=%s/w%d", 0),
		     sender = start_client(client_send, SHM_CLIENT, 0);
	int rc = reap(&sender, text, sizeof text);
	kill(echo.pid, SIGKILL);
	reap(&echo, NULL, 0);
	if (rc != 0)
		fail_msg("sender: %d: %s", rc, text);
	assert_int_equal(stop_switch(&sw, text, sizeof text), 0);
	assert_int_equal(files_left(), 0);
}

/* The driver's memory goes away under a polling peer when one side leaves, so both clients outlive the switch. */
static void switch__memif_processes_talk(void **state)
{
	char text[4096];
	unsigned long received;
	struct child sw = start_ready_switch("--memif %s/m:2 --link-gbps 5");
	struct child echo = start_client(client_echo, MEMIF_CLIENT, 1),
		     sender = start_client(client_send_stay, MEMIF_CLIENT, 0);
	assert_non_null(fgets(text, sizeof text, sender.out));
	assert_string_equal(text, "all came back\n");
	int rc = stop_switch(&sw, text, sizeof text);
	kill(sender.pid, SIGKILL);
	kill(echo.pid, SIGKILL);
	reap(&sender, NULL, 0);
	reap(&echo, NULL, 0);
	if (rc != 0)
		fail_msg("switch: %d: %s", rc, text);
	assert_int_equal(sscanf(strstr(text, "\n0 "), "\n0 %lu", &received), 1);
	assert_true(received >= PKTS);
}

/* A host that another process takes over at another port keeps its address there, once its old process has ended. */
static void switch__address_moves_when_its_port_is_down(void **state)
{
	char text[4096];
	unsigned long refused;
	struct child sw = start_ready_switch("--vhost %s/v:3");
	struct child echo = start_client(client_echo, VHOST_CLIENT, 1),
		     sender = start_client(client_send_stay, VHOST_CLIENT, 0);
	assert_non_null(fgets(text, sizeof text, sender.out));
	struct child thief = start_client(client_send_in_vain, VHOST_CLIENT, 2); /* as host 0, too */
	for (int i = 0; i < 2; i++)
		assert_non_null(fgets(text, sizeof text, thief.out));
	kill(sender.pid, SIGKILL);
	reap(&sender, NULL, 0);
	assert_int_equal(reap(&thief, text, sizeof text), 0);
	kill(echo.pid, SIGKILL);
	reap(&echo, NULL, 0);
	assert_int_equal(stop_switch(&sw, text, sizeof text), 0);
	assert_int_equal(sscanf(strstr(text, "\n2 "), "\n2 %*u %*u %*u %*u %*u %*u %lu", &refused), 1);
	assert_true(refused >= WINDOW);
}

static void switch__leafspine_between_processes(void **state)
{
	serve("--vhost %s/v:2 --topology leafspine:2:2:1 --route adaptive", VHOST_CLIENT);
}

/* Two hosts on leaves with four parallel cables to the one spine. Whatever chooses, every packet comes back right, and
 * with all these entropies every cable is used. */
static void switch__choices_over_parallel_cables(void **state)
{
	static const char *const routes[] = {"drill --set drill_choices=2 --set drill_memory=1", "drill_flow", "conga",
					     "symmetric --credit-queue 8"};
	for (unsigned i = 0; i < sizeof routes / sizeof *routes; i++) {
		char args[256], text[8192];
		unsigned used = 0;
		snprintf(args, sizeof args, "--vhost %%s/v:2 --topology leafspine:2:1:1:4 --route %s", routes[i]);
		struct child sw = start_ready_switch(args);
		exchange(VHOST_CLIENT);
		int rc = stop_switch(&sw, text, sizeof text);
		if (rc != 0)
			fail_msg("switch: %d: %s", rc, text);
		for (char *at = text; (at = strstr(at, "leaf0:up")) != NULL; at++)
			used++;
		if (used != 4)
			fail_msg("%s used %u cables: %s", routes[i], used, text);
		assert_int_equal(strstr(text, "credit queues: 0 credits") != NULL, strstr(routes[i], "credit") != NULL);
	}
}

/* What a switch says it sent over one of its links; 0: nothing. */
static unsigned long sent_over(const char *text, const char *link)
{
	unsigned long sent = 0;
	char row[32];
	snprintf(row, sizeof row, "\n%s ", link);
	const char *at = strstr(text, row);
	if (at != NULL)
		sscanf(at + strlen(row), "%lu", &sent);
	return sent;
}

/* Two leaves with a host each and two spines, every switch a process: with all these entropies both ways are used. */
static void switch__chain_of_processes(void **state)
{
	static const struct {
		const char *args, *links[2];
	} switches[] = {
		{"--as spine0 --vhost %s/a:2", {"spine0:down0", "spine0:down1"}},
		{"--as spine1 --vhost %s/b:2", {"spine1:down0", "spine1:down1"}},
		{"--as leaf0 --port net_vhost0,iface=%s/v0 --port net_virtio_user0,path=%s/a0 "
		 "--port net_virtio_user1,path=%s/b0",
		 {"leaf0:up0", "leaf0:up1"}},
		{"--as leaf1 --port net_vhost0,iface=%s/v1 --port net_virtio_user0,path=%s/a1 "
		 "--port net_virtio_user1,path=%s/b1",
		 {"leaf1:up0", "leaf1:up1"}},
	};
	enum { SWITCHES = sizeof switches / sizeof *switches };
	struct child sw[SWITCHES];
	char text[4096];
	for (unsigned i = 0; i < SWITCHES; i++) {
		snprintf(text, sizeof text, "--topology leafspine:2:2:1 --route drill --queue-bytes 400000 %s",
			 switches[i].args);
		sw[i] = start_ready_switch(text);
	}
	exchange(VHOST_CLIENT);
	for (unsigned i = SWITCHES; i-- > 0;) {
		int rc = stop_switch(&sw[i], text, sizeof text);
		for (unsigned k = 0; k < 2; k++)
			if (rc != 0 || sent_over(text, switches[i].links[k]) < PKTS / 4)
				fail_msg("%s: %d: %s", switches[i].args, rc, text);
	}
	assert_int_equal(files_left(), 0);
}

static void switch__busy_socket_is_refused_stale_one_replaced(void **state)
{
	char text[1024];
	static const char *const args[] = {"--vhost %s/v:1", "--memif %s/m:1", "--shm %s/v:1"};
	for (unsigned i = 0; i < sizeof args / sizeof *args; i++) {
		struct child first = start_ready_switch(args[i]), second = start_switch(args[i]);
		assert_int_equal(reap(&second, text, sizeof text), 1);
		assert_non_null(strstr(text, "another process listens"));
		kill(first.pid, SIGKILL);
		assert_int_equal(reap(&first, NULL, 0), -SIGKILL);
		struct child third = start_ready_switch(args[i]);
		assert_int_equal(stop_switch(&third, NULL, 0), 0);
	}
}

/* A listener that takes nobody any more is alive, too; asking it must not wait. */
static void switch__full_socket_is_busy(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	enum { CALLERS_MAX = 64 };
	int fds[CALLERS_MAX], n = 0;
	char text[1024];
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/f0", dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
	assert_int_equal(listen(listener, 0), 0);
	do {
		fds[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	} while (connect(fds[n++], (struct sockaddr *)&addr, sizeof addr) == 0 && n < CALLERS_MAX);
	assert_int_equal(errno, EAGAIN);
	struct child c = start_switch("--vhost %s/f:1");
	assert_int_equal(reap(&c, text, sizeof text), 1);
	assert_non_null(strstr(text, "another process listens"));
	while (n > 0)
		close(fds[--n]);
	close(listener);
	unlink(addr.sun_path);
}

static void switch__bad_options_are_named(void **state)
{
	static const struct {
		const char *args, *say;
		int rc;
	} bad[] = {
		{"", "no ports", 2},
		{"--nonsense", "--nonsense", 2},
		{"--topology", "needs a value", 2},
		{"stray", "stray", 2},
		{"--vhost %s/v", "/v' is not PREFIX:N", 2},
		{"--memif %s/m", "/m' is not PATH:N", 2},
		{"--dscp x", "weft switch: --dscp: 'x' is not CLASS:CODE", 2},
		{"--vhost %s/v:0", "--vhost", 2},
		{"--memif %s/m:33", "--memif", 2},
		{"--shm %s/v:0", "--shm", 2},
		{"--shm %s/v:1 --mtu 9", "max_ip_bytes 9", 1},
		{"--shm %s/none/none/v:1", "none/none", 1},
		{"--shm %s/v:1 --port net_null0", "cannot be a port beside those of --shm", 1},
		{"--vhost %s/v:1 --link-gbps fast", "fast", 2},
		{"--vhost %s/v:1 --set nonsense=1", "nonsense", 2},
		{"--vhost %s/v:1 --set trim", "KEY=VALUE", 2},
		{"--vhost %s/v:1 --set drill_choices=2", "no parameter of the fabric or of route ecmp", 2},
		{"--vhost %s/v:1 --set drill_choices=0 --route drill", "drill_choices", 2},
		{"--vhost %s/v:1 --route conga", "trees of 2 tiers or more", 1},
		{"--vhost %s/v:1 --queue-bytes x", "queue_bytes", 2},
		{"--vhost %s/v:1 --queue-bytes 9037", "9038", 1},
		{"--vhost %s/v:1 --mtu 4200 --queue-bytes 4237", "4238", 1},
		{"--shm %s/v:1 --mtu 1500 --queue-bytes 1537", "1538", 1},
		{"--vhost %s/v:1 --credit-queue 65536", "credit_queue", 2},
		{"--vhost %s/v:1 --credit-queue 8 --set pfc=1", "credit queues with PFC", 1},
		{"--vhost %s/v:1 --route nonsense", "valid: ecmp", 2},
		{"--vhost %s/v:2 --topology star:1", "2 ports, but topology star:1 has 1 host\n", 1},
		{"--vhost %s/v:2 --topology leafspine:2:2:2 --as spine2",
		 "no switch 'spine2' in the topology, which has 2 leaves and 2 tiers", 1},
		{"--vhost %s/v:2 --topology star:2 --as spine2", "which has 1 leaf and 1 tier\n", 1},
		{"--vhost %s/v:2 --topology leafspine:2:2:2 --as leaf", "no switch 'leaf'", 1},
		{"--vhost %s/v:2 --topology leafspine:2:2:2 --as leaf0", "leaf0 has 4 cables", 1},
		{"--vhost %s/v:2 --topology leafspine:2:2:2 --as spine0 --route conga", "conga needs all", 1},
		{"--vhost %s/v:2 --topology nonsense", "nonsense", 1},
		{"--vhost %s/v:2 --topology %s/none.topo", "none.topo", 1},
		{"--vhost %s/v:1 --mtu 9", "max_ip_bytes 9", 1},
		{"--vhost %s/none/none/v:1", "none/none", 1},
		{"--memif %s/none/none/m:1", "none/none", 1},
		{"--port net_nonsense0", "net_nonsense0", 1},
		{"--port net_null0 --port net_null0", "net_null0", 1},
	};
	char text[1024];
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct child c = start_switch(bad[i].args);
		int rc = reap(&c, text, sizeof text);
		if (rc != bad[i].rc || strstr(text, bad[i].say) == NULL)
			fail_msg("\"%s\": exit %d: %s", bad[i].args, rc, text);
	}
	assert_int_equal(files_left(), 0);
}

static void switch__file_in_the_way_is_kept(void **state)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "%s/v0", dir);
	fclose(fopen(path, "w"));
	struct child c = start_switch("--vhost %s/v:1");
	assert_int_equal(reap(&c, text, sizeof text), 1);
	assert_non_null(strstr(text, "no socket"));
	assert_int_equal(unlink(path), 0);
}

static int setup(void **state)
{
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switch__vhost_processes_talk),
		cmocka_unit_test(switch__shm_processes_talk),
		cmocka_unit_test(switch__shm_processes_talk_over_leaves),
		cmocka_unit_test(switch__links_are_as_fast_as_ports_copy),
		cmocka_unit_test(switch__shm_beside_vhost),
		cmocka_unit_test(switch__memif_processes_talk),
		cmocka_unit_test(switch__address_moves_when_its_port_is_down),
		cmocka_unit_test(switch__leafspine_between_processes),
		cmocka_unit_test(switch__choices_over_parallel_cables),
		cmocka_unit_test(switch__chain_of_processes),
		cmocka_unit_test(switch__busy_socket_is_refused_stale_one_replaced),
		cmocka_unit_test(switch__full_socket_is_busy),
		cmocka_unit_test(switch__bad_options_are_named),
		cmocka_unit_test(switch__file_in_the_way_is_kept),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
