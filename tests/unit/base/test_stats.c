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
		cmocka_unit_test(weft_counter_descs__complete_and_distinct),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
