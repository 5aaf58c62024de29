/* SPDX-License-Identifier: BSD-3-Clause */
/* Code points of classes as users write them. */
#include <errno.h>

#include "ethdev_fixture.h"

static void parse__named_classes_and_the_rest(void **state)
{
	struct weft_dscp dscp;
	struct weft_err err;
	assert_int_equal(weft_dscp_parse("here", "data:26, control:48,trimmed_lasthop:63", &dscp, &err), 0);
	const struct weft_dscp wanted = {26, 10, 12, 16, 63, 40, 48};
	assert_memory_equal(&dscp, &wanted, sizeof dscp);
	assert_int_equal(weft_dscp_parse("here", "data:46,control:8", &dscp, &err), 0);
	assert_int_equal(dscp.data, 46);
	assert_int_equal(dscp.control, 8);
}

static void parse__nonsense_is_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"data", "'data'"},
		{"data:", "'data:'"},
		{"data:64", "'data:64'"},
		{"data:260", "'data:260'"},
		{"data:-1", "'data:-1'"},
		{"data:8x", "'data:8x'"},
		{"data:46", "data and control"},
		{"video:3", "no class 'video'"},
		{" ", "' '"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct weft_dscp dscp;
		struct weft_err err;
		assert_int_equal(weft_dscp_parse("here", cases[i].text, &dscp, &err), -EINVAL);
		assert_non_null(strstr(err.msg, cases[i].word));
		assert_true(strncmp(err.msg, "here: ", 6) == 0);
		struct weft_err bare;
		assert_int_equal(weft_dscp_parse(NULL, cases[i].text, &dscp, &bare), -EINVAL);
		assert_string_equal(bare.msg, err.msg + 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__named_classes_and_the_rest),
		cmocka_unit_test(parse__nonsense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
