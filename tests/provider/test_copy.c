/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that complete with a copy of their payload, and what becomes of their failures. */
#include "fixture.h"

#include <rdma/fi_rma.h>
#include <stdint.h>
#include <string.h>

enum { COPIED = 16384, SEED = 7 };

static struct host *const a = &hosts[0], *const b = &hosts[1];
static uint8_t out[COPIED + 1], in[COPIED + 1];

/* Without a look at the other host. */
static ssize_t own_entry(struct fi_cq_tagged_entry *entry)
{
	return fi_cq_read(a->cq, entry, 1);
}

static void send__completes_with_the_copy(void **state)
{
	static const size_t lengths[] = {0, 1, 4096, 4097, COPIED};
	struct fi_cq_tagged_entry entry;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		pattern_fill(out, lengths[i], SEED + i);
		ok(fi_send(a->ep, out, lengths[i], NULL, a->peer, &out[i]));
		assert_int_equal(own_entry(&entry), 1);
		assert_ptr_equal(entry.op_context, &out[i]);
		assert_int_equal(entry.flags, FI_MSG | FI_SEND);
		memset(out, 0, sizeof out);
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
		assert_int_equal(next_done(b).len, lengths[i]);
		assert_int_equal(pattern_check(in, lengths[i], SEED + i), lengths[i]);
	}
	expect_nothing(a);
}

static void send__waits_for_the_peer(void **state)
{
	const struct iovec iov = {out, 8};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .context = &out[1]};
	struct fi_cq_tagged_entry entry;
	for (int i = 0; i < 4; i++)
		ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_send(a->ep, out, COPIED + 1, NULL, a->peer, &out[0]));
	ok(fi_sendmsg(a->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	ok(fi_sendmsg(a->ep, &msg, FI_COMPLETION | FI_TRANSMIT_COMPLETE));
	ok(fi_sendmsg(a->ep, &msg, FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_INJECT));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(own_entry(&entry), -FI_EAGAIN);
	assert_ptr_equal(next_done(a).op_context, &out[0]);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(next_done(a).op_context, &out[1]);
	for (int i = 0; i < 4; i++)
		next_done(b);
}

/* An endpoint number nobody has, at the other host's address. */
static fi_addr_t nobody(void)
{
	uint16_t name[8];
	size_t len = sizeof name;
	fi_addr_t wrong;
	ok(fi_av_lookup(a->av, a->peer, name, &len));
	name[1] ^= 0x0100;
	assert_int_equal(fi_av_insert(a->av, name, 1, &wrong, 0, NULL), 1);
	return wrong;
}

/* Failures reach the application by the next call to the peer, once, and never as an entry it cannot place. */
static void failure__is_the_next_calls(void **state)
{
	fi_addr_t wrong = nobody();
	uint64_t value = 1;
	struct fi_cq_tagged_entry entry;
	ok(fi_inject(a->ep, out, 8, wrong));
	expect_nothing(a);
	assert_int_equal(fi_send(a->ep, out, 8, NULL, wrong, out), -FI_EHOSTUNREACH);
	ok(fi_send(a->ep, out, 8, NULL, wrong, out));
	assert_int_equal(own_entry(&entry), 1);
	expect_nothing(a);
	assert_int_equal(fi_tinject(a->ep, out, 8, wrong, 1), -FI_EHOSTUNREACH);
	ok(fi_inject_write(a->ep, &value, sizeof value, a->peer, 0, 99));
	expect_nothing(a);
	assert_int_equal(fi_read(a->ep, &value, sizeof value, NULL, a->peer, 0, 99, NULL), -FI_EACCES);
	ok(fi_send(a->ep, out, COPIED + 1, NULL, wrong, &out[2]));
	struct fi_cq_err_entry e = next_error(a);
	assert_int_equal(e.err, FI_EHOSTUNREACH);
	assert_ptr_equal(e.op_context, &out[2]);
}

/* A send counts once, and its failure once as an error. */
static void counter__counts_at_once(void **state)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *sent;
	struct fid_ep *ep;
	ok(fi_cntr_open(a->domain, &attr, &sent, NULL));
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	ok(fi_ep_bind(ep, &sent->fid, FI_SEND));
	ok(fi_enable(ep));
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_send(ep, out, 8, NULL, a->peer, NULL));
	assert_int_equal(fi_cntr_read(sent), 1);
	next_done(b);
	expect_nothing(a);
	assert_int_equal(fi_cntr_read(sent), 1);
	ok(fi_send(ep, out, 8, NULL, nobody(), NULL));
	expect_nothing(a);
	assert_int_equal(fi_cntr_read(sent), 2);
	assert_int_equal(fi_cntr_readerr(sent), 1);
	ok(fi_close(&ep->fid));
	ok(fi_close(&sent->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(send__completes_with_the_copy, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(send__waits_for_the_peer, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(failure__is_the_next_calls, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(counter__counts_at_once, hosts_setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
