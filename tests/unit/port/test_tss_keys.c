/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "weft/tss.h"

#define HEX1 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX2 "FFfe02030405060708090A0B0c0d0e0f101112131415161718191a1b1c1d1eEE"

static char path[] = "/tmp/weft-keys-XXXXXX";
static struct weft_tss_keys keys;
static struct weft_err err;

static int setup(void **state)
{
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

static int read_text(const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	memset(&keys, 0xaa, sizeof keys);
	err.msg[0] = 0;
	return weft_tss_keys_read(path, &keys, &err);
}

static void read__all_there_is(void **state)
{
	assert_int_equal(read_text("# of job 7\n\nkey 7 " HEX1 " # old\r\ncurrent 33554431\nKEY 33554431 " HEX2), 0);
	assert_int_equal(keys.count, 2);
	assert_int_equal(keys.current, 1);
	assert_int_equal(keys.key[0].id, 7);
	assert_int_equal(keys.key[1].id, WEFT_TSS_ID_MAX);
	for (uint8_t i = 0; i < 32; i++)
		assert_int_equal(keys.key[0].secret[i], i);
	assert_int_equal(keys.key[1].secret[0], 0xff);
	assert_int_equal(keys.key[1].secret[31], 0xee);
}

/* Each says where and what, never the key, and leaves the keys alone. */
static void read__wrong_text(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "no key"},
		{"# nothing\n", "no key"},
		{"current 1\n", "no key"},
		{"key 1 " HEX1 "\n", "current"},
		{"key 1 " HEX1 "\ncurrent 2\n", "no key 2"},
		{"key 1 " HEX1 "\ncurrent 1\ncurrent 1\n", ":3: a second"},
		{"key 1 " HEX1 "\nkey 1 " HEX2 "\ncurrent 1\n", ":2: key 1 stands there twice"},
		{"key 1\ncurrent 1\n", ":1: a key is"},
		{"key 1 " HEX1 " more\ncurrent 1\n", ":1: a key is"},
		{"key x " HEX1 "\ncurrent 1\n", "not a number"},
		{"key 33554432 " HEX1 "\ncurrent 1\n", "not in 0..33554431"},
		{"key 1 " HEX1 "0\ncurrent 1\n", "not 64 hexadecimal digits"},
		{"key 1 00\ncurrent 1\n", "not 64 hexadecimal digits"},
		{"key 1 0001020304050607_8090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\ncurrent 1\n",
		 "not 64 hexadecimal digits"},
		{"key 1 " HEX1 "\ncurrent\n", "neither"},
		{"secret 1 " HEX1 "\ncurrent 1\n", "neither"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(read_text(rows[i].text), -EINVAL);
		if (!strstr(err.msg, rows[i].says) || strstr(err.msg, "0405060708"))
			fail_msg("'%s' of: %s", err.msg, rows[i].text);
		assert_int_equal(keys.count, 0xaaaaaaaa);
	}
}

static void read__too_many_and_too_long(void **state)
{
	static char text[20000];
	char *p = text;
	for (int i = 0; i <= WEFT_TSS_KEYS_MAX; i++)
		p += sprintf(p, "key %d " HEX1 "\n", i);
	sprintf(p, "current 0\n");
	assert_int_equal(read_text(text), -EINVAL);
	assert_non_null(strstr(err.msg, "more than 8 keys"));
	memset(text, '#', sizeof text - 1);
	assert_int_equal(read_text(text), -EINVAL);
	assert_non_null(strstr(err.msg, "longer than"));
}

static void read__others_may_use_it(void **state)
{
	static const mode_t wrong[] = {0640, 0604, 0620, 0602, 0644, 0610};
	assert_int_equal(read_text("key 1 " HEX1 "\ncurrent 1\n"), 0);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(chmod(path, wrong[i]), 0);
		assert_int_equal(weft_tss_keys_read(path, &keys, &err), -EACCES);
		assert_non_null(strstr(err.msg, "chmod 600"));
	}
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(weft_tss_keys_read(path, &keys, &err), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void read__owner(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	assert_int_equal(weft_tss_keys_read(path, &keys, &err), -EACCES);
	assert_non_null(strstr(err.msg, "12345"));
	assert_int_equal(chown(path, 0, (gid_t)-1), 0);
}

static void read__no_file(void **state)
{
	assert_int_equal(weft_tss_keys_read("/nowhere/keys", &keys, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/keys"));
	assert_int_equal(weft_tss_keys_read("/tmp", &keys, &err), -EINVAL);
	assert_int_equal(weft_tss_keys_read("/dev/zero", &keys, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__all_there_is),
		cmocka_unit_test(read__wrong_text),
		cmocka_unit_test(read__too_many_and_too_long),
		cmocka_unit_test(read__others_may_use_it),
		cmocka_unit_test(read__owner),
		cmocka_unit_test(read__no_file),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
