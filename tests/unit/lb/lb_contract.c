/* SPDX-License-Identifier: BSD-3-Clause */
/* What every load balancer of the table must keep to. */
#include <stdbool.h>
#include <string.h>

#include "cmocka_all.h"
#include "lb_box.h"
#include "rng.h"

/* Runs `test` for each load balancer. */
static void for_each(void (*test)(const struct weft_lb_ops *ops))
{
	for (const struct weft_lb_ops *const *ops = weft_lb_table; *ops; ops++) {
		print_message("    %s\n", (*ops)->name);
		test(*ops);
	}
}

static void check_description(const struct weft_lb_ops *ops)
{
	assert_true(ops->name[0] && ops->help[0]);
	assert_ptr_equal(weft_lb_find(ops->name), ops);
	assert_int_equal(ops->state_size % 8, 0);
	struct lb_box box;
	lb_box_init(&box, ops, 65536, 1, 0);
	assert_int_equal(weft_lb_state_bytes(ops, &box.params), ops->state_size);
	assert_true(ops->state_size <= 4096); /* it is a part of every connection */
	assert_true((ops->tunes != NULL) == (ops->tune_size > 0));
	for (const struct weft_param *p = ops->tunes; p && p->key; p++) {
		assert_true(p->help[0] && p->min <= p->def && p->def <= p->max);
		assert_true(p->offset < ops->tune_size);
	}
}

static void lb__description_is_complete(void **state)
{
	for_each(check_description);
}

/* A life of picks and random feedback, also for entropies that were never sent or lie outside the set. */
static void live(struct lb_box *box, struct rng *rng, weft_ns now, uint32_t picks)
{
	for (uint32_t psn = 0; psn < picks; psn++) {
		uint16_t ev = lb_box_pick(box, psn, now);
		assert_true(ev < box->params.evs_size);
		uint16_t about = rng_below(rng, 4) ? ev : (uint16_t)rng_below(rng, 65536);
		if (rng_below(rng, 4))
			lb_box_feed(box, about, (enum weft_lb_fb)rng_below(rng, WEFT_LB_FB_KINDS), now);
		else
			lb_box_answer(box, about, rng_below(rng, 2) ? rng_below(rng, 20000) : rng_next(rng), now);
		now += rng_below(rng, 100) ? rng_below(rng, 1000) : WEFT_MS(5);
	}
}

static void check_range(const struct weft_lb_ops *ops)
{
	const uint32_t sizes[] = {1, 2, 3, 7, 64, 1000, 65535, 65536};
	struct rng rng = {17};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct lb_box box;
		lb_box_init(&box, ops, sizes[i], i, 0);
		live(&box, &rng, 0, 3000);
	}
}

static void pick__inside_the_set(void **state)
{
	for_each(check_range);
}

static void check_wrap(const struct weft_lb_ops *ops)
{
	const weft_ns starts[] = {UINT32_MAX - 5000, UINT64_C(0xffffffff) << 10, UINT64_MAX / 2,
				  UINT64_MAX - WEFT_S(100)};
	struct rng rng = {18};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		struct lb_box box;
		lb_box_init(&box, ops, 65536, i, starts[i]);
		live(&box, &rng, starts[i], 3000);
	}
}

static void pick__time_and_psn_may_wrap(void **state)
{
	for_each(check_wrap);
}

/* One kind of feedback for every packet, for long: the choice goes on. */
static void check_monotony(const struct weft_lb_ops *ops)
{
	for (int fb = 0; fb < WEFT_LB_FB_KINDS; fb++) {
		struct lb_box box;
		lb_box_init(&box, ops, 256, 3, 0);
		for (uint32_t psn = UINT32_MAX - 1000; psn != 1000; psn++) {
			uint16_t ev = lb_box_pick(&box, psn, psn);
			assert_true(ev < 256);
			lb_box_feed(&box, ev, (enum weft_lb_fb)fb, psn);
		}
	}
}

static void feedback__each_kind_alone(void **state)
{
	for_each(check_monotony);
}

static void check_repeats(const struct weft_lb_ops *ops)
{
	struct lb_box a, b;
	struct rng ra = {5}, rb = {5};

	lb_box_init(&a, ops, 512, 77, 1000);
	lb_box_init(&b, ops, 512, 77, 1000);
	live(&a, &ra, 1000, 2000);
	live(&b, &rb, 1000, 2000);
	assert_memory_equal(a.state, b.state, weft_lb_state_bytes(ops, &a.params));
	for (uint32_t psn = 0; psn < 100; psn++)
		assert_int_equal(lb_box_pick(&a, psn, 0), lb_box_pick(&b, psn, 0));
}

static void pick__same_seed_same_choices(void **state)
{
	for_each(check_repeats);
}

/* Nothing behind the declared state is touched. */
static void check_bounds(const struct weft_lb_ops *ops)
{
	struct lb_box box;
	struct rng rng = {6};

	lb_box_init(&box, ops, 512, 1, 0);
	live(&box, &rng, 0, 2000);
	for (size_t i = weft_lb_state_bytes(ops, &box.params); i < LB_BOX_STATE_MAX; i++)
		assert_int_equal(box.state[i], 0xa5);
}

static void state__stays_within_its_size(void **state)
{
	for_each(check_bounds);
}

/* ---- a fabric of hashing switches ---- */

enum { PATHS = 8, WINDOW = 64 };

static uint32_t path_of(uint16_t ev, uint64_t salt)
{
	return (uint32_t)(rng_mix(ev + (salt << 16)) % PATHS);
}

/* Balancers that change nothing when they hear something. */
static bool oblivious(const struct weft_lb_ops *ops)
{
	static const char *const names[] = {"ops", "ecmp", "flowlet", "presto", "co-prime"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(ops->name, names[i]))
			return true;
	return false;
}

/* One path or a few for all packets, or for long stretches: spread over connections, not over packets. */
static bool coarse(const struct weft_lb_ops *ops)
{
	static const char *const names[] = {"ecmp", "plb", "flowlet", "presto", "mptcp"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(ops->name, names[i]))
			return true;
	return false;
}

/* `conns` connections send `pkts` packets each with WINDOW in flight; what goes over a path in `bad` is answered with
 * `fb`, everything else with OK. Adds to `load` what each path carried. */
static void run_fabric(const struct weft_lb_ops *ops, uint32_t conns, uint32_t pkts, uint32_t bad, enum weft_lb_fb fb,
		       uint32_t load[PATHS])
{
	for (uint32_t c = 0; c < conns; c++) {
		struct lb_box box;
		uint16_t flight[WINDOW];
		lb_box_init(&box, ops, 65536, c, 0);
		for (uint32_t psn = 0; psn < pkts + WINDOW; psn++) {
			weft_ns now = psn * UINT64_C(150); /* WINDOW packets in a base RTT */
			if (psn >= WINDOW) {
				uint16_t ev = flight[psn % WINDOW];
				bool is_bad = bad >> path_of(ev, c) & 1;
				if (is_bad)
					lb_box_feed(&box, ev, fb, now);
				else
					lb_box_answer(&box, ev, 0, now);
			}
			flight[psn % WINDOW] = lb_box_pick(&box, psn, now);
			load[path_of(flight[psn % WINDOW], c)]++;
		}
	}
}

/* Eight paths, seven degrees of freedom: 24.3 is the 99.9 % quantile. Sprayed packets are counted; where a connection
 * keeps its paths, those are. MP-RDMA and REPS reuse what they were told, so their packets are not independent. */
static void check_uniform(const struct weft_lb_ops *ops)
{
	uint32_t load[PATHS] = {0};
	uint32_t conns = coarse(ops) ? 2000 : 400, pkts = coarse(ops) ? 8 : 64;
	double sum = 0, mean = 0, unit = coarse(ops) ? WINDOW + 8 : 1;
	unit = !strcmp(ops->name, "mptcp") ? unit / 8 : unit;

	run_fabric(ops, conns, pkts, 0, WEFT_LB_OK, load);
	for (int i = 0; i < PATHS; i++)
		mean += load[i] / unit / PATHS;
	for (int i = 0; i < PATHS; i++) {
		assert_true(load[i] > 0);
		sum += (load[i] / unit - mean) * (load[i] / unit - mean) / mean;
	}
	print_message("      chi-square %.1f\n", sum);
	/* Recycling doubles what chance did in the first window at most. */
	assert_true(sum < 2 * 24.3);
}

static void pick__uniform_on_a_symmetric_fabric(void **state)
{
	for_each(check_uniform);
}

/* One of eight paths answers with `fb` all the time: whoever listens gives it less. */
static void check_reaction(const struct weft_lb_ops *ops)
{
	for (int fb = WEFT_LB_CE; fb < WEFT_LB_FB_KINDS; fb++) {
		uint32_t load[PATHS] = {0}, sum = 0;
		run_fabric(ops, 50, 2000, 1, (enum weft_lb_fb)fb, load);
		for (int i = 0; i < PATHS; i++)
			sum += load[i];
		double share = (double)load[0] / sum * PATHS;
		print_message("      feedback %d: %.2f of a fair share\n", fb, share);
		bool deaf = oblivious(ops) || (!strcmp(ops->name, "mptcp") && fb != WEFT_LB_TIMEOUT);
		if (!deaf)
			assert_true(share < 0.93);
		else if (!coarse(ops))
			assert_true(share > 0.95 && share < 1.05);
	}
}

static void feedback__bad_path_gets_less(void **state)
{
	for_each(check_reaction);
}

/* Nothing is good: sending goes on, and not on one path only where packets are sprayed. */
static void check_all_bad(const struct weft_lb_ops *ops)
{
	for (int fb = WEFT_LB_CE; fb < WEFT_LB_FB_KINDS; fb++) {
		uint32_t load[PATHS] = {0}, used = 0;
		run_fabric(ops, 1, 2000, UINT32_MAX, (enum weft_lb_fb)fb, load);
		for (int i = 0; i < PATHS; i++)
			used += load[i] > 0;
		if (!coarse(ops))
			assert_true(used >= 2);
	}
}

static void pick__all_paths_bad(void **state)
{
	for_each(check_all_bad);
}

static void check_set_of_one(const struct weft_lb_ops *ops)
{
	struct lb_box box;

	lb_box_init(&box, ops, 1, 5, 0);
	for (uint32_t psn = 0; psn < 500; psn++) {
		assert_int_equal(lb_box_pick(&box, psn, psn * WEFT_US(1)), 0);
		lb_box_feed(&box, 0, (enum weft_lb_fb)(psn / 50 % WEFT_LB_FB_KINDS), psn * WEFT_US(1));
	}
}

static void pick__entropy_set_of_one(void **state)
{
	for_each(check_set_of_one);
}

/* The bad path moves: whoever avoids one comes back to it when it is good again. Returns how often it was taken in the
 * last quarter. */
static uint32_t revisits(const struct weft_lb_ops *ops, uint64_t seed)
{
	enum { PKTS = 40000 };
	struct lb_box box;
	uint16_t flight[WINDOW];
	uint32_t old = 0;

	lb_box_init(&box, ops, 65536, seed, 0);
	for (uint32_t psn = 0; psn < PKTS; psn++) {
		weft_ns now = psn * UINT64_C(2000);
		if (psn >= WINDOW) {
			uint16_t ev = flight[psn % WINDOW];
			bool is_bad = path_of(ev, seed) == (psn < PKTS / 4 ? 0 : 1);
			lb_box_feed(&box, ev, is_bad ? WEFT_LB_TIMEOUT : WEFT_LB_OK, now);
		}
		uint16_t ev = lb_box_pick(&box, psn, now);
		flight[psn % WINDOW] = ev;
		old += psn >= PKTS / 4 * 3 && path_of(ev, seed) == 0;
	}
	return old;
}

static void check_change(const struct weft_lb_ops *ops)
{
	uint32_t old = 0;

	for (uint64_t seed = 0; seed < 32; seed++)
		old += revisits(ops, seed);
	print_message("      %u packets\n", old);
	if (!coarse(ops)) /* they stay where it is good */
		assert_true(old > 0);
}

static void pick__paths_change(void **state)
{
	for_each(check_change);
}

/* ---- digits ---- */

static void weft_lb_digits_init__packs_from_the_lowest_bit(void **state)
{
	struct weft_lb_digits d;

	weft_lb_digits_init(&d, (const uint32_t[WEFT_LB_PARTS]){8, 5, 0});
	assert_int_equal(d.bits[0], 3);
	assert_int_equal(d.shift[1], 3);
	assert_int_equal(d.bits[1], 3);
	assert_int_equal(d.bits[2], 0);
	assert_int_equal(weft_lb_digit(&d, 4 << 3 | 6, 0), 6);
	assert_int_equal(weft_lb_digit(&d, 4 << 3 | 6, 1), 4);
	assert_int_equal(weft_lb_digit(&d, 0xffff, 2), 0);
}

static void weft_lb_digits_init__what_does_not_fit_is_cut(void **state)
{
	struct weft_lb_digits d;

	weft_lb_digits_init(&d, (const uint32_t[WEFT_LB_PARTS]){512, 512, 4});
	assert_int_equal(d.bits[0], 9);
	assert_int_equal(d.bits[1], 7);
	assert_int_equal(d.values[1], 128);
	assert_int_equal(d.bits[2], 0);
	assert_int_equal(d.values[2], 1);
	weft_lb_digits_init(&d, (const uint32_t[WEFT_LB_PARTS]){0});
	assert_int_equal(d.bits[0] + d.bits[1] + d.bits[2], 0);
	assert_int_equal(weft_lb_digit(&d, 0xffff, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lb__description_is_complete),
		cmocka_unit_test(pick__inside_the_set),
		cmocka_unit_test(pick__time_and_psn_may_wrap),
		cmocka_unit_test(feedback__each_kind_alone),
		cmocka_unit_test(pick__same_seed_same_choices),
		cmocka_unit_test(state__stays_within_its_size),
		cmocka_unit_test(pick__uniform_on_a_symmetric_fabric),
		cmocka_unit_test(feedback__bad_path_gets_less),
		cmocka_unit_test(pick__all_paths_bad),
		cmocka_unit_test(pick__entropy_set_of_one),
		cmocka_unit_test(pick__paths_change),
		cmocka_unit_test(weft_lb_digits_init__packs_from_the_lowest_bit),
		cmocka_unit_test(weft_lb_digits_init__what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
