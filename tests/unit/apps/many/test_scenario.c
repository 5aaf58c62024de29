/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "scenario_fixture.h"

static const char SWEPT[] = "topology: star:4\n"
			    "matrix: permutation:4:4KiB\n"
			    "set: {ack_every: 2}\n"
			    "cases:\n"
			    "  - {name: a, lb: ops, set: {ack_every: 3}}\n"
			    "  - {name: b}\n"
			    "sweep: {link-gbps: [100, 400], set.ecn_min_pct: [10, 20]}\n"
			    "seeds: [7, 9]\n";

/* Options as a command line behind the scenario's name gives them. */
static void give(struct scenario_fixture *f, const char *option, const char *value)
{
	struct command {
		uint32_t other; /* so that the options do not begin where the command's own do */
		struct options o;
	} command;
	const struct opt_desc own[] = {{"", "FILE", "", opt_string, offsetof(struct command, o.scenario)},
				       {NULL, NULL, NULL, NULL, 0}};
	char *argv[] = {(char *)"test", f->path, (char *)option, (char *)value};
	assert_int_equal(options_parse(&command.o, 4, argv, own, &command, &f->err), 0);
	assert_int_equal(scenario_override(&f->s, &command.o, &f->err), 0);
	options_free(&command.o);
}

/* Options of run `index`; the caller frees them. */
static void options_of(struct scenario_fixture *f, uint32_t index, struct options *o)
{
	struct scenario_pick pick = scenario_pick(&f->s, index);
	if (scenario_options(&f->s, &pick, o, &f->err))
		fail_msg("%s", f->err.msg);
}

static void scenario_pick__seeds_change_fastest(void **state)
{
	struct scenario_fixture *f = *state;
	char label[SCENARIO_TEXT_MAX];
	assert_int_equal(scenario_try(f, SWEPT), 0);
	assert_int_equal(scenario_runs(&f->s), 16);
	struct scenario_pick pick = scenario_pick(&f->s, 11);
	assert_int_equal(pick.case_index, 1);
	assert_int_equal(pick.values[0], 0);
	assert_int_equal(pick.values[1], 1);
	assert_int_equal(pick.seed_index, 1);
	scenario_label(&f->s, &pick, label);
	assert_string_equal(label, "b link-gbps=100 ecn_min_pct=20");
}

static void scenario_label__cut_between_characters(void **state)
{
	struct scenario_fixture *f = *state;
	char text[2 * SCENARIO_TEXT_MAX] = "title: ab", label[SCENARIO_TEXT_MAX];
	while (strlen(text) < sizeof text - 8)
		strcat(text, "\xe2\x82\xac");
	strcat(text, "\n");
	assert_int_equal(scenario_try(f, text), 0);
	struct scenario_pick pick = scenario_pick(&f->s, 0);
	scenario_label(&f->s, &pick, label);
	assert_int_equal((strlen(label) - strlen("ab")) % 3, 0);
	assert_in_range(strlen(label), SCENARIO_TEXT_MAX - 6, SCENARIO_TEXT_MAX - 1);
}

static void scenario_runs__has_a_bound(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_try(f, "seeds: 10000\nsweep: {mtu: [1024, 2048, 4096]}\n"), 0);
	assert_int_equal(scenario_runs(&f->s), 0);
}

static void scenario_options__case_over_file_axis_over_case(void **state)
{
	struct scenario_fixture *f = *state;
	struct options o;
	assert_int_equal(scenario_try(f, SWEPT), 0);
	options_of(f, 0, &o);
	assert_string_equal(o.lab.lb->name, "ops");
	assert_int_equal(o.lab.engine.ack_every, 3);
	assert_int_equal(o.lab.topo.tier[0].down_bps, UINT64_C(100000000000));
	assert_int_equal(o.lab.fabric.ecn_min_pct, 10);
	assert_int_equal(o.lab.seed, 7);
	options_free(&o);
	options_of(f, 15, &o);
	assert_string_equal(o.lab.lb->name, "reps");
	assert_int_equal(o.lab.engine.ack_every, 2);
	assert_int_equal(o.lab.topo.tier[0].down_bps, UINT64_C(400000000000));
	assert_int_equal(o.lab.fabric.ecn_min_pct, 20);
	assert_int_equal(o.lab.seed, 9);
	options_free(&o);
}

static void scenario_combine__each_option_once(void **state)
{
	struct scenario_fixture *f = *state;
	struct scenario_list list;
	assert_int_equal(scenario_try(f, "mtu: 1024\nlb: ops\nset: {ack_every: 1}\n"
					 "cases: [{name: a, lb: ecmp, set: {payload_bytes: 2048, ack_every: 2}}]\n"),
			 0);
	struct scenario_pick pick = scenario_pick(&f->s, 0);
	assert_int_equal(scenario_combine(&f->s, &pick, &list, &f->err), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].value, "ecmp");
	assert_string_equal(list.items[1].value, "payload_bytes=2048");
	assert_string_equal(list.items[2].value, "ack_every=2");
	free(list.items);
}

static void scenario_override__wins_in_every_run(void **state)
{
	struct scenario_fixture *f = *state;
	struct options o;
	assert_int_equal(scenario_try(f, SWEPT), 0);
	give(f, "--set", "ack_every=4");
	assert_int_equal(scenario_runs(&f->s), 16);
	for (uint32_t i = 0; i < 16; i += 8) {
		options_of(f, i, &o);
		assert_int_equal(o.lab.engine.ack_every, 4);
		options_free(&o);
	}
}

static void scenario_override__replaces_seeds_and_axes(void **state)
{
	struct scenario_fixture *f = *state;
	struct options o;
	assert_int_equal(scenario_try(f, SWEPT), 0);
	give(f, "--seed", "3");
	assert_int_equal(scenario_runs(&f->s), 8);
	give(f, "--link-gbps", "200");
	assert_int_equal(scenario_runs(&f->s), 4);
	give(f, "--set", "ecn_min_pct=15");
	assert_int_equal(scenario_runs(&f->s), 2);
	options_of(f, 1, &o);
	assert_int_equal(o.lab.seed, 3);
	assert_int_equal(o.lab.topo.tier[0].down_bps, UINT64_C(200000000000));
	assert_int_equal(o.lab.fabric.ecn_min_pct, 15);
	options_free(&o);
}

/* --mtu and --set payload_bytes are the same, on the command line as in the file. */
static void scenario_override__replaces_an_axis_under_its_other_name(void **state)
{
	static const char *const given[][3] = {{"sweep: {mtu: [1024, 2048]}\n", "--set", "payload_bytes=512"},
					       {"sweep: {set.payload_bytes: [1024, 2048]}\n", "--mtu", "512"}};
	struct scenario_fixture *f = *state;
	for (unsigned i = 0; i < 2; i++) {
		struct options o;
		assert_int_equal(scenario_try(f, given[i][0]), 0);
		give(f, given[i][1], given[i][2]);
		assert_int_equal(scenario_runs(&f->s), 1);
		options_of(f, 0, &o);
		assert_int_equal(o.lab.engine.payload_bytes, 512);
		options_free(&o);
	}
}

static void scenario_override__takes_the_directory(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_try(f, SWEPT), 0);
	give(f, "--out", "/tmp/elsewhere");
	assert_string_equal(f->s.out, "/tmp/elsewhere");
	assert_int_equal(f->s.overrides.count, 0);
}

static void scenario_options__names_the_impossible_combination(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_refused(f, "topology: star:4\ncases:\n  - {name: a}\n  - name: b\n    cc: nonsense\n", 5,
			 "cc: unknown");
	scenario_refused(f, "topology: star:4\nsweep:\n  matrix: ['permutation:4:4KiB', 'permutation:8:4KiB']\n", 3,
			 "(in matrix=permutation:8:4KiB)");
	scenario_refused(f, "cases: [{name: a}]\nset:\n  colour: 3\n", 3, "colour");
	scenario_refused(f, "sweep:\n  set.ack_every: [1, 99999]\n", 2, "(in ack_every=99999)");
}

static void scenario_options__files_beside_the_scenario(void **state)
{
	struct scenario_fixture *f = *state;
	struct options o;
	scenario_write(f, "two.cm", "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 10\n1->2 id 2 start 0 size 10\n");
	assert_int_equal(scenario_try(f, "topology: star:4\nmatrix: two.cm\n"), 0);
	options_of(f, 0, &o);
	assert_int_equal(o.lab.workload.flow_count, 2);
	options_free(&o);
	scenario_refused(f, "topology: star:4\nmatrix: ./three.cm\n", 2, "three.cm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENARIO_TEST(scenario_pick__seeds_change_fastest),
		SCENARIO_TEST(scenario_label__cut_between_characters),
		SCENARIO_TEST(scenario_runs__has_a_bound),
		SCENARIO_TEST(scenario_options__case_over_file_axis_over_case),
		SCENARIO_TEST(scenario_combine__each_option_once),
		SCENARIO_TEST(scenario_override__wins_in_every_run),
		SCENARIO_TEST(scenario_override__replaces_seeds_and_axes),
		SCENARIO_TEST(scenario_override__replaces_an_axis_under_its_other_name),
		SCENARIO_TEST(scenario_override__takes_the_directory),
		SCENARIO_TEST(scenario_options__names_the_impossible_combination),
		SCENARIO_TEST(scenario_options__files_beside_the_scenario),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
