/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_replay.h"

#include <string.h>

#include "cmocka_all.h"
#include "weft/tss.h"

#define FIRST UINT64_C(1800000000000000000)

static struct tss_replay window;

static int setup(void **state)
{
	memset(&window, 0, sizeof window);
	assert_int_equal(tss_replay_take(&window, FIRST), TSS_FRESH);
	return 0;
}

static void take__once_each(void **state)
{
	for (uint64_t i = 1; i < 3 * WEFT_TSS_REPLAY_WINDOW; i++) {
		assert_int_equal(tss_replay_take(&window, FIRST + i), TSS_FRESH);
		assert_int_equal(tss_replay_take(&window, FIRST + i), TSS_SEEN);
	}
}

static void take__any_order_within_the_window(void **state)
{
	enum { LAST = WEFT_TSS_REPLAY_WINDOW - 1 };
	assert_int_equal(tss_replay_take(&window, FIRST + LAST), TSS_FRESH);
	for (uint64_t i = LAST - 1; i > 0; i--)
		assert_int_equal(tss_replay_take(&window, FIRST + i), TSS_FRESH);
	for (uint64_t i = 0; i <= LAST; i++)
		assert_int_equal(tss_replay_take(&window, FIRST + i), TSS_SEEN);
}

static void take__too_late(void **state)
{
	assert_int_equal(tss_replay_take(&window, FIRST + WEFT_TSS_REPLAY_WINDOW), TSS_FRESH);
	assert_int_equal(tss_replay_take(&window, FIRST), TSS_LATE);
	assert_int_equal(tss_replay_take(&window, FIRST + 1), TSS_FRESH);
}

/* Numbers that share a bit with an earlier one. */
static void take__far_ahead_forgets(void **state)
{
	const uint64_t round = (uint64_t)TSS_REPLAY_WORDS * 64;
	assert_int_equal(tss_replay_take(&window, FIRST + round), TSS_FRESH);
	assert_int_equal(tss_replay_take(&window, FIRST + 7 * round), TSS_FRESH);
	assert_int_equal(tss_replay_take(&window, FIRST + 7 * round - 1), TSS_FRESH);
	assert_int_equal(tss_replay_take(&window, FIRST + 6 * round), TSS_LATE);
	assert_int_equal(tss_replay_take(&window, UINT64_MAX), TSS_FRESH);
	assert_int_equal(tss_replay_take(&window, UINT64_MAX), TSS_SEEN);
}

/* Against a plain list of what has come. */
static void take__random_against_a_model(void **state)
{
	enum { NUMBERS = 200000 };
	static uint8_t came[NUMBERS + 1000];
	uint64_t newest = 0, random = 1;
	memset(came, 0, sizeof came);
	came[0] = 1;
	for (int i = 0; i < 400000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		uint64_t ahead = (random >> 33) % 500, behind = (random >> 45) % 40000;
		uint64_t n = random >> 63 ? newest + ahead : newest > behind ? newest - behind : 0;
		if (n >= NUMBERS)
			break;
		enum tss_fresh want = newest > n && newest - n >= WEFT_TSS_REPLAY_WINDOW ? TSS_LATE
				      : came[n]                                          ? TSS_SEEN
											 : TSS_FRESH;
		assert_int_equal(tss_replay_take(&window, FIRST + n), want);
		came[n] |= want == TSS_FRESH;
		newest = n > newest ? n : newest;
	}
	assert_true(newest > WEFT_TSS_REPLAY_WINDOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(take__once_each, setup),
		cmocka_unit_test_setup(take__any_order_within_the_window, setup),
		cmocka_unit_test_setup(take__too_late, setup),
		cmocka_unit_test_setup(take__far_ahead_forgets, setup),
		cmocka_unit_test_setup(take__random_against_a_model, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
