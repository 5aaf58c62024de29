/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "ethdev_fixture.h"

static int try_open(const char *dev, uint16_t queue, uint32_t ip_bytes, struct weft_port **port, struct weft_err *err)
{
	struct weft_ethdev_conf conf = {.dev = dev,
					.queue = queue,
					.queues = 4,
					.ip = weft_ip_v4(0x0a000001u + queue),
					.max_ip_bytes = ip_bytes,
					.pool_pkts = 255};
	return weft_ethdev_open(&conf, port, err);
}

static void open__makes_and_removes_virtual_device(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	struct weft_pkt *pkt;
	uint16_t id;
	for (int i = 0; i < 2; i++) {
		if (try_open("net_null0,size=100,no-rx=1", 0, 0, &port, &err) != 0)
			fail_msg("%s", err.msg);
		assert_int_equal(port->max_ip_bytes, ETHDEV_IP_MAX_BYTES);
		assert_int_equal(port->link_bps, 0);
		assert_int_equal(port->ops->rx(port, &pkt, 1), 0);
		port->ops->close(port);
		assert_int_not_equal(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
	}
}

/* Who may lock little memory reads that VFIO needs more; root is not bound by the limit. */
static void open__names_memlock(void **state)
{
	const uid_t user = geteuid();
	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	small = before;
	small.rlim_cur = 65536;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &small), 0);
	for (int root = user == 0; root >= 0; root--) {
		struct weft_port *port = NULL;
		struct weft_err err = {""};
		if (root == 0 && user == 0)
			assert_int_equal(seteuid(65534), 0);
		assert_true(try_open("0000:99:00.0", 0, 0, &port, &err) < 0);
		assert_int_equal(strstr(err.msg, "may lock 64 KiB of memory (memlock)") != NULL, !root);
		assert_true(try_open("net_nonesuch0", 0, 0, &port, &err) < 0);
		assert_null(strstr(err.msg, "memlock"));
	}
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

static void open__names_bad_devices(void **state)
{
	static const char *const bad[] = {"",
					  ",",
					  "net_nonesuch0",
					  "net_null0,bogus=1",
					  "0000:99:00.0",
					  "net_memif0,role=emperor",
					  "net_af_packet0,iface=nonesuch",
					  "net_virtio_user0,path=/nonexistent/socket",
					  "net_vhost0",
					  "nosuchif0",
					  "!!"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct weft_port *port = NULL;
		struct weft_err err = {""};
		assert_true(try_open(bad[i], 0, 0, &port, &err) < 0);
		assert_null(port);
		if (strstr(err.msg, bad[i]) == NULL)
			fail_msg("%s: message is \"%s\"", bad[i], err.msg);
	}
	struct weft_port *port;
	assert_int_equal(try_open("net_nonesuch0", 0, 0, &port, NULL), -ENODEV);
	assert_int_equal(try_open("net_memif0,role=emperor", 0, 0, &port, NULL), -ENODEV);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void open__refuses_impossible_numbers(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	assert_int_equal(try_open("net_null0", 0, 100000, &port, &err), -EINVAL);
	assert_int_equal(try_open("net_null0", 0, 100, &port, &err), -EINVAL);
	assert_int_equal(try_open("net_null0", 64, 0, &port, &err), -EINVAL);
	assert_int_equal(
		try_open("net_memif0,role=server,id=0,socket=weft-unit-small,bsize=2048", 0, 4000, &port, &err),
		-EINVAL);
	assert_non_null(strstr(err.msg, "2034"));
	struct weft_ethdev_conf conf = {.dev = "net_null0", .pool_pkts = 3};
	assert_int_equal(weft_ethdev_open(&conf, &port, &err), -EINVAL);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void open__busy_device_says_so(void **state)
{
	struct weft_port *port, *again;
	struct weft_err err;
	assert_int_equal(try_open("net_null0,no-rx=1", 0, 0, &port, &err), 0);
	assert_int_equal(try_open("net_null0,no-rx=1", 0, 0, &again, &err), -EBUSY);
	assert_int_equal(try_open("net_null0", 0, 0, &again, &err), -EBUSY);
	port->ops->close(port);
}

/* Several engines share one device that somebody else made, a queue pair each. */
static void open__queues_of_an_existing_device(void **state)
{
	struct rte_ring *rings[4];
	struct weft_port *ports[4];
	struct weft_err err;
	char name[8] = "q0";
	for (unsigned i = 0; i < 4; i++, name[1]++)
		assert_non_null(rings[i] = rte_ring_create(name, 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
	assert_true(rte_eth_from_rings("many", rings, 4, rings, 4, 0) >= 0);
	for (uint16_t q = 0; q < 4; q++) {
		if (try_open("net_ring_many", q, 0, &ports[q], &err) != 0)
			fail_msg("%s", err.msg);
	}
	assert_int_equal(try_open("net_ring_many", 4, 0, &ports[0], &err), -EINVAL);
	assert_int_equal(try_open("net_ring_many", 2, 0, &ports[0], &err), -EBUSY);
	/* Queue q's ring is its own way back. */
	struct weft_pkt *out = fixture_pkt(ports[3], 0x0a000001, "hello", 5), *in;
	assert_int_equal(ports[2]->ops->rx(ports[2], &in, 1), 0);
	ports[3]->ops->free(ports[3], &out, 1);
	for (unsigned i = 0; i < 4; i++)
		ports[i]->ops->close(ports[i]);
	uint16_t id;
	assert_int_equal(rte_eth_dev_get_port_by_name("net_ring_many", &id), 0);
	assert_int_equal(try_open("many", 1, 0, &ports[0], &err), 0);
	ports[0]->ops->close(ports[0]);
}

/* Queues cost descriptors and packets: only those that are used, or asked for, are configured. */
static void open__configures_queues_in_use(void **state)
{
	struct rte_ring *rings[4];
	struct weft_port *port, *again;
	struct weft_err err;
	struct rte_eth_dev_info info;
	char name[8] = "u0";
	uint16_t id;
	for (unsigned i = 0; i < 4; i++, name[1]++)
		assert_non_null(rings[i] = rte_ring_create(name, 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
	assert_true(rte_eth_from_rings("few", rings, 4, rings, 4, 0) >= 0);
	for (uint16_t queues = 0; queues <= 3; queues += 3) {
		struct weft_ethdev_conf conf = {
			.dev = "few", .queues = queues, .ip = weft_ip_v4(0x0a000001), .pool_pkts = 255};
		assert_int_equal(weft_ethdev_open(&conf, &port, &err), 0);
		assert_int_equal(rte_eth_dev_get_port_by_name("net_ring_few", &id), 0);
		assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
		assert_int_equal(info.nb_rx_queues, queues ? 3 : 1);
		assert_int_equal(info.nb_tx_queues, queues ? 3 : 1);
		conf.queue = queues ? queues : 1;
		assert_int_equal(weft_ethdev_open(&conf, &again, &err), -EINVAL);
		port->ops->close(port);
	}
}

/* Nobody chose a number of packets: ports share what memory there is. */
static void open__several_ports_fit(void **state)
{
	struct weft_port *ports[8];
	struct weft_err err;
	char name[32];
	for (unsigned i = 0; i < 8; i++) {
		struct weft_ethdev_conf conf = {.dev = name, .ip = weft_ip_v4(0x0a000001)};
		snprintf(name, sizeof name, "net_null%u,size=100,no-rx=1", i);
		if (weft_ethdev_open(&conf, &ports[i], &err) != 0)
			fail_msg("port %u: %s", i, err.msg);
		assert_int_equal(ports[i]->max_ip_bytes, ETHDEV_IP_MAX_BYTES);
	}
	for (unsigned i = 0; i < 8; i++)
		ports[i]->ops->close(ports[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__makes_and_removes_virtual_device),
		cmocka_unit_test(open__names_bad_devices),
		cmocka_unit_test(open__names_memlock),
		cmocka_unit_test(open__refuses_impossible_numbers),
		cmocka_unit_test(open__busy_device_says_so),
		cmocka_unit_test(open__queues_of_an_existing_device),
		cmocka_unit_test(open__configures_queues_in_use),
		cmocka_unit_test(open__several_ports_fit),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
