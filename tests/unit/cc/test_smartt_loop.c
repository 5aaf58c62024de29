/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT in a closed loop over one bottleneck. */
#include <stdlib.h>

#include "bottleneck.h"
#include "cc_ops.h"
#include "cmocka_all.h"

enum { MTU = 4198, SLOT_800G_NS = 42, SLOT_50G_NS = 672, FOREVER = 1 << 30 };

struct loop {
	struct bottleneck bn;
	struct smartt_tune tune;
};

/* Everything but the start; flows without end. */
static struct loop *prepare(uint32_t flows, uint32_t bdp_pkts)
{
	struct loop *l = calloc(1, sizeof *l);

	assert_non_null(l);
	weft_param_defaults(weft_cc_smartt.tunes, &l->tune);
	l->bn.flows = flows;
	l->bn.bdp_pkts = bdp_pkts;
	l->bn.seed = 7;
	l->bn.params = (struct weft_cc_params){.mtu_bytes = MTU, .trimming = true, .tune = &l->tune};
	for (uint32_t i = 0; i < flows; i++)
		l->bn.flow[i].to_send = FOREVER;
	return l;
}

static void run_rtts(struct loop *l, unsigned rtts)
{
	bn_run(&l->bn, (uint64_t)rtts * l->bn.bdp_pkts);
}

static double cwnd_pkts(const struct loop *l, uint32_t flow)
{
	return (double)l->bn.flow[flow].cc.cwnd_bytes / MTU;
}

static uint64_t lost(const struct loop *l)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->bn.flows; i++)
		sum += l->bn.flow[i].lost;
	return sum;
}

static unsigned adapts(const struct loop *l)
{
	unsigned sum = 0;

	for (uint32_t i = 0; i < l->bn.flows; i++) {
		struct weft_cc_view view;
		weft_cc_smartt.view(&l->bn.flow[i].cc, &view);
		sum += view.quick_adapts;
	}
	return sum;
}

/* With a target of 1.5 base RTTs the windows should add up to about 1.5 BDP. */
static void assert_windows_fair(const struct loop *l)
{
	double share = (double)l->bn.bdp_pkts / l->bn.flows;

	for (uint32_t i = 0; i < l->bn.flows; i++) {
		if (cwnd_pkts(l, i) < 0.9 * share || cwnd_pkts(l, i) > 2.5 * share)
			print_message("flow %u: %.1f packets, share %.1f\n", i, cwnd_pkts(l, i), share);
		assert_true(cwnd_pkts(l, i) >= 0.9 * share && cwnd_pkts(l, i) <= 2.5 * share);
	}
}

static void incast(uint32_t flows, uint32_t bdp_pkts, weft_ns slot_ns, bool trimming)
{
	struct loop *l = prepare(flows, bdp_pkts);

	l->bn.params.trimming = trimming;
	bn_init(&l->bn, &weft_cc_smartt, slot_ns);
	run_rtts(l, 40);
	bn_reset(&l->bn);
	run_rtts(l, 60);
	assert_windows_fair(l);
	assert_true(bn_utilisation(&l->bn) > 0.95);
	assert_true(bn_jain(&l->bn, flows) > 0.9);
	assert_int_equal(lost(l), 0);
	assert_true(l->bn.queue_max < bdp_pkts);
	free(l);
}

static void incast__converges_to_the_fair_share(void **state)
{
	incast(2, 280, SLOT_800G_NS, true);
	incast(8, 280, SLOT_800G_NS, true);
	incast(15, 280, SLOT_800G_NS, true);
	incast(32, 280, SLOT_800G_NS, true);
	incast(4, 16, SLOT_50G_NS, true);
}

static void incast__converges_without_trimming(void **state)
{
	incast(8, 280, SLOT_800G_NS, false);
	incast(15, 280, SLOT_800G_NS, false);
}

/* One window per flow is on the way when the first trim is heard of; nothing is trimmed after that. */
static void incast__quick_adapt_ends_trimming_within_three_rtts(void **state)
{
	struct loop *l = prepare(15, 280);

	bn_init(&l->bn, &weft_cc_smartt, SLOT_800G_NS);
	run_rtts(l, 4);
	assert_true(lost(l) > 0);
	assert_true(adapts(l) >= 15);
	bn_reset(&l->bn);
	run_rtts(l, 50);
	assert_int_equal(lost(l), 0);
	free(l);
}

/* After QuickAdapt the marks and delays of what was in flight must not push the window further down. */
static void incast__ignore_phase_keeps_the_adapted_window(void **state)
{
	struct loop *l = prepare(8, 280);

	bn_init(&l->bn, &weft_cc_smartt, SLOT_800G_NS);
	while (adapts(l) < 8)
		bn_run(&l->bn, 1);
	for (int rtt = 0; rtt < 20; rtt++) {
		run_rtts(l, 1);
		for (uint32_t i = 0; i < 8; i++)
			assert_in_range(cwnd_pkts(l, i), 30, 90);
	}
	free(l);
}

static void single_flow__fills_the_link_and_stays_at_the_cap(void **state)
{
	struct loop *l = prepare(1, 280);

	bn_init(&l->bn, &weft_cc_smartt, SLOT_800G_NS);
	run_rtts(l, 2);
	bn_reset(&l->bn);
	run_rtts(l, 50);
	assert_true(bn_utilisation(&l->bn) > 0.999);
	assert_int_equal(lost(l), 0);
	assert_true(cwnd_pkts(l, 0) > 419);
	free(l);
}

/* RTTs after which the last of eight flows has regained one BDP when the other seven are done. */
static unsigned rtts_to_reclaim(uint32_t fast_k)
{
	struct loop *l = prepare(8, 280);
	unsigned rtts = 0;

	l->tune.fast_k = fast_k;
	bn_init(&l->bn, &weft_cc_smartt, SLOT_800G_NS);
	run_rtts(l, 40);
	for (uint32_t i = 1; i < 8; i++)
		l->bn.flow[i].to_send = 0;
	while (cwnd_pkts(l, 0) < 280 && rtts < 100) {
		run_rtts(l, 1);
		rtts++;
	}
	free(l);
	return rtts;
}

static void fast_increase__reclaims_freed_bandwidth(void **state)
{
	assert_in_range(rtts_to_reclaim(2), 1, 5);
	assert_in_range(rtts_to_reclaim(0), 12, 100);
}

/* Flows that join a filled link one after the other end up with equal windows. */
static void latecomers__get_their_share(void **state)
{
	struct loop *l = prepare(4, 280);
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < 4; i++)
		l->bn.flow[i].start = (uint64_t)i * 20 * 280;
	bn_init(&l->bn, &weft_cc_smartt, SLOT_800G_NS);
	run_rtts(l, 400);
	for (uint32_t i = 0; i < 4; i++) {
		sum += cwnd_pkts(l, i);
		squares += cwnd_pkts(l, i) * cwnd_pkts(l, i);
	}
	assert_true(sum * sum / (4 * squares) > 0.95);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incast__converges_to_the_fair_share),
		cmocka_unit_test(incast__converges_without_trimming),
		cmocka_unit_test(incast__quick_adapt_ends_trimming_within_three_rtts),
		cmocka_unit_test(incast__ignore_phase_keeps_the_adapted_window),
		cmocka_unit_test(single_flow__fills_the_link_and_stays_at_the_cap),
		cmocka_unit_test(fast_increase__reclaims_freed_bandwidth),
		cmocka_unit_test(latecomers__get_their_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
