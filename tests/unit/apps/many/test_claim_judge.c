/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "claim.h"
#include "scenario_fixture.h"

enum { SEEDS = 3, CASES = 2 };

/* Slowest flows of case a and case b: each pair has the same seed. Ratios 2, 2.2 and 2.4, differences 10, 18, 28. */
static const double tails_us[CASES][SEEDS] = {{20, 33, 48}, {10, 15, 20}};

static const char *const case_values[CASES] = {"a", "b"};

static void plan(struct scenario_fixture *f, const char *seeds)
{
	char text[128];
	snprintf(text, sizeof text, "title: pairs\ncases: [{name: a}, {name: b}]\n%s", seeds);
	scenario_plan(f, text);
	uint32_t each = f->w.count / CASES;
	for (uint32_t i = 0; i < f->w.count; i++) {
		struct sweep_run *r = &f->w.runs[i];
		r->known = true;
		r->record.result.flow_count = r->record.summary.completed = 1;
		r->record.summary.fct_us.max = tails_us[i / each][i % each];
	}
}

static struct claim_pick pick_case(uint32_t index)
{
	return (struct claim_pick){{{.name = "case", .values = (const char **)&case_values[index], .count = 1}}, 1};
}

/* About case a, or a against b. */
static struct claim claim_of(bool against, double at_least, double at_most)
{
	struct claim c = {.text = "", .at_least = at_least, .at_most = at_most};
	assert_true(measure_find("fct_max_us", &c.measure));
	c.of = pick_case(0);
	if (against)
		c.over = pick_case(1);
	c.relative = against;
	return c;
}

static struct claim_verdict judged(struct scenario_fixture *f, const struct claim *c)
{
	struct claim_verdict v;
	if (claim_judge(c, &f->w, &v, &f->err))
		fail_msg("%s", f->err.msg);
	return v;
}

/* Of the three seeds, where the bound is not within the interval. */
static void check(struct scenario_fixture *f, const struct claim *c, double value, double half, const char *ours)
{
	plan(f, "seeds: 3\n");
	struct claim_verdict v = judged(f, c);
	assert_float_equal(v.value, value, 1e-9);
	assert_float_equal(v.half, half, 1e-3);
	assert_true(v.holds && !v.unsure);
	assert_string_equal(v.ours, ours);
}

/* t(0.975, 2) = 4.3027. The mean is 101 / 3, the deviation sqrt((13.667^2 + 0.667^2 + 14.333^2) / 2) = 14.0119. */
static void claim_judge__interval_of_a_measure(void **state)
{
	const struct claim c = claim_of(false, NAN, 100);
	check(*state, &c, 101.0 / 3, 34.808, "33.6667 ±35 (a)");
}

/* Of the ratios of pairs: deviation 0.2, 4.3027 * 0.2 / sqrt(3). The value stays the ratio of the means. */
static void claim_judge__ratios_are_paired_by_seed(void **state)
{
	const struct claim c = claim_of(true, 1.5, NAN);
	check(*state, &c, 101.0 / 45, 0.496833, "2.24 ±0.5 (a: 33.6667; b: 15)");
}

/* Deviation of 10, 18 and 28: 9.0185. */
static void claim_judge__differences_are_paired_by_seed(void **state)
{
	struct claim c = claim_of(true, -10, NAN);
	c.difference = true;
	check(*state, &c, 56.0 / 3, 22.4034, "18.7 ±22 (a: 33.6667; b: 15)");
}

/* 2.244 +-0.497 ends at 1.748 and 2.741. */
static void claim_judge__tells_when_the_interval_has_the_bound(void **state)
{
	static const struct {
		double at_least, at_most;
		bool holds, unsure;
	} cases[] = {
		{1.74, NAN, true, false}, {1.75, NAN, true, true}, {2.74, NAN, false, true}, {2.75, NAN, false, false},
		{NAN, 2.75, true, false}, {NAN, 2.74, true, true}, {NAN, 1.75, false, true}, {NAN, 1.74, false, false},
		{1, 3, true, false},      {1, 2.5, true, true},    {NAN, NAN, false, false},
	};
	struct scenario_fixture *f = *state;
	plan(f, "seeds: 3\n");
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct claim c = claim_of(true, cases[i].at_least, cases[i].at_most);
		struct claim_verdict v = judged(f, &c);
		assert_int_equal(v.holds, cases[i].holds);
		assert_int_equal(v.unsure, cases[i].unsure);
	}
}

static void claim_judge__one_seed_has_no_interval(void **state)
{
	struct scenario_fixture *f = *state;
	plan(f, "");
	const struct claim c = claim_of(true, 2, NAN);
	struct claim_verdict v = judged(f, &c);
	assert_true(v.holds && !v.unsure && v.half == 0);
	assert_string_equal(v.ours, "2 (a: 20; b: 10)");
}

static void claim_judge__seeds_that_agree_leave_no_doubt(void **state)
{
	struct scenario_fixture *f = *state;
	plan(f, "seeds: 3\n");
	for (uint32_t i = 0; i < SEEDS; i++)
		f->w.runs[i].record.summary.fct_us.max = 0.1;
	const struct claim c = claim_of(false, NAN, 0.1 + 1e-9);
	struct claim_verdict v = judged(f, &c);
	assert_true(v.holds && !v.unsure && v.half == 0);
	assert_string_equal(v.ours, "0.1 ±0 (a)");
}

/* Something over nothing is infinite, and has no interval, be it in one seed or in all. */
static void claim_judge__nothing_to_divide_by(void **state)
{
	struct scenario_fixture *f = *state;
	plan(f, "seeds: 3\n");
	const struct claim c = claim_of(true, 100, NAN);
	f->w.runs[SEEDS].record.summary.fct_us.max = 0;
	struct claim_verdict v = judged(f, &c);
	assert_true(!v.holds && !v.unsure && isnan(v.half));
	assert_string_equal(v.ours, "2.89 (a: 33.6667; b: 11.6667)");
	f->w.runs[SEEDS + 1].record.summary.fct_us.max = f->w.runs[SEEDS + 2].record.summary.fct_us.max = 0;
	v = judged(f, &c);
	assert_true(v.holds && !v.unsure && isnan(v.half));
	assert_string_equal(v.ours, "inf (a: 33.6667; b: 0)");
}

static void claim_judge__a_missing_seed_leaves_it_open(void **state)
{
	struct scenario_fixture *f = *state;
	plan(f, "seeds: 3\n");
	f->w.runs[SEEDS + 2].known = false;
	const struct claim c = claim_of(true, 1, NAN);
	struct claim_verdict v = judged(f, &c);
	assert_true(!v.known && !v.holds && !v.unsure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENARIO_TEST(claim_judge__interval_of_a_measure),
		SCENARIO_TEST(claim_judge__ratios_are_paired_by_seed),
		SCENARIO_TEST(claim_judge__differences_are_paired_by_seed),
		SCENARIO_TEST(claim_judge__tells_when_the_interval_has_the_bound),
		SCENARIO_TEST(claim_judge__one_seed_has_no_interval),
		SCENARIO_TEST(claim_judge__seeds_that_agree_leave_no_doubt),
		SCENARIO_TEST(claim_judge__nothing_to_divide_by),
		SCENARIO_TEST(claim_judge__a_missing_seed_leaves_it_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
