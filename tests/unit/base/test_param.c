/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/spi/param.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

struct conf {
	uint8_t flag, canary;
	uint32_t small;
	uint64_t large;
};

static const struct weft_param table[] = {
	{"flag", "a switch", 1, 0, 1, offsetof(struct conf, flag), WEFT_PARAM_BOOL},
	{"small", "a count", 7, 1, 5000000, offsetof(struct conf, small), WEFT_PARAM_U32},
	{"large", "bytes", 1 << 20, 0, UINT64_MAX, offsetof(struct conf, large), WEFT_PARAM_U64},
	{NULL},
};

static int set(struct conf *c, const char *key, const char *value)
{
	struct weft_err err = {""};
	int rc = weft_param_set(table, c, key, value, &err);

	assert_int_equal(rc == 0, err.msg[0] == '\0');
	return rc;
}

static void weft_param_defaults__writes_all(void **state)
{
	struct conf c = {.canary = 0xa5};

	weft_param_defaults(table, &c);
	assert_int_equal(c.flag, 1);
	assert_int_equal(c.small, 7);
	assert_int_equal(c.large, 1 << 20);
	assert_int_equal(c.canary, 0xa5);
	weft_param_defaults(NULL, NULL);
}

static void weft_param_set__numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{"0", 0},           {"42", 42},
		{"0042", 42},       {"0x2A", 42},
		{"5k", 5000},       {"5M", 5000000},
		{"5G", 5000000000}, {"5Ki", 5120},
		{"5Mi", 5u << 20},  {"5Gi", UINT64_C(5) << 30},
		{"0x10Ki", 16384},  {"18446744073709551615", UINT64_MAX},
	};
	struct conf c;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(set(&c, "large", cases[i].text), 0);
		assert_int_equal(c.large, cases[i].value);
	}
}

static void weft_param_set__rejects_what_is_no_number(void **state)
{
	static const char *const bad[] = {"",   " 1",  "-1", "+1",  "1 ",  "1K",   "1m",   "k",
					  "0x", "0xg", "x1", "1.5", "1kk", "0x-1", "0x 1", "one"};
	struct conf c = {.large = 99};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(set(&c, "large", bad[i]), -EINVAL);
	assert_int_equal(c.large, 99);
}

static void weft_param_set__range(void **state)
{
	struct conf c = {.small = 99};
	struct weft_err err;

	assert_int_equal(set(&c, "small", "0"), -ERANGE);
	assert_int_equal(set(&c, "small", "5000001"), -ERANGE);
	assert_int_equal(set(&c, "large", "18446744073709551616"), -ERANGE);
	assert_int_equal(set(&c, "large", "18446744073709551615k"), -ERANGE);
	assert_int_equal(c.small, 99);
	weft_param_set(table, &c, "small", "6M", &err);
	assert_string_equal(err.msg, "small: 6M is outside 1..5000000");
	assert_int_equal(set(&c, "small", "5M"), 0);
	assert_int_equal(c.small, 5000000);
}

static void weft_param_set__bool(void **state)
{
	struct conf c = {.canary = 0xa5};

	assert_int_equal(set(&c, "flag", "ON"), 0);
	assert_int_equal(c.flag, 1);
	assert_int_equal(set(&c, "flag", "false"), 0);
	assert_int_equal(c.flag, 0);
	assert_int_equal(set(&c, "flag", "1"), 0);
	assert_int_equal(c.flag, 1);
	assert_int_equal(set(&c, "flag", "2"), -EINVAL);
	assert_int_equal(c.flag, 1);
	assert_int_equal(c.canary, 0xa5);
}

static void weft_param_set__unknown_key_lists_keys(void **state)
{
	struct conf c;
	struct weft_err err;

	assert_int_equal(weft_param_set(table, &c, "smal", "1", &err), -ENOENT);
	assert_string_equal(err.msg, "no parameter 'smal'; valid: flag small large");
	assert_int_equal(weft_param_set(NULL, NULL, "x", "1", &err), -ENOENT);
	assert_string_equal(err.msg, "no parameter 'x'; valid: none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_param_defaults__writes_all),
		cmocka_unit_test(weft_param_set__numbers),
		cmocka_unit_test(weft_param_set__rejects_what_is_no_number),
		cmocka_unit_test(weft_param_set__range),
		cmocka_unit_test(weft_param_set__bool),
		cmocka_unit_test(weft_param_set__unknown_key_lists_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
