/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"
#include "member.h"

#include <stdlib.h>
#include <string.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

/* Receives one message of b and checks everything the entry says. */
static struct fi_cq_tagged_entry received(void *context, void *buf, size_t len, uint64_t seed)
{
	struct fi_cq_tagged_entry e = next_done(b);
	assert_ptr_equal(e.op_context, context);
	assert_int_equal(e.len, len);
	assert_int_equal(e.flags & ~FI_REMOTE_CQ_DATA, FI_RECV | FI_MSG);
	assert_int_equal(pattern_check(buf, len, seed), len);
	return e;
}

static void sent(void *context)
{
	struct fi_cq_tagged_entry e = next_done(a);
	assert_ptr_equal(e.op_context, context);
	assert_int_equal(e.flags, FI_SEND | FI_MSG);
}

static void send__recv_posted_first(void **state)
{
	static uint8_t out[1 << 20], in[1 << 20];
	static const size_t sizes[] = {0, 1, 64, 4096, 4097, 65536, sizeof out};
	for (size_t i = 0; i < count_of(sizes); i++) {
		pattern_fill(out, sizes[i], i);
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		ok(fi_send(a->ep, out, sizes[i], NULL, a->peer, out));
		assert_int_equal(received(in, in, sizes[i], i).flags & FI_REMOTE_CQ_DATA, 0);
		sent(out);
	}
}

static void send__unexpected(void **state)
{
	enum { COUNT = 20 };
	static uint8_t out[COUNT][3000], in[3000];
	for (int i = 0; i < COUNT; i++) {
		pattern_fill(out[i], sizeof out[i], i);
		ok(fi_send(a->ep, out[i], sizeof out[i], NULL, a->peer, out[i]));
	}
	for (int i = 0; i < COUNT; i++)
		sent(out[i]); /* acknowledged although nobody asked for them yet */
	for (int i = 0; i < COUNT; i++) {
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		received(in, in, sizeof in, i);
	}
}

static void send__source_is_known(void **state)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t from = 0;
	ssize_t n;
	ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, NULL, 0, NULL, a->peer, NULL));
	while ((n = fi_cq_readfrom(b->cq, &e, 1, &from)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_int_equal(n, 1);
	assert_int_equal(from, b->peer);
	sent(NULL);
}

static void send__to_oneself(void **state)
{
	char name[FI_NAME_MAX], out[100] = "to myself", in[100];
	size_t len = sizeof name;
	fi_addr_t self;
	ok(fi_getname(&a->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &self, 0, NULL), 1);
	ok(fi_recv(a->ep, in, sizeof in, NULL, self, in));
	ok(fi_send(a->ep, out, sizeof out, NULL, self, out));
	uint64_t flags = next_done(a).flags | next_done(a).flags;
	assert_int_equal(flags, FI_MSG | FI_SEND | FI_RECV);
	assert_string_equal(in, out);
}

static void senddata__arrives(void **state)
{
	uint8_t out[16], in[16];
	pattern_fill(out, sizeof out, 1);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_senddata(a->ep, out, sizeof out, NULL, 0x1122334455667788, a->peer, out));
	struct fi_cq_tagged_entry e = received(in, in, sizeof in, 1);
	assert_true(e.flags & FI_REMOTE_CQ_DATA);
	assert_true(e.data == 0x1122334455667788);
	sent(out);
}

static void inject__buffer_is_free_at_once(void **state)
{
	uint8_t out[4096], in[sizeof out];
	pattern_fill(out, sizeof out, 5);
	ok(fi_inject(a->ep, out, a->info->tx_attr->inject_size, a->peer));
	memset(out, 0, sizeof out);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	received(in, in, sizeof in, 5);
	pattern_fill(out, 10, 6);
	ok(fi_injectdata(a->ep, out, 10, 42, a->peer));
	memset(out, 0, sizeof out);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	assert_int_equal(received(in, in, 10, 6).data, 42);
	expect_nothing(a);
}

static void inject__too_large(void **state)
{
	static uint8_t out[1 << 16];
	assert_int_equal(fi_inject(a->ep, out, a->info->tx_attr->inject_size + 1, a->peer), -FI_EMSGSIZE);
}

/* No message is longer than that; a receive may have room for more. */
static void send__longest_message(void **state)
{
	uint8_t out[16], in[sizeof out];
	size_t too_long = (size_t)a->info->ep_attr->max_msg_size + 1;
	pattern_fill(out, sizeof out, 3);
	assert_int_equal(fi_send(a->ep, out, too_long, NULL, a->peer, out), -FI_EMSGSIZE);
	ok(fi_recv(b->ep, in, too_long, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	received(in, in, sizeof out, 3);
	sent(out);
}

static void sendv__pieces(void **state)
{
	uint8_t out[10000], in[10000];
	const struct iovec parts[4] = {{out, 1}, {out + 1, 4999}, {NULL, 0}, {out + 5000, 5000}};
	const struct iovec into[3] = {{in, 3000}, {in + 3000, 1}, {in + 3001, 6999}};
	pattern_fill(out, sizeof out, 9);
	ok(fi_recvv(b->ep, into, NULL, 3, FI_ADDR_UNSPEC, in));
	ok(fi_sendv(a->ep, parts, NULL, 4, a->peer, out));
	received(in, in, sizeof in, 9);
	sent(out);
	assert_int_equal(fi_sendv(a->ep, parts, NULL, 5, a->peer, out), -FI_EINVAL);
}

static void sendmsg__flags(void **state)
{
	uint8_t out[200], in[200];
	const struct iovec iov = {out, sizeof out}, into = {in, sizeof in};
	const struct fi_msg tx = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .context = out, .data = 77};
	const struct fi_msg rx = {.msg_iov = &into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in};
	static const uint64_t flags[] = {FI_COMPLETION, FI_COMPLETION | FI_INJECT, FI_DELIVERY_COMPLETE | FI_MORE,
					 FI_TRANSMIT_COMPLETE | FI_REMOTE_CQ_DATA, FI_INJECT_COMPLETE};
	for (size_t i = 0; i < count_of(flags); i++) {
		pattern_fill(out, sizeof out, i);
		ok(fi_recvmsg(b->ep, &rx, FI_COMPLETION));
		ok(fi_sendmsg(a->ep, &tx, flags[i]));
		if (flags[i] & FI_INJECT)
			memset(out, 0, sizeof out);
		struct fi_cq_tagged_entry e = received(in, in, sizeof in, i);
		assert_int_equal(e.flags & FI_REMOTE_CQ_DATA, flags[i] & FI_REMOTE_CQ_DATA);
		if (flags[i] & FI_REMOTE_CQ_DATA)
			assert_int_equal(e.data, 77);
		sent(out);
	}
}

static void recv__truncated(void **state)
{
	static uint8_t out[50000], in[50000];
	pattern_fill(out, sizeof out, 3);
	for (int unexpected = 0; unexpected < 2; unexpected++) {
		memset(in, 0xee, sizeof in);
		if (!unexpected)
			ok(fi_recv(b->ep, in, 1000, NULL, FI_ADDR_UNSPEC, in));
		ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
		sent(out);
		if (unexpected)
			ok(fi_recv(b->ep, in, 1000, NULL, FI_ADDR_UNSPEC, in));
		struct fi_cq_err_entry e = next_error(b);
		assert_int_equal(e.err, FI_ETRUNC);
		assert_int_equal(e.len, 1000);
		assert_int_equal(e.olen, sizeof out - 1000);
		assert_ptr_equal(e.op_context, in);
		assert_int_equal(pattern_check(in, 1000, 3), 1000);
		assert_int_equal(in[1000], 0xee);
	}
}

static void recv__directed(void **state)
{
	struct sockaddr_in_like {
		uint16_t family, port;
		uint8_t addr[4], zero[8];
	} stranger = {2, 0x3412, {10, 0, 0, 77}, {0}};
	uint8_t first[8], second[8], out[8];
	fi_addr_t other;
	assert_int_equal(fi_av_insert(b->av, &stranger, 1, &other, 0, NULL), 1);
	pattern_fill(out, sizeof out, 4);
	ok(fi_recv(b->ep, first, sizeof first, NULL, other, first));
	ok(fi_recv(b->ep, second, sizeof second, NULL, b->peer, second));
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	received(second, second, sizeof second, 4);
	sent(out);
	ok(fi_cancel(&b->ep->fid, first));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
}

static void cancel__frees_the_receive(void **state)
{
	uint8_t in[8], out[8];
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&b->ep->fid, in));
	struct fi_cq_err_entry e = next_error(b);
	assert_int_equal(e.err, FI_ECANCELED);
	assert_ptr_equal(e.op_context, in);
	assert_int_equal(fi_cancel(&b->ep->fid, in), -FI_ENOENT);
	pattern_fill(out, sizeof out, 8);
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	sent(out);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	received(in, in, sizeof in, 8);
}

/* Whatever length it says: there is room for nothing. */
static void recv__without_a_buffer(void **state)
{
	uint8_t out[8] = {0};
	ok(fi_recv(b->ep, NULL, 8, NULL, FI_ADDR_UNSPEC, out));
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	struct fi_cq_err_entry e = next_error(b);
	assert_int_equal(e.err, FI_ETRUNC);
	assert_int_equal(e.olen, sizeof out);
	sent(out);
}

static void send__bad_arguments(void **state)
{
	uint8_t out[8] = {0};
	assert_int_equal(fi_send(a->ep, out, sizeof out, NULL, 12345, out), -FI_EINVAL);
	assert_int_equal(fi_send(a->ep, out, sizeof out, NULL, FI_ADDR_UNSPEC, out), -FI_EINVAL);
	assert_int_equal(fi_send(a->ep, NULL, sizeof out, NULL, a->peer, out), -FI_EINVAL);
	assert_int_equal(fi_send(a->ep, out, SIZE_MAX, NULL, a->peer, out), -FI_EINVAL);
	assert_int_equal(fi_recv(b->ep, out, 8, NULL, 999, out), -FI_EINVAL);
}

static void send__full_queue_is_again(void **state)
{
	enum { LIMIT = 1 << 20 };
	uint8_t out[8] = {0};
	int n = 0;
	/* Completions nobody reads stop further sends long before memory does. */
	while (n < LIMIT && fi_send(a->ep, out, sizeof out, NULL, a->peer, out) == 0)
		n++;
	assert_in_range(n, 100, LIMIT - 1);
	for (int i = 0; i < n; i++) {
		uint8_t in[8];
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		next_done(b);
		sent(out);
	}
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	sent(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(send__recv_posted_first, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__unexpected, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__source_is_known, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__to_oneself, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(senddata__arrives, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(inject__buffer_is_free_at_once, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(inject__too_large, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__longest_message, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sendv__pieces, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sendmsg__flags, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(recv__truncated, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(recv__directed, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(cancel__frees_the_receive, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(recv__without_a_buffer, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__bad_arguments, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__full_queue_is_again, hosts_setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
