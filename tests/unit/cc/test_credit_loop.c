/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "credit_loop.h"

enum { ONE = CREDIT_LOOP_ONE };

/* The papers' constants, w_init 1/16; the same share tolerated at any rate. */
static const struct schedule_tune by_ecn = {.w_init_permille = 63,
					    .w_max_permille = 500,
					    .w_min_permille = 10,
					    .aim_permille = 100,
					    .feedback = SCHEDULE_ECN};

static double share(uint32_t fixed)
{
	return (double)fixed / ONE;
}

static void near(double value, double expected)
{
	assert_true(value > expected - 1e-4 && value < expected + 1e-4);
}

static void hear(struct credit_loop *l, const struct schedule_tune *tune, uint32_t packets, uint32_t marked)
{
	for (uint32_t i = 0; i < packets; i++)
		credit_loop_count(l, tune, &(struct weft_rcc_data){.scheduled = true, .ce = i < marked});
}

static void number(struct credit_loop *l, const struct schedule_tune *tune, uint32_t credit)
{
	credit_loop_count(l, tune, &(struct weft_rcc_data){.scheduled = true, .credit = credit});
}

/* Algorithm 1, lines 1-2 and 6-11: w stays in the first increase and moves to w_max in those that follow. */
static void update__increases(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	near(share(l.rate), 0.063);
	hear(&l, &by_ecn, 10, 1); /* 10 % is tolerated */
	credit_loop_update(&l, &by_ecn, 1000, 0, 999);
	near(share(l.rate), 0.063); /* not yet */
	credit_loop_update(&l, &by_ecn, 1000, 0, 1000);
	double w = 0.063, rate = (1 - w) * 0.063 + w * 1.1;
	near(share(l.rate), rate);
	for (int i = 2; i < 8; i++) {
		hear(&l, &by_ecn, 10, 0);
		credit_loop_update(&l, &by_ecn, 1000, 0, (weft_ns)i * 1000);
		w = (w + 0.5) / 2;
		rate = (1 - w) * rate + w * 1.1;
		near(share(l.rate), rate);
		near(share(l.w), w);
	}
	assert_true(share(l.rate) > 1 && share(l.rate) < 1.1);
}

/* Lines 12-15. */
static void update__decreases(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	l.rate = ONE;
	l.w = ONE / 2;
	hear(&l, &by_ecn, 10, 4);
	credit_loop_update(&l, &by_ecn, 1000, 0, 1000);
	near(share(l.rate), 1 * 0.6 * 1.1);
	near(share(l.w), 0.25);
	for (int i = 2; i < 12; i++) {
		hear(&l, &by_ecn, 10, 2);
		credit_loop_update(&l, &by_ecn, 1000, 0, (weft_ns)i * 1000);
	}
	near(share(l.w), 0.01);
	hear(&l, &by_ecn, 10, 0); /* the first increase after that leaves w alone */
	credit_loop_update(&l, &by_ecn, 1000, 0, 12000);
	near(share(l.w), 0.01);
}

/* What is heard of now was sent a period ago: two updates about the same excess cut once. */
static void update__cuts_what_was_sent(void **state)
{
	struct schedule_tune tune = by_ecn;
	struct credit_loop l;
	tune.sent_base = 1;
	credit_loop_start(&l, &tune, 1000, 0);
	l.rate = l.sent_rate = ONE;
	for (weft_ns now = 1000; now <= 2000; now += 1000) {
		hear(&l, &tune, 10, 5);
		credit_loop_update(&l, &tune, 1000, 0, now);
		near(share(l.rate), 0.55);
	}
	hear(&l, &tune, 10, 5); /* sent at 0.55, this is news */
	credit_loop_update(&l, &tune, 1000, 0, 3000);
	near(share(l.rate), 0.55 * 0.55);
}

/* Two senders see the same losses: one goes on, the other gives way. */
static void update__fast_ones_tolerate_less(void **state)
{
	struct schedule_tune tune = by_ecn;
	struct credit_loop slow, fast;
	tune.aim_permille = 500;
	tune.aim_scaled = 1;
	credit_loop_start(&slow, &tune, 1000, 0);
	credit_loop_start(&fast, &tune, 1000, 0);
	slow.rate = ONE / 5;
	fast.rate = ONE / 2;
	slow.w = fast.w = ONE / 10;
	hear(&slow, &tune, 10, 3); /* 30 %, of 40 % that are tolerated there and 25 % here */
	hear(&fast, &tune, 10, 3);
	credit_loop_update(&slow, &tune, 1000, 0, 1000);
	credit_loop_update(&fast, &tune, 1000, 0, 1000);
	near(share(slow.rate), 0.9 * 0.2 + 0.1 * 1.4);
	near(share(fast.rate), 0.5 * 0.7 * 1.25);
	slow.rate = ONE + ONE / 20;
	hear(&slow, &tune, 10, 0);
	credit_loop_update(&slow, &tune, 1000, 0, 2000); /* none beyond the highest rate: w is 0.3 now */
	near(share(slow.rate), 0.7 * 1.05 + 0.3);
}

static void count__more_than_fits(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	hear(&l, &by_ecn, 200000, 0);
	hear(&l, &by_ecn, 200000, 200000);
	credit_loop_update(&l, &by_ecn, 1000, 0, 1000);
	assert_true(share(l.rate) < 0.063);
}

static void update__nothing_heard_nothing_done(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	credit_loop_update(&l, &by_ecn, 1000, 0, 50000);
	near(share(l.rate), 0.063);
	hear(&l, &by_ecn, 1, 0);
	credit_loop_update(&l, &by_ecn, 1000, 0, 50001);
	assert_true(share(l.rate) > 0.1);
	assert_int_equal(l.period_end_ns, 51001);
}

/* All marked would be a rate of 0. */
static void update__never_below_the_floor(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	hear(&l, &by_ecn, 3, 3);
	credit_loop_update(&l, &by_ecn, 1000, ONE / 50, 1000);
	assert_int_equal(l.rate, ONE / 50);
}

static void count__gaps_in_the_numbers(void **state)
{
	struct schedule_tune tune = by_ecn;
	struct credit_loop l;
	tune.feedback = SCHEDULE_SEQUENCE;
	credit_loop_start(&l, &tune, 1000, 0);
	number(&l, &tune, 0xfffffe); /* the first says nothing of what was before */
	number(&l, &tune, 0xffffff);
	number(&l, &tune, 2); /* 0 and 1 are missing */
	number(&l, &tune, 2); /* two packets share a credit */
	assert_int_equal(l.total, 5);
	assert_int_equal(l.bad, 2);
	number(&l, &tune, 1); /* late: it stays lost */
	assert_int_equal(l.total, 5);
	assert_int_equal(l.bad, 2);
	credit_loop_count(&l, &tune, &(struct weft_rcc_data){.ce = true, .scheduled = true, .credit = 3});
	assert_int_equal(l.bad, 2); /* marks mean nothing here */
}

static void count__gaps_mean_nothing_to_marks(void **state)
{
	struct credit_loop l;
	credit_loop_start(&l, &by_ecn, 1000, 0);
	number(&l, &by_ecn, 5);
	number(&l, &by_ecn, 900);
	number(&l, &by_ecn, 7);
	assert_int_equal(l.total, 3);
	assert_int_equal(l.bad, 0);
}

/* What is wrong with data is counted by both. */
static void count__trimmed_and_repeated_data(void **state)
{
	for (uint32_t feedback = SCHEDULE_ECN; feedback <= SCHEDULE_SEQUENCE; feedback++) {
		struct schedule_tune tune = by_ecn;
		struct credit_loop l;
		tune.feedback = feedback;
		credit_loop_start(&l, &tune, 1000, 0);
		credit_loop_count(&l, &tune, &(struct weft_rcc_data){.trimmed = true, .scheduled = true});
		credit_loop_count(&l, &tune, &(struct weft_rcc_data){.retx = true, .scheduled = true, .credit = 1});
		assert_int_equal(l.bad, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(update__increases),
		cmocka_unit_test(update__decreases),
		cmocka_unit_test(update__cuts_what_was_sent),
		cmocka_unit_test(update__fast_ones_tolerate_less),
		cmocka_unit_test(count__more_than_fits),
		cmocka_unit_test(update__nothing_heard_nothing_done),
		cmocka_unit_test(update__never_below_the_floor),
		cmocka_unit_test(count__gaps_in_the_numbers),
		cmocka_unit_test(count__gaps_mean_nothing_to_marks),
		cmocka_unit_test(count__trimmed_and_repeated_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
