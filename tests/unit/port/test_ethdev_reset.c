/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver resets, removals, and links that change their speed: a pair of rings plays a NIC, whose link and resets are
 * this test's (the linker puts the functions here in the place of DPDK's). */
#include <errno.h>

#include <rte_bus.h>
#include <rte_dev.h>

#include "ethdev_fixture.h"

static struct {
	uint32_t speed_mbps;
	unsigned resets, to_fail;      /* rte_eth_dev_reset: calls, and how many of them fail */
	bool has_reset;                /* false: the driver has none of its own */
	rte_eth_dev_cb_fn on_reset[2]; /* who listens */
	void *args[2];
	unsigned listeners, forgotten;
	uint64_t nombuf, missed; /* so much it says to have lost since it was set up ... */
	bool is_mute;            /* ... if it says anything */
	struct {
		char name[32];
		rte_dev_event_cb_fn fn;
		void *arg;
		unsigned forgotten;
	} removal;
} nic;

const char *__wrap_rte_bus_name(const struct rte_bus *bus);
int __wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link);
int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *stats);
int __wrap_rte_eth_dev_reset(uint16_t id);
int __wrap_rte_eth_dev_callback_register(uint16_t id, enum rte_eth_event_type type, rte_eth_dev_cb_fn fn, void *arg);
int __wrap_rte_eth_dev_callback_unregister(uint16_t id, enum rte_eth_event_type type, rte_eth_dev_cb_fn fn, void *arg);
int __wrap_rte_dev_event_callback_register(const char *name, rte_dev_event_cb_fn fn, void *arg);
int __wrap_rte_dev_event_callback_unregister(const char *name, rte_dev_event_cb_fn fn, void *arg);

const char *__wrap_rte_bus_name(const struct rte_bus *bus)
{
	return "pci";
}

int __wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link)
{
	*link = (struct rte_eth_link){.link_speed = nic.speed_mbps, .link_status = RTE_ETH_LINK_UP};
	return 0;
}

int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *stats)
{
	*stats = (struct rte_eth_stats){.rx_nombuf = nic.nombuf, .imissed = nic.missed};
	return nic.is_mute ? -ENODEV : 0;
}

int __wrap_rte_eth_dev_reset(uint16_t id)
{
	nic.resets++;
	if (nic.to_fail > 0) {
		nic.to_fail--;
		return -EIO;
	}
	nic.nombuf = nic.missed = 0;
	return nic.has_reset ? rte_eth_dev_stop(id) : -ENOTSUP;
}

int __wrap_rte_eth_dev_callback_register(uint16_t id, enum rte_eth_event_type type, rte_eth_dev_cb_fn fn, void *arg)
{
	assert_int_equal(type, RTE_ETH_EVENT_INTR_RESET);
	nic.on_reset[nic.listeners] = fn;
	nic.args[nic.listeners++] = arg;
	return 0;
}

int __wrap_rte_eth_dev_callback_unregister(uint16_t id, enum rte_eth_event_type type, rte_eth_dev_cb_fn fn, void *arg)
{
	return nic.forgotten++ == 0 ? -EAGAIN : 0; /* it was just running */
}

int __wrap_rte_dev_event_callback_register(const char *name, rte_dev_event_cb_fn fn, void *arg)
{
	snprintf(nic.removal.name, sizeof nic.removal.name, "%s", name);
	nic.removal.fn = fn;
	nic.removal.arg = arg;
	return 0;
}

int __wrap_rte_dev_event_callback_unregister(const char *name, rte_dev_event_cb_fn fn, void *arg)
{
	assert_string_equal(name, nic.removal.name);
	return nic.removal.forgotten++ == 0 ? -EAGAIN : 1; /* it was just running; then the number removed */
}

static void ask_for_reset(void)
{
	for (unsigned i = 0; i < nic.listeners; i++)
		nic.on_reset[i](0, RTE_ETH_EVENT_INTR_RESET, nic.args[i], NULL);
}

/* A packet arrives at the other end. */
static void expect_sends(struct fixture *f)
{
	struct weft_pkt *pkt = fixture_pkt(f->host, 0x0a000002, "x", 1);
	assert_int_equal(f->host->ops->tx(f->host, &pkt, 1), 1);
	struct rte_mbuf *m = fixture_sent(f);
	assert_non_null(m);
	rte_pktmbuf_free(m);
}

static void nic_open(struct fixture *f, struct link_heard *heard)
{
	nic = (typeof(nic)){.speed_mbps = 10000};
	*heard = (struct link_heard){0};
	fixture_open(f, weft_ip_v4(0x0a000001), true);
	weft_ethdev_on_link(f->host, link_note, heard);
	assert_int_equal(f->host->link_bps, 10000000000);
}

static void link__another_speed_is_told(void **state)
{
	struct link_heard heard;
	struct fixture f;
	nic_open(&f, &heard);
	nic.speed_mbps = 1000;
	expect_link(f.host, &heard, WEFT_LINK_UP, 1);
	assert_int_equal(f.host->link_bps, 1000000000);
	assert_int_equal(port_stats(f.host).link_downs, 0);
	fixture_close(&f);
}

/* Down, then up again, and packets flow; with a reset of the driver's own and without. */
static void reset__sets_the_device_up_anew(void **state)
{
	for (int has_reset = 0; has_reset < 2; has_reset++) {
		struct link_heard heard;
		struct fixture f;
		nic_open(&f, &heard);
		nic.has_reset = has_reset;
		expect_sends(&f);
		ask_for_reset();
		expect_link(f.host, &heard, WEFT_LINK_DOWN, 1);
		assert_int_equal(nic.resets, 0);
		struct weft_pkt *pkt = fixture_pkt(f.host, 0x0a000002, "x", 1);
		assert_int_equal(f.host->ops->tx(f.host, &pkt, 1), 1);
		assert_null(fixture_sent(&f));
		expect_link(f.host, &heard, WEFT_LINK_UP, 2);
		assert_int_equal(nic.resets, 1);
		expect_sends(&f);
		struct weft_ethdev_stats stats = port_stats(f.host);
		assert_int_equal(stats.link_resets, 1);
		assert_int_equal(stats.link_reset_failed, 0);
		assert_int_equal(stats.link_downs, 1);
		assert_int_equal(stats.tx_link_down, 1);
		fixture_close(&f);
		assert_int_equal(nic.forgotten, 2);
	}
}

static void reset__is_repeated_until_it_works(void **state)
{
	struct link_heard heard;
	struct fixture f;
	nic_open(&f, &heard);
	nic.to_fail = 2;
	ask_for_reset();
	expect_link(f.host, &heard, WEFT_LINK_UP, 2);
	assert_int_equal(nic.resets, 3);
	assert_int_equal(port_stats(f.host).link_reset_failed, 2);
	assert_int_equal(port_stats(f.host).link_resets, 1);
	expect_sends(&f);
	fixture_close(&f);
}

/* One look at the link, without waiting for it. */
static void look(struct weft_port *port)
{
	to_ethdev(port)->link.look_at_ns = to_ethdev(port)->periodic_at = 0;
	port_poll(port);
}

/* Two ports share the device: none of them touches it before both are parked, and one reset serves both. */
static void reset__waits_for_all_ports_on_the_device(void **state)
{
	struct weft_ethdev_conf conf = {.dev = "net_null7", .queues = 2, .pool_pkts = 255, .no_arp = true};
	struct weft_port *ports[2];
	struct link_heard heard[2] = {{0}};
	struct weft_err err;
	nic = (typeof(nic)){.speed_mbps = 10000};
	for (uint16_t i = 0; i < 2; i++) {
		conf.queue = i;
		conf.ip = weft_ip_v4(0x0a000001 + i);
		if (weft_ethdev_open(&conf, &ports[i], &err) != 0)
			fail_msg("%s", err.msg);
		weft_ethdev_on_link(ports[i], link_note, &heard[i]);
	}
	ask_for_reset();
	for (int i = 0; i < 3; i++)
		look(ports[0]);
	assert_int_equal(heard[0].state, WEFT_LINK_DOWN);
	assert_int_equal(nic.resets, 0);
	look(ports[1]);
	assert_int_equal(heard[1].state, WEFT_LINK_DOWN);
	assert_int_equal(nic.resets, 0);
	look(ports[0]);
	assert_int_equal(nic.resets, 1);
	assert_int_equal(heard[0].state, WEFT_LINK_UP);
	look(ports[1]);
	assert_int_equal(nic.resets, 1);
	assert_int_equal(heard[1].state, WEFT_LINK_UP);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(heard[i].count, 2);
		assert_int_equal(port_stats(ports[i]).link_resets, 1);
		ports[i]->ops->close(ports[i]);
	}
}

static void expect_lost(struct weft_port *port, uint64_t nombuf, uint64_t missed)
{
	struct weft_ethdev_stats stats = port_stats(port);
	assert_int_equal(stats.rx_nombuf, nombuf);
	assert_int_equal(stats.rx_missed, missed);
}

/* It counts from 0 again, as nobody may notice; what it counted since somebody asked last is not forgotten. */
static void reset__what_was_lost_is_remembered(void **state)
{
	struct link_heard heard;
	struct fixture f;
	nic_open(&f, &heard);
	nic.nombuf = 3;
	nic.missed = 5;
	expect_lost(f.host, 3, 5);
	nic.missed = 6;
	ask_for_reset();
	expect_link(f.host, &heard, WEFT_LINK_UP, 2);
	expect_lost(f.host, 3, 6);
	nic.nombuf = 10; /* more than before: that it began anew shows no more */
	nic.missed = 2;
	expect_lost(f.host, 13, 8);
	nic.is_mute = true;
	expect_lost(f.host, 13, 8);
	fixture_close(&f);
	nic_open(&f, &heard); /* another device */
	expect_lost(f.host, 0, 0);
	fixture_close(&f);
}

/* Closed while it is parked. */
static void reset__may_be_closed_meanwhile(void **state)
{
	struct link_heard heard;
	struct fixture f;
	nic_open(&f, &heard);
	ask_for_reset();
	expect_link(f.host, &heard, WEFT_LINK_DOWN, 1);
	fixture_close(&f);
	assert_int_equal(nic.resets, 0);
}

/* The kernel wants the device back: the owner is told, and nothing touches the device until it is closed. */
static void removal__parks_the_port(void **state)
{
	struct link_heard heard;
	struct fixture f;
	nic_open(&f, &heard);
	nic.removal.fn(nic.removal.name, RTE_DEV_EVENT_ADD, nic.removal.arg);
	look(f.host);
	assert_int_equal(heard.count, 0);
	nic.removal.fn(nic.removal.name, RTE_DEV_EVENT_REMOVE, nic.removal.arg);
	look(f.host);
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.state, WEFT_LINK_REMOVED);
	struct weft_pkt *pkt = fixture_pkt(f.host, 0x0a000002, "x", 1);
	assert_int_equal(f.host->ops->tx(f.host, &pkt, 1), 1);
	assert_null(fixture_sent(&f));
	fixture_close(&f);
	assert_int_equal(nic.removal.forgotten, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link__another_speed_is_told),
		cmocka_unit_test(reset__sets_the_device_up_anew),
		cmocka_unit_test(reset__is_repeated_until_it_works),
		cmocka_unit_test(reset__waits_for_all_ports_on_the_device),
		cmocka_unit_test(reset__what_was_lost_is_remembered),
		cmocka_unit_test(reset__may_be_closed_meanwhile),
		cmocka_unit_test(removal__parks_the_port),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
