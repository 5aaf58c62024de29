/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that end at unlike times. The clock is moved by hand, and the provider is a stand-in that ends writes when the
 * test lets it. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "perf_run.h"

#define S UINT64_C(1000000000)

enum { LANES = 2, STALL_S = 30, POLLS_LATER = 20 };

static _Atomic uint64_t now_ns;

/* In place of perf_now_ns (--wrap). */
uint64_t __wrap_perf_now_ns(void);
uint64_t __wrap_perf_now_ns(void)
{
	return now_ns;
}

struct lane_box {
	struct fid_cq cq;
	struct fid_ep ep;
	struct fid_mr mr;
	struct perf_slot *under_way;
	bool (*may_end)(struct lane_box *); /* asked at each poll while a write is under way */
	struct lane_box *other;
	atomic_uint polls;
};

static struct lane_box boxes[LANES];
static struct perf_side side;

static ssize_t box_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct lane_box *b = (struct lane_box *)cq; /* the first member */
	b->polls++;
	if (!b->under_way || !b->may_end(b))
		return -FI_EAGAIN;
	*(struct fi_cq_msg_entry *)buf = (struct fi_cq_msg_entry){.op_context = b->under_way};
	b->under_way = NULL;
	return 1;
}

static ssize_t box_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, uint64_t addr,
			 uint64_t key, void *context)
{
	struct lane_box *b = context ? ep->fid.context : NULL;
	assert_non_null(b);
	assert_null(b->under_way);
	b->under_way = context;
	return 0;
}

static struct fi_ops_cq cq_ops = {.size = sizeof cq_ops, .read = box_read};
static struct fi_ops_rma rma_ops = {.size = sizeof rma_ops, .write = box_write};

static int open_side(void **state)
{
	now_ns = 1000 * S;
	memset(boxes, 0, sizeof boxes);
	side = (struct perf_side){.job = {.op = PERF_WRITE,
					  .connections = LANES,
					  .threads = LANES,
					  .window = 1,
					  .size_count = 1,
					  .sizes = {8},
					  .iterations = 1}};
	side.lanes = calloc(LANES, sizeof *side.lanes);
	side.open = LANES;
	for (uint32_t i = 0; i < LANES; i++) {
		struct lane_box *b = &boxes[i];
		struct perf_lane *lane = &side.lanes[i];
		struct perf_conn *c = calloc(1, sizeof *c);
		b->cq.ops = &cq_ops;
		b->ep = (struct fid_ep){.fid.context = b, .rma = &rma_ops};
		b->other = &boxes[1 - i];
		c->ep = &b->ep;
		c->mr = &b->mr;
		c->half = 64;
		c->buf = calloc(2, c->half);
		c->tx = calloc(1, sizeof *c->tx);
		c->rx = calloc(1, sizeof *c->rx);
		c->tx->conn = c->rx->conn = c;
		*lane = (struct perf_lane){.job = &side.job, .cq = &b->cq, .conns = c, .count = 1};
		lane->all = side.lanes;
		lane->all_count = LANES;
	}
	return perf_side_row(&side, PERF_BANDWIDTH, 8);
}

static int close_side(void **state)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct perf_conn *c = side.lanes[i].conns;
		free(c->buf);
		free(c->tx);
		free(c->rx);
		free(c);
	}
	free(side.lanes);
	return 0;
}

static bool at_once(struct lane_box *b)
{
	return true;
}

static bool never(struct lane_box *b)
{
	return false;
}

static void begin(uint32_t lane)
{
	assert_int_equal(perf_conn_post(&side.lanes[lane], side.lanes[lane].conns), 1);
}

static void poll__waits_while_another_lane_moves(void **state)
{
	boxes[0].may_end = at_once;
	boxes[1].may_end = never;
	begin(1);
	for (int i = 0; i < 3 * STALL_S; i++) {
		begin(0);
		now_ns += S;
		assert_int_equal(perf_lane_poll(&side.lanes[0]), 0);
		assert_int_equal(perf_lane_poll(&side.lanes[1]), 0);
	}
	now_ns += STALL_S * S - 1;
	assert_int_equal(perf_lane_poll(&side.lanes[1]), 0);
	now_ns += 1;
	assert_int_equal(perf_lane_poll(&side.lanes[0]), 0); /* has nothing under way */
	assert_int_equal(perf_lane_poll(&side.lanes[1]), -ETIMEDOUT);
}

/* Its first poll finds nothing. */
static bool at_the_second_poll(struct lane_box *b)
{
	return b->polls > 1;
}

static int phase(enum perf_phase which)
{
	struct perf_phase_run *run;
	assert_int_equal(perf_phase_start(&side, which, false, &run), 0);
	return perf_phase_join(run);
}

/* As a lane does that was done long before another one. */
static void phase__begins_long_after_the_last_operation(void **state)
{
	boxes[0].may_end = boxes[1].may_end = at_the_second_poll;
	now_ns += 2 * STALL_S * S;
	assert_int_equal(phase(PERF_RUN), 0);
	assert_int_equal(side.lanes[0].conns->completed, 1);
}

/* As a write whose answer the peer's other lane has to give. A second of real time without that is a stall. */
static bool once_the_other_goes_on(struct lane_box *b)
{
	usleep(1000);
	now_ns += S / 20;
	return !b->other->under_way && b->other->polls > POLLS_LATER;
}

static void phase__lanes_that_are_done_go_on_polling(void **state)
{
	boxes[0].may_end = at_once;
	boxes[1].may_end = once_the_other_goes_on;
	assert_int_equal(phase(PERF_RUN), 0);
	assert_int_equal(side.lanes[1].conns->completed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(poll__waits_while_another_lane_moves, open_side, close_side),
		cmocka_unit_test_setup_teardown(phase__begins_long_after_the_last_operation, open_side, close_side),
		cmocka_unit_test_setup_teardown(phase__lanes_that_are_done_go_on_polling, open_side, close_side),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
