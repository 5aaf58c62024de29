/* SPDX-License-Identifier: BSD-3-Clause */
#include "route_box.h"

enum { SAMPLES = 80000 };

static void random__uniform_for_one_entropy(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0};

	box_open(&lan, "leafspine:4:8:8", "random", NULL, 1);
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[box_choose_up(&lan, 0, 0, 9, 7)]++;
	check_uniform(count, 8, SAMPLES, 29.9);
	lan_close(&lan);
}

/* Neither a packet's own past nor another switch says anything about the next choice. */
static void random__pairs_are_independent(void **state)
{
	struct lan lan;
	uint32_t next[64] = {0}, other[64] = {0}, last = 0;

	box_open(&lan, "leafspine:4:8:8", "random", NULL, 1);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t here = box_choose_up(&lan, 0, 0, 9, 7), there = box_choose_up(&lan, 1, 9, 0, 7);
		next[8 * last + here]++;
		other[8 * here + there]++;
		last = here;
	}
	check_uniform(next, 64, SAMPLES, 113.5);
	check_uniform(other, 64, SAMPLES, 113.5);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(random__uniform_for_one_entropy),
		cmocka_unit_test(random__pairs_are_independent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
