/* SPDX-License-Identifier: BSD-3-Clause */
/* Routed ports: next hops are asked for, not destinations. */
#include <errno.h>

#include "ethdev_nd.h"
#include "neigh_frames.h"
#include "netns.h"

enum { GATEWAY = 0x0a0000fe, FAR = 0x0a090001 };

static void tx__by_the_gateway(void **state)
{
	const struct weft_route route = {
		.prefix = weft_ip_v4(0x0a090000), .prefix_len = 16, .gateway = weft_ip_v4(GATEWAY)};
	const struct weft_ethdev_net net = {.prefix_len = 24, .routes = &route, .route_count = 1};
	struct fixture f;
	struct weft_ip far = weft_ip_v4(FAR), beyond = weft_ip_v4(0x0b000001), gateway = weft_ip_v4(GATEWAY), hop;
	fixture_open_net(&f, weft_ip_v4(ME), &net);
	send_one(&f, FAR);
	struct arp_frame ask = take_arp(&f);
	assert_int_equal(ask.arp.arp_data.arp_tip, rte_cpu_to_be_32(GATEWAY));
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -EINPROGRESS);
	assert_memory_equal(&hop, &gateway, sizeof hop);
	struct arp_frame reply = arp(RTE_ARP_OP_REPLY, GATEWAY, ME);
	feed(&f, &reply, sizeof reply);
	expect_sent_to(&f, &PEER_MAC);
	send_one(&f, FAR + 1);
	expect_sent_to(&f, &PEER_MAC); /* the same gateway */
	send_one(&f, PEER);
	ask = take_arp(&f); /* on the link */
	assert_int_equal(ask.arp.arp_data.arp_tip, rte_cpu_to_be_32(PEER));
	send_one(&f, 0x0b000001);
	assert_null(fixture_sent(&f));
	assert_int_equal(stats_of(&f).tx_no_route, 1);
	assert_int_equal(f.host->ops->reach(f.host, &beyond, &hop), -ENETUNREACH);
	fixture_close(&f);
}

static struct weft_ip ip6(uint8_t net, uint8_t host)
{
	return (struct weft_ip){{0xfd, 0, 0, net, [15] = host}};
}

struct ra_frame {
	struct rte_ether_hdr eth;
	struct rte_ipv6_hdr ip;
	uint8_t type, code;
	rte_be16_t cksum;
	uint8_t hops, flags;
	rte_be16_t lifetime_s;
	rte_be32_t reachable_ms, retrans_ms;
	uint8_t opt, units, prefix_len, prefix_flags;
	rte_be32_t valid_s, preferred_s, reserved;
	uint8_t prefix[16];
} __attribute__((packed, aligned(2)));

static struct ra_frame ra(const struct weft_ip *router, uint16_t lifetime_s, const struct weft_ip *prefix)
{
	const struct weft_ip all = nd_all_nodes();
	struct ra_frame r = {
		.eth = {.dst_addr = nd_multicast_mac(&all), .src_addr = PEER_MAC, .ether_type = RTE_BE16(0x86dd)},
		.ip = {.vtc_flow = RTE_BE32(0x60000000), .payload_len = RTE_BE16(48), .proto = 58, .hop_limits = 255},
		.type = ND_ROUTER_ADVERT,
		.lifetime_s = rte_cpu_to_be_16(lifetime_s),
		.opt = 3,
		.units = 4,
		.prefix_len = 64,
		.prefix_flags = 0x80,
		.valid_s = RTE_BE32(3600),
	};
	memcpy(r.ip.src_addr, router, 16);
	memcpy(r.ip.dst_addr, &all, 16);
	memcpy(r.prefix, prefix, 16);
	r.cksum = rte_ipv6_udptcp_cksum(&r.ip, &r.type);
	return r;
}

static void router__a_default_route_while_it_lasts(void **state)
{
	const struct weft_ethdev_net net = {.prefix_len = 64};
	struct weft_ip far = ip6(9, 1), router = {{0xfe, 0x80, [15] = 7}}, second = ip6(8, 0), near = ip6(8, 1), hop;
	struct fixture f;
	fixture_open_net(&f, ip6(7, 1), &net);
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	struct ra_frame yes = ra(&router, 1800, &second), no = ra(&router, 0, &second),
			forged = ra(&far, 1800, &second);
	feed(&f, &forged, sizeof forged); /* not from this link */
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	feed(&f, &yes, sizeof yes);
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), 0);
	assert_memory_equal(&hop, &router, sizeof hop);
	assert_int_equal(f.host->ops->reach(f.host, &near, &hop), 0);
	assert_memory_equal(&hop, &near, sizeof hop); /* a prefix it says is on the link */
	feed(&f, &no, sizeof no);
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	feed(&f, &yes, sizeof yes);
	neigh_periodic(to_ethdev(f.host), weft_clock_ns() + WEFT_S(1801));
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	fixture_close(&f);
}

static void router__is_asked_for(void **state)
{
	const struct weft_ethdev_net net = {.prefix_len = 64};
	const struct weft_ip routers = nd_all_routers();
	struct fixture f;
	fixture_open_net(&f, ip6(7, 1), &net);
	neigh_periodic(to_ethdev(f.host), weft_clock_ns() + WEFT_S(1));
	struct rte_mbuf *m = fixture_sent(&f);
	assert_non_null(m);
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv6_hdr *, 14);
	assert_memory_equal(ip->dst_addr, &routers, 16);
	assert_int_equal(((const uint8_t *)(ip + 1))[0], ND_ROUTER_SOLICIT);
	assert_int_equal(rte_ipv6_udptcp_cksum(ip, ip + 1), 0);
	rte_pktmbuf_free(m);
	fixture_close(&f);
}

static void kernel__routes_are_followed(void **state)
{
	const struct weft_ethdev_net net = {.kernel_if = "e0"};
	struct weft_ip far = weft_ip_v4(FAR), gateway = weft_ip_v4(GATEWAY), hop;
	struct fixture f;
	if (!netns_enter() || !ip_run("link add e0 type veth peer name e1") || !ip_run("link set e0 up") ||
	    !ip_run("link set e1 up") || !ip_run("addr add 10.0.0.1/24 dev e0"))
		skip();
	fixture_open_net(&f, weft_ip_v4(ME), &net);
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	assert_true(ip_run("route add default via 10.0.0.254"));
	neigh_periodic(to_ethdev(f.host), weft_clock_ns() + WEFT_S(1));
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), 0);
	assert_memory_equal(&hop, &gateway, sizeof hop);
	assert_true(ip_run("route del default"));
	neigh_periodic(to_ethdev(f.host), weft_clock_ns() + WEFT_S(3));
	assert_int_equal(f.host->ops->reach(f.host, &far, &hop), -ENETUNREACH);
	assert_int_equal(stats_of(&f).route_changes, 3);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx__by_the_gateway),
		cmocka_unit_test(router__a_default_route_while_it_lasts),
		cmocka_unit_test(router__is_asked_for),
		cmocka_unit_test(kernel__routes_are_followed),
	};

	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
