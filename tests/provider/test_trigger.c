/* SPDX-License-Identifier: BSD-3-Clause */
/* Triggered operations and deferred work. */
#include "fixture.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdlib.h>
#include <string.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];
static struct fid_cntr *trigger, *done; /* of host a */
static struct fid_mr *mr;               /* of host b */
static uint64_t target[8];

enum { KEY = 5 };

static void host_setup(int i, enum fi_progress progress)
{
	static const struct host_opts opts;
	struct fi_info *hints = fixture_hints(i);
	hints->domain_attr->data_progress = progress;
	hints->caps |= FI_TRIGGER | FI_RMA | FI_ATOMIC;
	hosts[i] = (struct host){.other = &hosts[!i]};
	host_open_domain(&hosts[i], hints);
	host_open_ep(&hosts[i], &opts);
}

static int setup_with(enum fi_progress progress)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	char name[FI_NAME_MAX];
	for (int i = 0; i < 2; i++)
		host_setup(i, progress);
	for (int i = 0; i < 2; i++) {
		size_t len = sizeof name;
		ok(fi_getname(&hosts[!i].ep->fid, name, &len));
		assert_int_equal(fi_av_insert(hosts[i].av, name, 1, &hosts[i].peer, 0, NULL), 1);
	}
	ok(fi_cntr_open(a->domain, &attr, &trigger, NULL));
	ok(fi_cntr_open(a->domain, &attr, &done, NULL));
	memset(target, 0, sizeof target);
	ok(fi_mr_reg(b->domain, target, sizeof target, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	return 0;
}

static int setup(void **state)
{
	return setup_with(FI_PROGRESS_UNSPEC);
}

static int setup_auto(void **state)
{
	return setup_with(FI_PROGRESS_AUTO);
}

static int teardown(void **state)
{
	ok(fi_close(&mr->fid));
	if (trigger)
		ok(fi_close(&trigger->fid));
	ok(fi_close(&done->fid));
	hosts_close(hosts);
	return 0;
}

static struct fi_triggered_context at(uint64_t threshold)
{
	return (struct fi_triggered_context){.event_type = FI_TRIGGER_THRESHOLD,
					     .trigger.threshold = {.cntr = trigger, .threshold = threshold}};
}

static void send_at(struct fi_triggered_context *context, const char *text)
{
	const struct iovec iov = {(void *)text, strlen(text) + 1};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .context = context};
	ok(fi_sendmsg(a->ep, &msg, FI_TRIGGER));
}

static void wait_done(uint64_t count)
{
	while (fi_cntr_read(done) < count)
		fi_cq_read(b->cq, NULL, 0);
}

/* Thresholds decide the order, then the order of the calls; descriptions may be gone by then. */
static void trigger__in_order_of_thresholds(void **state)
{
	struct fi_triggered_context context[4] = {at(2), at(1), at(2), at(9)};
	static const char *const text[] = {"second", "first", "third", "never"};
	char in[4][8] = {{0}};
	for (int i = 0; i < 4; i++)
		ok(fi_recv(b->ep, in[i], 8, NULL, FI_ADDR_UNSPEC, in[i]));
	for (int i = 0; i < 4; i++)
		send_at(&context[i], text[i]);
	expect_nothing(b);
	ok(fi_cntr_add(trigger, 3));
	assert_ptr_equal(next_done(a).op_context, &context[1]);
	assert_ptr_equal(next_done(a).op_context, &context[0]);
	assert_ptr_equal(next_done(a).op_context, &context[2]);
	for (int i = 0; i < 3; i++)
		next_done(b);
	assert_string_equal(in[0], "first");
	assert_string_equal(in[1], "second");
	assert_string_equal(in[2], "third");
	ok(fi_cancel(&a->ep->fid, &context[3]));
	struct fi_cq_err_entry err = next_error(a);
	assert_int_equal(err.err, FI_ECANCELED);
	assert_ptr_equal(err.op_context, &context[3]);
	ok(fi_cntr_add(trigger, 9));
	expect_nothing(b);
}

/* The endpoint's own completions trigger, receives as well as sends, and what has been reached starts at once. */
static void trigger__by_a_completion(void **state)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fi_triggered_context context = at(1), now = at(0);
	struct fid_cntr *sent;
	struct fid_ep *ep;
	char in[8] = {0};
	ok(fi_cntr_open(a->domain, &attr, &sent, NULL));
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &sent->fid, FI_SEND));
	ok(fi_enable(ep));
	ok(fi_recv(b->ep, in, 8, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_recv(b->ep, in, 8, NULL, FI_ADDR_UNSPEC, in));
	context.trigger.threshold.cntr = sent;
	send_at(&context, "later");
	ok(fi_send(ep, "soon", 5, NULL, a->peer, "soon"));
	next_done(b);
	assert_string_equal(in, "soon");
	next_done(b);
	assert_string_equal(in, "later");
	ok(fi_recv(b->ep, in, 8, NULL, FI_ADDR_UNSPEC, in));
	send_at(&now, "now");
	next_done(b);
	assert_string_equal(in, "now");
	ok(fi_close(&ep->fid));
	ok(fi_close(&sent->fid));
}

static void trigger__refuses_nonsense(void **state)
{
	struct fi_triggered_context context = at(1), xpu = at(1), none = at(1);
	struct iovec iov[5] = {{"x", 1}, {"x", 1}, {"x", 1}, {"x", 1}, {"x", 1}};
	struct fi_msg msg = {.msg_iov = iov, .iov_count = 5, .addr = a->peer, .context = &context};
	assert_int_equal(fi_sendmsg(a->ep, &msg, FI_TRIGGER), -FI_EINVAL);
	msg.iov_count = 1;
	assert_int_equal(fi_sendmsg(a->ep, &msg, FI_TRIGGER | FI_INJECT), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(b->ep, &msg, FI_TRIGGER), -FI_EINVAL); /* another domain's counter */
	xpu.event_type = FI_TRIGGER_XPU;
	msg.context = &xpu;
	assert_int_equal(fi_sendmsg(a->ep, &msg, FI_TRIGGER), -FI_ENOSYS);
	none.trigger.threshold.cntr = NULL;
	msg.context = &none;
	assert_int_equal(fi_sendmsg(a->ep, &msg, FI_TRIGGER), -FI_EINVAL);
	msg.context = NULL;
	assert_int_equal(fi_sendmsg(a->ep, &msg, FI_TRIGGER), -FI_EINVAL);
}

/* What fails when its time has come is an error entry, as if it had failed on the way. */
static void trigger__fails_later(void **state)
{
	struct fi_triggered_context context = at(1);
	const struct iovec iov = {"x", 1};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = 99, .context = &context};
	const struct fi_msg_rma write = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .context = &context};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *writes;
	struct fid_ep *ep;
	ok(fi_cntr_open(a->domain, &attr, &writes, NULL));
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &writes->fid, FI_WRITE));
	ok(fi_enable(ep));
	ok(fi_sendmsg(ep, &msg, FI_TRIGGER));
	ok(fi_writemsg(ep, &write, FI_TRIGGER)); /* a byte to no segment */
	ok(fi_cntr_add(trigger, 1));
	for (int i = 0; i < 2; i++) {
		struct fi_cq_err_entry err = next_error(a);
		assert_int_equal(err.err, FI_EINVAL);
		assert_ptr_equal(err.op_context, &context);
	}
	assert_int_equal(fi_cntr_readerr(writes), 1);
	ok(fi_close(&ep->fid));
	ok(fi_close(&writes->fid));
}

/* Objects that go away take what waits with them. */
static void trigger__objects_close(void **state)
{
	struct fi_triggered_context context[2] = {at(1), at(1)};
	struct fid_ep *ep;
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(ep));
	const struct iovec iov = {"x", 1};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .context = &context[0]};
	ok(fi_sendmsg(ep, &msg, FI_TRIGGER));
	ok(fi_close(&ep->fid));
	send_at(&context[1], "x");
	ok(fi_close(&trigger->fid));
	trigger = NULL;
	expect_nothing(a);
}

static struct fi_deferred_work work_at(uint64_t threshold, enum fi_op_type type)
{
	return (struct fi_deferred_work){
		.threshold = threshold, .triggering_cntr = trigger, .completion_cntr = done, .op_type = type};
}

/* Each kind of data transfer, one after the other; nothing but the counter tells of them. */
static void work__transfers(void **state)
{
	uint64_t value = 7, fetched = 0, compare = 9, got = 0;
	struct iovec iov = {&value, sizeof value}, into = {&got, sizeof got};
	struct fi_rma_iov remote = {.len = sizeof value, .key = KEY};
	struct fi_ioc ioc = {&value, 1}, result = {&fetched, 1}, comparand = {&compare, 1};
	struct fi_rma_ioc remote_ioc = {.count = 1, .key = KEY};
	const struct fi_msg_rma rma = {
		.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .rma_iov = &remote, .rma_iov_count = 1};
	const struct fi_msg_atomic amo = {.msg_iov = &ioc,
					  .iov_count = 1,
					  .addr = a->peer,
					  .rma_iov = &remote_ioc,
					  .rma_iov_count = 1,
					  .datatype = FI_UINT64,
					  .op = FI_SUM};
	struct fi_op_rma op_rma = {.ep = a->ep, .msg = rma};
	struct fi_op_atomic op_atomic = {.ep = a->ep, .msg = amo};
	struct fi_op_fetch_atomic op_fetch = {.ep = a->ep, .msg = amo, .fetch = {.msg_iov = &result, .iov_count = 1}};
	struct fi_op_compare_atomic op_compare = {.ep = a->ep,
						  .msg = amo,
						  .fetch = {.msg_iov = &result, .iov_count = 1},
						  .compare = {.msg_iov = &comparand, .iov_count = 1}};
	struct fi_deferred_work work[5] = {work_at(1, FI_OP_WRITE), work_at(2, FI_OP_ATOMIC),
					   work_at(3, FI_OP_FETCH_ATOMIC), work_at(4, FI_OP_COMPARE_ATOMIC),
					   work_at(5, FI_OP_READ)};
	op_compare.msg.op = FI_CSWAP_NE;
	work[0].op.rma = &op_rma;
	work[1].op.atomic = &op_atomic;
	work[2].op.fetch_atomic = &op_fetch;
	work[3].op.compare_atomic = &op_compare;
	for (int i = 0; i < 4; i++)
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[i]));
	op_rma.msg.msg_iov = &into;
	work[4].op.rma = &op_rma;
	ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[4]));
	static const uint64_t after[5] = {7, 14, 21, 7, 7};
	for (uint64_t i = 0; i < 5; i++) {
		ok(fi_cntr_add(trigger, 1));
		wait_done(i + 1);
		assert_int_equal(target[0], after[i]);
	}
	assert_int_equal(fetched, 21);
	assert_int_equal(got, 7);
	expect_nothing(a);
}

static void work__messages_chained(void **state)
{
	char in[2][8] = {{0}};
	struct iovec iov = {"ping", 5};
	struct fi_op_msg first = {.ep = a->ep, .msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer}};
	struct fi_op_tagged second = {
		.ep = a->ep,
		.msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .tag = 3, .context = in},
		.flags = FI_COMPLETION};
	struct fi_deferred_work work[2] = {work_at(1, FI_OP_SEND), work_at(1, FI_OP_TSEND)};
	work[0].op.msg = &first;
	work[1].op.tagged = &second;
	work[1].triggering_cntr = done;
	work[1].completion_cntr = NULL;
	ok(fi_recv(b->ep, in[0], 8, NULL, FI_ADDR_UNSPEC, in[0]));
	ok(fi_trecv(b->ep, in[1], 8, NULL, FI_ADDR_UNSPEC, 3, 0, in[1]));
	for (int i = 0; i < 2; i++)
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[i]));
	expect_nothing(b);
	ok(fi_cntr_add(trigger, 1));
	assert_ptr_equal(next_done(b).op_context, in[0]);
	assert_ptr_equal(next_done(b).op_context, in[1]);
	assert_ptr_equal(next_done(a).op_context, in); /* asked for */
	expect_nothing(a);
}

static void work__counters_change_counters(void **state)
{
	struct fi_op_cntr set = {.cntr = done, .value = 5}, add = {.cntr = done, .value = 2};
	struct fi_deferred_work work[2] = {work_at(1, FI_OP_CNTR_SET), work_at(1, FI_OP_CNTR_ADD)};
	work[0].op.cntr = &set;
	work[1].op.cntr = &add;
	assert_int_equal(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[0]), -FI_EINVAL); /* completion_cntr */
	for (int i = 0; i < 2; i++) {
		work[i].completion_cntr = NULL;
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[i]));
	}
	assert_int_equal(fi_cntr_read(done), 0);
	ok(trigger->ops->adderr(trigger, 1)); /* errors count */
	assert_int_equal(fi_cntr_read(done), 7);
}

/* The application's own calls are no news to its polls, but what its calls set going is. */
static void work__changes_counters_that_polls_report(void **state)
{
	struct fi_op_cntr change = {.cntr = done, .value = 2};
	struct fi_poll_attr attr = {.flags = 0};
	struct fid_poll *set;
	void *contexts[1];
	ok(fi_poll_open(a->domain, &attr, &set));
	ok(fi_poll_add(set, &done->fid, 0));
	for (uint64_t i = 1; i <= 2; i++) {
		struct fi_deferred_work work = work_at(i, i == 1 ? FI_OP_CNTR_SET : FI_OP_CNTR_ADD);
		work.completion_cntr = NULL;
		work.op.cntr = &change;
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work));
		assert_int_equal(fi_poll(set, contexts, 1), 0);
		ok(fi_cntr_add(trigger, 1));
		assert_int_equal(fi_poll(set, contexts, 1), 1);
		assert_int_equal(fi_poll(set, contexts, 1), 0);
	}
	assert_int_equal(fi_cntr_read(done), 4);
	ok(fi_poll_del(set, &done->fid, 0));
	ok(fi_close(&set->fid));
}

static void work__cancelled_and_flushed(void **state)
{
	struct fi_op_cntr add = {.cntr = done, .value = 1};
	struct fi_deferred_work work[3];
	for (int i = 0; i < 3; i++) {
		work[i] = work_at(1, FI_OP_CNTR_ADD);
		work[i].completion_cntr = NULL;
		work[i].op.cntr = &add;
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[i]));
	}
	ok(fi_control(&a->domain->fid, FI_CANCEL_WORK, &work[1]));
	assert_int_equal(fi_control(&a->domain->fid, FI_CANCEL_WORK, &work[1]), -FI_ENOENT);
	ok(fi_cntr_add(trigger, 1));
	assert_int_equal(fi_cntr_read(done), 2);
	work[0].threshold = 9;
	ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[0]));
	ok(fi_control(&a->domain->fid, FI_FLUSH_WORK, NULL));
	ok(fi_cntr_add(trigger, 9));
	assert_int_equal(fi_cntr_read(done), 2);
	work[0].op_type = FI_OP_CNTR_ADD + 1;
	assert_int_equal(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[0]), -FI_ENOSYS);
}

static void work__failure_is_counted(void **state)
{
	struct iovec iov = {"x", 1};
	struct fi_op_msg op = {.ep = a->ep, .msg = {.msg_iov = &iov, .iov_count = 1, .addr = 99}};
	struct fi_deferred_work work = work_at(1, FI_OP_SEND);
	work.op.msg = &op;
	ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work));
	ok(fi_cntr_add(trigger, 1));
	assert_int_equal(fi_cntr_readerr(done), 1);
	expect_nothing(a);
}

/* Each message starts the next, in the threads that make progress, while this one sends others. */
static void queue_recv(struct fid_cntr *counts, struct iovec *into, uint64_t flags)
{
	struct fi_op_msg op = {
		.ep = a->ep,
		.msg = {.msg_iov = into, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = into->iov_base},
		.flags = flags};
	struct fi_deferred_work work = work_at(0, FI_OP_RECV);
	work.completion_cntr = counts;
	work.op.msg = &op;
	ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work));
}

/* What has started will count; only when it has, or never will, the counter may go. */
static void work__counter_stays_until_it_has_counted(void **state)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *counts;
	char in[8];
	struct iovec into = {in, sizeof in};
	ok(fi_cntr_open(a->domain, &attr, &counts, NULL));
	queue_recv(counts, &into, 0);
	assert_int_equal(fi_close(&counts->fid), -FI_EBUSY);
	ok(fi_inject(b->ep, "x", 1, b->peer));
	while (!fi_cntr_read(counts))
		fi_cq_read(b->cq, NULL, 0);
	ok(fi_close(&counts->fid));
	ok(fi_cntr_open(a->domain, &attr, &counts, NULL));
	queue_recv(counts, &into, 0);
	ok(fi_close(&a->ep->fid));
	a->ep = NULL;
	ok(fi_close(&counts->fid));
}

/* Each message in the buffer counts where the work does, and has no entry. */
static void work__multi_recv(void **state)
{
	char in[64];
	struct iovec into = {in, 3};
	size_t min_room = 1;
	ok(fi_setopt(&a->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min_room, sizeof min_room));
	queue_recv(done, &into, FI_MULTI_RECV);
	for (uint64_t i = 1; i <= 2; i++) {
		ok(fi_inject(b->ep, "x", 1, b->peer));
		expect_nothing(a);
		assert_int_equal(fi_cntr_read(done), i);
	}
	assert_int_equal(fi_close(&done->fid), -FI_EBUSY);
	ok(fi_inject(b->ep, "x", 1, b->peer));
	struct fi_cq_tagged_entry entry = next_done(a); /* returns the buffer */
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
	assert_int_equal(fi_cntr_read(done), 3);
}

/* A message that was reserved by a call of the application counts where the work does that fetches it. */
static void work__fetches_a_claimed_message(void **state)
{
	char in[8] = {0};
	struct iovec into = {in, sizeof in};
	struct fi_msg_tagged peek = {.addr = FI_ADDR_UNSPEC, .tag = 7, .context = in};
	struct fi_op_tagged op = {.ep = a->ep, .msg = peek, .flags = FI_CLAIM};
	struct fi_deferred_work work = work_at(1, FI_OP_TRECV);
	op.msg.msg_iov = &into;
	op.msg.iov_count = 1;
	work.op.tagged = &op;
	ok(fi_tinject(b->ep, "abc", 4, b->peer, 7));
	expect_nothing(a);
	ok(fi_trecvmsg(a->ep, &peek, FI_PEEK | FI_CLAIM));
	assert_int_equal(next_done(a).len, 4);
	ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work));
	ok(fi_cntr_add(trigger, 1));
	expect_nothing(a);
	assert_int_equal(fi_cntr_read(done), 1);
	assert_string_equal(in, "abc");
}

static void work__chain_in_progress_threads(void **state)
{
	enum { LINKS = 200 };
	static struct fi_deferred_work work[LINKS];
	static uint8_t in[2 * LINKS];
	struct iovec iov = {"x", 1};
	struct fi_op_tagged op = {.ep = a->ep, .msg = {.msg_iov = &iov, .iov_count = 1, .addr = a->peer, .tag = 1}};
	for (int i = 0; i < 2 * LINKS; i++)
		ok(fi_trecv(b->ep, &in[i], 1, NULL, FI_ADDR_UNSPEC, 0, 1, &in[i]));
	for (int i = 0; i < LINKS; i++) {
		work[i] = work_at((uint64_t)i, FI_OP_TSEND);
		work[i].triggering_cntr = done;
		work[i].op.tagged = &op;
		ok(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work[i]));
		ok(fi_tinject(a->ep, "y", 1, a->peer, 0));
	}
	ok(fi_cntr_wait(done, LINKS, -1));
	for (int i = 0; i < 2 * LINKS; i++)
		next_done(b);
	expect_nothing(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(trigger__in_order_of_thresholds, setup, teardown),
		cmocka_unit_test_setup_teardown(trigger__by_a_completion, setup, teardown),
		cmocka_unit_test_setup_teardown(trigger__refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(trigger__fails_later, setup, teardown),
		cmocka_unit_test_setup_teardown(trigger__objects_close, setup, teardown),
		cmocka_unit_test_setup_teardown(work__transfers, setup, teardown),
		cmocka_unit_test_setup_teardown(work__messages_chained, setup, teardown),
		cmocka_unit_test_setup_teardown(work__counters_change_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(work__changes_counters_that_polls_report, setup, teardown),
		cmocka_unit_test_setup_teardown(work__cancelled_and_flushed, setup, teardown),
		cmocka_unit_test_setup_teardown(work__failure_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(work__counter_stays_until_it_has_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(work__multi_recv, setup, teardown),
		cmocka_unit_test_setup_teardown(work__fetches_a_claimed_message, setup, teardown),
		cmocka_unit_test_setup_teardown(work__chain_in_progress_threads, setup_auto, teardown),
	};
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
