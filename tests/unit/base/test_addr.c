/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/addr.h"

#include "cmocka_all.h"

static void weft_ip_is_any__zero_of_either_family(void **state)
{
	const struct weft_ip v4 = weft_ip_v4(0), v6 = {{0}};

	assert_true(weft_ip_is_any(&v4));
	assert_true(weft_ip_is_any(&v6));
}

/* A bit anywhere makes it an address. */
static void weft_ip_is_any__no_other(void **state)
{
	const struct weft_ip none[] = {weft_ip_v4(0), {{0}}};

	for (unsigned family = 0; family < 2; family++)
		for (unsigned bit = 0; bit < 128; bit++) {
			struct weft_ip ip = none[family];

			ip.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(weft_ip_is_any(&ip));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_ip_is_any__zero_of_either_family),
		cmocka_unit_test(weft_ip_is_any__no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
