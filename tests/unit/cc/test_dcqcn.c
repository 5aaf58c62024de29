/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT_NS = 12000, MTU = 4200, CNP_NS = 50000, ROUND_NS = 55000 };
static const double link_gbps = 100;

static void start(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_dcqcn, 100000000000, BRTT_NS);
	cc_box_start(box);
}

/* What the pace amounts to. */
static double gbps(const struct cc_box *box)
{
	return box->cc.pace ? 8.0 * (1 << 20) / box->cc.pace : link_gbps;
}

static void assert_gbps(const struct cc_box *box, double expected)
{
	if (fabs(gbps(box) - expected) > expected * 1e-3)
		fail_msg("%g Gb/s, expected %g", gbps(box), expected);
}

static void init__starts_at_line_rate(void **state)
{
	struct cc_box box;

	start(&box);
	assert_int_equal(box.cc.pace, 0);
	assert_int_equal(box.cc.cwnd_bytes, 1500000);
}

/* Equation 1 with alpha = 1 at first: half; then alpha stays near 1. At most one notification in 50 us. */
static void on_ack__a_mark_cuts_once_per_notification_interval(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 100, 100, 2 * BRTT_NS, true);
	assert_gbps(&box, 50);
	box.now += CNP_NS - 100 * 100;
	cc_box_acks(&box, 1, 0, BRTT_NS, true);
	assert_gbps(&box, 50);
	box.now += 100;
	cc_box_acks(&box, 1, 0, BRTT_NS, true);
	assert_gbps(&box, 25);
	assert_int_equal(cc_box_view(&box).decreases, 2);
}

/* Five rounds halve the distance to the old rate each; the sixth raises the target by 0.1 % of the link. */
static void timer__fast_recovery_then_additive_increase(void **state)
{
	struct cc_box box;
	double rate = 50, target = 100;

	start(&box);
	cc_box_acks(&box, 1, 100, BRTT_NS, true);
	box.now += CNP_NS;
	cc_box_acks(&box, 1, 0, BRTT_NS, true);
	rate = 25;
	target = 50;
	for (int i = 1; i <= 8; i++) {
		box.now += ROUND_NS;
		cc_box_sent(&box, MTU, MTU);
		target += i > 5 ? 0.1 : 0;
		rate = (rate + target) / 2;
		assert_gbps(&box, rate);
	}
}

static void byte_counter__rounds_count_like_the_timers(void **state)
{
	struct cc_box box;

	start(&box);
	((struct dcqcn_tune *)box.tune)->byte_counter = 10 * MTU;
	cc_box_acks(&box, 1, 100, BRTT_NS, true);
	for (int i = 0; i < 10; i++)
		cc_box_sent(&box, MTU, MTU);
	assert_gbps(&box, 75);
	for (int i = 0; i < 10; i++)
		cc_box_sent(&box, MTU, MTU);
	assert_gbps(&box, 87.5);
}

/* 10 MB at the paper's 40 Gb/s, 25 MB here: 2 ms of the link. The timer stands still. */
static void byte_counter__by_default_is_a_time_of_the_link(void **state)
{
	struct cc_box box;
	const uint32_t round_bytes = 25000000;

	start(&box);
	cc_box_acks(&box, 1, 100, BRTT_NS, true);
	for (uint32_t sent = MTU; sent < round_bytes; sent += MTU)
		cc_box_sent(&box, MTU, MTU);
	assert_gbps(&box, 50);
	cc_box_sent(&box, MTU, MTU);
	assert_gbps(&box, 75);
}

/* Both counters beyond the rounds of fast recovery: i times 1 % of the link. */
static void increase__hyper_once_both_are_past_recovery(void **state)
{
	struct cc_box box;
	double target = 25, rate = 12.5;

	start(&box);
	((struct dcqcn_tune *)box.tune)->byte_counter = MTU;
	((struct dcqcn_tune *)box.tune)->g_shift = 16;
	for (int i = 0; i < 3; i++, box.now += CNP_NS)
		cc_box_acks(&box, 1, 0, BRTT_NS, true);
	box.now -= CNP_NS; /* the last notification came now */
	for (int i = 1; i <= 6; i++) {
		for (int step = 0; step < 2; step++) { /* a byte counter round, then one of the timer */
			int least = step ? i : i - 1, most = i;
			target += least > 5 ? 1.0 * (least - 5) : most > 5 ? 0.1 : 0;
			rate = (rate + target) / 2;
			if (step) {
				box.now += ROUND_NS;
				cc_box_acks(&box, 1, 0, BRTT_NS, false);
			} else {
				cc_box_sent(&box, MTU, MTU);
			}
			assert_gbps(&box, rate);
		}
	}
}

/* alpha has decayed: the next notification cuts little. After an hour everything is as at the start. */
static void alpha__decays_without_notifications(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 1, 100, BRTT_NS, true);
	box.now += WEFT_S(3600);
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.pace, 0);
	cc_box_acks(&box, 1, 100, BRTT_NS, true);
	assert_gbps(&box, link_gbps);
}

static void on_loss__counts_as_a_notification(void **state)
{
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++) {
		struct cc_box box;
		start(&box);
		cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 50, 0);
		assert_gbps(&box, 50);
	}
}

static void rate__never_below_its_floor(void **state)
{
	struct cc_box box;

	start(&box);
	for (int i = 0; i < 100; i++, box.now += CNP_NS)
		cc_box_acks(&box, 1, 0, BRTT_NS, true);
	assert_gbps(&box, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__starts_at_line_rate),
		cmocka_unit_test(on_ack__a_mark_cuts_once_per_notification_interval),
		cmocka_unit_test(timer__fast_recovery_then_additive_increase),
		cmocka_unit_test(byte_counter__rounds_count_like_the_timers),
		cmocka_unit_test(byte_counter__by_default_is_a_time_of_the_link),
		cmocka_unit_test(increase__hyper_once_both_are_past_recovery),
		cmocka_unit_test(alpha__decays_without_notifications),
		cmocka_unit_test(on_loss__counts_as_a_notification),
		cmocka_unit_test(rate__never_below_its_floor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
