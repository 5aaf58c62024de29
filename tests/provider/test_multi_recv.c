/* SPDX-License-Identifier: BSD-3-Clause */
/* One buffer for many messages (FI_MULTI_RECV). */
#include "fixture.h"

#include <string.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

enum { LEN = 1000 };

static uint8_t out[16][LEN], in[4][16 * LEN];

static int setup(void **state)
{
	hosts_open(hosts, NULL);
	for (int i = 0; i < 16; i++)
		pattern_fill(out[i], LEN, (uint64_t)i);
	return 0;
}

static const struct host_opts with_selective = {.bind_flags = FI_SELECTIVE_COMPLETION};

static void post(void *buf, size_t len, uint64_t flags)
{
	const struct iovec iov = {buf, len};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buf};
	ok(fi_recvmsg(b->ep, &msg, FI_MULTI_RECV | flags));
}

static void send_nth(int i, size_t len)
{
	ok(fi_send(a->ep, out[i], len, NULL, a->peer, out[i]));
	assert_ptr_equal(next_done(a).op_context, out[i]);
}

static void min_room(size_t bytes)
{
	ok(fi_setopt(&b->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, sizeof bytes));
}

/* The next completion of the buffer: message `i`, at `offset`. */
static void expect(const uint8_t *buf, size_t offset, int i, size_t len, uint64_t more_flags)
{
	struct fi_cq_tagged_entry entry = next_done(b);
	assert_ptr_equal(entry.op_context, buf);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | more_flags);
	assert_ptr_equal(entry.buf, buf + offset);
	assert_int_equal(entry.len, len);
	assert_int_equal(pattern_check(entry.buf, len, (uint64_t)i), len);
}

static void multi__last_message_releases(void **state)
{
	min_room(LEN);
	post(in[0], 3 * LEN + 1, 0);
	post(in[1], LEN, 0);
	for (int i = 0; i < 4; i++)
		send_nth(i, LEN);
	expect(in[0], 0, 0, LEN, 0);
	expect(in[0], LEN, 1, LEN, 0);
	expect(in[0], 2 * LEN, 2, LEN, FI_MULTI_RECV);
	expect(in[1], 0, 3, LEN, FI_MULTI_RECV);
	expect_nothing(b);
}

static void multi__takes_unexpected_messages(void **state)
{
	for (int i = 0; i < 3; i++)
		send_nth(i, LEN);
	min_room(1);
	post(in[0], 2 * LEN, 0);
	expect(in[0], 0, 0, LEN, 0);
	expect(in[0], LEN, 1, LEN, FI_MULTI_RECV);
	expect_nothing(b);
	post(in[1], 2 * LEN, 0);
	expect(in[1], 0, 2, LEN, 0);
}

/* More messages at once than a burst of completions. */
static void multi__many_messages(void **state)
{
	enum { COUNT = 300 };
	static uint8_t small[COUNT];
	size_t got = 0;
	min_room(1);
	post(in[0], COUNT, 0);
	memset(in[0], 0xff, COUNT);
	for (int i = 0; i < COUNT; i++) {
		small[i] = (uint8_t)i;
		ok(fi_inject(a->ep, &small[i], 1, a->peer));
	}
	while (got < COUNT) {
		struct fi_cq_tagged_entry entry = next_done(b);
		assert_int_equal(entry.len, 1);
		got++;
		assert_int_equal(entry.flags & FI_MULTI_RECV, got == COUNT ? FI_MULTI_RECV : 0);
	}
	assert_memory_equal(in[0], small, COUNT);
}

static void multi__truncated_message_and_then_the_release(void **state)
{
	min_room(1);
	post(in[0], LEN + 10, 0);
	send_nth(0, LEN);
	send_nth(1, LEN);
	expect(in[0], 0, 0, LEN, 0);
	struct fi_cq_err_entry err = next_error(b);
	assert_int_equal(err.err, FI_ETRUNC);
	assert_ptr_equal(err.buf, in[0] + LEN);
	assert_int_equal(err.len, 10);
	assert_int_equal(err.olen, LEN - 10);
	assert_int_equal(err.flags, FI_RECV | FI_MSG);
	assert_int_equal(pattern_check(in[0] + LEN, 10, 1), 10);
	struct fi_cq_tagged_entry entry = next_done(b);
	assert_int_equal(entry.flags, FI_MULTI_RECV);
	assert_ptr_equal(entry.op_context, in[0]);
}

static void multi__cancelled(void **state)
{
	post(in[0], sizeof in[0], 0);
	send_nth(0, LEN);
	expect(in[0], 0, 0, LEN, 0);
	ok(fi_cancel(&b->ep->fid, in[0]));
	struct fi_cq_err_entry err = next_error(b);
	assert_int_equal(err.err, FI_ECANCELED);
	assert_ptr_equal(err.op_context, in[0]);
	assert_int_equal(err.flags & FI_MULTI_RECV, FI_MULTI_RECV);
	send_nth(1, LEN);
	expect_nothing(b);
	assert_int_equal(fi_cancel(&b->ep->fid, in[0]), -FI_ENOENT);
}

/* A default of the endpoint; tagged receives know nothing of it. */
static void multi__by_operation_flags(void **state)
{
	uint64_t flags = FI_RECV | FI_MULTI_RECV;
	ok(fi_control(&b->ep->fid, FI_SETOPSFLAG, &flags));
	min_room(1);
	ok(fi_recv(b->ep, in[0], 2 * LEN, NULL, FI_ADDR_UNSPEC, in[0]));
	ok(fi_trecv(b->ep, in[1], 2 * LEN, NULL, FI_ADDR_UNSPEC, 7, 0, in[1]));
	send_nth(0, LEN);
	expect(in[0], 0, 0, LEN, 0);
	ok(fi_tsend(a->ep, out[1], LEN, NULL, a->peer, 7, out[1]));
	next_done(a);
	assert_int_equal(next_done(b).flags, FI_RECV | FI_TAGGED);
	send_nth(2, LEN);
	expect(in[0], LEN, 2, LEN, FI_MULTI_RECV);
}

static void multi__release_is_told_whatever_is_selected(void **state)
{
	min_room(1);
	post(in[0], 2 * LEN, 0);
	for (int i = 0; i < 2; i++)
		ok(fi_inject(a->ep, out[i], LEN, a->peer));
	expect(in[0], LEN, 1, LEN, FI_MULTI_RECV);
	expect_nothing(b);
}

static void multi__refuses_nonsense(void **state)
{
	const struct iovec iov[2] = {{in[0], LEN}, {in[1], LEN}};
	const struct fi_msg msg = {.msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC};
	const struct fi_msg_tagged tmsg = {.msg_iov = iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
	assert_int_equal(fi_recvmsg(b->ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(b->ep, &tmsg, FI_MULTI_RECV), -FI_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(multi__last_message_releases, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(multi__takes_unexpected_messages, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(multi__many_messages, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(multi__truncated_message_and_then_the_release, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(multi__cancelled, setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(multi__by_operation_flags, setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(multi__release_is_told_whatever_is_selected, hosts_setup,
							 hosts_teardown, (void *)&with_selective),
		cmocka_unit_test_setup_teardown(multi__refuses_nonsense, setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
