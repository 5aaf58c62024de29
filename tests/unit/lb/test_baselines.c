/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of plb, flowlet, mptcp, mprdma and bitmap, one by one. */
#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"

enum { BRTT = 10000 }; /* of lb_box_init */

/* One base RTT in which `marked` of 20 packets come back with a mark. */
static void round_trip(struct lb_box *box, uint32_t marked, weft_ns *now)
{
	uint16_t ev = lb_box_pick(box, 0, *now);
	for (uint32_t i = 0; i < 20; i++)
		lb_box_feed(box, ev, i < marked ? WEFT_LB_CE : WEFT_LB_OK, *now + i);
	*now += BRTT;
	lb_box_feed(box, ev, WEFT_LB_OK, *now);
}

static void plb__leaves_after_congested_rounds_in_a_row(void **state)
{
	struct lb_box box;
	weft_ns now = 0;
	lb_box_init(&box, &weft_lb_plb, 65536, 1, 0);
	((struct plb_tune *)box.tune)->rounds = 3;
	uint16_t first = lb_box_pick(&box, 0, now);
	round_trip(&box, 2, &now);
	round_trip(&box, 2, &now);
	round_trip(&box, 1, &now); /* 1 of 21 is below 5 % */
	round_trip(&box, 2, &now);
	round_trip(&box, 20, &now);
	assert_int_equal(lb_box_pick(&box, 0, now), first);
	round_trip(&box, 2, &now);
	assert_int_not_equal(lb_box_pick(&box, 0, now), first);
}

static void plb__leaves_a_failed_path_at_once(void **state)
{
	struct lb_box box;
	lb_box_init(&box, &weft_lb_plb, 2, 1, 0);
	for (uint32_t i = 0; i < 20; i++) {
		uint16_t ev = lb_box_pick(&box, i, 0);
		lb_box_feed(&box, 1 - ev, WEFT_LB_TIMEOUT, 0);
		assert_int_equal(lb_box_pick(&box, i, 0), ev);
		lb_box_feed(&box, ev, WEFT_LB_TIMEOUT, 0);
		assert_int_equal(lb_box_pick(&box, i, 0), 1 - ev);
	}
}

static void flowlet__changes_only_after_the_gap(void **state)
{
	struct lb_box box;
	weft_ns now = 7;
	lb_box_init(&box, &weft_lb_flowlet, 65536, 1, now);
	uint16_t ev = lb_box_pick(&box, 0, now);
	for (uint32_t i = 0; i < 100; i++, now += BRTT / 2 - 1)
		assert_int_equal(lb_box_pick(&box, i, now), ev);
	assert_int_not_equal(lb_box_pick(&box, 0, now + 1), ev);
	ev = lb_box_pick(&box, 0, now + 1);
	((struct flowlet_tune *)box.tune)->gap_ns = 100;
	assert_int_equal(lb_box_pick(&box, 0, now + 100), ev);
	assert_int_not_equal(lb_box_pick(&box, 0, now + 200), ev);
}

static void mptcp__subflows_take_turns(void **state)
{
	struct lb_box box;
	uint16_t ev[8];
	lb_box_init(&box, &weft_lb_mptcp, 65536, 1, 0);
	for (int i = 0; i < 8; i++) {
		ev[i] = lb_box_pick(&box, 99, 0);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(ev[i], ev[j]);
	}
	lb_box_feed(&box, ev[3], WEFT_LB_TRIM, 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(lb_box_pick(&box, 7, 0), ev[i]);
	lb_box_feed(&box, ev[3], WEFT_LB_TIMEOUT, 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(lb_box_pick(&box, 7, 0) == ev[i], i != 3);
}

static void mprdma__takes_the_path_of_the_newest_ack(void **state)
{
	struct lb_box box;
	lb_box_init(&box, &weft_lb_mprdma, 65536, 1, 0);
	((struct mprdma_lb_tune *)box.tune)->probe_permille = 0;
	for (uint32_t i = 0; i < box.params.bdp_pkts; i++) {
		lb_box_feed(&box, 5, WEFT_LB_OK, 0);
		assert_int_not_equal(lb_box_pick(&box, i, 0), 5);
	}
	assert_int_equal(lb_box_pick(&box, 0, 0), 5);
	lb_box_feed(&box, 9, WEFT_LB_OK, 0);
	assert_int_equal(lb_box_pick(&box, 0, 0), 9);
	lb_box_feed(&box, 9, WEFT_LB_TIMEOUT, 0);
	assert_int_not_equal(lb_box_pick(&box, 0, 0), 9);
}

static void mprdma__every_other_mark_costs_a_packet(void **state)
{
	struct lb_box box;
	uint32_t kept = 0;
	lb_box_init(&box, &weft_lb_mprdma, 65536, 1, 0);
	((struct mprdma_lb_tune *)box.tune)->probe_permille = 0;
	for (uint32_t i = 0; i < box.params.bdp_pkts; i++)
		lb_box_pick(&box, i, 0);
	for (uint16_t i = 0; i < 100; i++) {
		lb_box_feed(&box, i, WEFT_LB_CE, 0);
		kept += lb_box_pick(&box, 0, 0) == i;
	}
	assert_int_equal(kept, 50);
}

static void mprdma__probes_now_and_then(void **state)
{
	struct lb_box box;
	uint32_t probes = 0;
	lb_box_init(&box, &weft_lb_mprdma, 65536, 1, 0);
	for (uint32_t i = 0; i < 100000; i++) {
		lb_box_feed(&box, 5, WEFT_LB_OK, 0);
		probes += lb_box_pick(&box, i, 0) != 5;
	}
	assert_in_range(probes, 800, 1200);
}

static void bitmap__every_entropy_once_per_round(void **state)
{
	struct lb_box box;
	lb_box_init(&box, &weft_lb_bitmap, 100, 1, 0);
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t seen[100] = {0};
		for (uint32_t i = 0; i < 100; i++)
			assert_int_equal(seen[lb_box_pick(&box, i, 0)]++, 0);
	}
}

/* A trim weighs four skips, and each packet pays for one only. */
static void bitmap__penalties_are_paid_by_skipping(void **state)
{
	static const struct {
		enum weft_lb_fb fb;
		uint32_t skips;
	} cases[] = {{WEFT_LB_CE, 1}, {WEFT_LB_TRIM, 4}, {WEFT_LB_LOSS, 4}, {WEFT_LB_TIMEOUT, 15}};
	for (int c = 0; c < 4; c++) {
		struct lb_box box;
		uint32_t picks = 0;
		lb_box_init(&box, &weft_lb_bitmap, 8, 1, 0);
		lb_box_feed(&box, 3, cases[c].fb, 0);
		while (lb_box_pick(&box, 0, 0) != 3)
			picks++;
		/* Once per round of seven others; twice in a row where rounds meet counts once. */
		assert_in_range(picks, cases[c].skips * 7, cases[c].skips * 7 * 5 / 4 + 7);
	}
}

static void bitmap__all_bad_still_sends(void **state)
{
	struct lb_box box;
	lb_box_init(&box, &weft_lb_bitmap, 8, 1, 0);
	for (uint16_t ev = 0; ev < 8; ev++)
		lb_box_feed(&box, ev, WEFT_LB_TIMEOUT, 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_in_range(lb_box_pick(&box, i, 0), 0, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plb__leaves_after_congested_rounds_in_a_row),
		cmocka_unit_test(plb__leaves_a_failed_path_at_once),
		cmocka_unit_test(flowlet__changes_only_after_the_gap),
		cmocka_unit_test(mptcp__subflows_take_turns),
		cmocka_unit_test(mprdma__takes_the_path_of_the_newest_ack),
		cmocka_unit_test(mprdma__every_other_mark_costs_a_packet),
		cmocka_unit_test(mprdma__probes_now_and_then),
		cmocka_unit_test(bitmap__every_entropy_once_per_round),
		cmocka_unit_test(bitmap__penalties_are_paid_by_skipping),
		cmocka_unit_test(bitmap__all_bad_still_sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
