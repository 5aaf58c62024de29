/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload_cdf.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "text_file.h"

static void parse(const char *text, struct cdf *cdf)
{
	struct weft_err err = {""};

	if (cdf_parse(text, strlen(text), "c", cdf, &err))
		fail_msg("%s", err.msg);
}

static void check_refused(const char *text, const char *message)
{
	struct weft_err err = {""};
	struct cdf cdf;

	assert_int_equal(cdf_parse(text, strlen(text), "c", &cdf, &err), -EINVAL);
	assert_string_equal(err.msg, message);
}

static void cdf_parse__refuses(void **state)
{
	char many[(CDF_POINTS_MAX + 1) * 4 + 1] = "";

	check_refused("", "c:0: the last probability must be 1");
	check_refused("1 0\n5 0.9\n", "c:2: the last probability must be 1");
	check_refused("1 0\n5 0.9\n4 1\n", "c:3: the size must not be below the line before");
	check_refused("1 0\n5 0.9\n# more\n6 0.8\n", "c:4: the probability must not be below the line before");
	check_refused("1 0\n5\n", "c:2: a line is 'BYTES PROBABILITY'");
	check_refused("1 0\n5 1 2\n", "c:2: a line is 'BYTES PROBABILITY'");
	check_refused("1 0\nx 1\n", "c:2: bytes: 'x' is not a number");
	check_refused("1 0\n4294967295 1\n", "c:2: bytes: 4294967295 is not in 0..4294967294");
	check_refused("1 0\n5 100\n", "c:2: the probability is not a number from 0 to 1 with at most nine decimals");
	check_refused("1 0\n5 -1\n", "c:2: the probability is not a number from 0 to 1 with at most nine decimals");
	check_refused("1 0\n5 0.1234567891\n",
		      "c:2: the probability is not a number from 0 to 1 with at most nine decimals");
	check_refused("0 1\n", "c:1: all flows are empty");
	for (int i = 0; i <= CDF_POINTS_MAX; i++)
		strcat(many, "1 0\n");
	check_refused(many, "c:1025: more than 1024 points");
}

static void cdf_mean__exact(void **state)
{
	struct cdf cdf;

	parse("100 1\n", &cdf);
	assert_true(cdf_mean(&cdf) == 200 * UINT64_C(1000000000));
	parse("0 0\n100 1\n", &cdf);
	assert_true(cdf_mean(&cdf) == 100 * UINT64_C(1000000000));
	/* A quarter is 10 bytes, half lies in 20..40, a quarter is 1000 bytes. */
	parse("10 0.25\n20 0.25\n40 0.75\n1000 0.75\n1000 1\n", &cdf);
	assert_true(cdf_mean(&cdf) == (20 + 2 * 60 + 2000) * UINT64_C(250000000));
	parse("4294967294 1\n", &cdf);
	assert_true(cdf_mean(&cdf) == 2 * UINT64_C(4294967294) * 1000000000);
}

static void cdf_draw__steps_and_gaps(void **state)
{
	struct cdf cdf;
	struct rng rng = {7};
	uint32_t low = 0, middle = 0, high = 0;

	parse("10 0.25\n20 0.25\n40 0.75\n1000 0.75\n1000 1\n", &cdf);
	for (int i = 0; i < 40000; i++) {
		uint64_t v = cdf_draw(&cdf, &rng);
		low += v == 10;
		middle += v >= 20 && v <= 40;
		high += v == 1000;
	}
	assert_int_equal(low + middle + high, 40000);
	assert_in_range(low, 9600, 10400);
	assert_in_range(middle, 19500, 20500);
}

static void cdf_draw__never_empty(void **state)
{
	struct cdf cdf;
	struct rng rng = {1};

	parse("0 0.9\n1 1\n", &cdf);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(cdf_draw(&cdf, &rng), 1);
}

/* The share of flows of at most `bytes`. */
static double share_below(const struct cdf *cdf, double bytes)
{
	const struct cdf_point *p = cdf->point;
	double share = 0;

	for (uint32_t i = 0; i < cdf->count && (double)p[i].bytes <= bytes; i++) {
		share = p[i].below;
		if (i + 1 < cdf->count && p[i + 1].bytes > p[i].bytes)
			share += ((double)p[i + 1].below - p[i].below) * (bytes - (double)p[i].bytes) /
				 (double)(p[i + 1].bytes - p[i].bytes);
		share = share > p[i + (i + 1 < cdf->count)].below ? p[i + (i + 1 < cdf->count)].below : share;
	}
	return share / CDF_ONE;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum { SAMPLES = 40000 };

/* Kolmogorov-Smirnov: the largest distance of the empirical from the given distribution. Sizes are whole bytes, so a
 * step's ends are both looked at. The bound has a false alarm in a million (and the seed is fixed). */
static void check_fits(const struct cdf *cdf, const char *name)
{
	static uint64_t v[SAMPLES];
	struct rng rng = {99};
	double worst = 0;

	for (int i = 0; i < SAMPLES; i++)
		v[i] = cdf_draw(cdf, &rng);
	qsort(v, SAMPLES, sizeof v[0], by_size);
	for (int i = 0, next; i < SAMPLES; i = next) {
		for (next = i; next < SAMPLES && v[next] == v[i]; next++)
			;
		double above = (double)next / SAMPLES - share_below(cdf, (double)v[i] + 0.5);
		double below = share_below(cdf, (double)v[i] - 0.5) - (double)i / SAMPLES;
		worst = above > worst ? above : worst;
		worst = below > worst ? below : worst;
	}
	print_message("%s: distance %.5f\n", name, worst);
	assert_true(worst < 2.7 / 200); /* 2.7 / sqrt(SAMPLES) */
}

/* Every file of the folder is in the program, unchanged, and its samples follow it. */
static void cdf_texts__every_file(void **state)
{
	static const struct {
		const char *name;
		double mean;
	} cases[] = {{"alistorage", 40869.8},      {"cachefollower", 712573.5}, {"datamining", 12658198.6},
		     {"googlerpc", 3122.10922345}, {"hadoop", 120420.75},       {"websearch", 1711250},
		     {"webserver", 66121}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char file[64];
		size_t len = 0;
		struct cdf cdf;
		assert_string_equal(cdf_texts[i].name, cases[i].name);
		snprintf(file, sizeof file, "workloads/%s.cdf", cases[i].name);
		char *text = config_read(file, &len);
		assert_non_null(text);
		assert_int_equal(len, strlen(cdf_texts[i].text));
		assert_memory_equal(text, cdf_texts[i].text, len);
		free(text);
		parse(cdf_texts[i].text, &cdf);
		assert_true(cdf_mean(&cdf) == (uint64_t)(cases[i].mean * 2e9 + 0.5));
		check_fits(&cdf, cases[i].name);
	}
	assert_null(cdf_texts[sizeof cases / sizeof cases[0]].name);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cdf_parse__refuses),       cmocka_unit_test(cdf_mean__exact),
		cmocka_unit_test(cdf_draw__steps_and_gaps), cmocka_unit_test(cdf_draw__never_empty),
		cmocka_unit_test(cdf_texts__every_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
