/* SPDX-License-Identifier: BSD-3-Clause */
/* When a port on an interface of the kernel uses AF_XDP, and what the program is that it loads. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>

#include "ethdev_fixture.h"
#include "ethdev_xdp.h"
#include "netns.h"

static const struct xdp_facts GOOD = {
	.has_program = true, .queues = 1, .rx_queues = 1, .qdisc = "mq", .mtu_bytes = 1500, .room_bytes = 3300};

static void assert_refused(struct xdp_facts facts, const char *because)
{
	struct weft_err err = {""};
	assert_int_equal(xdp_judge(&facts, &err), -ENOTSUP);
	if (strstr(err.msg, because) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.msg, because);
}

static void judge__every_fact_that_forbids_it_is_named(void **state)
{
	struct weft_err err;
	struct xdp_facts f = GOOD;
	assert_int_equal(xdp_judge(&f, &err), 0);
	f.mtu_bytes = f.room_bytes;
	f.pool_packets = 4096;
	assert_int_equal(xdp_judge(&f, &err), 0);
#define REFUSED(because, ...)                                                                                          \
	f = GOOD;                                                                                                      \
	f.__VA_ARGS__;                                                                                                 \
	assert_refused(f, because)
	REFUSED("built without", has_program = false);
	REFUSED("switch", is_switch = true);
	REFUSED("VLAN", has_vlan = true);
	REFUSED("XDP program already", is_taken = true);
	REFUSED("no AF_XDP socket: Address family", socket_error = EAFNOSUPPORT);
	REFUSED("no BPF program can be loaded: Operation not permitted", bpf_error = EPERM);
	REFUSED("one queue", queues = 2);
	REFUSED("4 receive queues (ethtool -L", rx_queues = 4);
	REFUSED("queueing discipline htb", qdisc = "htb");
	REFUSED("MTU 9000", mtu_bytes = 9000);
	REFUSED("pool of 4096 packets, 1023", pool_packets = 1023);
#undef REFUSED
}

/* The file is the built program with the address in the place that is kept for it, and nowhere else. */
static void program__has_our_address(void **state)
{
	struct weft_ip ips[] = {weft_ip_v4(0x0a090001), weft_ip_v4(0x0a090002)};
	static uint8_t bytes[2][1 << 16];
	struct weft_err err;
	ssize_t len[2];
	size_t differ = 0;
	for (int i = 0; i < 2; i++) {
		int fd, rc = xdp_program_open(&ips[i], &fd, &err);
		if (rc == -ENOTSUP)
			skip(); /* built without */
		assert_int_equal(rc, 0);
		len[i] = pread(fd, bytes[i], sizeof bytes[i], 0);
		close(fd);
		assert_memory_equal(bytes[i], "\177ELF", 4);
		assert_non_null(memmem(bytes[i], (size_t)len[i], ips[i].b, sizeof ips[i].b));
	}
	assert_int_equal(len[0], len[1]);
	for (ssize_t i = 0; i < len[0]; i++)
		differ += bytes[0][i] != bytes[1][i];
	assert_int_equal(differ, 1);
}

static bool has_netns;

static int setup(void **state)
{
	has_netns = netns_enter() && ip_run("link set lo up") && ip_run("link add e0 type veth peer name e1") &&
		    ip_run("addr add 10.1.0.5/24 dev e0") && ip_run("link set e0 up") && ip_run("link set e1 up");
	return fixture_eal(state);
}

static struct weft_port *port_open(uint32_t pool_pkts)
{
	const struct weft_ethdev_conf conf = {.dev = "e0", .ip = weft_ip_v4(0x0a010005), .pool_pkts = pool_pkts};
	struct weft_port *port;
	struct weft_err err;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	return port;
}

/* Interfaces of its own, and the right to open packet sockets. */
static bool has_means(void)
{
	if (!has_netns)
		return false;
	int fd = socket(AF_PACKET, SOCK_RAW, htons(0x88b5)); /* for experiments: nobody sends such */
	int error = errno;
	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (error != EPERM && error != EACCES && error != EAFNOSUPPORT)
		fail_msg("packet socket: %s", strerror(error));
	print_message("no packet sockets: %s\n", strerror(error));
	return false;
}

static bool is_attached(void)
{
	struct weft_if e;
	assert_int_equal(weft_if_read("e0", &e, NULL), 0);
	return e.has_xdp;
}

/* What the facts promise is what is done; the program goes with the port. */
static void open__as_judged(void **state)
{
	const struct weft_ethdev_conf conf = {.dev = "e0", .ip = weft_ip_v4(0x0a010005)};
	struct xdp_facts facts;
	struct weft_if info;
	struct weft_err err;
	if (!has_means())
		skip();
	assert_int_equal(xdp_look(&conf, &info, &facts, &err), 0);
	assert_int_equal(facts.mtu_bytes, 1500);
	assert_int_equal(facts.rx_queues, 1);
	assert_string_equal(facts.qdisc, "noqueue");
	assert_false(facts.is_taken);
	int rc = xdp_judge(&facts, &err);
	if (rc != 0 && facts.has_program && !facts.socket_error && !facts.bpf_error)
		fail_msg("no AF_XDP, though the kernel has it: %s", err.msg);
	struct weft_port *port = port_open(0);
	print_message("%s\n", rc == 0 ? "by AF_XDP" : err.msg);
	assert_int_equal(is_attached(), rc == 0);
	assert_int_equal(strlen(weft_ethdev_note(port)) == 0, rc == 0);
	assert_true(rc == 0 || strstr(weft_ethdev_note(port), err.msg) != NULL);
	assert_int_equal(port->max_ip_bytes, 1500);
	port->ops->close(port);
	assert_false(is_attached());
}

/* Another way is found, and the port says why. */
static void open__otherwise_by_packet_sockets(void **state)
{
	if (!has_means())
		skip();
	struct weft_port *port = port_open(1023);
	assert_false(is_attached());
	assert_non_null(strstr(weft_ethdev_note(port), "e0: by packet sockets"));
	port->ops->close(port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judge__every_fact_that_forbids_it_is_named),
		cmocka_unit_test(program__has_our_address),
		cmocka_unit_test(open__as_judged),
		cmocka_unit_test(open__otherwise_by_packet_sockets),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
