/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers over a fabric of arrays: bench_node's calls are replaced, so that sends can fail and be looked at. */
#include "bench_run.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

enum { RANKS = 4, OPS_MAX = 256, ROUNDS_MAX = 100 };

/* What was posted and not matched yet, and events not polled yet, in order. */
static struct {
	struct {
		uint32_t rank;
		struct bench_op *op;
	} posted[OPS_MAX];
	struct {
		uint32_t rank;
		struct bench_event ev;
	} events[OPS_MAX];
	unsigned posted_count, event_count;
	uint64_t fail_tag;   /* flow whose send ends with ETIMEDOUT; UINT64_MAX: none */
	uint64_t refuse_tag; /* flow whose send is refused when posted */
	int poll_rc;         /* what polls return when not 0 */
} net;

static void event_add(uint32_t rank, struct bench_op *op, size_t len, int err)
{
	assert_in_range(net.event_count, 0, OPS_MAX - 1);
	net.events[net.event_count].rank = rank;
	net.events[net.event_count++].ev = (struct bench_event){.op = op, .len = len, .err = err};
}

static void posted_remove(unsigned i)
{
	memmove(&net.posted[i], &net.posted[i + 1], (--net.posted_count - i) * sizeof *net.posted);
}

/* The receive that takes a message, taken out; NULL: none. */
static struct bench_op *recv_take(uint32_t rank, uint64_t tag)
{
	for (unsigned i = 0; i < net.posted_count; i++) {
		struct bench_op *op = net.posted[i].op;
		if (net.posted[i].rank != rank || op->kind != BENCH_OP_RECV || op->tag != tag)
			continue;
		posted_remove(i);
		return op;
	}
	return NULL;
}

int bench_node_post(struct bench_node *n, struct bench_op *op)
{
	if (op->kind == BENCH_OP_SEND && op->tag == net.refuse_tag)
		return -EINVAL;
	if (op->kind == BENCH_OP_RECV) {
		assert_in_range(net.posted_count, 0, OPS_MAX - 1);
		net.posted[net.posted_count].rank = n->rank;
		net.posted[net.posted_count++].op = op;
		return 0;
	}
	bool fails = op->tag == net.fail_tag;
	struct bench_op *recv = fails ? NULL : recv_take(op->peer, op->tag);
	assert_true(recv || fails);
	if (recv) {
		memcpy(recv->buf, op->buf, op->len);
		event_add(op->peer, recv, op->len, 0);
	}
	event_add(n->rank, op, 0, fails ? ETIMEDOUT : 0);
	return 0;
}

int bench_node_poll(struct bench_node *n, struct bench_event *events, unsigned max)
{
	for (unsigned i = 0; i < net.event_count; i++) {
		if (net.events[i].rank != n->rank)
			continue;
		*events = net.events[i].ev;
		memmove(&net.events[i], &net.events[i + 1], (--net.event_count - i) * sizeof *net.events);
		return 1;
	}
	return net.poll_rc;
}

/* Two drivers with two ranks each over one matrix. */
struct rig {
	struct weft_workload work;
	struct bench_run run;
	struct bench_node nodes[RANKS];
	struct bench_driver drivers[2];
};

static void rig_open(struct rig *r, const char *cm)
{
	struct weft_err err = {""};
	memset(&net, 0, sizeof net);
	memset(r, 0, sizeof *r);
	net.fail_tag = net.refuse_tag = UINT64_MAX;
	assert_int_equal(weft_workload_parse(cm, strlen(cm), "test.cm", &r->work, &err), 0);
	assert_int_equal(bench_run_init(&r->run, &r->work, 0, RANKS, &err), 0);
	for (uint32_t i = 0; i < RANKS; i++)
		r->nodes[i] = (struct bench_node){.rank = i, .ranks = RANKS};
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(bench_driver_init(&r->drivers[i], &r->run, &r->nodes[2 * i], 2 * i, 2, &err), 0);
}

/* Polls both drivers until they are done; fails the test when that takes for ever. */
static void rig_run(struct rig *r)
{
	weft_ns now = bench_now();
	for (int i = 0; i < 2; i++)
		bench_driver_start(&r->drivers[i], now);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (bench_driver_done(&r->drivers[0]) && bench_driver_done(&r->drivers[1]))
			return;
		bench_driver_poll(&r->drivers[0]);
		bench_driver_poll(&r->drivers[1]);
	}
	fail_msg("%u sends and %u receives left", r->drivers[0].sends_left + r->drivers[1].sends_left,
		 r->drivers[0].recvs_left + r->drivers[1].recvs_left);
}

static void rig_close(struct rig *r)
{
	bench_driver_free(&r->drivers[0]);
	bench_driver_free(&r->drivers[1]);
	bench_run_free(&r->run);
	weft_workload_free(&r->work);
}

static const char chain[] = "Nodes 4\nConnections 3\nTriggers 2\n"
			    "0->1 id 1 start 0 size 1000 send_done_trigger 1\n"
			    "2->3 id 2 trigger 1 size 2000 recv_done_trigger 2\n"
			    "1->0 id 3 trigger 2 size 3000\n"
			    "trigger id 1 oneshot\ntrigger id 2 oneshot\n";

static void bench_driver_poll__all_flows_verified(void **state)
{
	struct rig r;
	rig_open(&r, "Nodes 4\nConnections 3\n0->1 start 0 size 100\n3->1 start 0 size 70000\n2->0 start 0 size 1\n");
	rig_run(&r);
	bench_run_verify(&r.run);
	for (int i = 0; i < 3; i++) {
		assert_true(r.run.flows[i].verified);
		assert_true(r.run.flows[i].sent_ns >= r.run.flows[i].start_ns);
	}
	rig_close(&r);
}

static void bench_driver_poll__trigger_crosses_drivers(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	rig_run(&r);
	assert_true(r.run.flows[1].start_ns >= r.run.flows[0].sent_ns);
	assert_true(r.run.flows[2].start_ns >= r.run.flows[1].delivered_ns);
	assert_true(r.run.flows[2].delivered_ns > 0);
	rig_close(&r);
}

static void bench_driver_poll__barrier_waits_for_all(void **state)
{
	struct rig r;
	rig_open(&r, "Nodes 4\nConnections 3\nTriggers 1\n"
		     "0->1 id 1 start 0 size 10 send_done_trigger 1\n"
		     "2->3 id 2 start 0 size 10 send_done_trigger 1\n"
		     "3->0 id 3 trigger 1 size 10\n"
		     "trigger id 1 barrier count 2\n");
	rig_run(&r);
	assert_true(r.run.flows[2].start_ns >= r.run.flows[0].sent_ns);
	assert_true(r.run.flows[2].start_ns >= r.run.flows[1].sent_ns);
	rig_close(&r);
}

static void bench_driver_poll__failed_send_releases_receiver_and_trigger(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	net.fail_tag = 1;
	rig_run(&r);
	assert_int_equal(r.run.flows[1].send_err, ETIMEDOUT);
	assert_int_equal(r.run.flows[1].recv_err, ECANCELED);
	assert_int_equal(r.run.flows[1].delivered_ns, 0);
	assert_true(r.run.flows[2].delivered_ns > 0);
	rig_close(&r);
}

static void bench_driver_poll__refused_send_is_a_failed_flow(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	net.refuse_tag = 0;
	rig_run(&r);
	assert_int_equal(r.run.flows[0].send_err, EINVAL);
	assert_int_equal(r.run.flows[0].sent_ns, 0);
	assert_true(r.run.flows[2].delivered_ns > 0);
	rig_close(&r);
}

static void bench_driver_poll__short_message_is_an_error(void **state)
{
	struct rig r;
	rig_open(&r, "Nodes 4\nConnections 1\n0->1 start 0 size 100\n");
	r.run.flows[0].send.len = 99;
	rig_run(&r);
	assert_int_equal(r.run.flows[0].recv_err, EMSGSIZE);
	bench_run_verify(&r.run);
	assert_false(r.run.flows[0].verified);
	rig_close(&r);
}

static void bench_driver_done__queue_failed(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	net.poll_rc = -EIO;
	bench_driver_poll(&r.drivers[0]);
	assert_true(bench_driver_done(&r.drivers[0]));
	assert_int_equal(r.drivers[0].queue_err, -EIO);
	rig_close(&r);
}

static void bench_ctl_send__counts_and_flags(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_READY, 2);
	bench_ctl_send(&r.drivers[1], 3, 0, BENCH_CTL_READY, 3);
	bench_ctl_send(&r.drivers[1], 3, 1, BENCH_CTL_GO, 0);
	assert_int_equal(r.drivers[1].ctl_under_way, 3);
	for (int i = 0; i < 3; i++) {
		bench_driver_poll(&r.drivers[0]);
		bench_driver_poll(&r.drivers[1]);
	}
	assert_int_equal(r.drivers[1].ctl_under_way, 0);
	assert_int_equal(r.drivers[0].ready, 2);
	assert_true(r.drivers[0].go);
	assert_false(r.drivers[0].bye);
	rig_close(&r);
}

static void bench_ctl_send__ready_again_counts_once(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	net.fail_tag = UINT64_C(1) << 63; /* of control messages */
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_READY, 2);
	bench_driver_poll(&r.drivers[1]);
	assert_int_equal(r.drivers[1].ctl_under_way, 0);
	assert_false(r.drivers[1].is_reported);
	net.fail_tag = UINT64_MAX;
	for (int i = 0; i < 2; i++) {
		bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_READY, 2);
		bench_driver_poll(&r.drivers[0]);
		bench_driver_poll(&r.drivers[1]);
	}
	assert_true(r.drivers[1].is_reported);
	assert_int_equal(r.drivers[0].ready, 1);
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_READY, RANKS); /* there is no such rank */
	bench_driver_poll(&r.drivers[0]);
	assert_int_equal(r.drivers[0].ready, 1);
	rig_close(&r);
}

static void bench_ctl_send__nonsense_is_ignored(void **state)
{
	struct rig r;
	rig_open(&r, chain);
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_FIRE, 99);
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_START, 99);
	bench_ctl_send(&r.drivers[1], 2, 0, BENCH_CTL_GONE, 1); /* not a flow to these ranks */
	rig_run(&r);
	for (int i = 0; i < 3; i++)
		assert_true(r.run.flows[i].delivered_ns > 0);
	rig_close(&r);
}

static void bench_driver_post__sets_result(void **state)
{
	struct rig r;
	uint64_t from = 77, to = 0;
	struct bench_op recv = {.buf = &to, .len = 8, .tag = BENCH_TAG_CALLER, .kind = BENCH_OP_RECV};
	struct bench_op send = {.buf = &from, .len = 8, .tag = BENCH_TAG_CALLER, .kind = BENCH_OP_SEND, .peer = 0};
	rig_open(&r, chain);
	bench_driver_post(&r.drivers[0], 0, &recv);
	bench_driver_post(&r.drivers[1], 3, &send);
	bench_driver_poll(&r.drivers[0]);
	bench_driver_poll(&r.drivers[1]);
	assert_int_equal(r.drivers[0].caller_over, 1);
	assert_int_equal(recv.result, 1);
	assert_int_equal(send.result, 1);
	assert_int_equal(to, 77);
	net.refuse_tag = BENCH_TAG_CALLER;
	bench_driver_post(&r.drivers[1], 3, &send);
	assert_int_equal(send.result, -EINVAL);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bench_driver_poll__all_flows_verified),
		cmocka_unit_test(bench_driver_poll__trigger_crosses_drivers),
		cmocka_unit_test(bench_driver_poll__barrier_waits_for_all),
		cmocka_unit_test(bench_driver_poll__failed_send_releases_receiver_and_trigger),
		cmocka_unit_test(bench_driver_poll__refused_send_is_a_failed_flow),
		cmocka_unit_test(bench_driver_poll__short_message_is_an_error),
		cmocka_unit_test(bench_driver_done__queue_failed),
		cmocka_unit_test(bench_ctl_send__counts_and_flags),
		cmocka_unit_test(bench_ctl_send__ready_again_counts_once),
		cmocka_unit_test(bench_ctl_send__nonsense_is_ignored),
		cmocka_unit_test(bench_driver_post__sets_result),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
