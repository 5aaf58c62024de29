/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cmocka_all.h"
#include "weft/stats.h"
#include "wire.h"

static void wire_error_name__matches_the_counters(void **state)
{
	char counter[32] = "rx_bad_";

	assert_string_equal(wire_error_name(WIRE_OK), "ok");
	assert_string_equal(wire_error_name(WIRE_ERRORS), "unknown");
	for (int error = WIRE_OK + 1; error < WIRE_ERRORS; error++) {
		bool found = false;
		strcpy(counter + 7, wire_error_name(error));
		for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
			found |= strcmp(counter, weft_counter_descs[i].name) == 0;
		assert_true(found);
	}
}

/* How many of 0..255 have a name, and that names are distinct. */
static int count_names(const char *(*name)(uint8_t))
{
	int count = 0;

	for (int a = 0; a <= UINT8_MAX; a++) {
		if (strcmp(name((uint8_t)a), "unknown") == 0)
			continue;
		count++;
		for (int b = 0; b < a; b++)
			assert_string_not_equal(name((uint8_t)a), name((uint8_t)b));
	}
	return count;
}

static void wire_names__complete_and_distinct(void **state)
{
	assert_int_equal(count_names(wire_pds_name), 14);
	assert_int_equal(count_names(wire_ctl_name), 10);
	assert_int_equal(count_names(wire_nack_name), 28);
	assert_int_equal(count_names(wire_op_name), 17);
	assert_int_equal(count_names(wire_rsp_name), 4);
	assert_int_equal(count_names(wire_rc_name), 38);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_error_name__matches_the_counters),
		cmocka_unit_test(wire_names__complete_and_distinct),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
