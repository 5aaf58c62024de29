/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"

enum { DRAWS = 64000 };

/* Chi-square of DRAWS picks over 64 entropies; 63 degrees of freedom: mean 63, standard deviation 11.2. */
static double chi_square(uint64_t seed)
{
	unsigned seen[64] = {0};
	double sum = 0;
	struct lb_box box;

	lb_box_init(&box, &weft_lb_spray, 64, seed, 0);
	for (uint32_t psn = 0; psn < DRAWS; psn++)
		seen[lb_box_pick(&box, psn, psn)]++;
	for (int i = 0; i < 64; i++)
		sum += (seen[i] - DRAWS / 64.0) * (seen[i] - DRAWS / 64.0) / (DRAWS / 64.0);
	return sum;
}

/* Between the 0.01 % and 99.99 % quantiles: neither lopsided nor suspiciously even. */
static void pick__uniform_by_chi_square(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		double sum = chi_square(seed);
		assert_true(sum > 29 && sum < 112);
	}
}

static void pick__successive_picks_are_independent(void **state)
{
	unsigned pairs[64] = {0};
	double sum = 0;
	struct lb_box box;

	lb_box_init(&box, &weft_lb_spray, 8, 9, 0);
	for (uint32_t psn = 0; psn < DRAWS; psn++) {
		uint16_t a = lb_box_pick(&box, psn, 0);
		pairs[a * 8 + lb_box_pick(&box, psn, 0)]++;
	}
	for (int i = 0; i < 64; i++)
		sum += (pairs[i] - 1000.0) * (pairs[i] - 1000.0) / 1000.0;
	assert_true(sum > 29 && sum < 112);
}

static void pick__seeds_differ_and_repeat(void **state)
{
	struct lb_box a, b, c;
	unsigned same = 0;

	lb_box_init(&a, &weft_lb_spray, 65536, 1, 0);
	lb_box_init(&b, &weft_lb_spray, 65536, 1, 99);
	lb_box_init(&c, &weft_lb_spray, 65536, 2, 0);
	for (uint32_t psn = 0; psn < 1000; psn++) {
		uint16_t ev = lb_box_pick(&a, psn, 0);
		assert_int_equal(lb_box_pick(&b, psn, 0), ev);
		same += lb_box_pick(&c, psn, 0) == ev;
	}
	assert_in_range(same, 0, 5);
}

static void feedback__changes_nothing(void **state)
{
	struct lb_box a, b;

	lb_box_init(&a, &weft_lb_spray, 65536, 1, 0);
	lb_box_init(&b, &weft_lb_spray, 65536, 1, 0);
	for (uint32_t psn = 0; psn < 100; psn++) {
		lb_box_feed(&b, 5, (enum weft_lb_fb)(psn % WEFT_LB_FB_KINDS), 0);
		assert_int_equal(lb_box_pick(&a, psn, 0), lb_box_pick(&b, psn, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick__uniform_by_chi_square),
		cmocka_unit_test(pick__successive_picks_are_independent),
		cmocka_unit_test(pick__seeds_differ_and_repeat),
		cmocka_unit_test(feedback__changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
