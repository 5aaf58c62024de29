/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/stats.h"

#include <string.h>

#include "cmocka_all.h"

static void weft_counter_descs__follow_struct_order(void **state)
{
	struct weft_stats stats = {.tx_data = 1, .pdc_failed = 2};
	const uint64_t *values = (const uint64_t *)&stats;

	assert_string_equal(weft_counter_descs[0].name, "tx_data");
	assert_int_equal(values[0], 1);
	assert_string_equal(weft_counter_descs[WEFT_COUNTER_COUNT - 1].name, "pdc_failed");
	assert_int_equal(values[WEFT_COUNTER_COUNT - 1], 2);
}

static void weft_stats_value__is_what_the_description_says(void **state)
{
	struct weft_stats stats = {.tx_data = 1, .pdc_failed = 2};

	assert_int_equal(weft_stats_value(&stats, 0), 1);
	assert_int_equal(weft_stats_value(&stats, WEFT_COUNTER_COUNT - 1), 2);
	for (int i = 1; i < WEFT_COUNTER_COUNT - 1; i++)
		assert_int_equal(weft_stats_value(&stats, i), 0);
}

static void weft_stats_add__adds_every_counter(void **state)
{
	struct weft_stats sum, more;
	uint64_t values[WEFT_COUNTER_COUNT];
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		values[i] = (uint64_t)i + 1;
	memcpy(&sum, values, sizeof sum);
	memcpy(&more, values, sizeof more);
	weft_stats_add(&sum, &more);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		assert_int_equal(weft_stats_value(&sum, i), 2 * (i + 1));
}

static void weft_counter_descs__complete_and_distinct(void **state)
{
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++) {
		assert_true(strlen(weft_counter_descs[i].help) > 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(weft_counter_descs[i].name, weft_counter_descs[k].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_counter_descs__follow_struct_order),
		cmocka_unit_test(weft_stats_value__is_what_the_description_says),
		cmocka_unit_test(weft_stats_add__adds_every_counter),
		cmocka_unit_test(weft_counter_descs__complete_and_distinct),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
