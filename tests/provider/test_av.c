/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_eq.h>
#include <string.h>

static struct host host;

static int setup(void **state)
{
	host = (struct host){0};
	host_open_domain(&host, fixture_hints(0));
	return 0;
}

static int teardown(void **state)
{
	host_close(&host);
	return 0;
}

static void av_open(enum fi_av_type type, uint64_t flags)
{
	struct fi_av_attr attr = {.type = type, .flags = flags};
	ok(fi_av_open(host.domain, &attr, &host.av, NULL));
}

static struct sockaddr_in sock(const char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	assert_int_equal(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return in;
}

static void insert__table_counts_up(void **state)
{
	enum { COUNT = 100 };
	struct sockaddr_in in[COUNT];
	fi_addr_t addr[COUNT];
	for (int i = 0; i < COUNT; i++)
		in[i] = sock("10.0.0.9", (uint16_t)(i + 1));
	av_open(FI_AV_TABLE, 0);
	assert_int_equal(fi_av_insert(host.av, in, COUNT, addr, 0, NULL), COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(addr[i], i);
	struct sockaddr_in more = sock("10.0.0.10", 1);
	assert_int_equal(fi_av_insert(host.av, &more, 1, NULL, 0, NULL), 1);
	struct sockaddr_in back;
	size_t len = sizeof back;
	ok(fi_av_lookup(host.av, COUNT, &back, &len));
	assert_memory_equal(&back, &more, sizeof back);
}

static void insert__bad_entries(void **state)
{
	struct sockaddr_in in[5] = {sock("10.0.0.9", 1), sock("10.0.0.9", 0), sock("0.0.0.0", 7), sock("10.0.0.9", 2),
				    sock("10.0.0.9", 3)};
	fi_addr_t addr[5];
	int err[5] = {-1, -1, -1, -1, -1};
	in[3].sin_family = 99;
	av_open(FI_AV_MAP, 0);
	assert_int_equal(fi_av_insert(host.av, in, 5, addr, FI_SYNC_ERR, err), 2);
	static const int wanted[5] = {0, FI_EINVAL, FI_EINVAL, FI_EINVAL, 0};
	for (int i = 0; i < 5; i++) {
		assert_int_equal(err[i], wanted[i]);
		assert_true((addr[i] == FI_ADDR_NOTAVAIL) == (wanted[i] != 0));
	}
	assert_int_equal(fi_av_insert(host.av, NULL, 1, addr, 0, NULL), -FI_EINVAL);
}

static void insert__twice_is_once(void **state)
{
	struct sockaddr_in in = sock("10.0.0.9", 5), back;
	fi_addr_t first, second;
	size_t len = sizeof back;
	av_open(FI_AV_MAP, 0);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &first, 0, NULL), 1);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &second, 0, NULL), 1);
	assert_int_equal(first, second);
	ok(fi_av_remove(host.av, &first, 1, 0));
	ok(fi_av_lookup(host.av, first, &back, &len));
	ok(fi_av_remove(host.av, &first, 1, 0));
	assert_int_equal(fi_av_lookup(host.av, first, &back, &len), -FI_EINVAL);
	assert_int_equal(fi_av_remove(host.av, &first, 1, 0), -FI_EINVAL);
}

static void remove__place_is_used_again(void **state)
{
	struct sockaddr_in in[3] = {sock("10.0.0.9", 1), sock("10.0.0.9", 2), sock("10.0.0.9", 3)};
	struct sockaddr_in other = sock("10.0.0.11", 1);
	fi_addr_t addr[3], again;
	av_open(FI_AV_TABLE, 0);
	assert_int_equal(fi_av_insert(host.av, in, 3, addr, 0, NULL), 3);
	ok(fi_av_remove(host.av, &addr[1], 1, 0));
	assert_int_equal(fi_av_insert(host.av, &other, 1, &again, 0, NULL), 1);
	assert_int_equal(again, 1);
}

static void insertsvc__resolves(void **state)
{
	fi_addr_t addr;
	struct sockaddr_in back, wanted = sock("10.0.0.12", 9228);
	size_t len = sizeof back;
	av_open(FI_AV_MAP, 0);
	assert_int_equal(fi_av_insertsvc(host.av, "10.0.0.12", "9228", &addr, 0, NULL), 1);
	ok(fi_av_lookup(host.av, addr, &back, &len));
	assert_memory_equal(&back, &wanted, sizeof back);
	assert_int_equal(fi_av_insertsvc(host.av, "no such name.", "9228", &addr, 0, NULL), -FI_EINVAL);
}

static void lookup__short_buffer(void **state)
{
	struct sockaddr_in in = sock("10.0.0.9", 1);
	char buf[4];
	size_t len = sizeof buf;
	fi_addr_t addr;
	av_open(FI_AV_MAP, 0);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_av_lookup(host.av, addr, buf, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof in);
}

static void straddr__prints(void **state)
{
	struct sockaddr_in in = sock("10.0.0.9", 4660);
	char buf[64];
	size_t len = sizeof buf;
	av_open(FI_AV_MAP, 0);
	assert_string_equal(fi_av_straddr(host.av, &in, buf, &len), "fi_sockaddr_in://10.0.0.9:4660");
	assert_int_equal(len, strlen(buf) + 1);
	len = 5;
	fi_av_straddr(host.av, &in, buf, &len);
	assert_string_equal(buf, "fi_s");
}

/* With an event queue bound, insertion reports there: one event per bad address, then how many were good. */
static void insert__events(void **state)
{
	struct sockaddr_in in[2] = {sock("10.0.0.9", 1), sock("10.0.0.9", 0)};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_eq_entry entry;
	struct fi_eq_err_entry err = {0};
	struct fid_eq *eq;
	fi_addr_t addr[2];
	uint32_t event;
	int marker;
	av_open(FI_AV_MAP, FI_EVENT);
	ok(fi_eq_open(host.fabric, &eq_attr, &eq, NULL));
	ok(fi_av_bind(host.av, &eq->fid, 0));
	ok(fi_av_insert(host.av, in, 2, addr, 0, &marker));
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof err);
	assert_int_equal(err.err, FI_EINVAL);
	assert_int_equal(err.data, 1);
	assert_ptr_equal(err.context, &marker);
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), sizeof entry);
	assert_int_equal(event, FI_AV_COMPLETE);
	assert_int_equal(entry.data, 1);
	assert_ptr_equal(entry.context, &marker);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	ok(fi_close(&host.av->fid));
	host.av = NULL;
	ok(fi_close(&eq->fid));
}

/* Without an event queue of its own the vector uses the domain's; without either nothing can be inserted. */
static void insert__domain_has_the_queue(void **state)
{
	struct sockaddr_in in = sock("10.0.0.9", 1);
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	fi_addr_t addr;
	uint32_t event;
	int err;
	av_open(FI_AV_TABLE, FI_EVENT);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, 0, NULL), -FI_ENOEQ);
	ok(fi_eq_open(host.fabric, &eq_attr, &eq, NULL));
	assert_int_equal(fi_domain_bind(host.domain, &host.av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(host.domain, &eq->fid, FI_PEEK), -FI_EBADFLAGS);
	ok(fi_domain_bind(host.domain, &eq->fid, 0));
	assert_int_equal(fi_domain_bind(host.domain, &eq->fid, 0), -FI_EINVAL);
	for (uint64_t i = 0; i < 3; i++) { /* one event each, whatever FI_MORE says */
		in.sin_port = htons((uint16_t)(i + 1));
		ok(fi_av_insert(host.av, &in, 1, &addr, i < 2 ? FI_MORE : 0, &addr));
		assert_int_equal(addr, i);
		assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), sizeof entry);
		assert_int_equal(event, FI_AV_COMPLETE);
		assert_ptr_equal(entry.fid, &host.av->fid);
		assert_int_equal(entry.data, 1);
	}
	ok(fi_av_insert(host.av, &in, 0, NULL, 0, &addr));
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), sizeof entry);
	assert_int_equal(entry.data, 0);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, FI_SYNC_ERR, &err), -FI_EINVAL); /* asynchronous */
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	ok(fi_close(&host.av->fid));
	ok(fi_close(&host.domain->fid));
	ok(fi_close(&eq->fid));
	host.av = NULL;
	ok(fi_domain(host.fabric, host.info, &host.domain, NULL));
}

static void insert__flags(void **state)
{
	struct sockaddr_in in = sock("10.0.0.9", 1);
	fi_addr_t addr = 0;
	av_open(FI_AV_MAP, 0);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, FI_PEEK, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, FI_SYNC_ERR, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(host.av, &in, 1, NULL, FI_AV_USER_ID, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(host.av, &in, 0, NULL, 0, NULL), 0);
	assert_int_equal(fi_av_insert(host.av, &in, 1, &addr, FI_MORE, NULL), 1);
	assert_int_equal(fi_av_remove(host.av, &addr, 1, FI_PEEK), -FI_EBADFLAGS);
}

static void insertsym__all_of_them(void **state)
{
	static const struct {
		const char *ip;
		uint16_t port;
	} wanted[] = {{"10.1.1.255", 5000}, {"10.1.1.255", 5001}, {"10.1.2.0", 5000}, {"10.1.2.0", 5001}};
	fi_addr_t addr[4];
	int err[4];
	av_open(FI_AV_TABLE, 0);
	assert_int_equal(fi_av_insertsym(host.av, "10.1.1.255", 2, "5000", 2, addr, 0, NULL), 4);
	for (size_t i = 0; i < 4; i++) {
		struct sockaddr_in back, in = sock(wanted[i].ip, wanted[i].port);
		size_t len = sizeof back;
		assert_int_equal(addr[i], i);
		ok(fi_av_lookup(host.av, addr[i], &back, &len));
		assert_memory_equal(&back, &in, sizeof in);
	}
	assert_int_equal(fi_av_insertsym(host.av, "10.1.1.1", 1, "65535", 2, addr, FI_SYNC_ERR, err), 1);
	assert_int_equal(err[0], 0);
	assert_int_equal(err[1], FI_EINVAL); /* no such number */
	assert_int_equal(fi_av_insertsym(host.av, "no such name", 1, "1", 1, addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(host.av, "localhost", 2, "1", 1, addr, 0, NULL), 1); /* and what after it? */
	assert_int_equal(fi_av_insertsym(host.av, "10.1.1.1", 1, "http", 1, addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insertsym(host.av, "10.1.1.1", 1 << 30, "1", 1 << 15, addr, 0, NULL), -FI_EINVAL);
}

/* Completions call a sender what the application called it; everything else goes by the index. */
static void insert__user_id(void **state)
{
	struct sockaddr_in in = {0};
	struct fi_cq_tagged_entry entry;
	fi_addr_t self = 0x1234567890, src = 0;
	size_t len = sizeof in;
	static const struct host_opts none;
	host_open_ep(&host, &none);
	ok(fi_getname(&host.ep->fid, &in, &len));
	assert_int_equal(fi_av_insert(host.av, &in, 1, &self, FI_AV_USER_ID, NULL), 1);
	assert_int_equal(self, 0);
	ok(fi_recv(host.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(host.ep, NULL, 0, self));
	ssize_t n;
	while ((n = fi_cq_readfrom(host.cq, &entry, 1, &src)) == -FI_EAGAIN)
		;
	assert_int_equal(n, 1);
	assert_int_equal(src, 0x1234567890);
	ok(fi_av_remove(host.av, &self, 1, 0));
	assert_int_equal(fi_av_insert(host.av, &in, 1, &self, 0, NULL), 1); /* an ordinary one now */
	ok(fi_recv(host.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(host.ep, NULL, 0, self));
	while ((n = fi_cq_readfrom(host.cq, &entry, 1, &src)) == -FI_EAGAIN)
		;
	assert_int_equal(src, self);
}

/* The lowest free place first, and a sender that was removed has no name until it is inserted again. */
static void remove__many_and_again(void **state)
{
	enum { COUNT = 1000 };
	struct sockaddr_in in[COUNT], back;
	fi_addr_t addr[COUNT], again;
	size_t len = sizeof back;
	for (int i = 0; i < COUNT; i++)
		in[i] = sock("10.0.0.9", (uint16_t)(i + 1));
	av_open(FI_AV_TABLE, 0);
	assert_int_equal(fi_av_insert(host.av, in, COUNT, addr, 0, NULL), COUNT);
	for (int i = 1; i < COUNT; i += 2)
		ok(fi_av_remove(host.av, &addr[i], 1, 0));
	for (int i = 1; i < COUNT; i += 2) {
		assert_int_equal(fi_av_lookup(host.av, addr[i], &back, &len), -FI_EINVAL);
		assert_int_equal(fi_av_insert(host.av, &in[COUNT - i], 1, &again, 0, NULL), 1);
		assert_int_equal(again, i);
	}
	ok(fi_av_lookup(host.av, 1, &back, &len));
	assert_memory_equal(&back, &in[COUNT - 1], sizeof back);
}

static void open__refusals(void **state)
{
	struct fid_av *av;
	struct fi_av_attr attr = {.type = (enum fi_av_type)9};
	assert_int_equal(fi_av_open(host.domain, &attr, &av, NULL), -FI_EINVAL);
	attr = (struct fi_av_attr){.flags = FI_PEEK};
	assert_int_equal(fi_av_open(host.domain, &attr, &av, NULL), -FI_EBADFLAGS);
	attr = (struct fi_av_attr){.type = FI_AV_UNSPEC, .flags = FI_SYMMETRIC, .ep_per_node = 4};
	ok(fi_av_open(host.domain, &attr, &av, NULL));
	assert_int_equal(attr.type, FI_AV_MAP);
	ok(fi_close(&av->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(insert__table_counts_up, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__bad_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__twice_is_once, setup, teardown),
		cmocka_unit_test_setup_teardown(remove__place_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(insertsvc__resolves, setup, teardown),
		cmocka_unit_test_setup_teardown(lookup__short_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(straddr__prints, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__events, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__domain_has_the_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__flags, setup, teardown),
		cmocka_unit_test_setup_teardown(insertsym__all_of_them, setup, teardown),
		cmocka_unit_test_setup_teardown(insert__user_id, setup, teardown),
		cmocka_unit_test_setup_teardown(remove__many_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(open__refusals, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
