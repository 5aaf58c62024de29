/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "scenario_fixture.h"

static void scenario_load__takes_every_key(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "title: a title\n"
			 "about: a sentence\n"
			 "topology: star:4\n"
			 "matrix: permutation:4:4KiB\n"
			 "set: {ack_every: 2}\n"
			 "cases:\n"
			 "  - {name: one, lb: ops}\n"
			 "  - name: two\n"
			 "    set: {ack_every: 3}\n"
			 "sweep:\n"
			 "  link-gbps: [100, 400]\n"
			 "  set.ecn_min_pct: [10, 20]\n"
			 "seeds: [7, 9]\n"
			 "outputs: {dir: here}\n"
			 "claims:\n"
			 "  - {anything: [goes, here]}\n");
	assert_string_equal(f->s.title, "a title");
	assert_string_equal(f->s.about, "a sentence");
	assert_int_equal(f->s.case_count, 2);
	assert_int_equal(f->s.axis_count, 2);
	assert_string_equal(f->s.axes[1].name, "ecn_min_pct");
	assert_int_equal(f->s.seed_count, 2);
	assert_int_equal(f->s.claim_count, 1);
	assert_int_equal(f->w.count, 16);
}

static void scenario_load__options_alone_are_one_run(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_try(f, "seed: 4\n"), 0);
	scenario_free(&f->s);
	assert_int_equal(scenario_load(&f->s, f->path, &f->err), 0);
	assert_string_equal(f->s.title, "case");
	assert_string_equal(f->s.about, "");
	assert_string_equal(f->s.out, "weft-out/case");
	assert_int_equal(scenario_runs(&f->s), 1);
}

static void scenario_load__refuses_nothing_at_all(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_try(f, ""), -EINVAL);
	scenario_free(&f->s);
	assert_int_equal(scenario_try(f, "# nothing at all\n"), -EINVAL);
	assert_non_null(strstr(f->err.msg, "case.yaml: empty"));
}

static void scenario_load__names_line_and_key(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_refused(f, "seed: 1\ncolour: red\n", 2, "colour: unknown key");
	scenario_refused(f, "seed: 1\nseed: 2\n", 2, "seed: given twice, first in line 1");
	scenario_refused(f, "title: [a]\n", 1, "title: a single value");
	scenario_refused(f, "end: soon\n", 1, "end: 'soon'");
	scenario_refused(f, "end:\n", 1, "end: ''");
	scenario_refused(f, "set: 4\n", 1, "set: a mapping");
	scenario_refused(f, "set:\n  ack_every: 2\n  ack_every: 3\n", 3, "ack_every: given twice");
	scenario_refused(f, "faults: 4\n", 1, "faults: a list");
	scenario_refused(f, "json: x\n", 1, "json: is for the command line");
	scenario_refused(f, "outputs:\n  colour: red\n", 2, "colour: unknown key");
	scenario_refused(f, "claims: [1]\n", 1, "claims: a mapping");
	scenario_refused(f, "- 1\n", 1, "a mapping");
	scenario_refused(f, "seed: 1\n---\nseed: 2\n", 3, "second document");
	scenario_refused(f, "seed: \"1\n", 2, "");
	scenario_refused(f, "title: \"a\\0b\"\n", 1, "title: a zero byte");
}

static void scenario_load__refuses_bad_cases(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_refused(f, "cases: []\n", 1, "cases: there must be at least one");
	scenario_refused(f, "cases: {a: 1}\n", 1, "cases: a list");
	scenario_refused(f, "cases:\n  - lb: ops\n", 2, "a case needs a name");
	scenario_refused(f, "cases:\n  - {name: a}\n  - {name: a}\n", 3, "two are named 'a', first in line 2");
	scenario_refused(f, "cases:\n  - {name: a, cases: []}\n", 2, "cases: a single value");
	scenario_refused(f, "cases:\n  - name: a\n    colour: red\n", 3, "colour: unknown key");
}

static void scenario_load__refuses_bad_axes(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_refused(f, "sweep: [1]\n", 1, "sweep: a mapping");
	scenario_refused(f, "sweep: {mtu: 4096}\n", 1, "mtu: a list");
	scenario_refused(f, "sweep: {mtu: []}\n", 1, "mtu: an axis needs a value");
	scenario_refused(f, "sweep: {colour: [1]}\n", 1, "colour: is no option");
	scenario_refused(f, "sweep:\n  end:\n    - 1ms\n    - soon\n", 4, "end: 'soon'");
	scenario_refused(f, "sweep: {mtu: [4096, 4096]}\n", 1, "mtu: '4096' is there twice");
	scenario_refused(f, "sweep: {mtu: [{a: 1}]}\n", 1, "mtu: a single value");
	scenario_refused(f, "sweep: {json: [a]}\n", 1, "json: is for the command line");
}

static void scenario_load__refuses_bad_seeds(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_refused(f, "seeds: 0\n", 1, "seeds: '0'");
	scenario_refused(f, "seeds: many\n", 1, "seeds: 'many'");
	scenario_refused(f, "seeds: 99999999\n", 1, "seeds: '99999999'");
	scenario_refused(f, "seeds: []\n", 1, "seeds: an empty list");
	scenario_refused(f, "seeds: [1, -1]\n", 1, "seeds: '-1'");
	scenario_refused(f, "seeds: [3, 3]\n", 1, "seeds: 3 is there twice");
	scenario_refused(f, "seeds: 2\nseed: 1\n", 2, "seed: there is a key seeds");
	scenario_refused(f, "seeds: 2\nsweep: {seed: [1, 2]}\n", 1, "seeds: seed is an axis");
}

static void scenario_load__names_the_missing_file(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_load(&f->s, "/nonexistent.yaml", &f->err), -ENOENT);
	assert_non_null(strstr(f->err.msg, "/nonexistent.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENARIO_TEST(scenario_load__takes_every_key),
		SCENARIO_TEST(scenario_load__options_alone_are_one_run),
		SCENARIO_TEST(scenario_load__refuses_nothing_at_all),
		SCENARIO_TEST(scenario_load__names_line_and_key),
		SCENARIO_TEST(scenario_load__refuses_bad_cases),
		SCENARIO_TEST(scenario_load__refuses_bad_axes),
		SCENARIO_TEST(scenario_load__refuses_bad_seeds),
		SCENARIO_TEST(scenario_load__names_the_missing_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
