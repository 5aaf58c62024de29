/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "ethdev_fixture.h"

enum { QUEUES = 2, UDP = RTE_ETH_RSS_NONFRAG_IPV4_UDP };

static struct weft_ethdev_steering steering_of(const struct weft_port *port)
{
	struct weft_ethdev_steering s;
	weft_ethdev_steering(port, &s);
	return s;
}

static struct weft_port *open_one(const char *dev, uint16_t queue, uint16_t queues)
{
	struct weft_port *port;
	struct weft_err err;
	const struct weft_ethdev_conf conf = {
		.dev = dev, .queue = queue, .queues = queues, .ip = weft_ip_v4(0x0a000001u + queue), .pool_pkts = 255};
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	return port;
}

static uint64_t hash_of(const char *name)
{
	struct rte_eth_rss_conf conf = {.rss_key = NULL};
	uint16_t id;
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &id), 0);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(id, &conf), 0);
	return conf.rss_hf;
}

static void hash__of_one_queue_is_none(void **state)
{
	struct weft_port *port = open_one("net_null0,no-rx=1", 0, 0);
	struct weft_ethdev_steering s = steering_of(port);
	assert_int_equal(s.ports, 1);
	assert_int_equal(s.queues, 1);
	assert_int_equal(s.hash, WEFT_HASH_NONE);
	port->ops->close(port);
}

static void hash__of_several_queues_is_over_addresses(void **state)
{
	struct weft_port *ports[QUEUES];
	for (uint16_t q = 0; q < QUEUES; q++)
		ports[q] = open_one("net_null0,no-rx=1", q, QUEUES);
	assert_int_equal(steering_of(ports[1]).hash, WEFT_HASH_ADDRESSES);
	assert_int_equal(steering_of(ports[1]).queue, 1);
	assert_false(steering_of(ports[1]).by_rule); /* this driver has no rules */
	assert_int_equal(hash_of("net_null0") & UDP, 0);
	assert_int_not_equal(hash_of("net_null0") & RTE_ETH_RSS_IPV4, 0);
	for (uint16_t q = 0; q < QUEUES; q++)
		ports[q]->ops->close(ports[q]);
}

/* A device that its program has started hashes as the program said: it is told, and nothing changes. */
static void hash__over_ports_is_told(void **state)
{
	const struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS},
					  .rx_adv_conf = {.rss_conf = {.rss_hf = UDP | RTE_ETH_RSS_IPV4}}};
	uint16_t id;
	struct rte_mempool *pool = rte_pktmbuf_pool_create("steer", 1023, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_dev_probe("net_null1,no-rx=1"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null1", &id), 0);
	assert_int_equal(rte_eth_dev_configure(id, QUEUES, QUEUES, &conf), 0);
	for (uint16_t q = 0; q < QUEUES; q++) {
		assert_int_equal(rte_eth_rx_queue_setup(id, q, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(id, q, 64, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(id), 0);
	struct weft_port *port = open_one("net_null1", 1, QUEUES);
	assert_int_equal(steering_of(port).hash, WEFT_HASH_PORTS);
	assert_int_not_equal(hash_of("net_null1") & UDP, 0);
	port->ops->close(port);
	struct weft_err err;
	const struct weft_ethdev_conf third = {.dev = "net_null1", .queue = QUEUES, .ip = weft_ip_v4(0x0a000003)};
	assert_int_equal(weft_ethdev_open(&third, &port, &err), -EINVAL);
	rte_eth_dev_stop(id);
	rte_eth_dev_close(id);
	rte_mempool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash__of_one_queue_is_none),
		cmocka_unit_test(hash__of_several_queues_is_over_addresses),
		cmocka_unit_test(hash__over_ports_is_told),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
