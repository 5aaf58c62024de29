/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 5, MEM_BYTES = 200000 };

/* The second host has memory that the first may write and read. */
struct memory {
	struct host h[2];
	struct fid_mr *mr;
	uint8_t *mem;
};

static int memory_open(void **state)
{
	struct memory *m = calloc(1, sizeof *m);
	hosts_open(m->h, NULL);
	m->mem = calloc(1, MEM_BYTES);
	ok(fi_mr_reg(m->h[1].domain, m->mem, MEM_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &m->mr, NULL));
	*state = m;
	return 0;
}

static int memory_close(void **state)
{
	struct memory *m = *state;
	if (m->mr)
		ok(fi_close(&m->mr->fid));
	hosts_close(m->h);
	free(m->mem);
	free(m);
	return 0;
}

static void expect(struct host *h, uint64_t flags, size_t len, const void *context)
{
	struct fi_cq_tagged_entry e = next_done(h);
	assert_int_equal(e.flags, flags);
	assert_int_equal(e.len, len);
	assert_ptr_equal(e.op_context, context);
}

static const size_t sizes[] = {0, 1, 1024, 1025, 4096, 100000};

static void write__reaches_the_region(void **state)
{
	struct memory *m = *state;
	uint8_t *out = malloc(MEM_BYTES);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		memset(m->mem, 0, MEM_BYTES);
		pattern_fill(out, sizes[i], i);
		ok(fi_write(m->h[0].ep, out, sizes[i], NULL, m->h[0].peer, 11, KEY, &out));
		expect(&m->h[0], FI_RMA | FI_WRITE, sizes[i], &out);
		assert_int_equal(pattern_check(m->mem + 11, sizes[i], i), sizes[i]);
		assert_int_equal(m->mem[10] | m->mem[11 + sizes[i]], 0);
	}
	expect_nothing(&m->h[1]);
	free(out);
}

static void read__brings_it(void **state)
{
	struct memory *m = *state;
	uint8_t *in = malloc(MEM_BYTES);
	pattern_fill(m->mem, MEM_BYTES, 9);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		memset(in, 0, MEM_BYTES);
		ok(fi_read(m->h[0].ep, in, sizes[i], NULL, m->h[0].peer, 0, KEY, &in));
		expect(&m->h[0], FI_RMA | FI_READ, sizes[i], &in);
		assert_int_equal(pattern_check(in, sizes[i], 9), sizes[i]);
		assert_int_equal(in[sizes[i]], 0);
	}
	free(in);
}

static void writev_readv__pieces(void **state)
{
	struct memory *m = *state;
	uint8_t buf[9000], back[9000] = {0};
	const struct iovec from[3] = {{buf, 100}, {buf + 100, 7000}, {buf + 7100, 1900}};
	const struct iovec to[3] = {{back, 5000}, {back + 5000, 1}, {back + 5001, 3999}};
	pattern_fill(buf, sizeof buf, 1);
	ok(fi_writev(m->h[0].ep, from, NULL, 3, m->h[0].peer, 50, KEY, buf));
	expect(&m->h[0], FI_RMA | FI_WRITE, sizeof buf, buf);
	assert_int_equal(pattern_check(m->mem + 50, sizeof buf, 1), sizeof buf);
	ok(fi_readv(m->h[0].ep, to, NULL, 3, m->h[0].peer, 50, KEY, back));
	expect(&m->h[0], FI_RMA | FI_READ, sizeof back, back);
	assert_memory_equal(back, buf, sizeof buf);
}

/* Several segments at both ends, cut differently. */
static void writemsg_readmsg__remote_pieces(void **state)
{
	struct memory *m = *state;
	uint8_t buf[6000], back[6000] = {0};
	const struct fi_rma_iov remote[3] = {{1000, 2500, KEY}, {90000, 1, KEY}, {20000, 3499, KEY}};
	struct iovec iov[2] = {{buf, 10}, {buf + 10, 5990}};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .iov_count = 2,
				 .addr = m->h[0].peer,
				 .rma_iov = remote,
				 .rma_iov_count = 3,
				 .context = buf,
				 .data = 0x1122334455667788};
	pattern_fill(buf, sizeof buf, 2);
	ok(fi_writemsg(m->h[0].ep, &msg, FI_REMOTE_CQ_DATA | FI_COMPLETION));
	expect(&m->h[0], FI_RMA | FI_WRITE, sizeof buf, buf);
	assert_memory_equal(m->mem + 1000, buf, 2500);
	assert_int_equal(m->mem[90000], buf[2500]);
	assert_memory_equal(m->mem + 20000, buf + 2501, 3499);
	struct fi_cq_tagged_entry e = next_done(&m->h[1]);
	assert_int_equal(e.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(e.data, 0x1122334455667788);
	iov[0] = (struct iovec){back, 3000};
	iov[1] = (struct iovec){back + 3000, 3000};
	ok(fi_readmsg(m->h[0].ep, &msg, FI_COMPLETION));
	expect(&m->h[0], FI_RMA | FI_READ, sizeof back, buf);
	assert_memory_equal(back, buf, sizeof buf);
}

/* No receive is used up by the data, whichever call brings it. */
static void writedata__completes_at_the_target(void **state)
{
	struct memory *m = *state;
	uint8_t byte = 7, in;
	uint8_t *out = malloc(MEM_BYTES);
	pattern_fill(out, MEM_BYTES, 3);
	ok(fi_recv(m->h[1].ep, &in, 1, NULL, FI_ADDR_UNSPEC, &in));
	ok(fi_writedata(m->h[0].ep, out, MEM_BYTES, NULL, 42, m->h[0].peer, 0, KEY, out));
	ok(fi_inject_writedata(m->h[0].ep, &byte, 1, 43, m->h[0].peer, 8, KEY));
	expect(&m->h[0], FI_RMA | FI_WRITE, MEM_BYTES, out);
	for (uint64_t i = 0; i < 2; i++) {
		struct fi_cq_tagged_entry e = next_done(&m->h[1]);
		assert_int_equal(e.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		assert_int_equal(e.data, 42 + i);
		assert_int_equal(e.len, i ? 1 : MEM_BYTES);
	}
	assert_int_equal(m->mem[8], 7);
	m->mem[8] = out[8];
	assert_memory_equal(m->mem, out, MEM_BYTES);
	ok(fi_inject(m->h[0].ep, &byte, 1, m->h[0].peer));
	expect(&m->h[1], FI_MSG | FI_RECV, 1, &in);
	expect_nothing(&m->h[0]); /* injects report nothing */
	free(out);
}

static void inject_write__buffer_is_free_at_once(void **state)
{
	struct memory *m = *state;
	uint8_t buf[4096];
	for (int i = 0; i < 10; i++) {
		pattern_fill(buf, sizeof buf, (uint64_t)i);
		ok(fi_inject_write(m->h[0].ep, buf, sizeof buf, m->h[0].peer, (uint64_t)i * sizeof buf, KEY));
		memset(buf, 0, sizeof buf);
	}
	assert_int_equal(fi_inject_write(m->h[0].ep, buf, 4097, m->h[0].peer, 0, KEY), -FI_EMSGSIZE);
	ok(fi_read(m->h[0].ep, buf, 1, NULL, m->h[0].peer, 0, KEY, buf)); /* sees all earlier writes */
	expect(&m->h[0], FI_RMA | FI_READ, 1, buf);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pattern_check(m->mem + i * 4096, 4096, (uint64_t)i), 4096);
}

static void errors__as_documented(void **state)
{
	struct memory *m = *state;
	struct fid_mr *ro;
	uint8_t buf[2000] = {1};
	ok(fi_mr_reg(m->h[1].domain, m->mem, 100, FI_REMOTE_READ, 0, 6, 0, &ro, NULL));
	const struct {
		uint64_t addr, key;
		size_t len;
		int err;
	} rows[] = {
		{0, 999, 8, FI_EACCES},
		{0, 6, 8, FI_EACCES},
		{MEM_BYTES - 4, KEY, 8, FI_EINVAL},
		{UINT64_MAX - 3, KEY, 8, FI_EINVAL},
		{MEM_BYTES + 1, KEY, 0, FI_EINVAL},
		{MEM_BYTES - 1000, KEY, 2000, FI_EINVAL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ok(fi_write(m->h[0].ep, buf, rows[i].len, NULL, m->h[0].peer, rows[i].addr, rows[i].key, &ro));
		struct fi_cq_err_entry e = next_error(&m->h[0]);
		assert_int_equal(e.err, rows[i].err);
		assert_int_equal(e.flags, FI_RMA | FI_WRITE);
		assert_ptr_equal(e.op_context, &ro);
		assert_int_equal(e.len, 0);
	}
	ok(fi_read(m->h[0].ep, buf, 101, NULL, m->h[0].peer, 0, 6, &ro));
	assert_int_equal(next_error(&m->h[0]).err, FI_EINVAL);
	for (int i = 0; i < MEM_BYTES; i++)
		assert_int_equal(m->mem[i], 0);
	ok(fi_read(m->h[0].ep, buf, 100, NULL, m->h[0].peer, 0, 6, &ro)); /* all is well with the connection */
	expect(&m->h[0], FI_RMA | FI_READ, 100, &ro);
	ok(fi_close(&ro->fid));
	ok(fi_read(m->h[0].ep, buf, 1, NULL, m->h[0].peer, 0, 6, &ro));
	assert_int_equal(next_error(&m->h[0]).err, FI_EACCES);
}

static void bad_calls__are_refused(void **state)
{
	struct memory *m = *state;
	uint8_t buf[16];
	struct iovec iov = {buf, 16};
	struct fi_rma_iov remote[5] = {{0, 15, KEY}};
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = m->h[0].peer, .rma_iov = remote, .rma_iov_count = 1};
	assert_int_equal(fi_writemsg(m->h[0].ep, &msg, 0), -FI_EINVAL); /* lengths differ */
	remote[0].len = 16;
	assert_int_equal(fi_writemsg(m->h[0].ep, &msg, FI_COMMIT_COMPLETE), -FI_EOPNOTSUPP);
	msg.rma_iov_count = 5;
	assert_int_equal(fi_readmsg(m->h[0].ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 1;
	msg.addr = 12345;
	assert_int_equal(fi_readmsg(m->h[0].ep, &msg, 0), -FI_EINVAL);
	const uint64_t half = (UINT64_C(2) << 30) + (1 << 20); /* no segment is too long, but the message is */
	const struct iovec halves[2] = {{buf, half}, {buf, half}};
	msg.msg_iov = halves;
	msg.iov_count = msg.rma_iov_count = 2;
	msg.addr = m->h[0].peer;
	remote[0] = remote[1] = (struct fi_rma_iov){0, half, KEY};
	assert_int_equal(fi_readmsg(m->h[0].ep, &msg, 0), -FI_EMSGSIZE);
	assert_int_equal(fi_writemsg(m->h[0].ep, &msg, 0), -FI_EMSGSIZE);
	expect_nothing(&m->h[0]);
}

/* Each operation waits for the one before, although that is much longer. */
static void fence__later_sees_earlier(void **state)
{
	struct memory *m = *state;
	uint8_t *out = malloc(MEM_BYTES), *in = malloc(MEM_BYTES);
	pattern_fill(out, MEM_BYTES, 8);
	ok(fi_write(m->h[0].ep, out, MEM_BYTES, NULL, m->h[0].peer, 0, KEY, out));
	const struct iovec iov = {in, MEM_BYTES};
	const struct fi_rma_iov remote = {0, MEM_BYTES, KEY};
	const struct fi_msg_rma msg = {&iov, NULL, 1, m->h[0].peer, &remote, 1, in, 0};
	ok(fi_readmsg(m->h[0].ep, &msg, FI_FENCE | FI_COMPLETION));
	expect(&m->h[0], FI_RMA | FI_WRITE, MEM_BYTES, out);
	expect(&m->h[0], FI_RMA | FI_READ, MEM_BYTES, in);
	assert_memory_equal(in, out, MEM_BYTES);
	free(in);
	free(out);
}

/* It could complete at once, but that would say that the write is done, too. */
static void fence__holds_back_a_small_send(void **state)
{
	struct memory *m = *state;
	uint8_t *out = malloc(MEM_BYTES), in[8];
	const struct iovec iov = {out, sizeof in};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = m->h[0].peer, .context = in};
	struct fi_cq_tagged_entry e;
	pattern_fill(out, MEM_BYTES, 9);
	ok(fi_recv(m->h[1].ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_write(m->h[0].ep, out, MEM_BYTES, NULL, m->h[0].peer, 0, KEY, out));
	ok(fi_sendmsg(m->h[0].ep, &msg, FI_FENCE | FI_COMPLETION));
	assert_int_equal(fi_cq_read(m->h[0].cq, &e, 1), -FI_EAGAIN);
	expect(&m->h[0], FI_RMA | FI_WRITE, MEM_BYTES, out);
	expect(&m->h[0], FI_MSG | FI_SEND, sizeof in, in);
	assert_int_equal(pattern_check(m->mem, MEM_BYTES, 9), MEM_BYTES);
	next_done(&m->h[1]);
	free(out);
}

static void levels__all_complete(void **state)
{
	static const uint64_t levels[] = {FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE};
	struct memory *m = *state;
	uint8_t buf[1000];
	const struct iovec iov = {buf, sizeof buf};
	const struct fi_rma_iov remote = {0, sizeof buf, KEY};
	const struct fi_msg_rma msg = {&iov, NULL, 1, m->h[0].peer, &remote, 1, buf, 0};
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		pattern_fill(buf, sizeof buf, i);
		ok(fi_writemsg(m->h[0].ep, &msg, levels[i] | FI_COMPLETION));
		expect(&m->h[0], FI_RMA | FI_WRITE, sizeof buf, buf);
		assert_int_equal(pattern_check(m->mem, sizeof buf, i), sizeof buf);
	}
}

/* FI_WEFT_PROFILE names a profile of UET. */
static bool has_strangers(void)
{
	const char *profile = getenv("FI_WEFT_PROFILE");
	return profile && strcmp(profile, "weft") != 0;
}

/* A send with FI_MATCH_COMPLETE ends when there is a receive, others earlier. Profiles of UET can't say it. */
static void match_complete__waits_for_the_receive(void **state)
{
	struct memory *m = *state;
	uint8_t buf[100], in[100];
	const struct iovec iov = {buf, sizeof buf};
	for (int self = 0; self < 2; self++) {
		struct host *to = &m->h[!self];
		fi_addr_t addr = m->h[0].peer;
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		if (self) {
			ok(fi_getname(&m->h[0].ep->fid, name, &len));
			assert_int_equal(fi_av_insert(m->h[0].av, name, 1, &addr, 0, NULL), 1);
		}
		const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = addr, .context = buf};
		pattern_fill(buf, sizeof buf, (uint64_t)self);
		ok(fi_sendmsg(m->h[0].ep, &msg, FI_MATCH_COMPLETE | FI_COMPLETION));
		if (has_strangers()) {
			assert_int_equal(next_error(&m->h[0]).err, FI_EOPNOTSUPP);
			continue;
		}
		expect_nothing(&m->h[0]);
		ok(fi_recv(to->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		struct fi_cq_tagged_entry got = next_done(to);
		if (self && got.op_context == buf)
			got = next_done(to);
		else
			expect(&m->h[0], FI_MSG | FI_SEND, sizeof buf, buf);
		assert_ptr_equal(got.op_context, in);
		assert_int_equal(pattern_check(in, sizeof in, (uint64_t)self), sizeof in);
	}
}

/* Memory of our own engine: no packets, the same results. */
static void self__write_read_data(void **state)
{
	struct memory *m = *state;
	struct host *h = &m->h[1];
	uint8_t buf[5000], in[5000];
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	fi_addr_t self;
	ok(fi_getname(&h->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h->av, name, 1, &self, 0, NULL), 1);
	pattern_fill(buf, sizeof buf, 4);
	ok(fi_writedata(h->ep, buf, sizeof buf, NULL, 9, self, 100, KEY, buf));
	struct fi_cq_tagged_entry a = next_done(h), b = next_done(h);
	assert_int_equal(a.flags | b.flags, FI_RMA | FI_WRITE | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(a.data | b.data, 9);
	const struct iovec iov[2] = {{in, 1}, {in + 1, 4999}};
	ok(fi_readv(h->ep, iov, NULL, 2, self, 100, KEY, in));
	expect(h, FI_RMA | FI_READ, sizeof in, in);
	assert_memory_equal(in, buf, sizeof in);
	ok(fi_read(h->ep, in, 1, NULL, self, MEM_BYTES, KEY, in));
	assert_int_equal(next_error(h).err, FI_EINVAL);
	ok(fi_read(h->ep, in, 1, NULL, self, 0, 1234, in));
	assert_int_equal(next_error(h).err, FI_EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(write__reaches_the_region, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(read__brings_it, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(writev_readv__pieces, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(writemsg_readmsg__remote_pieces, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(writedata__completes_at_the_target, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(inject_write__buffer_is_free_at_once, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(errors__as_documented, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(bad_calls__are_refused, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(fence__later_sees_earlier, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(fence__holds_back_a_small_send, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(levels__all_complete, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(match_complete__waits_for_the_receive, memory_open, memory_close),
		cmocka_unit_test_setup_teardown(self__write_read_data, memory_open, memory_close),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
