/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices that look at VLAN tags are told which one to receive. A ring's device pretends to be one: the linker hands
 * DPDK's functions for that to this test. */
#include <errno.h>

#include <rte_ethdev.h>

#include "ethdev_fixture.h"

enum { VLAN = 100 };

static struct {
	uint64_t capa;
	int offload, vlan, refusal;
	bool configured; /* with the filter */
	bool may_choose; /* the driver can switch it later; here it has to */
} device;

int __real_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int __real_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_get_vlan_offload(uint16_t id);
int __wrap_rte_eth_dev_set_vlan_offload(uint16_t id, int mask);
int __wrap_rte_eth_dev_vlan_filter(uint16_t id, uint16_t vlan, int on);

int __wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
	int rc = __real_rte_eth_dev_info_get(id, info);
	info->rx_offload_capa |= device.capa;
	return rc;
}

/* The ring has no filter. */
int __wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	struct rte_eth_conf ring = *conf;
	device.configured = conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	device.offload |= device.configured && !device.may_choose ? RTE_ETH_VLAN_FILTER_OFFLOAD : 0;
	ring.rxmode.offloads &= ~(uint64_t)RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	return __real_rte_eth_dev_configure(id, rx, tx, &ring);
}

int __wrap_rte_eth_dev_get_vlan_offload(uint16_t id)
{
	return device.offload;
}

int __wrap_rte_eth_dev_set_vlan_offload(uint16_t id, int mask)
{
	if (!device.may_choose)
		return -ENOTSUP;
	device.offload = mask;
	return 0;
}

int __wrap_rte_eth_dev_vlan_filter(uint16_t id, uint16_t vlan, int on)
{
	assert_true(device.offload & RTE_ETH_VLAN_FILTER_OFFLOAD);
	assert_int_equal(on, 1);
	device.vlan = vlan;
	return device.refusal;
}

static int try_open(uint16_t vlan, struct weft_port **port, struct weft_err *err)
{
	const struct weft_ethdev_conf conf = {
		.dev = "vlan", .ip = weft_ip_v4(0x0a000001), .pool_pkts = 255, .net = {.vlan = vlan}};
	struct weft_port *sw;
	assert_int_equal(weft_ethdev_ring_pair("vlan", FIXTURE_RING, &sw, err), 0);
	int rc = weft_ethdev_open(&conf, port, err);
	if (rc == 0)
		(*port)->ops->close(*port);
	sw->ops->close(sw);
	return rc;
}

static void admit__the_tag_and_what_was_chosen(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	device.capa = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	for (int may_choose = 0; may_choose < 2; may_choose++) { /* virtual functions may not */
		device.may_choose = may_choose;
		device.offload = RTE_ETH_VLAN_STRIP_OFFLOAD;
		device.vlan = -1;
		assert_int_equal(try_open(VLAN, &port, &err), 0);
		assert_int_equal(device.vlan, VLAN);
		assert_true(device.configured);
		assert_int_equal(device.offload, RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD);
	}
}

static void admit__nothing_without_tag_or_filter(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	device.vlan = -1;
	device.offload = 0;
	device.capa = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	assert_int_equal(try_open(0, &port, &err), 0);
	device.capa = 0;
	assert_int_equal(try_open(VLAN, &port, &err), 0);
	assert_int_equal(device.vlan, -1);
	assert_int_equal(device.offload, 0);
	assert_false(device.configured);
}

static void admit__a_refusal_names_device_and_tag(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	device.capa = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	device.refusal = -ENOSPC;
	assert_int_equal(try_open(VLAN, &port, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "VLAN 100"));
	assert_non_null(strstr(err.msg, "net_ring_vlan"));
	device.refusal = 0;
	assert_int_equal(try_open(VLAN, &port, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admit__the_tag_and_what_was_chosen),
		cmocka_unit_test(admit__nothing_without_tag_or_filter),
		cmocka_unit_test(admit__a_refusal_names_device_and_tag),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
