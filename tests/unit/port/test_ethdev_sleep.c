/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of a vhost-user socket in one process. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ethdev_fixture.h"

static struct weft_port *open_dev(const char *dev, uint32_t ip)
{
	struct weft_ethdev_conf conf = {.dev = dev, .ip = weft_ip_v4(ip), .pool_pkts = 1023, .no_arp = true};
	struct weft_port *port = NULL;
	struct weft_err err;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	return port;
}

static void sleep__packets_wake(void **state)
{
	char dir[] = "/tmp/weft-sleep-XXXXXX", args[128];
	assert_non_null(mkdtemp(dir));
	snprintf(args, sizeof args, "net_vhost0,iface=%s/s", dir);
	struct weft_port *server = open_dev(args, 0x0a000001), *client, *ports[2];
	snprintf(args, sizeof args, "net_virtio_user0,path=%s/s", dir);
	client = open_dev(args, 0x0a000002);
	assert_true(weft_ethdev_rx_fd(server) >= 0);
	assert_true(weft_ethdev_rx_fd(client) >= 0);
	ports[0] = server;
	ports[1] = client;
	/* Each packet is found after at most a few sleeps that would last an hour. */
	for (unsigned i = 0; i < 20; i++) {
		struct weft_port *from = ports[i % 2], *to = ports[(i + 1) % 2];
		struct weft_pkt *pkt = fixture_pkt(from, i % 2 ? 0x0a000001 : 0x0a000002, "x", 1);
		while (from->ops->tx(from, &pkt, 1) != 1) /* the two sides are still shaking hands */
			usleep(1000);
		while (to->ops->rx(to, &pkt, 1) == 0)
			weft_ethdev_sleep(ports, 2, WEFT_MS(100));
		to->ops->free(to, &pkt, 1);
	}
	client->ops->close(client);
	server->ops->close(server);
	rmdir(dir);
}

static void sleep__without_interrupts_ends_with_the_timeout(void **state)
{
	struct fixture f;
	fixture_open(&f, weft_ip_v4(0x0a000001), true);
	assert_int_equal(weft_ethdev_rx_fd(f.host), -1);
	weft_ns before = weft_clock_ns();
	weft_ethdev_sleep(&f.host, 1, WEFT_MS(2));
	assert_true(weft_clock_ns() - before >= WEFT_MS(1));
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleep__packets_wake),
		cmocka_unit_test(sleep__without_interrupts_ends_with_the_timeout),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
