/* SPDX-License-Identifier: BSD-3-Clause */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>

#include "cmocka_all.h"

static void reserve__grows_and_keeps(void **state)
{
	uint32_t *numbers = NULL;
	size_t room = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(array_reserve(&numbers, i, &room, sizeof *numbers));
		assert_true(room > i);
		numbers[i] = i * 3;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], i * 3);
	free(numbers);
}

static void reserve__nothing_lost_without_memory(void **state)
{
	char *bytes = NULL;
	size_t room = 0;
	assert_true(array_reserve(&bytes, 0, &room, 1));
	bytes[0] = 'x';
	size_t had = room;
	assert_false(array_reserve(&bytes, room, &room, SIZE_MAX / 64));
	assert_int_equal(room, had);
	assert_int_equal(bytes[0], 'x');
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserve__grows_and_keeps),
		cmocka_unit_test(reserve__nothing_lost_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
