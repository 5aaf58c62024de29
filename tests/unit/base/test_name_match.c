/* SPDX-License-Identifier: BSD-3-Clause */
#include "name_match.h"

#include <string.h>

#include "cmocka_all.h"
#include "weft/spi/param.h"

static void match_any__takes_shell_patterns(void **state)
{
	assert_true(match_any("leaf0:up2", "leaf0:up2"));
	assert_true(match_any("leaf*:up*", "leaf12:up2"));
	assert_true(match_any("*", "host5"));
	assert_true(match_any("spine[01]:*", "spine1:down0"));
	assert_false(match_any("leaf0:up", "leaf0:up2"));
	assert_false(match_any("spine[01]:*", "spine2:down0"));
	assert_false(match_any("", "host5"));
}

static void match_any__tries_all_of_a_list(void **state)
{
	assert_true(match_any("host1,host5", "host5"));
	assert_true(match_any("host1,,leaf*,", "leaf0:host3"));
	assert_false(match_any("host1,host5", "host1,host5"));
	assert_false(match_any("host1,host5", "host"));
}

static void match_any__ignores_what_no_name_can_fit(void **state)
{
	char list[600];
	memset(list, '*', sizeof list);
	memcpy(list + 590, ",host1", 7);
	assert_false(match_any(list, "host2"));
	assert_true(match_any(list, "host1"));
}

static void name_misspelt__counts_letters(void **state)
{
	assert_int_equal(name_misspelt("ack_every", "ack_every"), 0);
	assert_int_equal(name_misspelt("ack_evry", "ack_every"), 1);
	assert_int_equal(name_misspelt("ack_everyy", "ack_every"), 1);
	assert_int_equal(name_misspelt("ack-every", "ack_every"), 1);
	assert_int_equal(name_misspelt("drill_chioces", "drill_choices"), 2);
	assert_int_equal(name_misspelt("rto_n", "rto_ns"), 1);
}

static void name_misspelt__other_words_are_far(void **state)
{
	char longest[66] = "";
	assert_int_equal(name_misspelt("colour", "queue_bytes"), NAME_FAR);
	assert_int_equal(name_misspelt("ack_delay", "ack_every"), NAME_FAR);
	assert_int_equal(name_misspelt("crx", "crc"), NAME_FAR);
	assert_int_equal(name_misspelt("", "crc"), NAME_FAR);
	assert_int_equal(name_misspelt("crc", ""), NAME_FAR);
	memset(longest, 'a', 64);
	assert_int_equal(name_misspelt(longest + 1, longest), 1);
	longest[64] = 'a';
	assert_int_equal(name_misspelt(longest, longest), NAME_FAR);
}

static void name_guess_param__keeps_the_nearest(void **state)
{
	static const struct weft_param first[] = {{.key = "ack_evened"}, {.key = "ack_every"}, {.key = NULL}},
				       second[] = {{.key = "ack_even"}, {.key = "colour"}, {.key = NULL}};
	struct name_guess guess = {.typed = "ack_evry", .letters = NAME_FAR};
	name_guess_param(&guess, NULL);
	assert_null(guess.nearest);
	name_guess_param(&guess, first);
	name_guess_param(&guess, second);
	assert_string_equal(guess.nearest, "ack_every");
	assert_int_equal(guess.letters, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(match_any__takes_shell_patterns),
		cmocka_unit_test(match_any__tries_all_of_a_list),
		cmocka_unit_test(match_any__ignores_what_no_name_can_fit),
		cmocka_unit_test(name_misspelt__counts_letters),
		cmocka_unit_test(name_misspelt__other_words_are_far),
		cmocka_unit_test(name_guess_param__keeps_the_nearest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
