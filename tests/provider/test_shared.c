/* SPDX-License-Identifier: BSD-3-Clause */
/* Transmit and receive contexts shared by endpoints. */
#include "fixture.h"

#include <string.h>
#include <sys/socket.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

/* Host b has, besides its own, two endpoints that share their contexts; each has a queue of its own. */
static struct fid_stx *stx;
static struct fid_ep *srx, *ep[2];
static struct fid_cq *cq[2];
static fi_addr_t addr[2]; /* host a knows them as */

static void ep_open(int i)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct sockaddr_storage name;
	size_t len = sizeof name;
	ok(fi_cq_open(b->domain, &attr, &cq[i], NULL));
	ok(fi_endpoint(b->domain, b->info, &ep[i], NULL));
	ok(fi_ep_bind(ep[i], &b->av->fid, 0));
	ok(fi_ep_bind(ep[i], &cq[i]->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep[i], &stx->fid, 0));
	ok(fi_ep_bind(ep[i], &srx->fid, 0));
	ok(fi_enable(ep[i]));
	ok(fi_getname(&ep[i]->fid, &name, &len));
	assert_int_equal(fi_av_insert(a->av, &name, 1, &addr[i], 0, NULL), 1);
}

static int setup(void **state)
{
	struct fi_tx_attr tx_attr = {.size = 4};
	hosts_open(hosts, NULL);
	ok(fi_stx_context(b->domain, &tx_attr, &stx, NULL));
	ok(fi_srx_context(b->domain, b->info->rx_attr, &srx, NULL));
	for (int i = 0; i < 2; i++)
		ep_open(i);
	return 0;
}

static void ep_shut(int i)
{
	if (ep[i])
		ok(fi_close(&ep[i]->fid));
	if (cq[i])
		ok(fi_close(&cq[i]->fid));
	ep[i] = NULL;
	cq[i] = NULL;
}

static int teardown(void **state)
{
	ep_shut(0);
	ep_shut(1);
	ok(fi_close(&srx->fid));
	ok(fi_close(&stx->fid));
	hosts_close(hosts);
	return 0;
}

/* Next completion of endpoint i. */
static struct fi_cq_tagged_entry done(int i)
{
	struct fi_cq_tagged_entry entry = {0};
	ssize_t n;
	while ((n = fi_cq_read(cq[i], &entry, 1)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_int_equal(n, 1);
	return entry;
}

static void send_to(int i, const char *text)
{
	ok(fi_inject(a->ep, text, strlen(text) + 1, addr[i]));
}

static void srx__receive_completes_where_the_message_went(void **state)
{
	char in[3][8] = {{0}};
	ok(fi_recv(srx, in[0], 8, NULL, FI_ADDR_UNSPEC, in[0]));
	ok(fi_recv(srx, in[1], 8, NULL, FI_ADDR_UNSPEC, in[1]));
	send_to(1, "one");
	assert_ptr_equal(done(1).op_context, in[0]);
	send_to(0, "zero");
	assert_ptr_equal(done(0).op_context, in[1]);
	assert_string_equal(in[0], "one");
	assert_string_equal(in[1], "zero");
	send_to(0, "early");
	expect_nothing(b);
	ok(fi_trecv(srx, in[2], 8, NULL, FI_ADDR_UNSPEC, 1, 0, in[2]));
	ok(fi_recv(ep[1], in[0], 8, NULL, FI_ADDR_UNSPEC, in[0])); /* posted to the shared context as well */
	assert_ptr_equal(done(0).op_context, in[0]);
	assert_string_equal(in[0], "early");
}

static void srx__cancel_and_peek_are_reported_by_an_endpoint(void **state)
{
	char in[8] = {0}, text[] = "claim";
	struct fi_cq_err_entry err = {0};
	struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = 7, .context = text};
	struct iovec iov = {in, sizeof in};
	ok(fi_recv(srx, in, 8, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&srx->fid, in));
	struct fi_cq_tagged_entry entry;
	ssize_t n;
	while ((n = fi_cq_read(cq[0], &entry, 1)) == -FI_EAGAIN)
		;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(cq[0], &err, 0), 1);
	assert_int_equal(err.err, FI_ECANCELED);
	assert_ptr_equal(err.op_context, in);
	ok(fi_tinject(a->ep, text, sizeof text, addr[1], 7));
	expect_nothing(b);
	ok(fi_trecvmsg(srx, &msg, FI_PEEK | FI_CLAIM));
	assert_int_equal(done(0).len, sizeof text);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	ok(fi_trecvmsg(srx, &msg, FI_CLAIM));
	assert_ptr_equal(done(1).op_context, text);
	assert_string_equal(in, text);
	ok(fi_trecv(srx, in, 8, NULL, FI_ADDR_UNSPEC, 8, 0, in)); /* the list of receives is whole */
	ok(fi_cancel(&srx->fid, in));
	while ((n = fi_cq_read(cq[0], &entry, 1)) == -FI_EAGAIN)
		;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(cq[0], &err, 0), 1);
	assert_ptr_equal(err.op_context, in);
}

/* The endpoint that told of a message need not be the one that the message is for. */
static void srx__claim_outlives_the_endpoint_that_told_of_it(void **state)
{
	char in[8] = {0}, text[] = "claim";
	struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = 7, .context = text};
	struct iovec iov = {in, sizeof in};
	ok(fi_tinject(a->ep, text, sizeof text, addr[1], 7));
	expect_nothing(b);
	ok(fi_trecvmsg(srx, &msg, FI_PEEK | FI_CLAIM));
	assert_int_equal(done(0).len, sizeof text);
	ep_shut(0);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	ok(fi_trecvmsg(srx, &msg, FI_CLAIM));
	assert_ptr_equal(done(1).op_context, text);
	assert_string_equal(in, text);
}

static void srx__outlives_an_endpoint(void **state)
{
	char in[8] = {0};
	assert_int_equal(fi_close(&srx->fid), -FI_EBUSY);
	ok(fi_recv(srx, in, 8, NULL, FI_ADDR_UNSPEC, in));
	send_to(0, "lost"); /* perhaps: the endpoint closes */
	ep_shut(0);
	send_to(1, "kept");
	assert_ptr_equal(done(1).op_context, in);
	assert_string_equal(in, "kept");
}

static void srx__multi_recv(void **state)
{
	char in[8] = {0};
	const struct iovec iov = {in, sizeof in};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in};
	size_t min_room = 1;
	ok(fi_setopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min_room, sizeof min_room));
	ok(fi_recvmsg(srx, &msg, FI_MULTI_RECV));
	send_to(0, "abc");
	assert_ptr_equal(done(0).buf, in);
	send_to(1, "def");
	struct fi_cq_tagged_entry entry = done(1);
	assert_ptr_equal(entry.buf, in + 4);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
	assert_memory_equal(in, "abc\0def", 8);
}

static void srx__cannot_send(void **state)
{
	assert_int_equal(fi_send(srx, "x", 1, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(srx, &b->cq->fid, FI_RECV), -FI_ENOSYS);
	ok(fi_enable(srx));
}

static void stx__endpoints_send_with_its_size(void **state)
{
	char in[2][8] = {{0}};
	assert_int_equal(ep[0]->ops->tx_size_left(ep[0]), 4);
	assert_int_equal(fi_close(&stx->fid), -FI_EBUSY);
	for (int i = 0; i < 2; i++) {
		ok(fi_recv(a->ep, in[i], 8, NULL, FI_ADDR_UNSPEC, in[i]));
		ok(fi_send(ep[i], i ? "one" : "zero", 5 - (size_t)i, NULL, b->peer, &ep[i]));
		assert_ptr_equal(done(i).op_context, &ep[i]);
		assert_ptr_equal(next_done(a).op_context, in[i]);
	}
	assert_string_equal(in[0], "zero");
	assert_string_equal(in[1], "one");
}

static void shared__bound_once_and_in_time(void **state)
{
	struct fid_ep *late;
	ok(fi_endpoint(b->domain, b->info, &late, NULL));
	ok(fi_ep_bind(late, &srx->fid, 0));
	assert_int_equal(fi_ep_bind(late, &srx->fid, 0), -FI_EINVAL);
	ok(fi_ep_bind(late, &stx->fid, 0));
	assert_int_equal(fi_ep_bind(late, &stx->fid, 0), -FI_EINVAL);
	ok(fi_close(&late->fid));
	assert_int_equal(fi_ep_bind(ep[0], &srx->fid, 0), -FI_EOPBADSTATE);
	ok(fi_endpoint(a->domain, a->info, &late, NULL));
	assert_int_equal(fi_ep_bind(late, &srx->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(late, &stx->fid, 0), -FI_EINVAL);
	ok(fi_close(&late->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(srx__receive_completes_where_the_message_went, setup, teardown),
		cmocka_unit_test_setup_teardown(srx__cancel_and_peek_are_reported_by_an_endpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(srx__claim_outlives_the_endpoint_that_told_of_it, setup, teardown),
		cmocka_unit_test_setup_teardown(srx__outlives_an_endpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(srx__multi_recv, setup, teardown),
		cmocka_unit_test_setup_teardown(srx__cannot_send, setup, teardown),
		cmocka_unit_test_setup_teardown(stx__endpoints_send_with_its_size, setup, teardown),
		cmocka_unit_test_setup_teardown(shared__bound_once_and_in_time, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
