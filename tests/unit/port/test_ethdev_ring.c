/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "ethdev_fixture.h"

static const struct weft_ip ME = {{[10] = 0xff, 0xff, 10, 0, 0, 1}};

static void pair__device_is_found_by_both_names(void **state)
{
	struct weft_port *sw, *host;
	struct weft_err err;
	static const char *const names[] = {"net_ring_pair", "pair"};
	if (weft_ethdev_ring_pair("pair", 64, &sw, &err) != 0)
		fail_msg("%s", err.msg);
	for (unsigned i = 0; i < 2; i++) {
		struct weft_ethdev_conf conf = {.dev = names[i], .ip = ME, .pool_pkts = 255};
		if (weft_ethdev_open(&conf, &host, &err) != 0)
			fail_msg("%s", err.msg);
		host->ops->close(host);
	}
	sw->ops->close(sw);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void pair__both_directions(void **state)
{
	struct fixture f;
	struct weft_pkt *pkt;
	fixture_open(&f, ME, true);
	pkt = fixture_pkt(f.host, 0x0a000002, "ping", 4);
	assert_int_equal(f.host->ops->tx(f.host, &pkt, 1), 1);
	assert_int_equal(f.sw->ops->rx(f.sw, &pkt, 1), 1);
	pkt->head[19] = 1; /* back to the sender */
	assert_int_equal(f.sw->ops->tx(f.sw, &pkt, 1), 1);
	assert_int_equal(f.host->ops->rx(f.host, &pkt, 1), 1);
	assert_memory_equal(pkt->head + 28, "ping", 4);
	f.host->ops->free(f.host, &pkt, 1);
	fixture_close(&f);
}

/* What waits in the rings when both ends close goes back to its pool. */
static void close__frees_packets_in_flight(void **state)
{
	struct fixture f;
	char name[RTE_MEMPOOL_NAMESIZE];
	fixture_open(&f, ME, true);
	strcpy(name, to_ethdev(f.host)->pool->name);
	struct weft_pkt *pkts[8];
	for (unsigned i = 0; i < 8; i++)
		pkts[i] = fixture_pkt(f.host, 0x0a000002, "x", 1);
	assert_int_equal(f.host->ops->tx(f.host, pkts, 8), 8);
	f.host->ops->close(f.host);
	assert_non_null(rte_mempool_lookup(name)); /* the switch still owns packets of it */
	assert_int_equal(f.sw->ops->rx(f.sw, pkts, 4), 4);
	f.sw->ops->free(f.sw, pkts, 4);
	f.sw->ops->close(f.sw);
	assert_null(rte_mempool_lookup(name));
}

static void pair__refuses_bad_arguments(void **state)
{
	struct weft_port *sw, *again;
	struct weft_err err = {""};
	assert_true(weft_ethdev_ring_pair("a_name_that_is_much_too_long_for_a_ring", 64, &sw, &err) < 0);
	assert_true(err.msg[0] != '\0');
	assert_true(weft_ethdev_ring_pair("zero", 0, &sw, &err) < 0);
	assert_int_equal(weft_ethdev_ring_pair("twice", 64, &sw, &err), 0);
	assert_true(weft_ethdev_ring_pair("twice", 64, &again, &err) < 0);
	assert_non_null(strstr(err.msg, "twice"));
	sw->ops->close(sw);
}

static void pair__no_more_than_dpdk_has_room_for(void **state)
{
	struct weft_port *sw[RTE_MAX_ETHPORTS + 1];
	struct weft_err err = {""};
	unsigned n = 0;
	char name[16];
	do {
		snprintf(name, sizeof name, "many%u", n);
	} while (weft_ethdev_ring_pair(name, 64, &sw[n], &err) == 0 && ++n <= RTE_MAX_ETHPORTS);
	assert_int_equal(n, RTE_MAX_ETHPORTS);
	assert_non_null(strstr(err.msg, name));
	while (n-- > 0)
		sw[n]->ops->close(sw[n]);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pair__device_is_found_by_both_names),  cmocka_unit_test(pair__both_directions),
		cmocka_unit_test(close__frees_packets_in_flight),       cmocka_unit_test(pair__refuses_bad_arguments),
		cmocka_unit_test(pair__no_more_than_dpdk_has_room_for),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
