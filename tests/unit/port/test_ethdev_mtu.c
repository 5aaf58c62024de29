/* SPDX-License-Identifier: BSD-3-Clause */
/* The MTU of ports, and what devices make of it. A tap device stands for a NIC that the kernel shares; it carries 1,504
 * bytes at most. */
#include <errno.h>
#include <string.h>

#include "ethdev_fixture.h"
#include "ethdev_mtu.h"
#include "netns.h"

enum { TAP_MOST = 1504 };

static const char *const tap = "net_tap0,iface=mtutap";
static bool has_tap;

static int setup(void **state)
{
	has_tap = access("/dev/net/tun", R_OK | W_OK) == 0 && netns_enter();
	return fixture_eal(state);
}

static struct rte_eth_dev_info nic(unsigned if_index)
{
	return (struct rte_eth_dev_info){
		.driver_name = "net_nic", .max_mtu = 9600, .max_rx_pktlen = 9618, .if_index = if_index};
}

static void choose__jumbo_unless_the_kernel_has_less(void **state)
{
	struct weft_ethdev_conf conf = {.dev = "x"};
	struct weft_err err = {""};
	struct rte_eth_dev_info info = nic(0);
	uint32_t bytes;
	assert_int_equal(mtu_choose(&conf, &info, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 9000);
	conf.max_ip_bytes = 9600;
	assert_int_equal(mtu_choose(&conf, &info, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 9600);
	conf.max_ip_bytes = 9601;
	assert_int_equal(mtu_choose(&conf, &info, 0, &bytes, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "x: carries IP packets of up to 9600 bytes, 9601"));
	conf.max_ip_bytes = 0;
	assert_int_equal(mtu_choose(&conf, &info, 4000, &bytes, &err), 0); /* another port's */
	assert_int_equal(bytes, 4000);
	if (!has_tap || !ip_run("link add mtu0 mtu 1400 type veth peer name mtu1")) {
		skip();
		return;
	}
	info = nic(if_nametoindex("mtu0"));
	conf.max_ip_bytes = 0;
	assert_int_equal(mtu_choose(&conf, &info, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 1400);
	conf.max_ip_bytes = 9000;
	assert_int_equal(mtu_choose(&conf, &info, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 9000);
}

static uint32_t kernel_mtu(const char *iface)
{
	struct weft_if info;
	struct weft_err err;
	if (weft_if_read(iface, &info, &err) != 0)
		fail_msg("%s", err.msg);
	return info.mtu_bytes;
}

static struct weft_port *tap_open(uint32_t max_ip_bytes)
{
	struct weft_ethdev_conf conf = {
		.dev = tap, .ip = weft_ip_v4(1), .pool_pkts = 255, .max_ip_bytes = max_ip_bytes};
	struct weft_port *port = NULL;
	struct weft_err err;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	return port;
}

static void set__the_device_is_told_what_was_asked_for(void **state)
{
	if (!has_tap) {
		skip();
		return;
	}
	struct weft_port *port = tap_open(0);
	assert_int_equal(port->max_ip_bytes, 1500);
	assert_int_equal(kernel_mtu("mtutap"), 1500);
	port->ops->close(port);
	port = tap_open(TAP_MOST);
	assert_int_equal(port->max_ip_bytes, TAP_MOST);
	assert_int_equal(kernel_mtu("mtutap"), TAP_MOST);
	port->ops->close(port);
}

/* The tap's driver refuses 9,000. */
static void set__refusals_are_errors_or_mean_1500(void **state)
{
	if (!has_tap) {
		skip();
		return;
	}
	struct weft_port *port = tap_open(0);
	struct ethdev d = *to_ethdev(port);
	const struct rte_eth_dev_info info = nic(0);
	struct weft_err err = {""};
	d.port.max_ip_bytes = 9000;
	assert_true(mtu_set(&d, true, &info, &err) < 0);
	assert_non_null(strstr(err.msg, "net_tap0: its driver (net_nic) refuses an MTU of 9000 bytes"));
	assert_int_equal(mtu_set(&d, false, &info, &err), 0);
	assert_int_equal(d.port.max_ip_bytes, 1500);
	port->ops->close(port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choose__jumbo_unless_the_kernel_has_less),
		cmocka_unit_test(set__the_device_is_told_what_was_asked_for),
		cmocka_unit_test(set__refusals_are_errors_or_mean_1500),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
