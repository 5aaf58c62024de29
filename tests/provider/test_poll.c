/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets of completion queues and counters. */
#include "fixture.h"

#include <stdbool.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];
static struct fid_poll *set;
static struct fid_cq *cq;
static struct fid_cntr *cntr;
static int of_cq, of_cntr; /* their addresses are the contexts */

static int setup(void **state)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
	struct fi_poll_attr attr = {.flags = 0};
	hosts_open(hosts, NULL);
	ok(fi_cq_open(a->domain, &cq_attr, &cq, &of_cq));
	ok(fi_cntr_open(a->domain, NULL, &cntr, &of_cntr));
	ok(fi_poll_open(a->domain, &attr, &set));
	return 0;
}

static int teardown(void **state)
{
	ok(fi_close(&set->fid));
	ok(fi_close(&cq->fid));
	ok(fi_close(&cntr->fid));
	hosts_close(hosts);
	return 0;
}

/* An endpoint of a that reports to cq and cntr; returns its address. */
static struct fid_ep *ep_open(fi_addr_t *self)
{
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	struct fid_ep *ep;
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &cntr->fid, FI_RECV));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, self, 0, NULL), 1);
	return ep;
}

static void poll__queue_until_read(void **state)
{
	void *contexts[4];
	struct fi_cq_entry e;
	fi_addr_t self;
	struct fid_ep *ep = ep_open(&self);
	ok(fi_poll_add(set, &cq->fid, 0));
	ok(fi_poll_add(set, &cntr->fid, 0));
	assert_int_equal(fi_poll(set, contexts, 4), 0);
	ok(fi_send(ep, NULL, 0, NULL, self, NULL)); /* nobody calls anything but fi_poll from here on */
	ok(fi_recv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	bool seen[2] = {false};
	while (!seen[0] || !seen[1]) {
		int n = fi_poll(set, contexts, 4);
		assert_in_range(n, 0, 2);
		for (int i = 0; i < n; i++)
			seen[contexts[i] == &of_cntr] = true;
	}
	assert_int_equal(fi_cntr_read(cntr), 1);
	while (fi_cq_read(cq, &e, 1) != 1)
		;
	while (fi_poll(set, contexts, 4) != 1) /* the other completion; the counter was reported */
		;
	assert_ptr_equal(contexts[0], &of_cq);
	assert_int_equal(fi_cq_read(cq, &e, 1), 1);
	assert_int_equal(fi_poll(set, contexts, 4), 0);
	ok(fi_poll_del(set, &cq->fid, 0));
	ok(fi_poll_del(set, &cntr->fid, 0));
	ok(fi_close(&ep->fid));
}

/* The application knows what it set itself; failures count as changes. */
static void poll__counter_changes(void **state)
{
	void *contexts[2];
	fi_addr_t self;
	char in[4];
	struct fid_ep *ep = ep_open(&self);
	ok(fi_poll_add(set, &cntr->fid, 0));
	ok(fi_cntr_set(cntr, 5));
	ok(fi_cntr_add(cntr, 1));
	assert_int_equal(fi_poll(set, contexts, 2), 0);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&ep->fid, in));
	while (!fi_poll(set, contexts, 2))
		;
	assert_ptr_equal(contexts[0], &of_cntr);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	assert_int_equal(fi_poll(set, contexts, 2), 0);
	ok(fi_poll_del(set, &cntr->fid, 0));
	ok(fi_close(&ep->fid));
}

/* What finds no room in the array is reported by the next call. */
static void poll__short_array(void **state)
{
	void *contexts[1];
	fi_addr_t self;
	char in[4];
	struct fid_ep *ep = ep_open(&self);
	ok(fi_poll_add(set, &cntr->fid, 0));
	ok(fi_poll_add(set, &cq->fid, 0));
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&ep->fid, in));
	assert_int_equal(fi_poll(set, contexts, 0), 0);
	while (!fi_poll(set, contexts, 1))
		;
	assert_ptr_equal(contexts[0], &of_cntr);
	assert_int_equal(fi_poll(set, contexts, 1), 1);
	assert_ptr_equal(contexts[0], &of_cq);
	ok(fi_poll_del(set, &cq->fid, 0));
	ok(fi_poll_del(set, &cntr->fid, 0));
	ok(fi_close(&ep->fid));
}

static void add__members_are_busy(void **state)
{
	ok(fi_poll_add(set, &cq->fid, 0));
	ok(fi_poll_add(set, &cq->fid, 0)); /* twice is once */
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	ok(fi_poll_del(set, &cq->fid, 0));
	assert_int_equal(fi_poll_del(set, &cq->fid, 0), -FI_EINVAL);
}

static void add__refusals(void **state)
{
	struct fi_poll_attr attr = {.flags = FI_PEEK};
	struct fid_poll *other;
	assert_int_equal(fi_poll_open(a->domain, &attr, &other), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &a->av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &b->cq->fid, 0), -FI_EINVAL); /* of another domain */
	assert_int_equal(fi_poll_add(set, &cq->fid, FI_PEEK), -FI_EINVAL);
	assert_int_equal(fi_close(&a->domain->fid), -FI_EBUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(poll__queue_until_read, setup, teardown),
		cmocka_unit_test_setup_teardown(poll__counter_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(poll__short_array, setup, teardown),
		cmocka_unit_test_setup_teardown(add__members_are_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(add__refusals, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
