/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "ethdev_dev.h"
#include "weft/ethdev.h"

static const struct rte_ether_addr MAC = {{2, 0, 10, 0, 0, 1}};

static void assert_completed(const char *devargs, uint32_t ip_bytes, const char *want)
{
	char full[ETHDEV_ARGS_MAX];
	struct weft_err err;
	assert_int_equal(ethdev_args_complete(devargs, ip_bytes, &MAC, full, sizeof full, &err), 0);
	assert_string_equal(full, want);
}

static void ethdev_arg__whole_keys_that_fit(void **state)
{
	const char *devargs = "net_memif0,role=client,socket=/tmp/weft0,socket-abstract=no";
	char value[11];
	assert_true(weft_ethdev_arg(devargs, "socket", value, sizeof value));
	assert_string_equal(value, "/tmp/weft0");
	assert_true(weft_ethdev_arg(devargs, "socket-abstract", value, sizeof value));
	assert_string_equal(value, "no");
	assert_false(weft_ethdev_arg(devargs, "socket", value, 10));
	assert_false(weft_ethdev_arg(devargs, "ocket", value, sizeof value));
	assert_true(weft_ethdev_arg(devargs, "role", NULL, 0));
	assert_false(weft_ethdev_arg(devargs, "id", NULL, 0));
}

static void args_complete__memif_buffers_hold_a_frame(void **state)
{
	assert_completed("net_memif0,role=client", 9000, "net_memif0,role=client,bsize=9024");
	assert_completed("net_memif0", 4082, "net_memif0,bsize=4096");
	assert_completed("net_memif0", 4083, "net_memif0,bsize=4160");
	assert_completed("net_memif0,bsize=2048,id=1", 9000, "net_memif0,bsize=2048,id=1");
}

static void args_complete__af_packet_gets_jumbo_frames(void **state)
{
	assert_completed("net_af_packet0,iface=eth0", 9000,
			 "net_af_packet0,iface=eth0,framesz=8192,blocksz=65536,framecnt=512");
	assert_completed("net_af_packet0,iface=eth0,framesz=2048", 9000, "net_af_packet0,iface=eth0,framesz=2048");
}

static void args_complete__virtio_user_gets_our_address(void **state)
{
	assert_completed("net_virtio_user0,path=/x", 9000, "net_virtio_user0,path=/x,mac=02:00:0A:00:00:01");
	assert_completed("net_virtio_user0,mac=02:00:00:00:00:07,path=/x", 9000,
			 "net_virtio_user0,mac=02:00:00:00:00:07,path=/x");
}

static void args_complete__leaves_others_alone(void **state)
{
	assert_completed("net_null0,size=64", 9000, "net_null0,size=64");
	assert_completed("0000:03:00.0", 9000, "0000:03:00.0");
}

static void args_complete__too_long(void **state)
{
	char full[ETHDEV_ARGS_MAX], args[ETHDEV_ARGS_MAX + 1];
	struct weft_err err = {""};
	memset(args, 'x', sizeof args - 1);
	args[sizeof args - 1] = '\0';
	assert_int_equal(ethdev_args_complete(args, 9000, &MAC, full, sizeof full, &err), -ENAMETOOLONG);
	assert_true(err.msg[0] != '\0');
}

static void ip_bytes_max__by_driver(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_foo", .max_mtu = 4000, .max_rx_pktlen = 9000};
	assert_int_equal(ethdev_ip_bytes_max(&info), 4000);
	info.max_rx_pktlen = 1518;
	assert_int_equal(ethdev_ip_bytes_max(&info), 1500);
	info.max_rx_pktlen = 0;
	assert_int_equal(ethdev_ip_bytes_max(&info), 0);
	/* What these two report themselves is wrong for jumbo frames: their buffers count. */
	info = (struct rte_eth_dev_info){.driver_name = "net_memif", .max_rx_pktlen = 1518};
	assert_int_equal(ethdev_ip_bytes_max(&info), 2034);
	info.driver_name = "net_af_packet";
	assert_int_equal(ethdev_ip_bytes_max(&info), 2048 - 80);
}

static void mtu__only_where_drivers_take_it(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_memif"};
	assert_int_equal(ethdev_mtu(&info, 9000), 0);
	info.driver_name = "net_ring";
	assert_int_equal(ethdev_mtu(&info, 9000), 9000);
}

static void rx_buffer_bytes__frames_of_af_packet(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_ring"};
	assert_int_equal(ethdev_rx_buffer_bytes(&info), 0);
	info.driver_name = "net_af_packet";
	assert_int_equal(ethdev_rx_buffer_bytes(&info), 2048);
}

static void has_interrupts__by_driver(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_vhost"};
	assert_true(ethdev_has_interrupts(&info));
	info.driver_name = "net_memif";
	assert_false(ethdev_has_interrupts(&info));
}

/* Sockets can be waited for where there is an interface behind them; a file has none. */
static void has_socket__by_driver(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_pcap"};
	assert_false(ethdev_has_socket(&info));
	info.if_index = 2;
	assert_true(ethdev_has_socket(&info));
	info.driver_name = "net_tap";
	assert_false(ethdev_has_socket(&info));
}

/* A NIC reads packets later. */
static void copies__by_driver(void **state)
{
	struct rte_eth_dev_info info = {.driver_name = "net_tap"};
	assert_true(ethdev_copies(&info));
	info.driver_name = "net_memif";
	assert_true(ethdev_copies(&info));
	info.driver_name = "net_ring";
	assert_false(ethdev_copies(&info));
	info.driver_name = "net_e1000_igb";
	assert_false(ethdev_copies(&info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethdev_arg__whole_keys_that_fit),
		cmocka_unit_test(args_complete__memif_buffers_hold_a_frame),
		cmocka_unit_test(args_complete__af_packet_gets_jumbo_frames),
		cmocka_unit_test(args_complete__virtio_user_gets_our_address),
		cmocka_unit_test(args_complete__leaves_others_alone),
		cmocka_unit_test(args_complete__too_long),
		cmocka_unit_test(ip_bytes_max__by_driver),
		cmocka_unit_test(mtu__only_where_drivers_take_it),
		cmocka_unit_test(rx_buffer_bytes__frames_of_af_packet),
		cmocka_unit_test(has_interrupts__by_driver),
		cmocka_unit_test(has_socket__by_driver),
		cmocka_unit_test(copies__by_driver),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
