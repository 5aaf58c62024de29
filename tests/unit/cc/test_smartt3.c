/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of our own that "smartt3" is made of. */
#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT = 12000, NEAR = 4000, TRTT = 18000, MTU = 4200, CAP = 225000 };

static struct smartt_tune *tune(struct cc_box *box)
{
	return (struct smartt_tune *)box->tune;
}

static void prepare(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_smartt, 100000000000, BRTT);
}

/* ACKs of a packet on a path of that base RTT behind a queue of `queue_ns`. */
static void ack_behind(struct cc_box *box, unsigned n, weft_ns brtt_ns, weft_ns queue_ns, bool ce)
{
	struct weft_cc_ack ev = {
		.bytes = MTU, .inflight_bytes = CAP / 2, .rtt_ns = brtt_ns + queue_ns, .brtt_ns = brtt_ns, .ce = ce};

	for (; n; n--, box->now += 100)
		box->cc.ops->on_ack(&box->cc, &ev, box->now);
}

/* Whether a connection of that base RTT lowers its window behind that queue, all packets marked. */
static bool lowers(bool common, weft_ns brtt_ns, weft_ns queue_ns)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->common_rtt = common;
	cc_box_start(&box);
	ack_behind(&box, 400, brtt_ns, queue_ns, true);
	return cc_box_view(&box).decreases > 0;
}

/* Half the longest base RTT of queue is everybody's target; as published it is half of the connection's own. */
static void common_rtt__one_queue_is_the_target_of_all(void **state)
{
	for (int common = 0; common < 2; common++) {
		assert_false(lowers(common, BRTT, BRTT / 2 - 200));
		assert_true(lowers(common, BRTT, BRTT / 2 + 200));
		assert_int_equal(lowers(common, NEAR, BRTT / 2 - 200), !common);
		assert_true(lowers(common, NEAR, BRTT / 2 + 200));
	}
}

/* The window after the time of 40 RTTs of the longest path, from four packets, behind a queue at everybody's target. */
static uint32_t grown(bool common, weft_ns brtt_ns)
{
	const weft_ns queue_ns = BRTT / 2, rtt_ns = brtt_ns + queue_ns;
	struct cc_box box;

	prepare(&box);
	tune(&box)->common_rtt = common;
	tune(&box)->max_cwnd_pct = 10000;
	cc_box_start(&box);
	ack_behind(&box, 1, brtt_ns, queue_ns, false); /* tells the base RTT */
	struct weft_cc_loss ev = {WEFT_CC_LOSS_GAP, box.cc.cwnd_bytes - 4 * MTU, 0};
	box.cc.ops->on_loss(&box.cc, &ev, box.now);
	for (weft_ns t = 0; t < 40 * TRTT; t += rtt_ns)
		ack_behind(&box, box.cc.cwnd_bytes / MTU, brtt_ns, queue_ns, false);
	return box.cc.cwnd_bytes;
}

/* In the same time by the same number of packets, though the near one's window turns over more often. */
static void common_rtt__windows_grow_alike(void **state)
{
	uint32_t far = grown(true, BRTT), near = grown(true, NEAR);

	assert_true(far > 30 * MTU);
	assert_in_range(near, far * 85 / 100, far * 115 / 100);
	assert_true(grown(false, NEAR) < far * 3 / 4);
}

/* Of a path that is shorter: the window that carries what was measured, and the largest one behind the common queue. */
static void common_rtt__windows_are_of_the_own_path(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->common_rtt = 1;
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, CAP);
	ack_behind(&box, 1, NEAR, 0, false);
	assert_int_equal(box.cc.cwnd_bytes, CAP - (BRTT - NEAR) / 2 * 25);
	assert_int_equal(cc_box_view(&box).target_rtt_ns, NEAR + BRTT / 2);
}

/* The longest base RTT grows where the rate is measured, between a connection's ACKs: its target is old then. */
static void common_rtt__longest_path_is_found_later(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->common_rtt = 1;
	cc_box_start(&box);
	ack_behind(&box, 3, NEAR, BRTT, true);
	uint32_t before = box.cc.cwnd_bytes;
	box.params.brtt_ns = 100 * BRTT;
	assert_int_equal(cc_box_view(&box).target_rtt_ns, NEAR);
	box.now += 2 * TRTT;
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 2, 0);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
	assert_true(box.cc.cwnd_bytes < before / 2);
}

/* QuickAdapts after windows in which three packets were acknowledged. */
static void end_window(struct cc_box *box)
{
	ack_behind(box, 3, BRTT, 0, false);
	cc_box_lose(box, WEFT_CC_LOSS_TRIM, 1, 0);
	box->now += TRTT;
	cc_box_lose(box, WEFT_CC_LOSS_TRIM, 1, 0);
}

static void first_qa_pct__concerns_only_the_first(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->first_qa_pct = 200;
	tune(&box)->qa_gate_pct = 1; /* three packets are more: none but the first */
	cc_box_start(&box);
	end_window(&box);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
	assert_int_equal(box.cc.cwnd_bytes, 2 * 2 * MTU); /* the first of the three ACKs began the window */
	for (int i = 0; i < 4; i++)
		end_window(&box);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
}

/* Two packets of a largest window of 53 got through: above the gate, below it, far below it. */
static void first_qa_pct__not_where_many_began_together(void **state)
{
	static const struct {
		uint32_t gate_pct, pct;
	} cases[] = {{1, 200}, {3, 200}, {5, 100}, {10, 100}, {14, 200}, {50, 200}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cc_box box;
		prepare(&box);
		tune(&box)->first_qa_pct = 200;
		tune(&box)->qa_gate_pct = cases[i].gate_pct;
		cc_box_start(&box);
		end_window(&box);
		assert_int_equal(cc_box_view(&box).quick_adapts, 1);
		assert_int_equal(box.cc.cwnd_bytes, 2 * MTU * cases[i].pct / 100);
	}
}

static void share_start__divides_the_first_window(void **state)
{
	uint32_t busy = 3;
	struct cc_box box;

	prepare(&box);
	box.params.busy_conns = &busy;
	cc_box_start(&box);
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.cwnd_bytes, CAP); /* as published */
	tune(&box)->share_start = 1;
	cc_box_start(&box);
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.cwnd_bytes, CAP / 3);
	cc_box_sent(&box, MTU, 2 * MTU); /* once */
	assert_int_equal(box.cc.cwnd_bytes, CAP / 3);
	busy = 1000000;
	cc_box_start(&box);
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	box.params.busy_conns = NULL;
	cc_box_start(&box);
	cc_box_sent(&box, MTU, MTU);
	assert_int_equal(box.cc.cwnd_bytes, CAP);
}

/* Twelve packets were in flight, two of them were trimmed. */
static void from_flight__takes_what_was_not_in_use(void **state)
{
	struct cc_box box;

	for (int on = 0; on < 2; on++) {
		prepare(&box);
		tune(&box)->from_flight = (uint8_t)on;
		cc_box_start(&box);
		cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 11 * MTU);
		cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 10 * MTU);
		assert_int_equal(box.cc.cwnd_bytes, on ? 10 * MTU : CAP - 2 * MTU);
	}
}

/* ---- share_pct ---- */

enum { BDP = 150000, EIGHTH_BYTES = BDP / 8 * (200 - 12) / 100 }; /* (2 - 1/8) / 8 of the BDP, in whole percent */

#define LINK_BPS UINT64_C(100000000000)

static void start_sharing(struct cc_box *box)
{
	prepare(box);
	tune(box)->share_pct = 200;
	cc_box_start(box);
}

static void told(struct cc_box *box, weft_ns rtt_ns, bool ce, uint64_t share_bps, bool has_room)
{
	struct weft_cc_ack ev = {.bytes = MTU,
				 .inflight_bytes = CAP / 2,
				 .rtt_ns = rtt_ns,
				 .brtt_ns = BRTT,
				 .ce = ce,
				 .has_room = has_room,
				 .share_bps = share_bps};
	box->now += 100;
	box->cc.ops->on_ack(&box->cc, &ev, box->now);
}

static void told_full(struct cc_box *box, weft_ns rtt_ns, bool ce)
{
	told(box, rtt_ns, ce, LINK_BPS / 8, false);
}

static void lose_told(struct cc_box *box)
{
	struct weft_cc_loss ev = {WEFT_CC_LOSS_TRIM, MTU, CAP / 2, LINK_BPS / 8};
	box->cc.ops->on_loss(&box->cc, &ev, box->now);
}

/* Down and up at once, whatever the window was. */
static void share_pct__is_the_window_where_the_link_is_full(void **state)
{
	struct cc_box box;

	start_sharing(&box);
	told_full(&box, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, EIGHTH_BYTES);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 3, 4 * MTU);
	assert_true(box.cc.cwnd_bytes < EIGHTH_BYTES);
	told_full(&box, TRTT, true); /* a mark is no reason to stay below: the link's queue has them */
	assert_int_equal(box.cc.cwnd_bytes, EIGHTH_BYTES);
	for (int i = 0; i < 500; i++)
		told_full(&box, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, EIGHTH_BYTES);
}

/* The receiver's link is five times as fast as ours, and it tells half of it: all of ours is less. */
static void share_pct__of_a_faster_link_is_all_of_ours(void **state)
{
	struct cc_box ours, faster;

	start_sharing(&ours);
	start_sharing(&faster);
	told(&ours, BRTT, false, LINK_BPS, false);
	told(&faster, BRTT, false, LINK_BPS * 5 / 2, false);
	assert_in_range(faster.cc.cwnd_bytes, CAP / 2, CAP);
	assert_int_equal(faster.cc.cwnd_bytes, ours.cc.cwnd_bytes);
}

/* More queue than the link's: the path is congested, and the window goes on falling. */
static void share_pct__a_congested_path_may_have_less(void **state)
{
	struct cc_box box;

	start_sharing(&box);
	for (int i = 0; i < 2000; i++)
		told_full(&box, 3 * BRTT, true);
	assert_true(box.cc.cwnd_bytes < EIGHTH_BYTES / 2);
}

static void share_pct__grows_when_others_end(void **state)
{
	struct cc_box box;

	start_sharing(&box);
	told(&box, BRTT, false, LINK_BPS, true);
	assert_int_equal(box.cc.cwnd_bytes, CAP); /* never had a share */
	told_full(&box, BRTT, false);
	told(&box, 2 * BRTT, false, LINK_BPS / 2, true);
	assert_in_range(box.cc.cwnd_bytes, EIGHTH_BYTES, EIGHTH_BYTES + MTU); /* not while the path is busy */
	told(&box, BRTT, false, LINK_BPS / 2, true);
	assert_int_equal(box.cc.cwnd_bytes, BDP * 3 / 4);
	told(&box, BRTT, false, LINK_BPS, true);
	assert_int_equal(box.cc.cwnd_bytes, BDP);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 5, CAP);
	told(&box, BRTT, false, LINK_BPS, true);
	assert_true(box.cc.cwnd_bytes < BDP); /* the link was its own */
}

/* The first QuickAdapt takes the share instead of a measurement; then what was in flight is ignored. */
static void share_pct__first_trim_tells_the_window(void **state)
{
	struct cc_box box;

	start_sharing(&box);
	lose_told(&box);
	assert_int_equal(box.cc.cwnd_bytes, EIGHTH_BYTES);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
	for (int i = 0; i < 10; i++)
		lose_told(&box);
	assert_int_equal(box.cc.cwnd_bytes, EIGHTH_BYTES);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
}

/* The receiver's link carries a tenth of what the receiver says. */
static void share_pct__measures_where_the_link_is_slower(void **state)
{
	struct cc_box box;

	start_sharing(&box);
	for (int i = 0; i < 200; i++, box.now += TRTT / 20) {
		lose_told(&box);
		if (i % 40 == 0)
			told_full(&box, 3 * BRTT, true);
	}
	assert_true(cc_box_view(&box).quick_adapts > 1);
	assert_true(box.cc.cwnd_bytes <= 2 * MTU);
}

static void share_pct__not_without_trimming_or_when_off(void **state)
{
	struct cc_box box;

	for (int off = 0; off < 2; off++) {
		start_sharing(&box);
		box.params.trimming = off;
		tune(&box)->share_pct = off ? 0 : 200;
		cc_box_start(&box);
		told_full(&box, BRTT, false);
		assert_int_equal(box.cc.cwnd_bytes, CAP);
	}
}

static void smartt3__has_them_all(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt3, 100000000000, BRTT);
	cc_box_start(&box);
	assert_string_equal(box.cc.ops->name, "smartt3");
	assert_true(tune(&box)->common_rtt && tune(&box)->share_start && tune(&box)->from_flight);
	assert_true(tune(&box)->share_pct > 100);
	assert_true(tune(&box)->first_qa_pct && tune(&box)->first_qa_pct < 100 && tune(&box)->qa_gate_pct);
	assert_int_equal(cc_box_view(&box).target_rtt_ns, BRTT * 175 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(common_rtt__one_queue_is_the_target_of_all),
		cmocka_unit_test(common_rtt__windows_grow_alike),
		cmocka_unit_test(common_rtt__windows_are_of_the_own_path),
		cmocka_unit_test(common_rtt__longest_path_is_found_later),
		cmocka_unit_test(first_qa_pct__concerns_only_the_first),
		cmocka_unit_test(first_qa_pct__not_where_many_began_together),
		cmocka_unit_test(share_start__divides_the_first_window),
		cmocka_unit_test(from_flight__takes_what_was_not_in_use),
		cmocka_unit_test(share_pct__is_the_window_where_the_link_is_full),
		cmocka_unit_test(share_pct__of_a_faster_link_is_all_of_ours),
		cmocka_unit_test(share_pct__a_congested_path_may_have_less),
		cmocka_unit_test(share_pct__grows_when_others_end),
		cmocka_unit_test(share_pct__first_trim_tells_the_window),
		cmocka_unit_test(share_pct__measures_where_the_link_is_slower),
		cmocka_unit_test(share_pct__not_without_trimming_or_when_off),
		cmocka_unit_test(smartt3__has_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
