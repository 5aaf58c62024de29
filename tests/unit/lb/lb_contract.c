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
	assert_true(ops->state_size <= LB_BOX_STATE_MAX);
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
		lb_box_feed(box, about, (enum weft_lb_fb)rng_below(rng, WEFT_LB_FB_KINDS), now);
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
	assert_memory_equal(a.state, b.state, ops->state_size);
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
	for (size_t i = ops->state_size; i < LB_BOX_STATE_MAX; i++)
		assert_int_equal(box.state[i], 0xa5);
}

static void state__stays_within_its_size(void **state)
{
	for_each(check_bounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lb__description_is_complete),  cmocka_unit_test(pick__inside_the_set),
		cmocka_unit_test(pick__time_and_psn_may_wrap),  cmocka_unit_test(feedback__each_kind_alone),
		cmocka_unit_test(pick__same_seed_same_choices), cmocka_unit_test(state__stays_within_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
