/* SPDX-License-Identifier: BSD-3-Clause */
/* What "reps2" does beyond "reps": entropies of late packets are not cached, those of marked ones that came early are;
 * few are given up at a time, and the best one takes their place. test_reps.c has the rest. */
#include <stdbool.h>
#include <string.h>

#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"
#include "rng.h"

/* A packet takes 50 ns: the bound of 24 of them is 1,200 ns. */
enum { EVS = 65536, BDP = 200, BRTT_NS = 10000, PKT_NS = 50, BOUND_NS = 1200, ANSWERS = 200 };

static struct reps_tune *tune(struct lb_box *box)
{
	return (struct reps_tune *)box->tune;
}

/* With a mean wait of `mean_ns`, after many answers of that wait; the ring is used up. */
static void setup(struct lb_box *box, weft_ns mean_ns)
{
	lb_box_init(box, &weft_lb_reps2, EVS, 1, 0);
	box->params.bdp_pkts = BDP;
	box->params.brtt_ns = BRTT_NS;
	for (uint32_t i = 0; i < ANSWERS; i++)
		lb_box_answer(box, 7, mean_ns, 0);
	for (uint32_t psn = 0; psn < 8; psn++)
		lb_box_pick(box, psn, 0);
}

/* Whether the next pick is an entropy whose packet waited that long, while the rest took so long to leave. */
static bool is_reused_with(struct lb_box *box, weft_ns wait_ns, weft_ns left_ns)
{
	enum { EV = 4242 };

	lb_box_answer_last(box, EV, wait_ns, left_ns, 0);
	return lb_box_pick(box, ANSWERS, 0) == EV;
}

static bool is_reused(struct lb_box *box, weft_ns wait_ns)
{
	return is_reused_with(box, wait_ns, WEFT_NEVER);
}

static void answered__far_above_the_mean_is_not_cached(void **state)
{
	struct lb_box box;

	setup(&box, 2000);
	assert_true(is_reused(&box, 0));
	setup(&box, 2000);
	assert_true(is_reused(&box, 2000));
	setup(&box, 2000); /* the sample itself raises the mean: 2000 + 2000 / 16 */
	assert_true(is_reused(&box, 4200));
	setup(&box, 2000);
	assert_false(is_reused(&box, 4700));
}

static void answered__few_packets_are_no_reason(void **state)
{
	struct lb_box box;

	setup(&box, 100);
	assert_true(is_reused(&box, BOUND_NS));
	setup(&box, 100);
	assert_false(is_reused(&box, BOUND_NS + 1));
}

/* 8 packets' time and half of what is left is too much above the mean, which the sample raises by a sixteenth of that.
 */
static void answered__the_end_of_a_message_is_stricter(void **state)
{
	struct lb_box box;

	for (weft_ns left_ns = 0; left_ns < 2500; left_ns += 50) {
		weft_ns most_ns = 2000 + (8 * PKT_NS + left_ns / 2) * 16 / 15;
		setup(&box, 2000);
		assert_true(is_reused_with(&box, most_ns - 10, left_ns));
		setup(&box, 2000);
		assert_false(is_reused_with(&box, most_ns + 10, left_ns));
	}
	setup(&box, 2000); /* the other bounds are closer */
	assert_true(is_reused_with(&box, 4200, 5000));
	assert_false(is_reused_with(&box, 4700, 5000));
}

static void answered__all_bounds_can_be_set(void **state)
{
	struct lb_box box;

	setup(&box, 2000);
	tune(&box)->late_pct = 110;
	assert_false(is_reused(&box, 2600));
	setup(&box, 100);
	tune(&box)->late_pkts = 100;
	assert_true(is_reused(&box, 5000));
	assert_false(is_reused(&box, 5001));
	setup(&box, 2000);
	tune(&box)->late_left_pct = 100;
	assert_true(is_reused_with(&box, 3400, 1000));
	setup(&box, 2000);
	assert_false(is_reused_with(&box, 3400, 1000));
	setup(&box, 2000);
	tune(&box)->late_left_pct = 0;
	assert_true(is_reused_with(&box, 4200, 1));
}

/* Whether a late entropy is used again so long after a packet of another path had that fate. */
static bool is_reused_late_after(struct lb_box *box, enum weft_lb_fb fate, weft_ns after_ns)
{
	enum { EV = 4242 };

	setup(box, 2000);
	lb_box_feed(box, 9, fate, WEFT_MS(1));
	lb_box_answer_last(box, EV, 20000, 0, WEFT_MS(1) + after_ns);
	return lb_box_pick(box, ANSWERS, WEFT_MS(1) + after_ns) == EV;
}

static void answered__late_is_good_enough_while_paths_trim(void **state)
{
	struct lb_box box;

	assert_true(is_reused_late_after(&box, WEFT_LB_TRIM, 0));
	assert_true(is_reused_late_after(&box, WEFT_LB_TRIM, 4 * BRTT_NS - 1024));
	assert_false(is_reused_late_after(&box, WEFT_LB_TRIM, 4 * BRTT_NS + 1024));
	assert_false(is_reused_late_after(&box, WEFT_LB_CE, 0));
	assert_false(is_reused_late_after(&box, WEFT_LB_LOSS, 0));
	setup(&box, 2000);
	tune(&box)->late_trim_brtts = 0;
	lb_box_feed(&box, 9, WEFT_LB_TRIM, WEFT_MS(1));
	lb_box_answer_last(&box, 5, 20000, 0, WEFT_MS(1) + 1024);
	assert_int_not_equal(lb_box_pick(&box, ANSWERS, WEFT_MS(1) + 1024), 5);
}

/* A link that becomes slow for all packets: the mean follows, and entropies are used again. */
static void answered__the_mean_follows(void **state)
{
	struct lb_box box;

	setup(&box, 1000);
	assert_false(is_reused(&box, 20000));
	setup(&box, 20000);
	assert_true(is_reused(&box, 20000));
	assert_true(is_reused(&box, 1000));
}

/* Whether the next pick is an entropy whose packet was marked and waited that long. */
static bool is_reused_marked(struct lb_box *box, weft_ns wait_ns)
{
	enum { EV = 4242 };

	lb_box_tell(box, EV, WEFT_LB_CE, wait_ns, WEFT_NEVER, 0);
	return lb_box_pick(box, ANSWERS, 0) == EV;
}

/* Every mark gives its entropy up, and a random one takes its place. */
static void give_up_all(struct lb_box *box)
{
	tune(box)->move_pkts = 0;
	tune(box)->move_to_best = 0;
}

/* Where all packets wait as long, a mark says nothing of the path. */
static void answered__a_mark_counts_above_the_mean(void **state)
{
	struct lb_box box;

	setup(&box, 2000);
	give_up_all(&box);
	assert_true(is_reused_marked(&box, 0));
	assert_true(is_reused_marked(&box, 2380)); /* 120 % of the mean, which has a rounded part */
	assert_false(is_reused_marked(&box, 2420));
	assert_true(is_reused_marked(&box, 2380)); /* marked packets do not change the mean */
	tune(&box)->mark_wait_pct = 110;
	assert_false(is_reused_marked(&box, 2380));
	tune(&box)->mark_wait_pct = 0;
	assert_false(is_reused_marked(&box, 1));
	lb_box_init(&box, &weft_lb_reps2, EVS, 1, 0); /* nothing is known of other packets */
	give_up_all(&box);
	assert_false(is_reused_marked(&box, 1));
}

/* What a mark changed shows a round trip later. The counter includes the packet itself. */
static void answered__marks_give_up_few_at_a_time(void **state)
{
	struct lb_box box;

	for (uint32_t since = 0; since < 20; since++) {
		setup(&box, 2000);
		tune(&box)->move_to_best = 0;
		assert_false(is_reused_marked(&box, 2500));
		for (uint32_t i = 0; i < since; i++)
			assert_true(is_reused(&box, 2000));
		assert_int_equal(is_reused_marked(&box, 2500), since + 1 < 12);
	}
}

/* A path so much worse than others may be left by all at once; and where packets are trimmed some path is. */
static void answered__bad_paths_are_given_up_at_once(void **state)
{
	struct lb_box box;

	setup(&box, 2000);
	tune(&box)->move_to_best = 0;
	assert_false(is_reused_marked(&box, 2500));
	assert_true(is_reused_marked(&box, 9900)); /* 500 % of the mean */
	assert_false(is_reused_marked(&box, 10100));
	assert_false(is_reused_marked(&box, 10100));
	tune(&box)->move_sure_pct = 600;
	assert_true(is_reused_marked(&box, 10100));
	lb_box_feed(&box, 9, WEFT_LB_TRIM, WEFT_MS(1));
	lb_box_tell(&box, 5, WEFT_LB_CE, 2500, WEFT_NEVER, WEFT_MS(1));
	assert_int_not_equal(lb_box_pick(&box, ANSWERS, WEFT_MS(1)), 5);
}

/* Uses the ring up. */
static void use_up(struct lb_box *box)
{
	for (uint32_t psn = 0; psn < 8; psn++)
		lb_box_pick(box, psn, 0);
}

static void answered__the_best_takes_the_place(void **state)
{
	struct lb_box box;

	setup(&box, 2000);
	lb_box_answer(&box, 31, 700, 0);
	lb_box_answer(&box, 32, 300, 0);
	lb_box_answer(&box, 33, 900, 0);
	use_up(&box);
	lb_box_tell(&box, 5, WEFT_LB_CE, 2500, WEFT_NEVER, 0);
	assert_int_equal(lb_box_pick(&box, 1, 0), 32); /* of a marked packet */
	lb_box_answer(&box, 34, 400, 0);
	use_up(&box);
	lb_box_answer(&box, 6, 5000, 0);
	assert_int_equal(lb_box_pick(&box, 1, 0), 34); /* of a late one; the other was used */
	lb_box_answer(&box, 6, 5000, 0);
	uint16_t ev = lb_box_pick(&box, 1, 0);
	assert_true(ev != 34 && ev != 32 && ev != 6); /* none is left */
}

/* A path that was best and is no longer does not take its own place. */
static void answered__the_best_given_up_is_none(void **state)
{
	const enum weft_lb_fb fates[] = {WEFT_LB_CE, WEFT_LB_TRIM, WEFT_LB_TIMEOUT};
	struct lb_box box;

	setup(&box, 2000);
	lb_box_answer(&box, 31, 300, 0);
	use_up(&box);
	lb_box_answer(&box, 31, 5000, 0);
	assert_int_not_equal(lb_box_pick(&box, 1, 0), 31);
	for (int i = 0; i < 3; i++) {
		setup(&box, 2000);
		tune(&box)->freeze_ns = 0;
		lb_box_answer(&box, 31, 300, 0);
		use_up(&box);
		if (fates[i] == WEFT_LB_CE)
			lb_box_tell(&box, 31, WEFT_LB_CE, 2500, WEFT_NEVER, 0);
		else
			lb_box_feed(&box, 31, fates[i], WEFT_MS(1));
		lb_box_tell(&box, 5, WEFT_LB_CE, 20000, WEFT_NEVER, WEFT_MS(1) + 1);
		for (uint32_t psn = 0; psn < 3; psn++)
			assert_int_not_equal(lb_box_pick(&box, psn, WEFT_MS(1) + 1), 31);
	}
}

/* Nothing was moved yet. */
static void answered__the_first_mark_counts(void **state)
{
	struct lb_box box;

	lb_box_init(&box, &weft_lb_reps2, EVS, 1, 0);
	box.params.bdp_pkts = BDP;
	box.params.brtt_ns = BRTT_NS;
	tune(&box)->move_to_best = 0;
	lb_box_answer(&box, 7, 16000, 0); /* the mean becomes 1,000 */
	lb_box_pick(&box, 0, 0);
	assert_false(is_reused_marked(&box, 1300));
	assert_true(is_reused_marked(&box, 1300));
}

/* A path that was best a round trip ago may be as bad as any. */
static void answered__the_best_grows_old(void **state)
{
	struct lb_box box;

	for (uint32_t later = BDP - 5; later < BDP + 5; later++) {
		setup(&box, 2000);
		lb_box_answer(&box, 31, 1, 0);
		for (uint32_t i = 1; i < later; i++)
			lb_box_answer(&box, 40, 2000, 0);
		use_up(&box);
		lb_box_answer(&box, 6, 9000, 0);
		assert_int_equal(lb_box_pick(&box, 1, 0), later <= BDP ? 31 : 40);
	}
}

/* Late or not, what answers is alive; and a late answer ends the freeze. */
static void answered__frozen_takes_what_is_alive(void **state)
{
	struct lb_box box;

	setup(&box, 100);
	lb_box_feed(&box, 7, WEFT_LB_TIMEOUT, 0);
	assert_int_equal(lb_box_view(&box).frozen, 1);
	assert_true(is_reused(&box, WEFT_MS(1)));
	lb_box_answer(&box, 8, WEFT_MS(1), tune(&box)->freeze_ns + WEFT_US(2));
	assert_int_equal(lb_box_view(&box).frozen, 0);
}

static void answered__waits_of_any_length(void **state)
{
	const weft_ns waits[] = {UINT64_MAX, UINT32_MAX, UINT64_C(1) << 32, 1 << 26};
	struct lb_box box;

	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		setup(&box, waits[i]);
		assert_true(is_reused(&box, waits[i]));
		setup(&box, 100);
		assert_false(is_reused(&box, waits[i]));
	}
}

/* Without measured round trips it is REPS. */
static void feedback__alone_is_reps(void **state)
{
	struct lb_box a, b;
	struct rng rng = {3};

	lb_box_init(&a, &weft_lb_reps, EVS, 5, 0);
	lb_box_init(&b, &weft_lb_reps2, EVS, 5, 0);
	for (uint32_t psn = 0; psn < 20000; psn++) {
		weft_ns now = psn * WEFT_US(1);
		uint16_t ev = lb_box_pick(&a, psn, now);
		assert_int_equal(lb_box_pick(&b, psn, now), ev);
		enum weft_lb_fb fb = (enum weft_lb_fb)rng_below(&rng, WEFT_LB_FB_KINDS);
		fb = fb == WEFT_LB_TIMEOUT && psn % 1000 ? WEFT_LB_OK : fb;
		lb_box_feed(&a, ev, fb, now);
		lb_box_feed(&b, ev, fb, now);
	}
	assert_true(lb_box_view(&a).freezes > 0);
}

/* The mean is behind the ring, whatever its size: what it holds changes no entropy of the ring. */
static void state__mean_and_ring_are_apart(void **state)
{
	struct lb_box box;

	for (uint32_t ring = 1; ring <= 128; ring *= 2) {
		lb_box_init(&box, &weft_lb_reps2, EVS, 1, 0);
		tune(&box)->ring = ring;
		lb_box_again(&box, 1, 0);
		for (uint16_t ev = 0; ev < ring; ev++)
			lb_box_answer(&box, (uint16_t)(100 + ev), 900, 0);
		for (uint16_t ev = 0; ev < ring; ev++)
			assert_int_equal(lb_box_pick(&box, ev, 0), 100 + ev);
		assert_int_equal(weft_lb_state_bytes(&weft_lb_reps2, &box.params) % 8, 0);
		assert_true(weft_lb_state_bytes(&weft_lb_reps2, &box.params) >= 16 + 2 * ring + 4);
	}
	assert_int_equal(weft_lb_reps2.state_size, 56);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answered__far_above_the_mean_is_not_cached),
		cmocka_unit_test(answered__few_packets_are_no_reason),
		cmocka_unit_test(answered__the_end_of_a_message_is_stricter),
		cmocka_unit_test(answered__all_bounds_can_be_set),
		cmocka_unit_test(answered__late_is_good_enough_while_paths_trim),
		cmocka_unit_test(answered__the_mean_follows),
		cmocka_unit_test(answered__a_mark_counts_above_the_mean),
		cmocka_unit_test(answered__marks_give_up_few_at_a_time),
		cmocka_unit_test(answered__bad_paths_are_given_up_at_once),
		cmocka_unit_test(answered__the_best_takes_the_place),
		cmocka_unit_test(answered__the_best_given_up_is_none),
		cmocka_unit_test(answered__the_first_mark_counts),
		cmocka_unit_test(answered__the_best_grows_old),
		cmocka_unit_test(answered__frozen_takes_what_is_alive),
		cmocka_unit_test(answered__waits_of_any_length),
		cmocka_unit_test(feedback__alone_is_reps),
		cmocka_unit_test(state__mean_and_ring_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
