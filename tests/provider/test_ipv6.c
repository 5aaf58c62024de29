/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts with IPv6 addresses. */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct host *const a = &hosts[0];

static int group_setup(void **state)
{
	int ret = rings_setup(state);
	setenv("FI_WEFT_ADDR", "fd00::1;fd00::2", 1);
	return ret;
}

static struct sockaddr_in6 sock(const char *ip, uint16_t port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	assert_int_equal(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1);
	return in6;
}

static void message__both_ways(void **state)
{
	enum { BYTES = 50000 };
	static uint8_t out[BYTES], in[BYTES];
	for (int i = 0; i < 2; i++) {
		pattern_fill(out, BYTES, (uint64_t)i);
		ok(fi_trecv(hosts[!i].ep, in, BYTES, NULL, hosts[!i].peer, 1, 0, NULL));
		ok(fi_tsend(hosts[i].ep, out, BYTES, NULL, hosts[i].peer, 1, NULL));
		next_done(&hosts[i]);
		assert_int_equal(next_done(&hosts[!i]).len, BYTES);
		assert_int_equal(pattern_check(in, BYTES, (uint64_t)i), BYTES);
	}
}

static void names__are_ipv6(void **state)
{
	struct sockaddr_in6 name, wanted = sock("fd00::1", 0);
	size_t len = sizeof name, text_len = 64;
	char text[64], expected[64];
	assert_int_equal(a->info->addr_format, FI_SOCKADDR_IN6);
	ok(fi_getname(&a->ep->fid, &name, &len));
	assert_int_equal(len, sizeof name);
	assert_memory_equal(&name.sin6_addr, &wanted.sin6_addr, sizeof name.sin6_addr);
	snprintf(expected, sizeof expected, "fi_sockaddr_in6://[fd00::1]:%d", ntohs(name.sin6_port));
	assert_string_equal(fi_av_straddr(a->av, &name, text, &text_len), expected);
	assert_int_equal(text_len, strlen(expected) + 1);
}

static void insert__only_this_family(void **state)
{
	struct sockaddr_in6 in6 = sock("fd00::9", 7), back;
	struct sockaddr_in in[2] = {{.sin_family = AF_INET, .sin_port = 7, .sin_addr.s_addr = 9}};
	fi_addr_t addr;
	size_t len = sizeof back;
	assert_int_equal(fi_av_insert(a->av, in, 1, &addr, 0, NULL), 0);
	assert_int_equal(addr, FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_insert(a->av, &in6, 1, &addr, 0, NULL), 1);
	ok(fi_av_lookup(a->av, addr, &back, &len));
	assert_memory_equal(&back, &in6, sizeof in6);
	assert_int_equal(fi_av_insertsvc(a->av, "fd00::a", "8", &addr, 0, NULL), 1);
	assert_int_equal(fi_av_insertsvc(a->av, "10.0.0.1", "8", &addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insertsvc(a->av, "fi_sockaddr_in6://[fd00::b]:9", NULL, &addr, 0, NULL), 1);
	ok(fi_av_lookup(a->av, addr, &back, &len));
	in6 = sock("fd00::b", 9);
	assert_memory_equal(&back, &in6, sizeof in6);
}

static void insertsym__counts_up(void **state)
{
	fi_addr_t addr[4];
	static const char *const wanted[] = {"fd00::ff", "fd00::ff", "fd00::100", "fd00::100"};
	assert_int_equal(fi_av_insertsym(a->av, "fd00::ff", 2, "5", 2, addr, 0, NULL), 4);
	for (int i = 0; i < 4; i++) {
		struct sockaddr_in6 back, in6 = sock(wanted[i], (uint16_t)(5 + i % 2));
		size_t len = sizeof back;
		ok(fi_av_lookup(a->av, addr[i], &back, &len));
		assert_memory_equal(&back, &in6, sizeof in6);
	}
}

static int getinfo(const char *node, const char *service, uint64_t flags, struct fi_info **info)
{
	struct fi_info *hints = fixture_hints(1);
	int ret = fi_getinfo(FIXTURE_VERSION, node, service, flags, hints, info);
	fi_freeinfo(hints);
	return ret;
}

static void getinfo__nodes(void **state)
{
	struct sockaddr_in6 wanted = sock("fd00::7", 99);
	struct fi_info *info;
	ok(getinfo("fd00::7", "99", 0, &info));
	assert_memory_equal(info->dest_addr, &wanted, sizeof wanted);
	assert_int_equal(info->dest_addrlen, sizeof wanted);
	fi_freeinfo(info);
	ok(getinfo("fd00::2", "99", FI_SOURCE, &info));
	wanted = sock("fd00::2", 99);
	assert_memory_equal(info->src_addr, &wanted, sizeof wanted);
	fi_freeinfo(info);
	assert_int_equal(getinfo("fd00::3", "99", FI_SOURCE, &info), -FI_ENODATA);
	assert_int_equal(getinfo("10.0.0.2", "99", 0, &info), -FI_ENODATA);
}

/* A name with addresses of both families: the one of the device's family is taken, wherever it stands in the list. */
static void getinfo__name_of_both_families(void **state)
{
	struct fi_info *info;
	struct sockaddr_in6 wanted = sock("::1", 99);
	if (getinfo("localhost", "99", 0, &info) == -FI_ENODATA) {
		print_message("localhost has no IPv6 address here\n");
		assert_int_not_equal(getinfo("::1", "99", 0, &info), -FI_ENODATA);
	} else {
		assert_memory_equal(info->dest_addr, &wanted, sizeof wanted);
	}
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(message__both_ways, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(names__are_ipv6, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(insert__only_this_family, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(insertsym__counts_up, hosts_setup, hosts_teardown),
		cmocka_unit_test(getinfo__nodes),
		cmocka_unit_test(getinfo__name_of_both_families),
	};
	return cmocka_run_group_tests(tests, group_setup, NULL);
}
