/* SPDX-License-Identifier: BSD-3-Clause */
#include "bdp.h"

#include "cmocka_all.h"

static void cc_bdp_bytes__exact(void **state)
{
	assert_int_equal(cc_bdp_bytes(100000000000, 12000), 150000);
	assert_int_equal(cc_bdp_bytes(800000000000, 11450), 1145000);
	assert_int_equal(cc_bdp_bytes(10000000, 1000000), 1250);
	assert_int_equal(cc_bdp_bytes(8000, 1000000), 1);
}

static void cc_bdp_bytes__no_overflow_at_a_petabit(void **state)
{
	assert_int_equal(cc_bdp_bytes(1000000000000000, CC_BRTT_MAX_NS), UINT64_C(16777216000000));
}

static void cc_window_bytes__between_a_packet_and_the_maximum(void **state)
{
	const struct weft_cc_params params = {.mtu_bytes = 4200};

	assert_int_equal(cc_window_bytes(&params, 100000, 150), 150000);
	assert_int_equal(cc_window_bytes(&params, 1000, 150), 4200);
	assert_int_equal(cc_window_bytes(&params, 0, 100), 4200);
	assert_int_equal(cc_window_bytes(&params, CC_CWND_MAX_BYTES - 1, 10000), CC_CWND_MAX_BYTES);
	assert_int_equal(cc_window_bytes(&params, UINT64_MAX, 10000), CC_CWND_MAX_BYTES);
}

static void cc_brtt_ns__within_its_range(void **state)
{
	assert_int_equal(cc_brtt_ns(0), 1);
	assert_int_equal(cc_brtt_ns(12345), 12345);
	assert_int_equal(cc_brtt_ns(UINT64_MAX), CC_BRTT_MAX_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cc_bdp_bytes__exact),
		cmocka_unit_test(cc_bdp_bytes__no_overflow_at_a_petabit),
		cmocka_unit_test(cc_window_bytes__between_a_packet_and_the_maximum),
		cmocka_unit_test(cc_brtt_ns__within_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
