/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "scenario_fixture.h"

static void sweep_plan__lists_the_runs(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "topology: star:4\nmatrix: permutation:4:4KiB\nsweep: {lb: [ops, ecmp]}\nseeds: [5, 6]\n");
	assert_int_equal(f->w.count, 4);
	assert_string_equal(f->w.runs[3].label, "lb=ecmp");
	assert_int_equal(f->w.runs[3].seed, 6);
	assert_int_equal(sweep_count(&f->w, SWEEP_WAITING), 4);
}

static void sweep_plan__same_settings_same_identity(void **state)
{
	struct scenario_fixture *f = *state;
	char first[SWEEP_IDENTITY_LEN + 1];
	scenario_plan(f, "title: one\nlb: ops\ncc: fixed\ncases: [{name: x, seed: 3}]\n");
	memcpy(first, f->w.runs[0].identity, sizeof first);
	assert_int_equal(strlen(first), SWEEP_IDENTITY_LEN);
	scenario_plan(f, "title: two\ncases: [{name: x, lb: ops, cc: fixed}]\nseeds: [3]\n");
	assert_string_equal(f->w.runs[0].identity, first);
	scenario_plan(f, "title: two\ncases: [{name: x, lb: ops, cc: fixed}]\nseeds: [4]\n");
	assert_string_not_equal(f->w.runs[0].identity, first);
	scenario_plan(f, "lb: ops\ncc: fixed\nset: {ack_every: 2}\ncases: [{name: x, seed: 3}]\n");
	assert_string_not_equal(f->w.runs[0].identity, first);
}

static void sweep_plan__weighs_bytes_and_links(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "sweep:\n"
			 "  topology: ['star:16', 'leafspine:4:4:4', 'fattree:4']\n"
			 "  matrix: ['permutation:16:64KiB', 'permutation:16:128KiB']\n");
	assert_true(f->w.runs[1].weight > 1.9 * f->w.runs[0].weight);
	assert_true(f->w.runs[2].weight > 1.9 * f->w.runs[0].weight);
	assert_true(f->w.runs[4].weight > 2.9 * f->w.runs[0].weight);
}

static void sweep_plan__has_a_bound(void **state)
{
	struct scenario_fixture *f = *state;
	assert_int_equal(scenario_try(f, "seeds: 10000\nsweep: {mtu: [1024, 2048, 4096]}\n"), 0);
	assert_int_equal(sweep_plan(&f->w, &f->s, &f->err), -E2BIG);
	assert_non_null(strstr(f->err.msg, f->path));
}

/* Bytes times links below which a scenario is run here, not only planned: well under a second. */
static const double SMALL = 3e8;

static void check_config(struct scenario_fixture *f, const char *name)
{
	char path[FILE_PATH_MAX];
	double weight = 0;
	const struct sweep_conf conf = {.quiet = true};
	assert_int_equal(file_path(path, WEFT_CONFIGS "/scenarios", name, NULL), 0);
	sweep_free(&f->w);
	scenario_free(&f->s);
	if (scenario_load(&f->s, path, &f->err) || sweep_plan(&f->w, &f->s, &f->err))
		fail_msg("%s", f->err.msg);
	for (uint32_t i = 0; i < f->w.count; i++)
		weight += f->w.runs[i].weight;
	if (weight > SMALL)
		return;
	f->w.dir = f->out;
	if (sweep_run(&f->w, &conf, &f->err))
		fail_msg("%s", f->err.msg);
	for (uint32_t i = 0; i < f->w.count; i++) {
		if (f->w.runs[i].status != SWEEP_DONE)
			fail_msg("%s: %s: %s", name, f->w.runs[i].label, f->w.runs[i].error);
	}
}

static void sweep_plan__takes_every_scenario_we_ship(void **state)
{
	struct scenario_fixture *f = *state;
	DIR *dir = opendir(WEFT_CONFIGS "/scenarios");
	struct dirent *entry;
	unsigned seen = 0;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		if (!dot || strcmp(dot, ".yaml") != 0)
			continue;
		check_config(f, entry->d_name);
		seen++;
	}
	closedir(dir);
	assert_true(seen >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENARIO_TEST(sweep_plan__lists_the_runs),
		SCENARIO_TEST(sweep_plan__same_settings_same_identity),
		SCENARIO_TEST(sweep_plan__weighs_bytes_and_links),
		SCENARIO_TEST(sweep_plan__has_a_bound),
		SCENARIO_TEST(sweep_plan__takes_every_scenario_we_ship),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
