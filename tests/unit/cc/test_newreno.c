/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT_NS = 12000, MTU = 4200, BDP = 150000 };

static struct newreno_tune *tune(struct cc_box *box)
{
	return (struct newreno_tune *)box->tune;
}

static void start(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_newreno, 100000000000, BRTT_NS);
	cc_box_start(box);
}

/* The window after a loss that leaves `pkts` in flight, and the ACKs of all that was in flight. */
static void recover(struct cc_box *box, uint32_t pkts)
{
	cc_box_lose(box, WEFT_CC_LOSS_GAP, 1, (uint64_t)pkts * MTU);
	cc_box_acks(box, pkts + 1, 100, BRTT_NS, false);
}

static void init__ten_packets(void **state)
{
	struct cc_box box;

	start(&box);
	assert_int_equal(box.cc.cwnd_bytes, 10 * MTU);
	assert_int_equal(box.cc.pace, 0);
	tune(&box)->initial_pkts = 2;
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, 2 * MTU);
}

static void on_ack__slow_start_doubles(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 10, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 1000, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 10 * BDP);
}

static void on_ack__marks_mean_nothing(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 10, 100, 3 * BRTT_NS, true);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
}

static void on_ack__avoidance_adds_one_packet_per_window(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 30, 100, BRTT_NS, false); /* 40 packets */
	recover(&box, 39);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 19, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 1, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 21 * MTU);
	cc_box_acks(&box, 21, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 22 * MTU);
}

static void on_ack__an_unused_window_does_not_grow(void **state)
{
	struct cc_box box;

	start(&box);
	struct weft_cc_ack ev = {.bytes = MTU, .inflight_bytes = 2 * MTU, .rtt_ns = BRTT_NS, .brtt_ns = BRTT_NS};
	for (int i = 0; i < 50; i++)
		box.cc.ops->on_ack(&box.cc, &ev, box.now);
	assert_int_equal(box.cc.cwnd_bytes, 10 * MTU);
}

/* What is acknowledged beyond a window counts for the next: three windows and three quarters are three packets. */
static void on_ack__avoidance_keeps_the_rest(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 30, 100, BRTT_NS, false);
	recover(&box, 39);
	for (int i = 0; i < 5; i++)
		cc_box_ack(&box, 15 * MTU, BRTT_NS, false); /* of 20, 20, 21, 22, 22 */
	assert_int_equal(box.cc.cwnd_bytes, 23 * MTU);
}

/* Slow start sends half a window more than it may before it is seen to use it (the rest is acknowledged meanwhile);
 * avoidance is limited by the window but for one packet. */
static void on_ack__how_much_use_lets_grow(void **state)
{
	struct cc_box box;
	struct weft_cc_ack ev = {.bytes = MTU, .rtt_ns = BRTT_NS, .brtt_ns = BRTT_NS};

	start(&box);
	ev.inflight_bytes = 3 * MTU;
	box.cc.ops->on_ack(&box.cc, &ev, box.now);
	assert_int_equal(box.cc.cwnd_bytes, 10 * MTU);
	ev.inflight_bytes = 4 * MTU;
	box.cc.ops->on_ack(&box.cc, &ev, box.now);
	assert_int_equal(box.cc.cwnd_bytes, 11 * MTU);
	cc_box_acks(&box, 29, 100, BRTT_NS, false);
	recover(&box, 39);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	ev.inflight_bytes = 17 * MTU;
	for (int i = 0; i < 40; i++)
		box.cc.ops->on_ack(&box.cc, &ev, box.now);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	ev.inflight_bytes = 18 * MTU;
	for (int i = 0; i < 20; i++)
		box.cc.ops->on_ack(&box.cc, &ev, box.now);
	assert_int_equal(box.cc.cwnd_bytes, 21 * MTU);
}

/* All losses of one flight halve the window once; the next flight's halve it again. */
static void on_loss__halves_once_per_flight(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 30, 100, BRTT_NS, false);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 1, 39 * MTU);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 20, 100, BRTT_NS, false);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 3, 19 * MTU);
	cc_box_acks(&box, 19, 100, BRTT_NS, false);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 19 * MTU);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 1, 100, BRTT_NS, false);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 1, 19 * MTU);
	assert_int_equal(box.cc.cwnd_bytes, 10 * MTU);
	assert_int_equal(cc_box_view(&box).decreases, 2);
}

static void on_loss__never_below_two_packets(void **state)
{
	struct cc_box box;

	start(&box);
	for (int i = 0; i < 5; i++)
		recover(&box, 1);
	assert_int_equal(box.cc.cwnd_bytes, 2 * MTU);
}

/* One packet, then slow start to half of what was in flight, whatever else of that times out. */
static void on_loss__timeout(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_acks(&box, 30, 100, BRTT_NS, false);
	for (uint64_t left = 39; left > 0; left--)
		cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 1, left * MTU);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	cc_box_acks(&box, 4, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 5 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 1, 0);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	cc_box_acks(&box, 19, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
	cc_box_acks(&box, 20, 100, BRTT_NS, false);
	assert_int_equal(box.cc.cwnd_bytes, 21 * MTU);
}

static void on_loss__a_gap_after_a_timeout_is_old(void **state)
{
	struct cc_box box;

	start(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 1, 9 * MTU);
	cc_box_acks(&box, 3, 100, BRTT_NS, false);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 1, 3 * MTU);
	assert_int_equal(box.cc.cwnd_bytes, 4 * MTU);
}

static void on_sent__restart(void **state)
{
	for (uint8_t restart = 0; restart < 2; restart++) {
		struct cc_box box;
		start(&box);
		tune(&box)->restart = restart;
		recover(&box, 29);
		cc_box_acks(&box, 1000, 100, BRTT_NS, false);
		uint32_t before = box.cc.cwnd_bytes;
		box.now += BRTT_NS;
		cc_box_sent(&box, MTU, MTU);
		assert_int_equal(box.cc.cwnd_bytes, before); /* no longer than that */
		box.now += BRTT_NS + 1;
		cc_box_sent(&box, MTU, 2 * MTU);
		assert_int_equal(box.cc.cwnd_bytes, before); /* something is in flight */
		box.now += BRTT_NS + 1;
		cc_box_sent(&box, MTU, MTU);
		assert_int_equal(box.cc.cwnd_bytes, restart ? 10 * MTU : before);
		cc_box_acks(&box, 10, 100, BRTT_NS, false);
		assert_int_equal(box.cc.cwnd_bytes, restart ? 20 * MTU : before);
	}
}

/* The retransmission after a timeout is alone, too. */
static void on_sent__no_restart_after_a_timeout(void **state)
{
	struct cc_box box;

	start(&box);
	tune(&box)->restart = 1;
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 1, 0);
	box.now += 7 * BRTT_NS;
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__ten_packets),
		cmocka_unit_test(on_ack__slow_start_doubles),
		cmocka_unit_test(on_ack__marks_mean_nothing),
		cmocka_unit_test(on_ack__avoidance_adds_one_packet_per_window),
		cmocka_unit_test(on_ack__avoidance_keeps_the_rest),
		cmocka_unit_test(on_ack__how_much_use_lets_grow),
		cmocka_unit_test(on_ack__an_unused_window_does_not_grow),
		cmocka_unit_test(on_loss__halves_once_per_flight),
		cmocka_unit_test(on_loss__never_below_two_packets),
		cmocka_unit_test(on_loss__timeout),
		cmocka_unit_test(on_loss__a_gap_after_a_timeout_is_old),
		cmocka_unit_test(on_sent__restart),
		cmocka_unit_test(on_sent__no_restart_after_a_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
