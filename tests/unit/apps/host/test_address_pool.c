/* SPDX-License-Identifier: BSD-3-Clause */
#include "address_pool.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

enum { MAX = 31 };

static struct weft_ip out[MAX];
static uint32_t count;
static struct weft_err err;

static int parse(const char *text)
{
	return address_pool_parse("--addresses", text, out, MAX, &count, &err);
}

static void pool_parse__first_and_last(void **state)
{
	assert_int_equal(parse("10.1.0.254-10.1.1.1"), 0);
	assert_int_equal(count, 4);
	for (uint32_t i = 0; i < count; i++)
		assert_true(weft_ip_is_v4(&out[i]) && weft_ip_low32(&out[i]) == 0x0a0100fe + i);
	assert_int_equal(parse("10.1.0.7-10.1.0.7"), 0);
	assert_int_equal(count, 1);
}

static void pool_parse__number(void **state)
{
	assert_int_equal(parse("fd00::ff+2"), 0);
	assert_int_equal(count, 2);
	assert_int_equal(out[0].b[0], 0xfd);
	assert_int_equal(weft_ip_low32(&out[1]), 0x100);
	assert_int_equal(out[1].b[0], 0xfd);
	assert_int_equal(parse("10.1.0.1+31"), 0);
	assert_int_equal(count, MAX);
}

static void pool_parse__refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"10.1.0.1",
		"10.1.0.1-",
		"10.1.0.1+",
		"10.1.0.1+0",
		"10.1.0.1+32",
		"10.1.0.1+x",
		"10.1.0.1+1x",
		"10.1.0.1+-1",
		"10.1.0.9-10.1.0.8",
		"10.1.0.1-fd00::2",
		"fd00::1-fd00:0:0:1::2",
		"0.0.0.0+3",
		"::+3",
		"255.255.255.255+2",
		"name+2",
		"10.1.0.1+99999999999999999999",
		"1111:1111:1111:1111:1111:1111:1111:1111-1111:1111:1111:1111:1111:1111:1111:1111:1111"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(parse(bad[i]), -EINVAL);
		assert_int_equal(strncmp(err.msg, "--addresses: ", 13), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_parse__first_and_last),
		cmocka_unit_test(pool_parse__number),
		cmocka_unit_test(pool_parse__refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
