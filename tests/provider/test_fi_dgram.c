/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_EP_DGRAM, and sources that are in no address vector. */
#include "fixture.h"

#include <string.h>
#include <sys/socket.h>

#include "weft/provider.h"

static struct host *const a = &hosts[0], *const b = &hosts[1];

static void host_setup(int i)
{
	static const struct host_opts opts;
	struct fi_info *hints = fixture_hints(i);
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->caps = FI_MSG | FI_SOURCE | FI_SOURCE_ERR;
	hosts[i] = (struct host){.other = &hosts[!i]};
	host_open_domain(&hosts[i], hints);
	host_open_ep(&hosts[i], &opts);
}

/* Only host a knows the other. */
static int setup(void **state)
{
	struct sockaddr_storage name;
	size_t len = sizeof name;
	host_setup(0);
	host_setup(1);
	ok(fi_getname(&b->ep->fid, &name, &len));
	assert_int_equal(fi_av_insert(a->av, &name, 1, &a->peer, 0, NULL), 1);
	return 0;
}

static void meet_back(void)
{
	struct sockaddr_storage name;
	size_t len = sizeof name;
	ok(fi_getname(&a->ep->fid, &name, &len));
	assert_int_equal(fi_av_insert(b->av, &name, 1, &b->peer, 0, NULL), 1);
}

static void dgram__longest_and_one_more(void **state)
{
	uint8_t out[2048], in[2048];
	size_t len = a->info->ep_attr->max_msg_size;
	assert_int_equal(a->info->ep_attr->type, FI_EP_DGRAM);
	assert_in_range(len, 1024, sizeof out - 1);
	meet_back();
	pattern_fill(out, len, 1);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_senddata(a->ep, out, len, NULL, 0x1234567890, a->peer, out));
	struct fi_cq_tagged_entry entry = next_done(b);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.len, len);
	assert_true(entry.data == 0x1234567890);
	assert_int_equal(pattern_check(in, len, 1), len);
	assert_int_equal(next_done(a).flags, FI_SEND | FI_MSG);
	assert_int_equal(fi_send(a->ep, out, len + 1, NULL, a->peer, out), -FI_EMSGSIZE);
	assert_int_equal(fi_inject(a->ep, out, len + 1, a->peer), -FI_EMSGSIZE);
	assert_int_equal(fi_tsend(a->ep, out, 1, NULL, a->peer, 7, out), -FI_EOPNOTSUPP);
}

static void dgram__injected_in_pieces(void **state)
{
	char in[16] = {0};
	const struct iovec iov[2] = {{"hello ", 6}, {"world", 6}};
	const struct fi_msg msg = {.msg_iov = iov, .iov_count = 2, .addr = a->peer};
	meet_back();
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_sendmsg(a->ep, &msg, FI_INJECT));
	next_done(b);
	next_done(a);
	assert_string_equal(in, "hello world");
}

/* Nobody waits for an answer: many are sent, the ones that found no place are counted. */
static void dgram__dropped_without_receive(void **state)
{
	enum { SENT = 200 };
	struct weft_fi_ops *ops;
	struct weft_stats before, after;
	char in[8];
	int got = 0;
	meet_back();
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "x", 1, a->peer)); /* the link layer must have found the other host */
	next_done(b);
	ok(fi_open_ops(&b->domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->stats(&b->domain->fid, &before));
	for (int i = 0; i < SENT; i++)
		ok(fi_inject(a->ep, "x", 1, a->peer));
	expect_nothing(b);
	ok(ops->stats(&b->domain->fid, &after));
	uint64_t dropped = after.rx_dgram_drop - before.rx_dgram_drop;
	assert_in_range(dropped, 1, SENT - 1);
	for (int i = 0; i < SENT; i++)
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	struct fi_cq_tagged_entry entry;
	while (fi_cq_read(b->cq, &entry, 1) == 1)
		got++;
	assert_int_equal(got, SENT - dropped);
}

/* The message arrives, as an error entry that has its source's address, good for fi_av_insert. */
static void source_err__address_of_a_stranger(void **state)
{
	char in[8] = {0};
	struct sockaddr_storage from, name;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {.err_data = &from, .err_data_size = sizeof from};
	size_t len = sizeof name;
	ssize_t n;
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "who", 4, a->peer));
	while ((n = fi_cq_read(b->cq, &entry, 1)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(b->cq, &err, 0), 1);
	assert_int_equal(err.err, FI_EADDRNOTAVAIL);
	assert_int_equal(err.len, 4);
	assert_ptr_equal(err.op_context, in);
	assert_string_equal(in, "who");
	ok(fi_getname(&a->ep->fid, &name, &len));
	assert_int_equal(err.err_data_size, len);
	assert_memory_equal(&from, &name, len);
	assert_int_equal(fi_av_insert(b->av, &from, 1, &b->peer, 0, NULL), 1);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "me", 3, a->peer));
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	while ((n = fi_cq_readfrom(b->cq, &entry, 1, &src)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_int_equal(n, 1);
	assert_int_equal(src, b->peer);
}

/* Not by default: who has not asked must not get errors for good messages. RDM comes first, and nothing over it. */
static void getinfo__order_and_defaults(void **state)
{
	static const enum fi_ep_type order[] = {FI_EP_RDM, FI_EP_DGRAM, FI_EP_MSG};
	struct fi_info *list, *info;
	unsigned at = 0, dgrams = 0, msgs = 0;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &list));
	assert_int_equal(list->ep_attr->type, FI_EP_RDM);
	for (info = list; info; info = info->next) {
		assert_string_equal(info->fabric_attr->prov_name, "weft");
		assert_int_equal(info->caps & FI_SOURCE_ERR, 0);
		dgrams += info->ep_attr->type == FI_EP_DGRAM;
		msgs += info->ep_attr->type == FI_EP_MSG;
		while (info->ep_attr->type != order[at])
			assert_true(++at < sizeof order / sizeof *order);
	}
	assert_int_equal(dgrams, 2);
	assert_int_equal(msgs, 2);
	fi_freeinfo(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(dgram__longest_and_one_more, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(dgram__injected_in_pieces, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(dgram__dropped_without_receive, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(source_err__address_of_a_stranger, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(getinfo__order_and_defaults, setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
