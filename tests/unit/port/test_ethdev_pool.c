/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include <rte_mempool.h>
#include <rte_memzone.h>

#include "ethdev_fixture.h"

static int pool_create(const char *dev, uint32_t pkts, uint32_t ip_bytes, struct rte_mempool **pool,
		       struct weft_err *err)
{
	const struct ethdev_pool_want want = {.dev = dev, .ip_bytes = ip_bytes, .node = SOCKET_ID_ANY};
	return ethdev_pool_create(&want, pkts, pool, err);
}

static void create__elements_hold_metadata_and_packet(void **state)
{
	struct rte_mempool *pool;
	struct weft_err err;
	static const uint32_t sizes[] = {576, 1500, 4200, 9000, 65000};
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		assert_int_equal(pool_create("x", 63, sizes[i], &pool, &err), 0);
		assert_true(rte_pktmbuf_priv_size(pool) >= sizeof(struct weft_pkt));
		assert_true(rte_pktmbuf_data_room_size(pool) >= RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + sizes[i]);
		assert_true(pool->elt_size > 4096);
		ethdev_pool_retire(pool);
	}
}

/* As the kernel maps the buffers of af_xdp. */
static void create__elements_within_a_page(void **state)
{
	const struct ethdev_pool_want want = {
		.dev = "x", .ip_bytes = ethdev_pool_ip_bytes(4096, 256), .elem_bytes_max = 4096, .node = SOCKET_ID_ANY};
	struct rte_mempool *pool;
	struct weft_err err;
	assert_true(want.ip_bytes >= 3000);
	assert_int_equal(ethdev_pool_create(&want, 63, &pool, &err), 0);
	assert_true(rte_mempool_calc_obj_size(pool->elt_size, pool->flags, NULL) <= 4096);
	assert_true(rte_pktmbuf_data_room_size(pool) >= RTE_PKTMBUF_HEADROOM + 256 + RTE_ETHER_HDR_LEN + want.ip_bytes);
	ethdev_pool_retire(pool);
}

static void create__out_of_memory_names_the_device(void **state)
{
	struct rte_mempool *pool;
	struct weft_err err = {""};
	assert_int_equal(pool_create("net_foo7", 10000000, 9000, &pool, &err), -ENOMEM);
	assert_non_null(strstr(err.msg, "net_foo7"));
}

static void retire__waits_for_the_last_packet(void **state)
{
	struct rte_mempool *pool;
	struct weft_err err;
	char name[RTE_MEMPOOL_NAMESIZE];
	assert_int_equal(pool_create("x", 63, 1500, &pool, &err), 0);
	strcpy(name, pool->name);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	ethdev_pool_retire(pool);
	assert_non_null(rte_mempool_lookup(name));
	ethdev_pool_retire(NULL);
	assert_non_null(rte_mempool_lookup(name));
	rte_pktmbuf_free(m);
	ethdev_pool_retire(NULL);
	assert_null(rte_mempool_lookup(name));
}

/* Memory that no packet has used yet is not taken from the kernel: packets are used again as soon as they are free. */
static void order__freed_packets_come_first(void **state)
{
	struct rte_mempool *pool;
	struct weft_err err;
	assert_int_equal(pool_create("x", 1023, 9000, &pool, &err), 0);
	struct rte_mbuf *first = rte_pktmbuf_alloc(pool);
	rte_pktmbuf_free(first);
	bool again = false;
	for (int i = 0; i < 512; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		again |= m == first;
		rte_pktmbuf_free(m);
	}
	assert_true(again);
	ethdev_pool_retire(pool);
}

static void unique_name__counts(void **state)
{
	static _Atomic uint32_t serial;
	char a[32], b[32];
	ethdev_unique_name(a, sizeof a, "what", &serial);
	ethdev_unique_name(b, sizeof b, "what", &serial);
	assert_string_not_equal(a, b);
	assert_int_equal(strncmp(a, "what_", 5), 0);
}

/* A name that DPDK cuts is that of another table: after 100,000 of them none could be made. */
static void unique_name__is_not_cut(void **state)
{
	static _Atomic uint32_t serial = UINT32_MAX - 1;
	char a[32], b[32];
	ethdev_unique_name(a, sizeof a, "weft_neigh", &serial);
	ethdev_unique_name(b, sizeof b, "weft_neigh", &serial);
	assert_in_range(strlen(a), 1, RTE_MEMZONE_NAMESIZE - 1 - strlen("RG_HT_"));
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__elements_hold_metadata_and_packet),
		cmocka_unit_test(create__elements_within_a_page),
		cmocka_unit_test(create__out_of_memory_names_the_device),
		cmocka_unit_test(retire__waits_for_the_last_packet),
		cmocka_unit_test(order__freed_packets_come_first),
		cmocka_unit_test(unique_name__counts),
		cmocka_unit_test(unique_name__is_not_cut),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
