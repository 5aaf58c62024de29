/* SPDX-License-Identifier: BSD-3-Clause */
#include "lines.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

static void lines_next__skips_blanks_and_comments(void **state)
{
	static const char text[] = "\n  # nothing\n a\tB 12 # tail\r\n\nlast";
	struct lines l;

	lines_init(&l, text, strlen(text), "f", NULL);
	assert_int_equal(lines_next(&l), 1);
	assert_int_equal(l.line, 3);
	assert_int_equal(l.count, 3);
	assert_true(lines_is(&l, 1, "b"));
	assert_false(lines_is(&l, 1, "bb"));
	assert_false(lines_is(&l, 3, "b"));
	assert_int_equal(lines_next(&l), 1);
	assert_int_equal(l.line, 5);
	assert_true(lines_is(&l, 0, "LAST"));
	assert_int_equal(lines_next(&l), 0);
}

static void lines_next__too_many_words(void **state)
{
	char text[2 * LINES_TOKENS_MAX + 3];
	struct weft_err err;
	struct lines l;

	for (size_t i = 0; i < sizeof text - 1; i++)
		text[i] = i % 2 ? ' ' : 'x';
	lines_init(&l, text, sizeof text - 1, "f", &err);
	assert_int_equal(lines_next(&l), -EINVAL);
	assert_string_equal(err.msg, "f:1: more than 32 words in a line");
}

static void lines_u64__ranges(void **state)
{
	static const char text[] = "5 11 x 1x 18446744073709551616";
	struct weft_err err;
	struct lines l;
	uint64_t v;

	lines_init(&l, text, strlen(text), "f", &err);
	assert_int_equal(lines_next(&l), 1);
	assert_int_equal(lines_u64(&l, 0, "n", 1, 10, &v), 0);
	assert_int_equal(v, 5);
	assert_int_equal(lines_u64(&l, 1, "n", 1, 10, &v), -EINVAL);
	assert_string_equal(err.msg, "f:1: n: 11 is not in 1..10");
	for (uint32_t i = 2; i < 5; i++)
		assert_int_equal(lines_u64(&l, i, "n", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(lines_u64(&l, 5, "n", 0, 1, &v), -EINVAL);
	assert_string_equal(err.msg, "f:1: n: a number is missing");
}

static void token_u64__rest(void **state)
{
	struct token rest;
	uint64_t v;

	assert_true(token_u64((struct token){"12kB", 4}, &v, &rest));
	assert_int_equal(v, 12);
	assert_true(token_is(rest, "KB"));
	assert_false(token_u64((struct token){"kB", 2}, &v, &rest));
	assert_false(token_u64((struct token){"12kB", 4}, &v, NULL));
}

static struct token word(const char *s)
{
	return (struct token){s, strlen(s)};
}

static void token_nano__decimals(void **state)
{
	static const char *const bad[] = {"", ".5", "1.", "-1", "x", "0.1234567891", "1000000000", "1.5x", "1e3"};
	struct token rest;
	uint64_t v;

	assert_true(token_nano(word("0.6"), &v, NULL));
	assert_true(v == 600000000);
	assert_true(token_nano(word("12"), &v, NULL));
	assert_true(v == UINT64_C(12000000000));
	assert_true(token_nano(word("0.123456789"), &v, NULL));
	assert_true(v == 123456789);
	assert_true(token_nano(word("2.5ms"), &v, &rest));
	assert_true(v == UINT64_C(2500000000) && token_is(rest, "ms"));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(token_nano(word(bad[i]), &v, NULL));
}

static void spec_split__counts_all(void **state)
{
	struct token t[2];

	assert_int_equal(spec_split("a:b:c", t, 2), 3);
	assert_true(token_is(t[1], "b"));
	assert_int_equal(spec_split("", t, 2), 1);
	assert_int_equal(t[0].len, 0);
	assert_int_equal(spec_split("a:", t, 2), 2);
	assert_int_equal(t[1].len, 0);
}

static void spec_u32__message(void **state)
{
	struct weft_err err;
	uint32_t v;

	assert_int_equal(spec_u32("a:7", (struct token){"7", 1}, "N", 1, 9, &v, &err), 0);
	assert_int_equal(v, 7);
	assert_int_equal(spec_u32("a:0", (struct token){"0", 1}, "N", 1, 9, &v, &err), -EINVAL);
	assert_string_equal(err.msg, "a:0: N must be a number in 1..9");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_next__skips_blanks_and_comments),
		cmocka_unit_test(lines_next__too_many_words),
		cmocka_unit_test(lines_u64__ranges),
		cmocka_unit_test(token_u64__rest),
		cmocka_unit_test(token_nano__decimals),
		cmocka_unit_test(spec_split__counts_all),
		cmocka_unit_test(spec_u32__message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
