/* SPDX-License-Identifier: BSD-3-Clause */
/* The link of an interface of the kernel goes down, comes back and disappears. */
#include <fcntl.h>

#include "ethdev_fixture.h"
#include "netns.h"

static void expect_dropped(struct weft_port *port, uint64_t count)
{
	struct weft_pkt *pkt = fixture_pkt(port, 0x0a000002, "x", 1);
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	assert_int_equal(port_stats(port).tx_link_down, count);
}

/* On a cable in a network namespace of its own; NULL: the kernel gives none. */
static struct weft_port *port_open(struct link_heard *heard)
{
	struct weft_ethdev_conf conf = {.dev = "lnk0", .ip = weft_ip_v4(0x0a000001), .pool_pkts = 255};
	struct weft_port *port;
	struct weft_err err;
	if (!netns_enter() || !ip_run("link add lnk0 type veth peer name lnk1") || !ip_run("link set lo up") ||
	    !ip_run("link set lnk1 up") || !ip_run("addr add 10.0.0.1/24 dev lnk0") || !ip_run("link set lnk0 up"))
		return NULL;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	weft_ethdev_on_link(port, link_note, heard);
	return port;
}

static void link__down_up_and_removed(void **state)
{
	struct link_heard heard = {0};
	struct weft_port *port = port_open(&heard);
	if (!port)
		skip();
	assert_int_equal(port->link_bps, 0); /* no hardware behind it */
	assert_int_equal(port->max_ip_bytes, 1500);
	assert_true(ip_run("link set lnk1 down")); /* only the cable */
	expect_link(port, &heard, WEFT_LINK_DOWN, 1);
	expect_dropped(port, 1);
	assert_true(ip_run("link set lnk1 up"));
	expect_link(port, &heard, WEFT_LINK_UP, 2);
	expect_dropped(port, 1);
	assert_true(ip_run("link set lnk0 down"));
	expect_link(port, &heard, WEFT_LINK_DOWN, 3);
	assert_true(ip_run("link del lnk0"));
	expect_link(port, &heard, WEFT_LINK_REMOVED, 4);
	expect_dropped(port, 2);
	port->ops->close(port);
}

/* The thread that polls has moved to a network namespace without such an interface. */
static void link__is_that_of_its_namespace(void **state)
{
	struct link_heard heard = {0};
	char line[128];
	struct weft_port *port = port_open(&heard);
	if (!port)
		skip();
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(home >= 0);
	snprintf(line, sizeof line, "nsenter --net=/proc/%d/fd/%d ip link set lnk1 down", (int)getpid(), home);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(system(line), 0); // NOLINT(cert-env33-c): the test's own words
	expect_link(port, &heard, WEFT_LINK_DOWN, 1);
	port->ops->close(port);
	close(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(link__down_up_and_removed),
					   cmocka_unit_test(link__is_that_of_its_namespace)};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
