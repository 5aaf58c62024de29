/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_args.h"
#include "net_impl.h"

enum { MTU = 1500 };

struct fixture {
	struct options o;
	struct lab *lab;
	struct weft_err err;
	struct run_result r;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	lab_destroy(f->lab);
	options_free(&f->o);
	free(f);
	return 0;
}

static void run(struct fixture *f, const char *const *args)
{
	args_lab_made(&f->o, args, &f->lab, &f->err);
	int rc = lab_run(f->lab, &f->err);
	if (!rc)
		rc = result_of_lab(f->lab, &f->r, &f->err);
	if (rc)
		fail_msg("%s", f->err.msg);
}
#define RUN(f, ...) run(f, (const char *const[]){__VA_ARGS__, NULL})

static void sample__idle_queues_are_even(void **state)
{
	struct fixture *f = *state;
	RUN(f, "--topology", "leafspine:3:2:2", "--matrix", "permutation:6:4KiB");
	struct queue_spread *q = queue_spread_create(lab_net(f->lab), MTU);
	assert_non_null(q);
	assert_int_equal(queue_spread_result(q, SPREAD_UP).samples, 0);
	queue_spread_sample(q, 5);
	queue_spread_sample(q, 1);
	struct spread_result up = queue_spread_result(q, SPREAD_UP), down = queue_spread_result(q, SPREAD_DOWN);
	assert_int_equal(up.samples, 3 * 6);
	assert_int_equal(down.samples, 3 * 6);
	assert_float_equal(up.sd_mean, 0, 0);
	assert_float_equal(down.max, 0, 0);
	assert_float_equal(down.p99999, 0, 0);
	queue_spread_free(q);
}

/* One uplink is left at leaf 0: nothing to spread over. */
static void sample__links_that_are_down_do_not_count(void **state)
{
	struct fixture *f = *state;
	struct weft_link_id id;
	RUN(f, "--topology", "leafspine:3:2:2", "--matrix", "permutation:6:4KiB");
	assert_int_equal(weft_net_link_find(lab_net(f->lab), 0, 0, 1, false, &id), 0);
	weft_net_link_set_up(lab_net(f->lab), id, false);
	struct queue_spread *q = queue_spread_create(lab_net(f->lab), MTU);
	queue_spread_sample(q, 1);
	assert_int_equal(queue_spread_result(q, SPREAD_UP).samples, 2);
	assert_int_equal(queue_spread_result(q, SPREAD_DOWN).samples, 3);
	queue_spread_free(q);
}

static void sample__a_star_has_no_uplinks(void **state)
{
	struct fixture *f = *state;
	RUN(f, "--topology", "star:4", "--matrix", "incast:3:64KiB", "--set", "queue_sample_ns=1000");
	assert_int_equal(f->r.spread[SPREAD_UP].samples, 0);
}

/* All flows over one of two uplinks: the deviation of (x, 0) is x / 2, and x is twice the mean. */
static void sample__one_of_two_uplinks(void **state)
{
	struct fixture *f = *state;
	RUN(f, "--topology", "leafspine:2:2:4", "--matrix", "permutation:8:64KiB", "--lb", "ecmp", "--set",
	    "evs_size=1", "--set", "queue_sample_ns=500", "--set", "trim=0");
	const struct spread_result *up = &f->r.spread[SPREAD_UP];
	assert_true(up->samples > 20);
	assert_true(up->mean > 0.1);
	assert_true(up->sd_mean > 0.3 * up->mean && up->sd_mean <= up->mean + 1e-9);
	assert_true(up->p99 <= up->p99999 && up->max <= up->p99999 + 0.25);
}

/* Leaf 0 has 2.1 packets before one of its two uplinks for 5 of 1,005 samples, else nothing waits anywhere: of 3,015
 * groups 5 have a deviation of 1.05, of 6,030 lengths 5 are 2.1, which quarters of a packet round up to 2.25. */
static void sample__weighs_by_time(void **state)
{
	struct fixture *f = *state;
	struct weft_link_id id;
	RUN(f, "--topology", "leafspine:3:2:2", "--matrix", "permutation:6:4KiB");
	assert_int_equal(weft_net_link_find(lab_net(f->lab), 0, 0, 1, false, &id), 0);
	struct queue_spread *q = queue_spread_create(lab_net(f->lab), MTU);
	lab_net(f->lab)->tree.ports[id.index].data_bytes = 21 * MTU / 10;
	queue_spread_sample(q, 5);
	lab_net(f->lab)->tree.ports[id.index].data_bytes = 0;
	queue_spread_sample(q, 1000);
	struct spread_result up = queue_spread_result(q, SPREAD_UP);
	assert_int_equal(up.samples, 3 * 1005);
	assert_float_equal(up.sd_mean, 1.05 * 5 / 3015, 1e-9);
	assert_float_equal(up.sd_max, 1.05, 1e-9);
	assert_float_equal(up.mean, 2.1 * 5 / 6030, 1e-9);
	assert_float_equal(up.p99, 0, 0);
	assert_float_equal(up.p99999, 2.25, 0);
	assert_float_equal(up.max, 2.1, 1e-9);
	assert_float_equal(queue_spread_result(q, SPREAD_DOWN).max, 0, 0);
	queue_spread_free(q);
}

/* Each leaf has one uplink: its lengths count, though they have no deviation. */
static void sample__one_uplink_has_lengths(void **state)
{
	struct fixture *f = *state;
	RUN(f, "--topology", "leafspine:2:1:2", "--matrix", "tornado:4:256KiB", "--set", "queue_sample_ns=1000");
	const struct spread_result *up = &f->r.spread[SPREAD_UP];
	assert_int_equal(up->samples, 0);
	assert_true(up->lengths > 20 && up->max > 1 && up->max >= up->p99 - 0.25);
	assert_float_equal(up->sd_mean, 0, 0);
}

/* Samples between two events are all alike and taken at once: their number is that of the time that passed. */
static void sample__every_interval(void **state)
{
	struct fixture *f = *state;
	uint64_t digest;
	RUN(f, "--topology", "leafspine:2:2:2", "--matrix", "permutation:4:64KiB", "--set", "queue_sample_ns=100");
	digest = f->r.digest;
	/* 2 leaves, one sample at 0 */
	assert_int_equal(f->r.spread[SPREAD_UP].samples, 2 * (1 + (f->r.elapsed - 1) / 100000));
	teardown(state);
	assert_int_equal(setup(state), 0);
	f = *state;
	RUN(f, "--topology", "leafspine:2:2:2", "--matrix", "permutation:4:64KiB", "--set", "queue_sample_ns=1000",
	    "--set", "queue_sample_from_ns=3000", "--set", "queue_sample_to_ns=5500");
	assert_int_equal(f->r.spread[SPREAD_UP].samples, 2 * 3);
	assert_true(f->r.digest == digest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sample__idle_queues_are_even),  TEST(sample__links_that_are_down_do_not_count),
		TEST(sample__a_star_has_no_uplinks), TEST(sample__one_of_two_uplinks),
		TEST(sample__weighs_by_time),        TEST(sample__one_uplink_has_lengths),
		TEST(sample__every_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
