/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that turn SMaRTT into what its paper compares it with, and the variant "smartt2". */
#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"
#include "rng.h"

enum { BRTT = 12000, TRTT = 18000, MTU = 4200, BDP = 150000, CAP = 225000 };

static struct smartt_tune *tune(struct cc_box *box)
{
	return (struct smartt_tune *)box->tune;
}

static void prepare(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_smartt, 100000000000, BRTT);
}

/* Half the window, long after the last decrease, the average RTT at `rtt_ns`. */
static void settle(struct cc_box *box, weft_ns rtt_ns)
{
	cc_box_start(box);
	box->now += BRTT;
	struct weft_cc_loss ev = {WEFT_CC_LOSS_GAP, CAP / 2, 0};
	box->cc.ops->on_loss(&box->cc, &ev, box->now);
	for (int i = 0; i < 400; i++)
		cc_box_ack(box, 0, rtt_ns, false);
	box->now += BRTT;
}

static uint32_t after_acks(struct cc_box *box, unsigned n, weft_ns rtt_ns, bool ce)
{
	cc_box_acks(box, n, 1, rtt_ns, ce);
	return box->cc.cwnd_bytes;
}

static void signals__delay_alone(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->signals = SMARTT_DELAY;
	settle(&box, 2 * BRTT);
	uint32_t before = box.cc.cwnd_bytes;
	assert_true(after_acks(&box, 1, 2 * BRTT, false) < before); /* late and unmarked */
	settle(&box, 15000);
	before = box.cc.cwnd_bytes;
	assert_true(after_acks(&box, 40, 15000, true) > before); /* marked and early */
}

static void signals__ecn_alone(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->signals = SMARTT_ECN;
	settle(&box, 15000);
	uint32_t before = box.cc.cwnd_bytes;
	assert_int_equal(after_acks(&box, 1, 15000, true), before - MTU / 2);
	settle(&box, 4 * BRTT);
	before = box.cc.cwnd_bytes;
	assert_true(after_acks(&box, 40, 4 * BRTT, false) > before);
	assert_int_equal(cc_box_view(&box).decreases, 0);
}

static void ecn_decrease__answers_marks_below_the_target(void **state)
{
	struct cc_box box;

	prepare(&box);
	settle(&box, 15000);
	uint32_t before = box.cc.cwnd_bytes;
	assert_int_equal(after_acks(&box, 10, 15000, true), before);
	tune(&box)->ecn_decrease = 1;
	settle(&box, 15000);
	assert_int_equal(after_acks(&box, 10, 15000, true), before - 10 * MTU / 2);
}

/* Between two samples nothing happens; over many of them the window goes where it goes with every ACK. */
static void sample_acks__same_way_in_larger_steps(void **state)
{
	struct cc_box every, eighth;

	prepare(&every);
	prepare(&eighth);
	tune(&eighth)->sample_acks = 8;
	settle(&every, 15000);
	settle(&eighth, 15000);
	for (int i = 0; i < 40; i++) {
		uint32_t before = eighth.cc.cwnd_bytes;
		assert_int_equal(after_acks(&eighth, 7, 15000, false), before);
		cc_box_acks(&eighth, 1, 1, 15000, false);
		cc_box_acks(&every, 8, 1, 15000, false);
		assert_in_range(eighth.cc.cwnd_bytes, every.cc.cwnd_bytes - MTU, every.cc.cwnd_bytes + MTU);
	}
	assert_true(every.cc.cwnd_bytes > CAP / 2 + 4 * MTU);
}

static void sample_rtt__adjusts_once_per_rtt(void **state)
{
	struct cc_box box;
	uint32_t changes = 0;

	prepare(&box);
	tune(&box)->sample_rtt = 1;
	settle(&box, 15000);
	for (int i = 0; i < 1500; i++) { /* ten RTTs */
		uint32_t before = box.cc.cwnd_bytes;
		cc_box_acks(&box, 1, 100, 15000, false);
		changes += box.cc.cwnd_bytes != before;
	}
	assert_in_range(changes, 5, 10);
	assert_true(box.cc.cwnd_bytes > CAP / 2);
}

/* A window in which packets were trimmed ends. */
static void end_trimmed_window(struct cc_box *box)
{
	cc_box_acks(box, 5, 100, 15000, false);
	cc_box_lose(box, WEFT_CC_LOSS_TRIM, 10, 0);
	box->now += TRTT;
	cc_box_acks(box, 1, 100, 2 * BRTT, true);
}

/* Algorithm 4 line 2 needs no division: QuickAdapt measures the same whatever the sampling (sec. III-G). */
static void sampling__quick_adapt_measures_every_ack(void **state)
{
	uint32_t cwnd_bytes[3];

	for (int i = 0; i < 3; i++) {
		struct cc_box box;
		prepare(&box);
		tune(&box)->sample_acks = i == 1 ? 100 : 1;
		tune(&box)->sample_rtt = i == 2;
		cc_box_start(&box);
		end_trimmed_window(&box);
		assert_int_equal(cc_box_view(&box).quick_adapts, 1);
		cwnd_bytes[i] = box.cc.cwnd_bytes;
	}
	assert_int_equal(cwnd_bytes[1], cwnd_bytes[0]);
	assert_int_equal(cwnd_bytes[2], cwnd_bytes[0]);
}

static void quick_adapt__may_be_off(void **state)
{
	struct cc_box box;

	prepare(&box);
	cc_box_start(&box);
	end_trimmed_window(&box);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
	tune(&box)->quick_adapt = 0;
	cc_box_start(&box);
	end_trimmed_window(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 0);
	box.now += TRTT;
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 0);
	assert_int_equal(cc_box_view(&box).quick_adapts, 0);
	assert_int_equal(box.cc.cwnd_bytes, CAP - 12 * MTU);
}

/* Six packets were acknowledged: 11 % of the largest window. */
static void qa_gate__lets_only_severe_congestion_through(void **state)
{
	struct cc_box box;

	for (uint32_t gate = 8; gate <= 20; gate += 12) {
		prepare(&box);
		tune(&box)->qa_gate_pct = gate;
		cc_box_start(&box);
		end_trimmed_window(&box);
		assert_int_equal(cc_box_view(&box).quick_adapts, gate > 11);
	}
}

static void ignore_phase__all_or_marked_or_nothing(void **state)
{
	const struct {
		uint32_t ignore;
		bool marked, unmarked; /* ACKs of that kind count during the phase */
	} cases[] = {{SMARTT_IGNORE_ALL, false, false},
		     {SMARTT_IGNORE_MARKED, false, true},
		     {SMARTT_IGNORE_NONE, true, true}};
	struct cc_box box;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (int ce = 0; ce < 2; ce++) {
			prepare(&box);
			tune(&box)->ignore_phase = cases[i].ignore;
			tune(&box)->ewma_shift = 1;
			cc_box_start(&box);
			cc_box_acks(&box, 30, 100, 3 * BRTT, false);
			end_trimmed_window(&box); /* the window's worth is in flight */
			uint32_t before = box.cc.cwnd_bytes;
			bool moved = after_acks(&box, 40, 3 * BRTT, ce) != before;
			assert_int_equal(moved, ce ? cases[i].marked : cases[i].unmarked);
		}
	}
}

static void fast_increase__may_be_off(void **state)
{
	struct cc_box box;

	for (uint8_t on = 0; on < 2; on++) {
		prepare(&box);
		tune(&box)->fast_increase = on;
		settle(&box, BRTT);
		cc_box_acks(&box, 60, 1, BRTT, false);
		assert_int_equal(cc_box_view(&box).fast_increases, on);
	}
}

/* Figure 6: with fair increase a connection with a quarter of the base RTT grows by a quarter per RTT. */
static void fair_increase__off_is_the_same_for_all(void **state)
{
	uint32_t grown[2];

	for (uint8_t fair = 0; fair < 2; fair++) {
		struct cc_box box;
		prepare(&box);
		tune(&box)->fair_increase = fair;
		tune(&box)->max_cwnd_pct = 10000;
		cc_box_start(&box);
		struct weft_cc_ack near = {.bytes = 0, .rtt_ns = BRTT, .brtt_ns = BRTT / 4};
		box.cc.ops->on_ack(&box.cc, &near, box.now);
		near.bytes = MTU;
		struct weft_cc_loss ev = {WEFT_CC_LOSS_GAP, box.cc.cwnd_bytes - 100 * MTU, 0};
		box.cc.ops->on_loss(&box.cc, &ev, box.now);
		for (int i = 0; i < 1600; i++)
			box.cc.ops->on_ack(&box.cc, &near, box.now);
		grown[fair] = box.cc.cwnd_bytes - 100 * MTU;
	}
	assert_in_range(grown[0], 3 * grown[1], 6 * grown[1]); /* in whole packets */
}

/* A trim at a window of one packet halves it, once per average RTT; the pace is one packet per RTT / window. Unmarked
 * ACKs bring the packet back. */
static void pace_below__takes_over_below_a_packet(void **state)
{
	struct cc_box box;

	prepare(&box);
	cc_box_start(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 1000, 0);
	assert_int_equal(box.cc.pace, 0);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
	tune(&box)->pace_below = 1;
	tune(&box)->quick_adapt = 0;
	cc_box_start(&box);
	for (uint32_t part = 2; part <= 64; part *= 2) {
		box.now += BRTT;
		cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1000, 0);
		assert_int_equal(box.cc.cwnd_bytes, MTU);
		assert_in_range((uint64_t)box.cc.pace * MTU >> 20, part * BRTT / 100 * 98, part * BRTT / 100 * 102);
	}
	cc_box_acks(&box, 2, 100, 15000, false);
	assert_int_equal(box.cc.pace, 0);
	assert_true(box.cc.cwnd_bytes >= MTU);
}

/* A window's end without an ACK is no reason to go below a packet. */
static void pace_below__quick_adapt_leaves_a_packet(void **state)
{
	struct cc_box box;

	prepare(&box);
	tune(&box)->pace_below = 1;
	cc_box_start(&box);
	for (int i = 0; i < 4; i++, box.now += 2 * TRTT)
		cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 10, 0);
	assert_true(cc_box_view(&box).quick_adapts > 0);
	box.now += 3 * TRTT;
	cc_box_ack(&box, 0, BRTT, false);
	assert_int_equal(box.cc.pace, 0);
}

static void random_event(struct cc_box *box, struct rng *rng)
{
	box->now += rng_below(rng, 2000);
	if (rng_below(rng, 6) == 0)
		cc_box_lose(box, (enum weft_cc_loss_kind)rng_below(rng, WEFT_CC_LOSS_KINDS), 1, rng_below(rng, CAP));
	else
		cc_box_ack(box, rng_below(rng, 2 * MTU), rng_below(rng, 5 * BRTT), rng_below(rng, 2));
}

/* Every combination of the options keeps the window between a packet and the cap. */
static void options__keep_the_bounds_together(void **state)
{
	for (uint32_t mask = 0; mask < 256; mask++) {
		struct cc_box box;
		struct rng rng = {mask};
		prepare(&box);
		tune(&box)->signals = mask % 3;
		tune(&box)->ignore_phase = mask / 3 % 3;
		tune(&box)->sample_acks = mask & 1 ? 1 : 5;
		tune(&box)->sample_rtt = mask >> 1 & 1;
		tune(&box)->quick_adapt = mask >> 2 & 1;
		tune(&box)->fast_increase = mask >> 3 & 1;
		tune(&box)->fair_increase = mask >> 4 & 1;
		tune(&box)->ecn_decrease = mask >> 5 & 1;
		tune(&box)->pace_below = mask >> 6 & 1;
		tune(&box)->qa_gate_pct = mask >> 7 & 1 ? 20 : 0;
		tune(&box)->burst_target = mask & 1;
		tune(&box)->longest_target = mask >> 1 & 1;
		tune(&box)->common_rtt = mask >> 2 & 1;
		tune(&box)->first_qa_pct = mask >> 3 & 1 ? 75 : 0;
		tune(&box)->from_flight = mask >> 4 & 1;
		cc_box_start(&box);
		for (int i = 0; i < 3000; i++) {
			random_event(&box, &rng);
			assert_in_range(box.cc.cwnd_bytes, MTU, CAP);
			assert_true(!box.cc.pace || (tune(&box)->pace_below && box.cc.cwnd_bytes == MTU));
		}
	}
}

/* ACKs for four packets raise the target by the time of three, ACKs for one leave it alone. */
static void burst_target__follows_coalesced_acks(void **state)
{
	enum { PKT_NS = MTU * 8 / 100 };
	struct cc_box box;

	prepare(&box);
	tune(&box)->burst_target = 1;
	cc_box_start(&box);
	for (uint32_t pkts = 4; pkts <= 4; pkts -= 3) { /* four, then one */
		for (int i = 0; i < 60; i++) {
			box.now += 3 * TRTT; /* each ends a window */
			cc_box_ack(&box, pkts * MTU, 15000, false);
		}
		weft_ns expected = TRTT + (pkts - 1) * PKT_NS;
		assert_in_range(cc_box_view(&box).target_rtt_ns, expected - 20, expected + 20);
	}
	tune(&box)->burst_target = 0;
	cc_box_start(&box);
	for (int i = 0; i < 60; i++, box.now += 3 * TRTT)
		cc_box_ack(&box, 4 * MTU, 15000, false);
	assert_int_equal(cc_box_view(&box).target_rtt_ns, TRTT);
}

/* A connection of half the longest path's base RTT has half a longest base RTT of queue below its target. */
static void longest_target__leaves_the_longest_paths_queue(void **state)
{
	struct cc_box box;

	for (int longest = 0; longest < 2; longest++) {
		prepare(&box);
		tune(&box)->longest_target = (uint8_t)longest;
		cc_box_start(&box);
		struct weft_cc_ack near = {.bytes = 0, .rtt_ns = BRTT / 2, .brtt_ns = BRTT / 2};
		box.cc.ops->on_ack(&box.cc, &near, box.now);
		assert_int_equal(cc_box_view(&box).target_rtt_ns, longest ? BRTT / 2 + BRTT / 2 : BRTT / 2 * 3 / 2);
	}
}

static void start_pct__is_the_initial_window(void **state)
{
	struct cc_box box;

	prepare(&box);
	for (uint32_t pct = 100; pct <= 300; pct += 100) { /* the largest window is 150 % */
		tune(&box)->start_pct = pct;
		cc_box_start(&box);
		assert_int_equal(box.cc.cwnd_bytes, pct == 100 ? CAP * 2 / 3 : CAP);
	}
	tune(&box)->start_pct = 1;
	cc_box_start(&box);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
}

static void smartt2__differs_in_its_defaults(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt2, 100000000000, BRTT);
	cc_box_start(&box);
	assert_int_equal(cc_box_view(&box).target_rtt_ns, TRTT);
	assert_in_range(box.cc.cwnd_bytes, CAP * 2 / 3, CAP - MTU);
	assert_true(tune(&box)->qa_scaling_pct > 100);
	assert_int_equal(tune(&box)->ignore_phase, SMARTT_IGNORE_NONE);
	assert_int_equal(tune(&box)->burst_target, 1);
	assert_true(tune(&box)->fi_pct > 100 && tune(&box)->pi_pct > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals__delay_alone),
		cmocka_unit_test(signals__ecn_alone),
		cmocka_unit_test(ecn_decrease__answers_marks_below_the_target),
		cmocka_unit_test(sample_acks__same_way_in_larger_steps),
		cmocka_unit_test(sample_rtt__adjusts_once_per_rtt),
		cmocka_unit_test(sampling__quick_adapt_measures_every_ack),
		cmocka_unit_test(quick_adapt__may_be_off),
		cmocka_unit_test(qa_gate__lets_only_severe_congestion_through),
		cmocka_unit_test(ignore_phase__all_or_marked_or_nothing),
		cmocka_unit_test(fast_increase__may_be_off),
		cmocka_unit_test(fair_increase__off_is_the_same_for_all),
		cmocka_unit_test(pace_below__takes_over_below_a_packet),
		cmocka_unit_test(pace_below__quick_adapt_leaves_a_packet),
		cmocka_unit_test(options__keep_the_bounds_together),
		cmocka_unit_test(burst_target__follows_coalesced_acks),
		cmocka_unit_test(longest_target__leaves_the_longest_paths_queue),
		cmocka_unit_test(start_pct__is_the_initial_window),
		cmocka_unit_test(smartt2__differs_in_its_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
