/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ip.h>

#include "cmocka_all.h"
#include "ethdev_nd.h"

/* What a peer does to a packet in shared memory just when its checksum was found to be right. */
static void (*meanwhile)(uint8_t *ip);

static uint16_t cksum_and_meanwhile(const struct rte_ipv6_hdr *hdr, const void *msg)
{
	uint16_t sum = rte_ipv6_udptcp_cksum(hdr, msg);
	if (meanwhile != NULL)
		meanwhile((uint8_t *)(uintptr_t)msg - sizeof *hdr);
	return sum;
}

#define rte_ipv6_udptcp_cksum cksum_and_meanwhile
#include "ethdev_nd.c"
#undef rte_ipv6_udptcp_cksum

static const struct weft_ip A = {{0xfe, 0x80, [8] = 2, [13] = 0xaa, 0xbb, 0xcc}};
static const struct weft_ip B = {{0xfe, 0x80, [15] = 2}};
static const struct rte_ether_addr MAC = {{2, 1, 2, 3, 4, 5}};

static void parse__reads_what_fill_wrote(void **state)
{
	static const uint8_t types[] = {ND_SOLICIT, ND_ADVERT};
	for (unsigned i = 0; i < 2; i++) {
		uint8_t ip[ND_IP_BYTES];
		struct nd_seen nd = {0};
		nd_fill(ip, types[i], ND_OVERRIDE, &A, &B, &B, &MAC);
		assert_true(nd_parse(ip, sizeof ip, &nd));
		assert_int_equal(nd.type, types[i]);
		assert_true(nd.has_source);
		assert_memory_equal(&nd.source, &A, 16);
		assert_memory_equal(&nd.target, &B, 16);
		assert_memory_equal(&nd.mac, &MAC, 6);
	}
}

/* Layout of RFC 4861 sec. 4.3; the sum of the pseudo-header and the message is written out below. */
static void fill__solicitation_bytes(void **state)
{
	struct weft_ip src = {{[15] = 1}}, dst = {{[15] = 2}}, target = {{[15] = 3}};
	struct rte_ether_addr mac = {{0, 0, 0, 0, 0, 0}};
	uint8_t ip[ND_IP_BYTES];
	nd_fill(ip, ND_SOLICIT, 0, &src, &dst, &target, &mac);
	static const uint8_t start[8] = {0x60, 0, 0, 0, 0, 32, 58, 255};
	assert_memory_equal(ip, start, 8);
	/* 1 + 2 + 32 + 58 + 0x8700 + 3 + 0x0101 = 0x8861, inverted 0x779e */
	static const uint8_t icmp[8] = {135, 0, 0x77, 0x9e, 0, 0, 0, 0};
	assert_memory_equal(ip + 40, icmp, 8);
	assert_int_equal(ip[64], 1);
	assert_int_equal(ip[65], 1);
}

static void parse__duplicate_check_has_no_source(void **state)
{
	static const struct weft_ip nobody;
	uint8_t ip[ND_IP_BYTES];
	struct nd_seen nd;
	nd_fill(ip, ND_SOLICIT, 0, &nobody, &B, &B, &MAC);
	assert_true(nd_parse(ip, sizeof ip, &nd));
	assert_false(nd.has_source);
}

/* Each single bit, and each length, in a buffer that ends where the packet does. */
static void parse__refuses_damage(void **state)
{
	uint8_t good[ND_IP_BYTES];
	struct nd_seen nd;
	unsigned accepted = 0;
	nd_fill(good, ND_SOLICIT, 0, &A, &B, &B, &MAC);
	for (unsigned bit = 0; bit < 8 * ND_IP_BYTES; bit++) {
		uint8_t bad[ND_IP_BYTES];
		memcpy(bad, good, sizeof bad);
		bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
		accepted += nd_parse(bad, sizeof bad, &nd);
	}
	/* Version, traffic class and flow label are nobody's business here. */
	assert_int_equal(accepted, 32);
	for (size_t len = 0; len < ND_IP_BYTES; len++) {
		uint8_t *cut = malloc(len + 1);
		memcpy(cut, good, len);
		assert_false(nd_parse(cut, len, &nd));
		free(cut);
	}
}

static void parse__option_of_no_length_ends_the_options(void **state)
{
	uint8_t ip[ND_IP_BYTES];
	struct nd_seen nd = {.mac = {{9, 9, 9, 9, 9, 9}}};
	nd_fill(ip, ND_SOLICIT, 0, &A, &B, &B, &MAC);
	ip[65] = 0;
	/* Ones' complement sums stay right when what one word loses another gains. */
	ip[47] += 1;
	assert_true(nd_parse(ip, sizeof ip, &nd));
	assert_int_equal(nd.mac.addr_bytes[0], 9);
}

/* Another source, and no length. */
static void header_change(uint8_t *ip)
{
	memset(ip + 4, 0, 2);
	memset(ip + 8, 0x77, 16);
}

static void parse__what_changes_after_the_check_is_not_read(void **state)
{
	uint8_t ip[ND_IP_BYTES + 65536] = {0};
	struct nd_seen nd = {0};
	nd_fill(ip, ND_SOLICIT, 0, &A, &B, &B, &MAC);
	ip[ND_IP_BYTES] = ND_OPT_SOURCE; /* behind the end: an option as it is wanted */
	ip[ND_IP_BYTES + 1] = 1;
	meanwhile = header_change;
	assert_true(nd_parse(ip, sizeof ip, &nd));
	meanwhile = NULL;
	assert_memory_equal(&nd.source, &A, 16);
	assert_memory_equal(&nd.mac, &MAC, 6);
}

static void parse_router__what_changes_after_the_check_is_not_read(void **state)
{
	uint8_t ip[sizeof(struct rte_ipv6_hdr) + ND_RA_BYTES + 65536] = {0};
	struct rte_ipv6_hdr *hdr = (struct rte_ipv6_hdr *)ip;
	struct nd_router router;
	header_fill(hdr, &A, &B, ND_RA_BYTES);
	ip[sizeof *hdr] = ND_ROUTER_ADVERT;
	uint16_t sum = rte_ipv6_udptcp_cksum(hdr, ip + sizeof *hdr);
	memcpy(ip + sizeof *hdr + offsetof(struct nd_msg, cksum), &sum, sizeof sum);
	meanwhile = header_change;
	assert_true(nd_parse_router(ip, sizeof ip, &router));
	meanwhile = NULL;
	assert_memory_equal(&router.ip, &A, 16);
}

static void multicast__addresses(void **state)
{
	struct weft_ip group = nd_solicited_node(&A), all = nd_all_nodes();
	static const struct weft_ip want = {{0xff, 2, [11] = 1, 0xff, 0xaa, 0xbb, 0xcc}};
	struct rte_ether_addr mac = nd_multicast_mac(&group), all_mac = nd_multicast_mac(&all);
	static const uint8_t want_mac[6] = {0x33, 0x33, 0xff, 0xaa, 0xbb, 0xcc}, want_all[6] = {0x33, 0x33, 0, 0, 0, 1};
	assert_memory_equal(&group, &want, 16);
	assert_memory_equal(&mac, want_mac, 6);
	assert_memory_equal(&all_mac, want_all, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__reads_what_fill_wrote),
		cmocka_unit_test(fill__solicitation_bytes),
		cmocka_unit_test(parse__duplicate_check_has_no_source),
		cmocka_unit_test(parse__refuses_damage),
		cmocka_unit_test(parse__option_of_no_length_ends_the_options),
		cmocka_unit_test(parse__what_changes_after_the_check_is_not_read),
		cmocka_unit_test(parse_router__what_changes_after_the_check_is_not_read),
		cmocka_unit_test(multicast__addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
