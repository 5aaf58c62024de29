/* SPDX-License-Identifier: BSD-3-Clause */
/* Same options and seed, same run: the digest covers every delivered packet's time, place and header bytes. */
#include "sim_scenario.h"

static uint64_t digest_of(const char *matrix, const char *seed, const char *setting)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--topology", LS16, "--matrix", matrix, "--seed", seed, "--set", setting, "--end", "50ms");
	uint64_t digest = s.result.digest;
	assert_int_not_equal(digest, 0);
	scenario_end(&s);
	return digest;
}

static void digest__is_the_same_twice(void **state)
{
	const char *matrix[] = {MATRIX("perm_16n_1M"), MATRIX("incast_16n_15to1_1M")};
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(digest_of(matrix[i], "7", "trim=2"), digest_of(matrix[i], "7", "trim=2"));
}

static void digest__does_not_depend_on_creation_order(void **state)
{
	assert_int_equal(digest_of(MATRIX("a2a_16n_p4_1M"), "7", "reverse_hosts=0"),
			 digest_of(MATRIX("a2a_16n_p4_1M"), "7", "reverse_hosts=1"));
}

static void digest__is_the_same_twice_with_faults(void **state)
{
	assert_int_equal(digest_of(MATRIX("perm_16n_1M"), "7", "fault_loss_ppm=5000"),
			 digest_of(MATRIX("perm_16n_1M"), "7", "fault_loss_ppm=5000"));
}

static void digest__changes_with_the_seed(void **state)
{
	assert_int_not_equal(digest_of(MATRIX("perm_16n_1M"), "7", "trim=1"),
			     digest_of(MATRIX("perm_16n_1M"), "8", "trim=1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest__is_the_same_twice),
		cmocka_unit_test(digest__does_not_depend_on_creation_order),
		cmocka_unit_test(digest__is_the_same_twice_with_faults),
		cmocka_unit_test(digest__changes_with_the_seed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
