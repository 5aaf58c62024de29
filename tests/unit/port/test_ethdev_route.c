/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_fixture.h"
#include "ethdev_route.h"

enum { A = 0x0a010001, B = 0x0a020002, GATEWAY = 0x0a0100fe, OTHER_GATEWAY = 0x0a0100fd };

static struct weft_route v4(uint32_t prefix, uint8_t len, uint32_t gateway)
{
	struct weft_route r = {.prefix = weft_ip_v4(prefix), .prefix_len = len};
	if (gateway != 0)
		r.gateway = weft_ip_v4(gateway);
	return r;
}

static uint32_t next_hop(const struct route_table *t, uint32_t dst)
{
	struct weft_ip to = weft_ip_v4(dst), hop;
	return route_find(t, &to, &hop) ? weft_ip_low32(&hop) : 0;
}

static void find__the_longest_prefix(void **state)
{
	const struct weft_route routes[] = {v4(0x0a010000, 24, 0), v4(0, 0, GATEWAY), v4(0x0a020000, 16, OTHER_GATEWAY),
					    v4(0x0a020002, 32, GATEWAY)};
	struct route_table *t = route_table_create(routes, 4, SOCKET_ID_ANY);
	assert_non_null(t);
	assert_int_equal(next_hop(t, A), A);
	assert_int_equal(next_hop(t, 0x08080808), GATEWAY);
	assert_int_equal(next_hop(t, 0x0a020003), OTHER_GATEWAY);
	assert_int_equal(next_hop(t, B), GATEWAY);
	route_table_destroy(t);
}

static void find__none_where_none_leads(void **state)
{
	const struct weft_route routes[] = {v4(0x0a0100aa, 24, 0)}; /* bits behind the prefix do not count */
	const struct weft_ip v6 = {{0xfd, [15] = 1}};
	struct weft_ip hop;
	struct route_table *t = route_table_create(routes, 1, SOCKET_ID_ANY);
	assert_int_equal(next_hop(t, A), A);
	assert_int_equal(next_hop(t, B), 0);
	assert_false(route_find(t, &v6, &hop));
	route_table_destroy(t);
}

/* A default route of one family says nothing of the other. */
static void find__families_apart(void **state)
{
	const struct weft_ip gateway = {{0xfe, 0x80, [15] = 1}}, v6 = {{0x20, 1, [15] = 1}};
	const struct weft_route routes[] = {{.gateway = gateway}, v4(0x0a010000, 24, 0)};
	struct weft_ip hop;
	struct route_table *t = route_table_create(routes, 2, SOCKET_ID_ANY);
	assert_true(route_find(t, &v6, &hop));
	assert_memory_equal(&hop, &gateway, sizeof hop);
	assert_int_equal(next_hop(t, A), A);
	assert_int_equal(next_hop(t, 0xc0000201), 0);
	route_table_destroy(t);
}

static void create__the_last_of_one_prefix_counts(void **state)
{
	const struct weft_route routes[] = {v4(0, 0, GATEWAY), v4(0, 0, OTHER_GATEWAY)};
	struct route_table *t = route_table_create(routes, 2, SOCKET_ID_ANY);
	assert_int_equal(next_hop(t, B), OTHER_GATEWAY);
	route_table_destroy(t);
}

static void create__many(void **state)
{
	enum { MANY = 2000 };
	static struct weft_route routes[MANY];
	for (uint32_t i = 0; i < MANY; i++)
		routes[i] = v4(0x14000000 + (i << 8), 24, GATEWAY + i);
	struct route_table *t = route_table_create(routes, MANY, SOCKET_ID_ANY);
	assert_non_null(t);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(next_hop(t, 0x14000005 + (i << 8)), GATEWAY + i);
	route_table_destroy(t);
}

static void is_in__by_bits(void **state)
{
	const struct weft_ip a = weft_ip_v4(0x0a0100ff), b = weft_ip_v4(0x0a010001), v6 = {{0xfd, [15] = 1}};
	assert_true(weft_if_is_near(&(struct weft_if_addr){b, 24}, &a));
	assert_false(weft_if_is_near(&(struct weft_if_addr){b, 25}, &a));
	assert_true(weft_if_is_near(&(struct weft_if_addr){b, 0}, &a));
	assert_false(weft_if_is_near(&(struct weft_if_addr){b, 0}, &v6));
}

static void is_first_or_last__of_v4(void **state)
{
	const struct weft_ip own = weft_ip_v4(0x0a010005), v6 = {{0xfd, [15] = 1}}, v6_first = {{0xfd}};
	const struct weft_ip first = weft_ip_v4(0x0a010000), last = weft_ip_v4(0x0a0100ff),
			     far = weft_ip_v4(0x0a0101ff);
	const struct weft_if_addr in_24 = {own, 24}, in_31 = {own, 31}, in_32 = {own, 32}, in_64 = {v6, 64};
	assert_true(weft_if_is_first_or_last(&in_24, &first));
	assert_true(weft_if_is_first_or_last(&in_24, &last));
	assert_false(weft_if_is_first_or_last(&in_24, &far));
	assert_false(weft_if_is_first_or_last(&in_24, &own));
	assert_false(weft_if_is_first_or_last(&in_31, &own));
	assert_false(weft_if_is_first_or_last(&in_32, &own));
	assert_false(weft_if_is_first_or_last(&in_64, &v6_first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__the_longest_prefix),
		cmocka_unit_test(find__none_where_none_leads),
		cmocka_unit_test(find__families_apart),
		cmocka_unit_test(create__the_last_of_one_prefix_counts),
		cmocka_unit_test(create__many),
		cmocka_unit_test(is_in__by_bits),
		cmocka_unit_test(is_first_or_last__of_v4),
	};

	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
