/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <string.h>

#include "siphash.h"

/* Of the reference's vectors (key 00 01 .. 0f, input 00 01 ..) those of whole words: 0, 8, 16, 24 bytes. */
static void siphash__reference_vectors(void **state)
{
	static const uint64_t want[] = {0x726fdb47dd0e0e31, 0x93f5f5799a932462, 0x3f2acc7f57c29bdb, 0xb8ad50c6f649af94};
	uint64_t words[3];
	struct siphash_key key;
	uint8_t bytes[24];
	for (uint8_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i;
	memcpy(words, bytes, sizeof words);
	memcpy(&key, bytes, sizeof key);
	for (uint32_t n = 0; n < sizeof want / sizeof *want; n++)
		assert_int_equal(siphash(&key, words, n), want[n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(siphash__reference_vectors)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
