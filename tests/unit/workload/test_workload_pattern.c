/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "patterns.h"
#include "text_file.h"

static void weft_workload_pattern__sizes(void **state)
{
	static const struct {
		const char *spec;
		uint64_t bytes;
	} cases[] = {{"incast:1:5", 5},
		     {"incast:1:5B", 5},
		     {"incast:1:5kB", 5000},
		     {"incast:1:5KiB", 5120},
		     {"incast:1:5MB", 5000000},
		     {"incast:1:5GB", UINT64_C(5000000000)},
		     {"incast:1:5GiB", UINT64_C(5) << 30}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct weft_workload w = make_on(cases[i].spec, 1, NULL);
		assert_int_equal(w.flows[0].bytes, cases[i].bytes);
		weft_workload_free(&w);
	}
}

static void weft_workload_pattern__unknown(void **state)
{
	refused_on("outcast:1:1", NULL, -ENOENT,
		   "'outcast:1:1' is neither a file nor a pattern; patterns are permutation, crosscore, tornado, "
		   "stride, random, incast, "
		   "requests, outcast-incast, alltoall, allreduce-ring, allreduce-butterfly, allreduce-halving, "
		   "poisson, repeat");
}

static void weft_workload_pattern__refuses(void **state)
{
	refused_on("incast:4", NULL, -EINVAL, "'incast:4': the form is incast:SENDERS:SIZE[:INCASTS]");
	refused_on("incast:4:1:1:1", NULL, -EINVAL, "'incast:4:1:1:1': the form is incast:SENDERS:SIZE[:INCASTS]");
	refused_on("incast:0:1", NULL, -EINVAL, "incast:0:1: the number of senders must be a number in 1..65535");
	refused_on("incast:1:1:0", NULL, -EINVAL, "incast:1:1:0: the number of incasts must be a number in 1..65535");
	refused_on("permutation:1:1", NULL, -EINVAL,
		   "permutation:1:1: the number of hosts must be a number in 2..65535");
	refused_on("permutation:4:0", NULL, -EINVAL, "permutation:4:0: SIZE must be above 0 and below 1024 GiB");
	refused_on("permutation:4:1024GiB", NULL, -EINVAL,
		   "permutation:4:1024GiB: SIZE must be above 0 and below 1024 GiB");
	refused_on("permutation:4:MiB", NULL, -EINVAL, "permutation:4:MiB: SIZE must be a number");
	refused_on("permutation:4:1TiB", NULL, -EINVAL,
		   "permutation:4:1TiB: SIZE takes B, kB, MB, GB, KiB, MiB or GiB");
	refused_on("alltoall:4:1:0", NULL, -EINVAL, "alltoall:4:1:0: PARALLEL must be a number in 1..4294967294");
	refused_on("random:0:1", NULL, -EINVAL, "random:0:1: the number of flows must be a number in 1..16777216");
	refused_on("outcast-incast:2:0:1", NULL, -EINVAL, "outcast-incast:2:0:1: FANOUT must be a number in 1..65535");
	refused_on("allreduce-ring:4:1kB:apart", NULL, -EINVAL,
		   "allreduce-ring:4:1kB:apart: 'spread' is expected, or nothing");
	refused_on("poisson:websearch:0.5:1ms", NULL, -EINVAL,
		   "poisson:websearch:0.5:1ms: this pattern depends on a topology");
}

static void weft_workload_is_pattern__names(void **state)
{
	assert_true(weft_workload_is_pattern("permutation:2:1"));
	assert_true(weft_workload_is_pattern("poisson:./mine.cdf:0.5:1ms"));
	assert_true(weft_workload_is_pattern("incast:"));
	assert_false(weft_workload_is_pattern("incast"));
	assert_false(weft_workload_is_pattern("./incast:4"));
	assert_false(weft_workload_is_pattern("permutations:2:1"));
	assert_false(weft_workload_is_pattern(""));
}

static void weft_workload_cdf_file__paths(void **state)
{
	char path[8] = "";

	assert_true(weft_workload_cdf_file("poisson:./a:0.5:1ms", path, sizeof path));
	assert_string_equal(path, "./a");
	assert_true(weft_workload_cdf_file("poisson:/long/name:0.5:1ms", path, sizeof path));
	assert_string_equal(path, "/long/n");
	assert_true(weft_workload_cdf_file("repeat:2:1ms:poisson:./b:0.5:1ms", path, sizeof path));
	assert_string_equal(path, "./b");
	assert_false(weft_workload_cdf_file("repeat:2:1ms:poisson:websearch:0.5:1ms", path, sizeof path));
	assert_false(weft_workload_cdf_file("repeat:2:1ms", path, sizeof path));
	assert_false(weft_workload_cdf_file("poisson:websearch:0.5:1ms", path, sizeof path));
	assert_false(weft_workload_cdf_file("poisson", path, sizeof path));
	assert_false(weft_workload_cdf_file("incast:a/b:1", path, sizeof path));
	assert_false(weft_workload_cdf_file("nothing:a/b", path, sizeof path));
}

/* A form as it stands in a table of Markdown. */
static void in_table(const char *usage, char *text, size_t size)
{
	size_t len = 0;

	for (; *usage; usage++) {
		assert_true(len + 2 < size);
		if (*usage == '|')
			text[len++] = '\\';
		text[len++] = *usage;
	}
	text[len] = '\0';
}

/* The manual has every form, word for word. */
static void weft_workload_kinds__in_manual(void **state)
{
	size_t len = 0;
	char *manual = config_read("../doc/guide/workloads.md", &len);

	assert_non_null(manual);
	for (const struct weft_workload_kind *k = weft_workload_kinds; k->usage; k++) {
		char row[96], usage[80];
		in_table(k->usage, usage, sizeof usage);
		snprintf(row, sizeof row, "\n| `%s` |", usage);
		if (!memmem(manual, len, row, strlen(row)))
			fail_msg("doc/guide/workloads.md has no row for %s", k->usage);
	}
	free(manual);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_workload_pattern__sizes),   cmocka_unit_test(weft_workload_pattern__unknown),
		cmocka_unit_test(weft_workload_pattern__refuses), cmocka_unit_test(weft_workload_is_pattern__names),
		cmocka_unit_test(weft_workload_cdf_file__paths),  cmocka_unit_test(weft_workload_kinds__in_manual),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
