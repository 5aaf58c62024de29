/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"

static void pick__constant_whatever_happens(void **state)
{
	struct lb_box box;

	lb_box_init(&box, &weft_lb_ecmp, 65536, 3, 0);
	uint16_t ev = lb_box_pick(&box, 0, 0);
	for (uint32_t psn = 1; psn < 1000; psn++) {
		lb_box_feed(&box, ev, (enum weft_lb_fb)(psn % WEFT_LB_FB_KINDS), psn);
		assert_int_equal(lb_box_pick(&box, psn, psn), ev);
	}
}

/* 6,400 connections over 64 entropies: 100 each, standard deviation 10. */
static void init__seeds_spread_over_the_set(void **state)
{
	unsigned seen[64] = {0};
	struct lb_box box;

	for (uint64_t seed = 0; seed < 6400; seed++) {
		lb_box_init(&box, &weft_lb_ecmp, 64, seed, 0);
		seen[lb_box_pick(&box, 0, 0)]++;
	}
	for (int i = 0; i < 64; i++)
		assert_in_range(seen[i], 60, 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick__constant_whatever_happens),
		cmocka_unit_test(init__seeds_spread_over_the_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
