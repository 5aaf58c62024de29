/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues and counters. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

static struct host hosts[2];
static struct host *const a = &hosts[0], *const b = &hosts[1];

static int setup(void **state)
{
	hosts_open(hosts, NULL);
	return 0;
}

static int setup_auto(void **state)
{
	const struct host_opts opts = {.progress = FI_PROGRESS_AUTO};
	hosts_open(hosts, &opts);
	return 0;
}

static int setup_fd(void **state)
{
	const struct host_opts opts = {.wait_obj = FI_WAIT_FD};
	hosts_open(hosts, &opts);
	return 0;
}

static int teardown(void **state)
{
	hosts_close(hosts);
	return 0;
}

/* Afterwards the hosts know each other's MAC addresses and a message needs no answer to reach its receiver. */
static void meet(void)
{
	ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, NULL, 0, NULL, a->peer, NULL));
	next_done(a);
	next_done(b);
}

/* A second endpoint of b whose queue has this format; sends one message to it and reads its completion. */
static ssize_t complete_in_format(enum fi_cq_format format, void *entry)
{
	struct fi_cq_attr attr = {.format = format};
	struct fid_cq *cq;
	struct fid_ep *ep;
	char name[FI_NAME_MAX], in[64];
	size_t len = sizeof name;
	fi_addr_t addr;
	ssize_t n;
	ok(fi_cq_open(b->domain, &attr, &cq, NULL));
	ok(fi_endpoint(b->domain, b->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &b->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &addr, 0, NULL), 1);
	ok(fi_trecv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, 5, 0, hosts));
	ok(fi_tsenddata(a->ep, "format", 7, NULL, 66, addr, 5, NULL));
	next_done(a);
	while ((n = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_string_equal(in, "format");
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	ok(fi_close(&ep->fid));
	ok(fi_close(&cq->fid));
	return n;
}

static void read__formats(void **state)
{
	struct fi_cq_tagged_entry e[2];
	static const struct {
		enum fi_cq_format format;
		size_t bytes;
	} rows[] = {
		{FI_CQ_FORMAT_UNSPEC, sizeof(struct fi_cq_entry)},
		{FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry)},
		{FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry)},
		{FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry)},
		{FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry)},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		memset(e, 0x5a, sizeof e);
		assert_int_equal(complete_in_format(rows[i].format, e), 1);
		assert_ptr_equal(e[0].op_context, hosts);
		if (rows[i].bytes >= sizeof(struct fi_cq_msg_entry))
			assert_int_equal(e[0].len, 7);
		if (rows[i].bytes >= sizeof(struct fi_cq_data_entry))
			assert_int_equal(e[0].data, 66);
		if (rows[i].bytes >= sizeof(struct fi_cq_tagged_entry))
			assert_int_equal(e[0].tag, 5);
		assert_int_equal(((uint8_t *)e)[rows[i].bytes], 0x5a); /* not a byte more */
	}
}

static void read__several_at_once(void **state)
{
	enum { COUNT = 10 };
	struct fi_cq_tagged_entry e[COUNT];
	int contexts[COUNT], n = 0;
	for (int i = 0; i < COUNT; i++)
		ok(fi_send(a->ep, NULL, 0, NULL, a->peer, &contexts[i]));
	while (n < COUNT) {
		ssize_t got = fi_cq_read(a->cq, e + n, (size_t)(COUNT - n));
		if (got > 0)
			n += (int)got;
		fi_cq_read(b->cq, NULL, 0);
	}
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(e[i].op_context, &contexts[i]);
}

static void read__error_comes_in_turn(void **state)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e[2];
	char in[8];
	ok(fi_send(b->ep, NULL, 0, NULL, b->peer, NULL));
	next_done(b);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&b->ep->fid, in));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
	assert_int_equal(fi_cq_readerr(b->cq, &err, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(b->cq, e, 2), -FI_EAGAIN);
}

static void sread__times_out(void **state)
{
	struct fi_cq_tagged_entry e;
	assert_int_equal(fi_cq_sread(a->cq, &e, 1, NULL, 1), -FI_EAGAIN);
}

static void sread__wakes_for_a_message(void **state)
{
	struct fi_cq_tagged_entry e;
	char in[16];
	meet();
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "wake", 5, a->peer));
	assert_int_equal(fi_cq_sread(b->cq, &e, 1, NULL, -1), 1);
	assert_string_equal(in, "wake");
}

static void *signal_later(void *cq)
{
	fi_cq_signal(cq);
	return NULL;
}

static void signal__ends_the_wait(void **state)
{
	struct fi_cq_tagged_entry e;
	pthread_t thread;
	ok(pthread_create(&thread, NULL, signal_later, a->cq));
	assert_int_equal(fi_cq_sread(a->cq, &e, 1, NULL, -1), -FI_EAGAIN);
	pthread_join(thread, NULL);
}

static void fd__readable_after_arrival(void **state)
{
	struct fid *fids[1] = {&b->cq->fid};
	struct fi_cq_tagged_entry e;
	struct pollfd pfd = {.events = POLLIN};
	char in[16];
	meet();
	ok(fi_control(&b->cq->fid, FI_GETWAIT, &pfd.fd));
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_trywait(b->fabric, fids, 1));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	ok(fi_inject(a->ep, "fd", 3, a->peer));
	assert_int_equal(poll(&pfd, 1, -1), 1); /* nobody but the provider's thread makes progress here */
	assert_int_equal(fi_trywait(b->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(b->cq, &e, 1), 1);
	assert_int_equal(poll(&pfd, 1, 0), 0);
}

/* With automatic progress a message arrives, and is acknowledged, while its receiver does nothing. */
static void auto__peer_need_not_call(void **state)
{
	struct fi_cq_tagged_entry e;
	ssize_t n;
	ok(fi_send(a->ep, "auto", 5, NULL, a->peer, &e));
	while ((n = fi_cq_read(a->cq, &e, 1)) == -FI_EAGAIN)
		;
	assert_int_equal(n, 1);
}

static void cntr__counts_both_sides(void **state)
{
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	char name[FI_NAME_MAX], in[8];
	size_t len = sizeof name;
	fi_addr_t self;
	ok(fi_cntr_open(a->domain, NULL, &cntr, NULL));
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cntr->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &self, 0, NULL), 1);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(ep, "count", 6, self));
	ok(fi_cntr_wait(cntr, 2, -1));
	assert_int_equal(fi_cntr_read(cntr), 2);
	assert_int_equal(fi_cntr_wait(cntr, 3, 1), -FI_ETIMEDOUT);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&ep->fid, in));
	assert_int_equal(fi_cntr_wait(cntr, 3, -1), -FI_EAVAIL);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	ok(fi_cntr_set(cntr, 10));
	ok(fi_cntr_add(cntr, 5));
	assert_int_equal(fi_cntr_read(cntr), 15);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	ok(fi_close(&ep->fid));
	ok(fi_close(&cntr->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read__formats, setup, teardown),
		cmocka_unit_test_setup_teardown(read__several_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(read__error_comes_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(sread__times_out, setup, teardown),
		cmocka_unit_test_setup_teardown(sread__wakes_for_a_message, setup, teardown),
		cmocka_unit_test_setup_teardown(signal__ends_the_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(fd__readable_after_arrival, setup_fd, teardown),
		cmocka_unit_test_setup_teardown(auto__peer_need_not_call, setup_auto, teardown),
		cmocka_unit_test_setup_teardown(cntr__counts_both_sides, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
