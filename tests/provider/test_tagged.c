/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"
#include "weft/provider.h"

#include <stdlib.h>
#include <string.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

static const struct host_opts with_selective = {.bind_flags = FI_SELECTIVE_COMPLETION};

static void tsend_done(uint64_t tag, const void *buf, size_t len)
{
	ok(fi_tsend(a->ep, buf, len, NULL, a->peer, tag, (void *)buf));
	struct fi_cq_tagged_entry e = next_done(a);
	assert_ptr_equal(e.op_context, buf);
	assert_int_equal(e.flags, FI_SEND | FI_TAGGED);
}

static void post(void *buf, size_t len, uint64_t tag, uint64_t ignore)
{
	ok(fi_trecv(b->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, ignore, buf));
}

static struct fi_cq_tagged_entry received(void *context, uint64_t tag)
{
	struct fi_cq_tagged_entry e = next_done(b);
	assert_ptr_equal(e.op_context, context);
	assert_true(e.tag == tag);
	assert_int_equal(e.flags & ~FI_REMOTE_CQ_DATA, FI_RECV | FI_TAGGED);
	return e;
}

static void trecv__tags_choose(void **state)
{
	char one[16], two[16], any[16], out[16] = "x";
	post(two, sizeof two, 2, 0);
	post(one, sizeof one, 1, 0);
	post(any, sizeof any, 0x700, 0xff);
	tsend_done(1, out, sizeof out);
	received(one, 1);
	tsend_done(0x7ab, out, sizeof out);
	received(any, 0x7ab);
	tsend_done(2, out, sizeof out);
	received(two, 2);
}

static void trecv__all_64_bits_count(void **state)
{
	char in[8], out[8] = {0};
	post(in, sizeof in, 0x8000000000000001, 0);
	tsend_done(0x0000000000000001, out, sizeof out);
	expect_nothing(b);
	tsend_done(0x8000000000000001, out, sizeof out);
	received(in, 0x8000000000000001);
}

static void trecv__ignores_untagged(void **state)
{
	char tagged[8], plain[8], out[8] = {0};
	post(tagged, sizeof tagged, 0, ~0ULL);
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, out));
	next_done(a);
	expect_nothing(b);
	ok(fi_recv(b->ep, plain, sizeof plain, NULL, FI_ADDR_UNSPEC, plain));
	assert_ptr_equal(next_done(b).op_context, plain);
	tsend_done(99, out, sizeof out);
	received(tagged, 99);
}

static void tsenddata__and_injects(void **state)
{
	char in[64], out[64] = "remote data";
	ok(fi_tsenddata(a->ep, out, sizeof out, NULL, 0xfedcba9876543210, a->peer, 5, out));
	next_done(a);
	post(in, sizeof in, 5, 0);
	assert_true(received(in, 5).data == 0xfedcba9876543210);
	ok(fi_tinject(a->ep, "inject", 7, a->peer, 6));
	post(in, sizeof in, 6, 0);
	assert_int_equal(received(in, 6).len, 7);
	assert_string_equal(in, "inject");
	ok(fi_tinjectdata(a->ep, "data", 5, 3, a->peer, 7));
	post(in, sizeof in, 7, 0);
	struct fi_cq_tagged_entry e = received(in, 7);
	assert_int_equal(e.data, 3);
	assert_true(e.flags & FI_REMOTE_CQ_DATA);
	expect_nothing(a);
}

static void tsendv__pieces(void **state)
{
	static uint8_t out[9000], in[9000];
	const struct iovec parts[2] = {{out, 10}, {out + 10, 8990}}, into[2] = {{in, 8000}, {in + 8000, 1000}};
	pattern_fill(out, sizeof out, 1);
	ok(fi_trecvv(b->ep, into, NULL, 2, FI_ADDR_UNSPEC, 1, 0, in));
	ok(fi_tsendv(a->ep, parts, NULL, 2, a->peer, 1, out));
	received(in, 1);
	assert_int_equal(pattern_check(in, sizeof in, 1), sizeof in);
}

static ssize_t peek(uint64_t tag, uint64_t flags, void *context)
{
	const struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};
	return fi_trecvmsg(b->ep, &msg, flags);
}

static void peek__nothing_there(void **state)
{
	ok(peek(1, FI_PEEK, state));
	struct fi_cq_err_entry e = next_error(b);
	assert_int_equal(e.err, FI_ENOMSG);
	assert_ptr_equal(e.op_context, state);
}

/* The transport of b takes in what a sent before a peek can see it. */
static void arrive(uint64_t tag, const void *buf, size_t len)
{
	tsend_done(tag, buf, len);
}

static void peek__leaves_the_message(void **state)
{
	char in[64], out[64] = "peeked";
	arrive(9, out, sizeof out);
	for (int i = 0; i < 2; i++) {
		ok(peek(9, FI_PEEK, state));
		struct fi_cq_tagged_entry e = received(state, 9);
		assert_int_equal(e.len, sizeof out);
	}
	post(in, sizeof in, 9, 0);
	received(in, 9);
	assert_string_equal(in, out);
}

static void peek__claim_reserves(void **state)
{
	char in[64], second[64], out[64] = "first", other[64] = "second";
	const struct iovec into = {in, sizeof in};
	arrive(9, out, sizeof out);
	arrive(9, other, sizeof other);
	ok(peek(9, FI_PEEK | FI_CLAIM, out));
	received(out, 9);
	post(second, sizeof second, 9, 0);
	received(second, 9);
	assert_string_equal(second, "second");
	const struct fi_msg_tagged msg = {
		.msg_iov = &into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 9, .context = out};
	ok(fi_trecvmsg(b->ep, &msg, FI_CLAIM));
	received(out, 9);
	assert_string_equal(in, "first");
	assert_int_equal(fi_trecvmsg(b->ep, &msg, FI_CLAIM), -FI_EINVAL);
}

/* The entry's buffer tells whether data came with it. */
static void peek__has_no_data(void **state)
{
	char in[64] = "mine", out[64] = "theirs";
	const struct iovec into = {in, sizeof in};
	const struct fi_msg_tagged msg = {
		.msg_iov = &into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 9, .context = out};
	arrive(9, out, sizeof out);
	ok(fi_trecvmsg(b->ep, &msg, FI_PEEK));
	assert_null(received(out, 9).buf);
	ok(fi_trecvmsg(b->ep, &msg, FI_PEEK | FI_CLAIM));
	assert_null(received(out, 9).buf);
	assert_string_equal(in, "mine");
	ok(fi_trecvmsg(b->ep, &msg, FI_CLAIM));
	assert_ptr_equal(received(out, 9).buf, in);
	assert_string_equal(in, "theirs");
}

static void peek__discard(void **state)
{
	char out[64] = "gone";
	arrive(4, out, sizeof out);
	ok(peek(4, FI_PEEK | FI_DISCARD, state));
	received(state, 4);
	ok(peek(4, FI_PEEK, state));
	assert_int_equal(next_error(b).err, FI_ENOMSG);
	arrive(4, out, sizeof out);
	ok(peek(4, FI_PEEK | FI_CLAIM, out));
	received(out, 4);
	ok(peek(4, FI_CLAIM | FI_DISCARD, out));
	received(out, 4);
	ok(peek(4, FI_PEEK, state));
	assert_int_equal(next_error(b).err, FI_ENOMSG);
}

static void trecv__truncated(void **state)
{
	static uint8_t out[9000], in[100];
	pattern_fill(out, sizeof out, 2);
	post(in, sizeof in, 77, 0);
	tsend_done(77, out, sizeof out);
	struct fi_cq_err_entry e = next_error(b);
	char text[64];
	assert_int_equal(e.err, FI_ETRUNC);
	assert_int_equal(e.len, sizeof in);
	assert_int_equal(e.olen, sizeof out - sizeof in);
	assert_int_equal(e.tag, 77);
	assert_int_equal(pattern_check(in, sizeof in, 2), sizeof in);
	assert_ptr_equal(fi_cq_strerror(b->cq, e.prov_errno, NULL, text, sizeof text), text);
	assert_true(strlen(text) > 0);
}

static void tagged__cancel(void **state)
{
	char in[8];
	post(in, sizeof in, 1, 0);
	ok(fi_cancel(&b->ep->fid, in));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
}

/* Receives may have the same context: each call ends another one. */
static void tagged__cancel_ends_one_at_a_time(void **state)
{
	char in[8], out[8] = {0};
	post(in, sizeof in, 1, 0);
	post(in, sizeof in, 2, 0);
	post(in, sizeof in, 3, 0);
	ok(fi_cancel(&b->ep->fid, in));
	ok(fi_cancel(&b->ep->fid, in));
	for (uint64_t tag = 1; tag <= 2; tag++) {
		struct fi_cq_err_entry e = next_error(b);
		assert_int_equal(e.err, FI_ECANCELED);
		assert_int_equal(e.tag, tag);
	}
	tsend_done(3, out, sizeof out);
	received(in, 3);
	post(in, sizeof in, 4, 0);
	ok(fi_cancel(&b->ep->fid, in));
	assert_int_equal(fi_cancel(&b->ep->fid, in), -FI_ENOENT);
	assert_int_equal(next_error(b).err, FI_ECANCELED);
}

/* A peek is cancelled, but it has found its message; the receive that fetches it is another one. */
static void tagged__cancel_a_claim_twice(void **state)
{
	char in[8], out[8] = "x";
	const struct iovec into = {in, sizeof in};
	const struct fi_msg_tagged msg = {
		.msg_iov = &into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 9, .context = out};
	tsend_done(9, out, sizeof out);
	ok(peek(9, FI_PEEK | FI_CLAIM, out));
	ok(fi_cancel(&b->ep->fid, out));
	received(out, 9);
	ok(fi_trecvmsg(b->ep, &msg, FI_CLAIM));
	ok(fi_cancel(&b->ep->fid, out));
	received(out, 9);
	assert_string_equal(in, "x");
}

static void selective__only_what_was_asked_for(void **state)
{
	char in[8], out[8] = {0};
	const struct iovec iov = {out, sizeof out}, into = {in, sizeof in};
	const struct fi_msg_tagged tx = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .tag = 1, .context = out};
	const struct fi_msg_tagged rx = {
		.msg_iov = &into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 1, .context = in};
	post(in, sizeof in, 1, 0);
	ok(fi_tsend(a->ep, out, sizeof out, NULL, a->peer, 1, out));
	expect_nothing(a);
	expect_nothing(b);
	ok(fi_trecvmsg(b->ep, &rx, FI_COMPLETION));
	ok(fi_tsendmsg(a->ep, &tx, FI_COMPLETION));
	assert_ptr_equal(next_done(a).op_context, out);
	received(in, 1);
	ok(fi_trecv(b->ep, in, 4, NULL, FI_ADDR_UNSPEC, 1, 0, in));
	ok(fi_tsend(a->ep, out, sizeof out, NULL, a->peer, 1, out));
	assert_int_equal(next_error(b).err, FI_ETRUNC); /* errors are always told */
}

static uint64_t data_sent(void)
{
	struct weft_fi_ops *ops;
	struct weft_stats stats;
	ok(fi_open_ops(&a->domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->stats(&a->domain->fid, &stats));
	return stats.tx_data;
}

static void tsend_many(char *out, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		ok(fi_tsend(a->ep, out, 8, NULL, a->peer, 1, out));
}

/* With many sends outstanding up to eight leave at once: with the last of them, any inject, or the next look at a
 * queue. */
static void tsend__many_leave_together(void **state)
{
	enum { ALONE = 16, TOGETHER = 8, MORE = 3 };
	char out[8] = {0}, in[8];
	struct fi_cq_tagged_entry e;
	tsend_many(out, ALONE);
	assert_int_equal(data_sent(), ALONE);
	tsend_many(out, TOGETHER - 1);
	assert_int_equal(data_sent(), ALONE);
	tsend_many(out, 1);
	assert_int_equal(data_sent(), ALONE + TOGETHER);
	tsend_many(out, MORE);
	assert_int_equal(data_sent(), ALONE + TOGETHER);
	ok(fi_tinject(a->ep, out, sizeof out, a->peer, 1));
	assert_int_equal(data_sent(), ALONE + TOGETHER + MORE + 1);
	tsend_many(out, MORE);
	assert_int_equal(fi_cq_read(a->cq, &e, 1), -FI_EAGAIN);
	assert_int_equal(data_sent(), ALONE + TOGETHER + 2 * MORE + 1);
	for (int i = 0; i < ALONE + TOGETHER + 2 * MORE; i++)
		assert_ptr_equal(next_done(a).op_context, out);
	for (int i = 0; i < ALONE + TOGETHER + 2 * MORE + 1; i++) {
		post(in, sizeof in, 1, 0);
		received(in, 1);
	}
}

/* Nobody has to come back for sends without a completion. */
static void tsend__without_completion_leaves_at_once(void **state)
{
	static char out[8]; /* no completion tells when it is ours again */
	for (uint64_t i = 1; i <= 40; i++) {
		tsend_many(out, 1);
		assert_int_equal(data_sent(), i);
	}
	expect_nothing(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(trecv__tags_choose, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(trecv__all_64_bits_count, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(trecv__ignores_untagged, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(tsenddata__and_injects, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(tsendv__pieces, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(peek__nothing_there, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(peek__leaves_the_message, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(peek__claim_reserves, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(peek__has_no_data, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(peek__discard, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(trecv__truncated, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(tagged__cancel, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(tagged__cancel_ends_one_at_a_time, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(tagged__cancel_a_claim_twice, hosts_setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(selective__only_what_was_asked_for, hosts_setup,
							 hosts_teardown, (void *)&with_selective),
		cmocka_unit_test_setup_teardown(tsend__many_leave_together, hosts_setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(tsend__without_completion_leaves_at_once, hosts_setup,
							 hosts_teardown, (void *)&with_selective),
	};
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
