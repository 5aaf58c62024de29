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

/* ports[0] is the server. */
static void pair_open(char *dir, struct weft_port **ports)
{
	char args[128];
	assert_non_null(mkdtemp(dir));
	snprintf(args, sizeof args, "net_vhost0,iface=%s/s", dir);
	ports[0] = open_dev(args, 0x0a000001);
	snprintf(args, sizeof args, "net_virtio_user0,path=%s/s", dir);
	ports[1] = open_dev(args, 0x0a000002);
}

static void pair_close(const char *dir, struct weft_port **ports)
{
	ports[1]->ops->close(ports[1]);
	ports[0]->ops->close(ports[0]);
	rmdir(dir);
}

static void send_from(struct weft_port *from, uint32_t to)
{
	struct weft_pkt *pkt = fixture_pkt(from, to, "x", 1);
	while (from->ops->tx(from, &pkt, 1) != 1) /* the two sides are still shaking hands */
		usleep(1000);
}

static void sleep__packets_wake(void **state)
{
	char dir[] = "/tmp/weft-sleep-XXXXXX";
	struct weft_port *ports[2];
	struct weft_pkt *pkt;
	pair_open(dir, ports);
	assert_true(weft_ethdev_rx_fd(ports[0]) >= 0);
	assert_true(weft_ethdev_rx_fd(ports[1]) >= 0);
	/* Each packet is found after at most a few sleeps that would last an hour. */
	for (unsigned i = 0; i < 20; i++) {
		struct weft_port *to = ports[(i + 1) % 2];
		send_from(ports[i % 2], i % 2 ? 0x0a000001 : 0x0a000002);
		while (to->ops->rx(to, &pkt, 1) == 0)
			weft_ethdev_sleep(ports, 2, WEFT_MS(100));
		to->ops->free(to, &pkt, 1);
	}
	pair_close(dir, ports);
}

static void wait_for_link(const struct ethdev *d)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_DOWN};
	while (rte_eth_link_get_nowait(d->id, &link) != 0 || link.link_status != RTE_ETH_LINK_UP)
		usleep(1000);
}

/* As from a driver that never sends any. */
static void sleep__interrupts_that_never_come_are_given_up(void **state)
{
	enum { SLEEPS = 4 };
	char dir[] = "/tmp/weft-sleep-XXXXXX";
	struct weft_port *ports[2];
	struct weft_pkt *pkt;
	pair_open(dir, ports);
	struct ethdev *d = to_ethdev(ports[0]);
	rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_DEL, NULL);
	send_from(ports[1], 0x0a000001);
	wait_for_link(d);
	for (int i = 0; i < SLEEPS; i++) {
		assert_true(weft_ethdev_rx_fd(ports[0]) >= 0);
		weft_ethdev_sleep(ports, 1, 0);
	}
	assert_int_equal(weft_ethdev_rx_fd(ports[0]), -1);
	assert_false(weft_ethdev_offloads(ports[0]) & WEFT_OFFLOAD_RX_INTERRUPT);
	assert_int_equal(ports[0]->ops->rx(ports[0], &pkt, 1), 1);
	ports[0]->ops->free(ports[0], &pkt, 1);
	pair_close(dir, ports);
}

static void give_up(struct weft_port *port, struct weft_port *peer)
{
	struct ethdev *d = to_ethdev(port);
	rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_DEL, NULL);
	send_from(peer, 0x0a000001);
	wait_for_link(d);
	for (int i = 0; i < 100 && weft_ethdev_rx_fd(port) >= 0; i++)
		weft_ethdev_sleep(&port, 1, 0);
	assert_int_equal(weft_ethdev_rx_fd(port), -1);
}

/* The next one to connect may kick. */
static void sleep__interrupts_are_tried_again_with_the_next_peer(void **state)
{
	char dir[] = "/tmp/weft-sleep-XXXXXX", args[128];
	struct weft_port *ports[2];
	struct weft_pkt *pkt;
	pair_open(dir, ports);
	give_up(ports[0], ports[1]);
	weft_ethdev_sleep(ports, 1, 0);
	assert_int_equal(weft_ethdev_rx_fd(ports[0]), -1); /* it is still the same one */
	ports[1]->ops->close(ports[1]);
	while (ports[0]->ops->rx(ports[0], &pkt, 1) > 0)
		ports[0]->ops->free(ports[0], &pkt, 1);
	snprintf(args, sizeof args, "net_virtio_user0,path=%s/s", dir);
	ports[1] = open_dev(args, 0x0a000002);
	for (weft_ns end = weft_clock_ns() + WEFT_S(10); weft_ethdev_rx_fd(ports[0]) < 0;) {
		weft_ethdev_sleep(ports, 1, WEFT_MS(1));
		assert_true(weft_clock_ns() < end);
	}
	assert_true(weft_ethdev_offloads(ports[0]) & WEFT_OFFLOAD_RX_INTERRUPT);
	send_from(ports[1], 0x0a000001);
	while (ports[0]->ops->rx(ports[0], &pkt, 1) == 0)
		weft_ethdev_sleep(ports, 1, WEFT_MS(100));
	ports[0]->ops->free(ports[0], &pkt, 1);
	pair_close(dir, ports);
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
		cmocka_unit_test(sleep__interrupts_that_never_come_are_given_up),
		cmocka_unit_test(sleep__interrupts_are_tried_again_with_the_next_peer),
		cmocka_unit_test(sleep__without_interrupts_ends_with_the_timeout),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
