/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT_NS = 12000, MTU = 4200, BDP = 150000 };

static void start(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_swift, 100000000000, BRTT_NS);
	cc_box_start(box);
}

static struct swift_tune *tune_of(struct cc_box *box)
{
	return (struct swift_tune *)box->tune;
}

/* Halves the window once per RTT until it is at most `bytes`. */
static void bring_down_to(struct cc_box *box, uint32_t bytes)
{
	for (int i = 0; i < 64 && box->cc.cwnd_bytes > bytes; i++) {
		box->now += 20 * BRTT_NS;
		cc_box_ack(box, 0, 100 * BRTT_NS, false);
		cc_box_ack(box, 0, BRTT_NS, false);
	}
	assert_true(box->cc.cwnd_bytes <= bytes);
}

/* Section 3.1: base target plus range x (1/sqrt(w) - 1/sqrt(max)) / (1/sqrt(min) - 1/sqrt(max)), within the range. */
static double target_of(double packets)
{
	double low = 1 / sqrt(0.1), high = 1 / sqrt(100);
	double share = (1 / sqrt(packets) - high) / (low - high);

	return 1.5 * BRTT_NS + 0.5 * BRTT_NS * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void target__grows_as_the_window_shrinks(void **state)
{
	struct cc_box box;

	start(&box);
	for (int i = 0; i < 5; i++) {
		double expected = target_of((double)box.cc.cwnd_bytes / MTU);
		assert_true(fabs((double)cc_box_view(&box).target_rtt_ns - expected) < 4);
		bring_down_to(&box, box.cc.cwnd_bytes / 2 + 1);
	}
}

static void on_ack__one_packet_per_window(void **state)
{
	struct cc_box box;

	start(&box);
	bring_down_to(&box, BDP / 2);
	uint32_t before = box.cc.cwnd_bytes;
	for (uint32_t acked = 0; acked < before; acked += MTU)
		cc_box_acks(&box, 1, 100, BRTT_NS, false);
	assert_in_range(box.cc.cwnd_bytes, before + MTU - MTU / 8, before + MTU + MTU / 8);
}

/* cwnd x (1 - 0.8 x (delay - target) / delay), once per RTT. */
static void on_ack__decrease_follows_the_excess_once_per_rtt(void **state)
{
	struct cc_box box;

	start(&box);
	double delay = 2 * BRTT_NS, target = (double)cc_box_view(&box).target_rtt_ns;
	double expected = box.cc.cwnd_bytes * (1 - 0.8 * (delay - target) / delay);
	cc_box_acks(&box, 20, 10, 2 * BRTT_NS, true);
	assert_in_range(box.cc.cwnd_bytes, expected - 20, expected + 20);
	assert_int_equal(cc_box_view(&box).decreases, 1);
	box.now += 2 * BRTT_NS;
	cc_box_acks(&box, 1, 10, 2 * BRTT_NS, true);
	assert_int_equal(cc_box_view(&box).decreases, 2);
}

static void on_ack__marks_do_not_matter(void **state)
{
	struct cc_box marked, clear;

	start(&marked);
	start(&clear);
	for (int i = 0; i < 500; i++) {
		weft_ns rtt_ns = BRTT_NS + (weft_ns)(i * 7919 % BRTT_NS);
		cc_box_acks(&marked, 1, 300, rtt_ns, true);
		cc_box_acks(&clear, 1, 300, rtt_ns, false);
		assert_int_equal(marked.cc.cwnd_bytes, clear.cc.cwnd_bytes);
	}
}

/* One packet per rtt / cwnd. An ACK then grows the window by its own size, and the pace goes. */
static void pace__below_one_packet(void **state)
{
	struct cc_box box;

	start(&box);
	bring_down_to(&box, MTU);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	double gap_ns = (double)box.cc.pace / (1 << 20) * MTU, before = gap_ns;
	assert_true(gap_ns > BRTT_NS);
	box.now += 200 * BRTT_NS;
	cc_box_ack(&box, 0, 100 * BRTT_NS, false); /* halves, and shows the longer RTT */
	gap_ns = (double)box.cc.pace / (1 << 20) * MTU;
	assert_true(fabs(gap_ns - 2 * 100 * before) < before);
	cc_box_ack(&box, MTU, BRTT_NS, false);
	assert_int_equal(box.cc.pace, 0);
	assert_in_range(box.cc.cwnd_bytes, MTU, 2 * MTU);
}

static void on_ack__without_a_sample_grows(void **state)
{
	struct cc_box box;

	start(&box);
	box.now += BRTT_NS;
	cc_box_ack(&box, MTU, 10 * BRTT_NS, false);
	uint32_t before = box.cc.cwnd_bytes;
	box.now += 100 * BRTT_NS;
	cc_box_acks(&box, 20, 100, 0, false);
	assert_true(box.cc.cwnd_bytes > before);
}

static void on_loss__cuts_by_the_largest_factor_once_per_rtt(void **state)
{
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++) {
		struct cc_box box;
		start(&box);
		cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 50, 0);
		assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 4);
	}
}

/* The expiry of many packets at once is one of the `retx_reset` in a row. */
static void on_loss__timeouts_in_a_row_bring_the_smallest_window(void **state)
{
	struct cc_box box;

	start(&box);
	tune_of(&box)->retx_reset = 3;
	for (int i = 0; i < 2; i++) {
		box.now += 7 * BRTT_NS;
		cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 50, 0);
	}
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 8);
	box.now += 7 * BRTT_NS;
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 50, 0);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	double gap_ns = (double)box.cc.pace / (1 << 20) * MTU;
	assert_true(fabs(gap_ns - 100.0 * BRTT_NS) < BRTT_NS); /* a hundredth of a packet */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target__grows_as_the_window_shrinks),
		cmocka_unit_test(on_ack__one_packet_per_window),
		cmocka_unit_test(on_ack__decrease_follows_the_excess_once_per_rtt),
		cmocka_unit_test(on_ack__marks_do_not_matter),
		cmocka_unit_test(pace__below_one_packet),
		cmocka_unit_test(on_ack__without_a_sample_grows),
		cmocka_unit_test(on_loss__cuts_by_the_largest_factor_once_per_rtt),
		cmocka_unit_test(on_loss__timeouts_in_a_row_bring_the_smallest_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
