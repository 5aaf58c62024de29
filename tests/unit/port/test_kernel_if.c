/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's interfaces and routes, in a network namespace made for it. */
#include <arpa/inet.h>
#include <errno.h>

#include "cmocka_all.h"
#include "netns.h"
#include "weft/kernel_if.h"

static bool has_netns;

static struct weft_ip ip6(const char *text)
{
	struct weft_ip ip;
	assert_int_equal(inet_pton(AF_INET6, text, ip.b), 1);
	return ip;
}

static int setup(void **state)
{
	has_netns = netns_enter() && ip_run("link add e0 mtu 3000 address 02:00:00:00:00:07 type veth peer name e1") &&
		    ip_run("link set e0 up") && ip_run("link set e1 up") && ip_run("addr add 10.1.0.5/24 dev e0") &&
		    ip_run("addr add fd00::5/64 dev e0 nodad") && ip_run("addr add 10.9.0.1/30 dev e1");
	return 0;
}

#define NEEDS_NETNS()                                                                                                  \
	if (!has_netns)                                                                                                \
	skip()

static void if_read__link_and_addresses(void **state)
{
	struct weft_if e;
	struct weft_err err;
	NEEDS_NETNS();
	assert_int_equal(weft_if_read("e0", &e, &err), 0);
	assert_string_equal(e.name, "e0");
	assert_int_equal(e.mtu_bytes, 3000);
	assert_int_equal(e.mac[5], 7);
	assert_int_equal(e.link_bps, 0); /* whatever a veth says, and other namespaces' interfaces of this name */
	assert_true(e.is_up && e.has_carrier && e.index > 0);
	assert_true(e.addr_count >= 2);
	struct weft_ip v4 = weft_ip_v4(0x0a010005), v6 = ip6("fd00::5");
	assert_true(weft_ip_eq(&e.addrs[0].ip, &v4));
	assert_int_equal(e.addrs[0].prefix_len, 24);
	assert_true(weft_ip_eq(&e.addrs[1].ip, &v6));
	assert_int_equal(e.addrs[1].prefix_len, 64);
}

static void if_read__names_what_is_not_there(void **state)
{
	struct weft_if e;
	struct weft_err err;
	assert_int_equal(weft_if_read("nonesuch0", &e, &err), -ENODEV);
	assert_non_null(strstr(err.msg, "nonesuch0"));
	assert_int_equal(weft_if_read("a name longer than any interface's", &e, &err), -ENODEV);
}

static const struct weft_route *route_find(const struct weft_route *routes, uint32_t count, struct weft_ip prefix,
					   uint8_t len)
{
	for (uint32_t i = 0; i < count; i++)
		if (routes[i].prefix_len == len && weft_ip_eq(&routes[i].prefix, &prefix))
			return &routes[i];
	return NULL;
}

static uint32_t routes_of(const char *name, struct weft_route **routes)
{
	struct weft_if e;
	uint32_t count;
	assert_int_equal(weft_if_read(name, &e, NULL), 0);
	assert_int_equal(weft_if_routes(e.index, routes, &count, NULL), 0);
	return count;
}

static void if_routes__those_of_the_interface(void **state)
{
	const struct weft_ip nobody = {{0}}, gateway = weft_ip_v4(0x0a010001), gateway6 = ip6("fd00::1");
	struct weft_route *routes;
	NEEDS_NETNS();
	assert_true(ip_run("route add default via 10.1.0.9 metric 50"));
	assert_true(ip_run("route add default via 10.1.0.1 metric 20"));
	assert_true(ip_run("route add 10.3.0.0/16 nexthop via 10.9.0.2 dev e1 nexthop via 10.1.0.1 dev e0"));
	assert_true(ip_run("route add 10.4.0.0/16 via 10.9.0.2"));
	assert_true(ip_run("route add 10.5.0.0/16 via 10.1.0.1 table 7"));
	assert_true(ip_run("route add blackhole 10.6.0.0/16"));
	assert_true(ip_run("-6 route add fd01::/48 via fd00::1"));
	uint32_t count = routes_of("e0", &routes);
	const struct weft_route *r = route_find(routes, count, weft_ip_v4(0), 0);
	assert_true(r && weft_ip_eq(&r->gateway, &gateway)); /* of two the lower metric */
	r = route_find(routes, count, weft_ip_v4(0x0a010000), 24);
	assert_true(r && weft_ip_eq(&r->gateway, &nobody));
	r = route_find(routes, count, weft_ip_v4(0x0a030000), 16);
	assert_true(r && weft_ip_eq(&r->gateway, &gateway)); /* the next hop on our interface */
	r = route_find(routes, count, ip6("fd01::"), 48);
	assert_true(r && weft_ip_eq(&r->gateway, &gateway6));
	assert_null(route_find(routes, count, weft_ip_v4(0x0a040000), 16)); /* by another interface */
	assert_null(route_find(routes, count, weft_ip_v4(0x0a050000), 16)); /* of another table */
	assert_null(route_find(routes, count, weft_ip_v4(0x0a060000), 16)); /* goes nowhere */
	free(routes);
}

static void if_routes__many(void **state)
{
	struct weft_route *routes;
	char line[80];
	NEEDS_NETNS();
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof line, "route add 10.20.%d.0/24 via 10.9.0.2 dev e1", i);
		assert_true(ip_run(line));
	}
	uint32_t count = routes_of("e1", &routes);
	assert_true(count >= 101);
	assert_non_null(route_find(routes, count, weft_ip_v4(0x0a146300), 24));
	free(routes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(if_read__link_and_addresses),
		cmocka_unit_test(if_read__names_what_is_not_there),
		cmocka_unit_test(if_routes__those_of_the_interface),
		cmocka_unit_test(if_routes__many),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
