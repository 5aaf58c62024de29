/* SPDX-License-Identifier: BSD-3-Clause */
/* Single rules of SMaRTT; test_smartt_model.c compares whole runs, test_smartt_loop.c closes the loop. */
#include <math.h>

#include "cc_box.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { BRTT = 12000, TRTT = 18000, MTU = 4200, BDP = 150000, CAP = 225000, GAP_NS = 100 };

static const uint64_t LINK_BPS = 100000000000; /* with BRTT the paper's reference: fi and pi are not scaled */

static struct smartt_tune *tune(struct cc_box *box)
{
	return (struct smartt_tune *)box->tune;
}

static void setup(struct cc_box *box)
{
	cc_box_init(box, &weft_cc_smartt, LINK_BPS, BRTT);
	cc_box_start(box);
}

/* Brings the window to `pkts` packets by gaps, which neither measure nor trigger. */
static void shrink_to(struct cc_box *box, uint32_t pkts)
{
	while (box->cc.cwnd_bytes > pkts * MTU) {
		struct weft_cc_loss ev = {WEFT_CC_LOSS_GAP, box->cc.cwnd_bytes - pkts * MTU, 0};
		box->cc.ops->on_loss(&box->cc, &ev, box->now);
	}
}

/* Growth of a `cwnd` packets window by one window of ACKs with `rtt_ns`, packets. */
static double growth_per_rtt(struct cc_box *box, uint32_t cwnd, weft_ns rtt_ns)
{
	enum { RTTS = 20 };

	double grown = 0;
	for (int i = 0; i < RTTS; i++) {
		shrink_to(box, cwnd);
		uint32_t before = box->cc.cwnd_bytes;
		cc_box_acks(box, cwnd, 1, rtt_ns, false);
		shrink_to(box, 1000); /* nothing to cut: collected growth is applied */
		struct weft_cc_loss nothing = {WEFT_CC_LOSS_GAP, 0, 0};
		box->cc.ops->on_loss(&box->cc, &nothing, box->now);
		grown += (double)(box->cc.cwnd_bytes - before) / MTU;
	}
	return grown / RTTS;
}

static void assert_near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance * fabs(expected))
		print_message("%g instead of %g\n", value, expected);
	assert_true(fabs(value - expected) <= tolerance * fabs(expected));
}

static void init__window_is_the_cap(void **state)
{
	const struct {
		uint64_t link_bps;
		weft_ns brtt_ns;
		uint32_t cap;
	} cases[] = {{100000000000, 12000, 225000},
		     {800000000000, 11450, 1717500},
		     {50000000000, 8000, 75000},
		     {10000000, 1000000, MTU},
		     {10000000, 10000000, 18750},
		     {1600000000000, WEFT_S(10), (uint32_t)(((UINT64_C(1) << 40) - 256) / MTU)}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct cc_box box;
		cc_box_init(&box, &weft_cc_smartt, cases[i].link_bps, cases[i].brtt_ns);
		cc_box_start(&box);
		assert_int_equal(box.cc.cwnd_bytes, cases[i].cap);
		assert_int_equal(box.cc.pace, 0);
	}
}

static void increase__fair_is_fi_per_rtt(void **state)
{
	struct cc_box box;

	setup(&box);
	assert_near(growth_per_rtt(&box, 20, 30000), 1, 0.03);
	tune(&box)->fi_pct = 150;
	cc_box_start(&box);
	assert_near(growth_per_rtt(&box, 20, 30000), 1.5, 0.05);
}

static void increase__proportional_follows_equation_3(void **state)
{
	const weft_ns rtts[] = {14000, 15000, 16000, 17000};
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->fi_pct = 0;
	cc_box_start(&box);
	for (size_t i = 0; i < sizeof rtts / sizeof rtts[0]; i++) {
		double expected = 2.0 * (double)(TRTT - rtts[i]) / (double)rtts[i];
		assert_near(growth_per_rtt(&box, 20, rtts[i]), expected, 0.04);
	}
	assert_near(growth_per_rtt(&box, 20, TRTT), 0, 0);
}

static void increase__scales_with_the_bdp(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, 8 * LINK_BPS, BRTT);
	cc_box_start(&box);
	assert_near(growth_per_rtt(&box, 100, 30000), 8 * 1, 0.05);
	cc_box_init(&box, &weft_cc_smartt, LINK_BPS / 2, BRTT);
	tune(&box)->fi_pct = 0;
	cc_box_start(&box);
	assert_near(growth_per_rtt(&box, 12, 15000), 0.5 * 2 * 0.2, 0.04);
}

/* min(size, ...): below its bound the proportional part at most doubles the window in an RTT. */
static void increase__proportional_is_bound_by_the_size(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->pi_pct = 10000;
	tune(&box)->fi_pct = 0;
	cc_box_start(&box);
	shrink_to(&box, 4);
	cc_box_acks(&box, 1, GAP_NS, 14000, false);
	assert_in_range(box.cc.cwnd_bytes, 5 * MTU - 2, 5 * MTU);
}

static void core_cases__marked_below_target_changes_nothing(void **state)
{
	struct cc_box box;

	setup(&box);
	shrink_to(&box, 20);
	cc_box_acks(&box, 1000, GAP_NS, TRTT - 1, true);
	assert_int_equal(box.cc.cwnd_bytes, 20 * MTU);
}

/* The window after one decrease at a steady RTT, as a share of before. */
static double decrease_at(weft_ns rtt_ns)
{
	struct cc_box box;

	setup(&box);
	cc_box_acks(&box, 600, GAP_NS, rtt_ns, false); /* the average is there, the window stays at its cap */
	assert_int_equal(box.cc.cwnd_bytes, CAP);
	cc_box_acks(&box, 1, GAP_NS, rtt_ns, true);
	return (double)box.cc.cwnd_bytes / CAP;
}

static void decrease__follows_equation_1(void **state)
{
	const weft_ns rtts[] = {19000, 20000, 24000, 30000, 36000, 47000};

	for (size_t i = 0; i < sizeof rtts / sizeof rtts[0]; i++) {
		double expected = 1 - 0.8 * (double)(rtts[i] - TRTT) / (double)rtts[i];
		assert_near(decrease_at(rtts[i]), expected, 0.002);
	}
}

static void decrease__halves_at_most(void **state)
{
	assert_near(decrease_at(60000), 0.5, 0.0001);
	assert_near(decrease_at(WEFT_S(10)), 0.5, 0.0001);
}

static void decrease__once_per_base_rtt(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_acks(&box, 300, GAP_NS, 24000, false);
	cc_box_acks(&box, BRTT / GAP_NS, GAP_NS, 24000, true);
	assert_int_equal(cc_box_view(&box).decreases, 1);
	cc_box_acks(&box, 1, GAP_NS, 24000, true);
	assert_int_equal(cc_box_view(&box).decreases, 2);
}

static void decrease__not_while_the_average_is_low(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_acks(&box, 100, GAP_NS, 13000, true);
	cc_box_acks(&box, 1, GAP_NS, 30000, true);
	assert_int_equal(box.cc.cwnd_bytes, CAP);
	assert_int_equal(cc_box_view(&box).decreases, 0);
}

static void quick_adapt__first_window_only_measures(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, CAP);
	assert_int_equal(box.cc.cwnd_bytes, CAP - MTU);
	assert_int_equal(cc_box_view(&box).quick_adapts, 0);
}

/* Trims at once, then `acked` packets within a target RTT; an ACK ends the window. */
static void adapt(struct cc_box *box, unsigned acked, uint64_t inflight_bytes)
{
	cc_box_lose(box, WEFT_CC_LOSS_TRIM, 5, inflight_bytes);
	cc_box_acks(box, acked - 1, 1, 20000, true);
	box->now += TRTT;
	struct weft_cc_ack ev = {MTU, inflight_bytes, 20000, BRTT, true};
	box->cc.ops->on_ack(&box->cc, &ev, box->now);
}

static void quick_adapt__window_becomes_what_was_acknowledged(void **state)
{
	struct cc_box box;

	setup(&box);
	adapt(&box, 7, 0);
	assert_int_equal(box.cc.cwnd_bytes, 7 * MTU);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
}

static void quick_adapt__scaled_and_at_least_a_packet(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->qa_scaling_pct = 50;
	cc_box_start(&box);
	adapt(&box, 10, 0);
	assert_int_equal(box.cc.cwnd_bytes, 5 * MTU);
	cc_box_start(&box);
	adapt(&box, 1, 0);
	assert_int_equal(box.cc.cwnd_bytes, MTU);
}

static void quick_adapt__by_a_trim_that_ends_the_window(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, CAP);
	cc_box_acks(&box, 9, 1, 20000, true);
	box.now += TRTT;
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 0);
	assert_int_equal(box.cc.cwnd_bytes, 9 * MTU);
}

static void quick_adapt__not_without_a_trim(void **state)
{
	struct cc_box box;

	setup(&box);
	for (int i = 0; i < 10; i++) {
		cc_box_acks(&box, 3, TRTT, 17000, true);
		cc_box_lose(&box, WEFT_CC_LOSS_GAP, 1, CAP);
		cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 1, CAP);
	}
	assert_int_equal(cc_box_view(&box).quick_adapts, 0);
	assert_int_equal(box.cc.cwnd_bytes, CAP - 20 * MTU);
}

static void ignore_phase__lasts_what_was_in_flight(void **state)
{
	struct cc_box box;

	setup(&box);
	adapt(&box, 7, 30 * MTU);
	uint32_t decreases = cc_box_view(&box).decreases;
	cc_box_acks(&box, 20, BRTT, 40000, true);
	cc_box_acks(&box, 9, BRTT, 40000, false);
	assert_int_equal(box.cc.cwnd_bytes, 7 * MTU);
	cc_box_acks(&box, 1, BRTT, 40000, true);
	assert_int_equal(cc_box_view(&box).decreases, decreases + 1);
	assert_true(box.cc.cwnd_bytes < 7 * MTU);
}

static void ignore_phase__late_losses_are_ignored(void **state)
{
	struct cc_box box;

	setup(&box);
	adapt(&box, 7, 30 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 10, 20 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_GAP, 10, 10 * MTU);
	assert_int_equal(box.cc.cwnd_bytes, 7 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TIMEOUT, 10, 0); /* the last one ends the phase and counts */
	assert_int_equal(box.cc.cwnd_bytes, 6 * MTU);
}

static void ignore_phase__trims_cost_nothing(void **state)
{
	struct cc_box box;

	setup(&box);
	adapt(&box, 7, 30 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 29, MTU);
	assert_int_equal(box.cc.cwnd_bytes, 7 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 0);
	assert_int_equal(box.cc.cwnd_bytes, 6 * MTU);
}

/* A trim in the ignore phase arms QuickAdapt again, but it measures one target RTT from the end of the phase. */
static void ignore_phase__measures_anew_afterwards(void **state)
{
	struct cc_box box;

	setup(&box);
	adapt(&box, 20, 30 * MTU);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, 29 * MTU);
	cc_box_acks(&box, 29, 2 * TRTT, 20000, true);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
	cc_box_acks(&box, 3, 1, 17000, true);
	cc_box_acks(&box, 1, TRTT, 17000, true);
	assert_int_equal(cc_box_view(&box).quick_adapts, 2);
	assert_int_equal(box.cc.cwnd_bytes, 4 * MTU);
}

/* Two windows: in each, `acked` packets return with `rtt_ns`. */
static uint32_t untrimmed(unsigned acked, weft_ns rtt_ns)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	box.params.trimming = false;
	cc_box_start(&box);
	for (int i = 0; i < 2; i++) {
		box.now += TRTT;
		cc_box_acks(&box, acked, 1, rtt_ns, false);
	}
	return cc_box_view(&box).quick_adapts;
}

static void quick_adapt__untrimmed_needs_high_rtt_and_few_acked(void **state)
{
	assert_int_equal(untrimmed(10, 22000), 1);
	assert_int_equal(untrimmed(10, 20900), 0);
	assert_int_equal(untrimmed(30, 22000), 0);
}

static void fast_increase__after_a_clean_window(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->fi_pct = tune(&box)->pi_pct = 0;
	cc_box_start(&box);
	shrink_to(&box, 10);
	cc_box_acks(&box, 10, GAP_NS, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, 10 * MTU);
	cc_box_acks(&box, 1, GAP_NS, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, 12 * MTU);
	cc_box_acks(&box, 5, GAP_NS, BRTT + BRTT / 8, false);
	assert_int_equal(box.cc.cwnd_bytes, 22 * MTU);
	assert_int_equal(cc_box_view(&box).fast_increases, 1);
	cc_box_acks(&box, 1000, GAP_NS, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, CAP);
}

/* What interrupts a fast increase: the next clean ACK must not grow the window. */
static void fast_increase__ends_with(void (*what)(struct cc_box *box))
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->fi_pct = tune(&box)->pi_pct = 0;
	cc_box_start(&box);
	shrink_to(&box, 10);
	cc_box_acks(&box, 12, GAP_NS, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, 14 * MTU);
	what(&box);
	uint32_t before = box.cc.cwnd_bytes;
	cc_box_acks(&box, 1, GAP_NS, BRTT, false);
	assert_int_equal(box.cc.cwnd_bytes, before);
}

static void mark(struct cc_box *box)
{
	cc_box_acks(box, 1, GAP_NS, BRTT, true);
}

static void delay(struct cc_box *box)
{
	cc_box_acks(box, 1, GAP_NS, BRTT + BRTT / 8 + 1, false);
}

static void trim(struct cc_box *box)
{
	cc_box_lose(box, WEFT_CC_LOSS_TRIM, 1, 0);
}

static void time_out(struct cc_box *box)
{
	cc_box_lose(box, WEFT_CC_LOSS_TIMEOUT, 1, 0);
}

static void fast_increase__ends_with_any_congestion(void **state)
{
	fast_increase__ends_with(mark);
	fast_increase__ends_with(delay);
	fast_increase__ends_with(trim);
	fast_increase__ends_with(time_out);
}

static void on_loss__each_kind_costs_its_size(void **state)
{
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++) {
		struct cc_box box;
		setup(&box);
		cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 3, 0);
		assert_int_equal(box.cc.cwnd_bytes, CAP - 3 * MTU);
		cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 100, 0);
		assert_int_equal(box.cc.cwnd_bytes, MTU);
	}
}

/* Growth collected at a large window must not be divided by a small one. */
static void on_loss__collected_growth_counts_for_the_old_window(void **state)
{
	struct cc_box box;

	setup(&box);
	shrink_to(&box, 50);
	do {
		cc_box_acks(&box, 1, 1, 15000, false);
	} while (box.cc.cwnd_bytes == 50 * MTU);
	cc_box_acks(&box, 60, 1, 15000, false);
	shrink_to(&box, 1);
	cc_box_acks(&box, 1, 1, 15000, false);
	assert_in_range(box.cc.cwnd_bytes, MTU, 3 * MTU); /* fi + 0.4 pi for a window of one */
}

static void on_ack__without_sample_uses_the_average(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_acks(&box, 300, GAP_NS, 24000, false);
	weft_ns before = cc_box_view(&box).avg_rtt_ns;
	cc_box_acks(&box, 5, GAP_NS, 0, false);
	assert_int_equal(cc_box_view(&box).avg_rtt_ns, before);
	cc_box_acks(&box, 1, GAP_NS, 0, true);
	assert_int_equal(cc_box_view(&box).decreases, 1);
}

static void on_ack__average_is_an_ewma(void **state)
{
	struct cc_box box;

	cc_box_init(&box, &weft_cc_smartt, LINK_BPS, BRTT);
	tune(&box)->ewma_shift = 4;
	cc_box_start(&box);
	double avg = BRTT;
	for (weft_ns rtt = 12000; rtt < 40000; rtt += 500) {
		cc_box_acks(&box, 1, GAP_NS, rtt, true);
		avg += ((double)rtt - avg) / 16;
		assert_near((double)cc_box_view(&box).avg_rtt_ns, avg, 0.001);
	}
}

static void on_ack__new_base_rtt_rescales(void **state)
{
	struct cc_box box;

	setup(&box);
	box.params.brtt_ns = BRTT / 2;
	cc_box_acks(&box, 1, GAP_NS, BRTT / 2, false);
	assert_int_equal(box.cc.cwnd_bytes, CAP / 2);
	assert_int_equal(cc_box_view(&box).target_rtt_ns, TRTT / 2);
	assert_near(growth_per_rtt(&box, 10, 30000), 0.5, 0.03);
}

/* A trim long ago and a pause: the first ACK afterwards must not adapt the window to its own few bytes. */
static void on_sent__idle_time_voids_the_measurement(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, MTU);
	cc_box_acks(&box, 1, GAP_NS, 20000, false);
	box.now += WEFT_MS(10);
	cc_box_sent(&box, MTU, MTU);
	box.now += BRTT;
	cc_box_acks(&box, 1, GAP_NS, BRTT, false);
	assert_int_equal(cc_box_view(&box).quick_adapts, 0);
	assert_int_equal(box.cc.cwnd_bytes, CAP - MTU);
}

static void on_sent__a_running_measurement_goes_on(void **state)
{
	struct cc_box box;

	setup(&box);
	cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1, MTU);
	cc_box_sent(&box, MTU, MTU);
	cc_box_acks(&box, 1, TRTT, 20000, false);
	assert_int_equal(cc_box_view(&box).quick_adapts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__window_is_the_cap),
		cmocka_unit_test(increase__fair_is_fi_per_rtt),
		cmocka_unit_test(increase__proportional_follows_equation_3),
		cmocka_unit_test(increase__scales_with_the_bdp),
		cmocka_unit_test(increase__proportional_is_bound_by_the_size),
		cmocka_unit_test(core_cases__marked_below_target_changes_nothing),
		cmocka_unit_test(decrease__follows_equation_1),
		cmocka_unit_test(decrease__halves_at_most),
		cmocka_unit_test(decrease__once_per_base_rtt),
		cmocka_unit_test(decrease__not_while_the_average_is_low),
		cmocka_unit_test(quick_adapt__first_window_only_measures),
		cmocka_unit_test(quick_adapt__window_becomes_what_was_acknowledged),
		cmocka_unit_test(quick_adapt__scaled_and_at_least_a_packet),
		cmocka_unit_test(quick_adapt__by_a_trim_that_ends_the_window),
		cmocka_unit_test(quick_adapt__not_without_a_trim),
		cmocka_unit_test(ignore_phase__lasts_what_was_in_flight),
		cmocka_unit_test(ignore_phase__late_losses_are_ignored),
		cmocka_unit_test(ignore_phase__trims_cost_nothing),
		cmocka_unit_test(ignore_phase__measures_anew_afterwards),
		cmocka_unit_test(quick_adapt__untrimmed_needs_high_rtt_and_few_acked),
		cmocka_unit_test(fast_increase__after_a_clean_window),
		cmocka_unit_test(fast_increase__ends_with_any_congestion),
		cmocka_unit_test(on_loss__each_kind_costs_its_size),
		cmocka_unit_test(on_loss__collected_growth_counts_for_the_old_window),
		cmocka_unit_test(on_ack__without_sample_uses_the_average),
		cmocka_unit_test(on_ack__average_is_an_ewma),
		cmocka_unit_test(on_ack__new_base_rtt_rescales),
		cmocka_unit_test(on_sent__idle_time_voids_the_measurement),
		cmocka_unit_test(on_sent__a_running_measurement_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
