/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "ethdev_fixture.h"

enum { QUEUES = 2, UDP = RTE_ETH_RSS_NONFRAG_IPV4_UDP };

/* ---- in DPDK's place: drivers without hardware take no rules, and hash as they are told ---- */

static struct {
	bool takes_rules;    /* validate agrees ... */
	bool wants_plain_ip; /* ... to rules that name no UDP header */
	unsigned validated, created, destroyed;
	struct rte_flow_item items[8]; /* of the rule created last */
	rte_be32_t dst4;
	uint8_t dst6[16];
	rte_be16_t vlan, port;
	uint16_t queue;
	bool hashes_ports, is_stubborn;
	unsigned updates;
} dpdk;

static bool names_udp(const struct rte_flow_item *pattern)
{
	while (pattern->type != RTE_FLOW_ITEM_TYPE_END && pattern->type != RTE_FLOW_ITEM_TYPE_UDP)
		pattern++;
	return pattern->type == RTE_FLOW_ITEM_TYPE_UDP;
}

int rte_flow_validate(uint16_t id, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
		      const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	dpdk.validated++;
	assert_true(attr->ingress);
	return dpdk.takes_rules && !(dpdk.wants_plain_ip && names_udp(pattern)) ? 0 : -ENOTSUP;
}

struct rte_flow *rte_flow_create(uint16_t id, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
				 const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	dpdk.created++;
	dpdk.port = 0;
	for (unsigned i = 0; i < RTE_DIM(dpdk.items); i++) {
		const struct rte_flow_item *item = &pattern[i];
		dpdk.items[i] = *item;
		if (item->type == RTE_FLOW_ITEM_TYPE_END)
			break;
		if (item->type == RTE_FLOW_ITEM_TYPE_IPV4)
			dpdk.dst4 = ((const struct rte_flow_item_ipv4 *)item->spec)->hdr.dst_addr;
		if (item->type == RTE_FLOW_ITEM_TYPE_IPV6)
			memcpy(dpdk.dst6, ((const struct rte_flow_item_ipv6 *)item->spec)->hdr.dst_addr, 16);
		if (item->type == RTE_FLOW_ITEM_TYPE_VLAN)
			dpdk.vlan = ((const struct rte_flow_item_vlan *)item->spec)->hdr.vlan_tci;
		if (item->type == RTE_FLOW_ITEM_TYPE_UDP)
			dpdk.port = ((const struct rte_flow_item_udp *)item->spec)->hdr.dst_port;
	}
	assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	dpdk.queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index;
	return (struct rte_flow *)&dpdk;
}

int rte_flow_destroy(uint16_t id, struct rte_flow *flow, struct rte_flow_error *error)
{
	assert_ptr_equal(flow, &dpdk);
	dpdk.destroyed++;
	return 0;
}

int rte_eth_dev_rss_hash_conf_get(uint16_t id, struct rte_eth_rss_conf *conf)
{
	int (*real)(uint16_t, struct rte_eth_rss_conf *) =
		(int (*)(uint16_t, struct rte_eth_rss_conf *))dlsym(RTLD_NEXT, "rte_eth_dev_rss_hash_conf_get");
	int rc = real(id, conf);
	if (dpdk.hashes_ports)
		conf->rss_hf |= UDP;
	return rc;
}

int rte_eth_dev_rss_hash_update(uint16_t id, struct rte_eth_rss_conf *conf)
{
	dpdk.updates++;
	assert_int_equal(conf->rss_hf & UDP, 0);
	dpdk.hashes_ports &= dpdk.is_stubborn;
	return 0;
}

static int dpdk_reset(void **state)
{
	memset(&dpdk, 0, sizeof dpdk);
	return 0;
}

/* ---- tests ---- */

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

/* A device that hashes ports though it was configured not to is told so again. */
static void hash__over_ports_is_switched_off(void **state)
{
	for (int stubborn = 0; stubborn < 2; stubborn++) {
		dpdk_reset(NULL);
		dpdk.hashes_ports = true;
		dpdk.is_stubborn = stubborn;
		struct weft_port *port = open_one("net_null0,no-rx=1", 0, QUEUES);
		assert_int_equal(dpdk.updates, 1);
		assert_int_equal(steering_of(port).hash, stubborn ? WEFT_HASH_PORTS : WEFT_HASH_ADDRESSES);
		port->ops->close(port);
	}
}

static void rule__brings_packets_to_the_engines_queue(void **state)
{
	dpdk.takes_rules = true;
	struct weft_port *ports[QUEUES];
	for (uint16_t q = 0; q < QUEUES; q++) {
		ports[q] = open_one("net_null0,no-rx=1", q, QUEUES);
		assert_true(steering_of(ports[q]).by_rule);
		assert_int_equal(dpdk.created, q + 1);
		assert_int_equal(dpdk.queue, q);
		assert_int_equal(dpdk.dst4, rte_cpu_to_be_32(0x0a000001u + q));
		assert_int_equal(dpdk.port, RTE_BE16(4793));
		assert_int_equal(dpdk.items[0].type, RTE_FLOW_ITEM_TYPE_ETH);
		assert_int_equal(dpdk.items[1].type, RTE_FLOW_ITEM_TYPE_IPV4);
		assert_int_equal(dpdk.items[2].type, RTE_FLOW_ITEM_TYPE_UDP);
		assert_int_equal(dpdk.items[3].type, RTE_FLOW_ITEM_TYPE_END);
	}
	for (uint16_t q = 0; q < QUEUES; q++)
		ports[q]->ops->close(ports[q]);
	assert_int_equal(dpdk.destroyed, QUEUES);
}

static void rule__is_as_plain_as_the_driver_wants(void **state)
{
	dpdk.takes_rules = dpdk.wants_plain_ip = true;
	struct weft_port *port = open_one("net_null0,no-rx=1", 0, QUEUES);
	assert_true(steering_of(port).by_rule);
	assert_int_equal(dpdk.created, 1);
	assert_int_equal(dpdk.items[1].type, RTE_FLOW_ITEM_TYPE_IPV4);
	assert_int_equal(dpdk.items[2].type, RTE_FLOW_ITEM_TYPE_END);
	port->ops->close(port);
}

static void rule__of_ipv6_and_vlan(void **state)
{
	struct weft_port *port;
	struct weft_err err;
	const struct weft_ethdev_conf conf = {.dev = "net_null0,no-rx=1",
					      .queues = QUEUES,
					      .ip = {{0xfd, [15] = 7}},
					      .net = {.vlan = 100},
					      .pool_pkts = 255};
	dpdk.takes_rules = true;
	if (weft_ethdev_open(&conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	assert_true(steering_of(port).by_rule);
	assert_int_equal(dpdk.items[1].type, RTE_FLOW_ITEM_TYPE_VLAN);
	assert_int_equal(dpdk.vlan, RTE_BE16(100));
	assert_int_equal(dpdk.items[2].type, RTE_FLOW_ITEM_TYPE_IPV6);
	assert_memory_equal(dpdk.dst6, conf.ip.b, 16);
	port->ops->close(port);
}

/* One queue needs none; who refuses is asked no further. */
static void rule__only_where_it_helps(void **state)
{
	dpdk.takes_rules = true;
	struct weft_port *port = open_one("net_null0,no-rx=1", 0, 1);
	assert_int_equal(dpdk.validated, 0);
	port->ops->close(port);
	dpdk.takes_rules = false;
	port = open_one("net_null0,no-rx=1", 0, QUEUES);
	assert_false(steering_of(port).by_rule);
	assert_int_not_equal(dpdk.validated, 0);
	assert_int_equal(dpdk.created, 0);
	port->ops->close(port);
	assert_int_equal(dpdk.destroyed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hash__of_one_queue_is_none, dpdk_reset),
		cmocka_unit_test_setup(hash__of_several_queues_is_over_addresses, dpdk_reset),
		cmocka_unit_test_setup(hash__over_ports_is_told, dpdk_reset),
		cmocka_unit_test_setup(hash__over_ports_is_switched_off, dpdk_reset),
		cmocka_unit_test_setup(rule__brings_packets_to_the_engines_queue, dpdk_reset),
		cmocka_unit_test_setup(rule__is_as_plain_as_the_driver_wants, dpdk_reset),
		cmocka_unit_test_setup(rule__of_ipv6_and_vlan, dpdk_reset),
		cmocka_unit_test_setup(rule__only_where_it_helps, dpdk_reset),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
