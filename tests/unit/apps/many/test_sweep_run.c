/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario_fixture.h"

static const char SMALL[] = "title: small\n"
			    "topology: star:4\n"
			    "matrix: permutation:4:16KiB\n"
			    "cases: [{name: a, lb: ops}, {name: b, lb: ecmp}]\n"
			    "seeds: 2\n";

static int run(struct scenario_fixture *f, uint32_t jobs, bool fresh)
{
	const struct sweep_conf conf = {.jobs = jobs, .fresh = fresh, .quiet = true};
	return sweep_run(&f->w, &conf, &f->err);
}

static void runs(struct scenario_fixture *f, const char *text, uint32_t jobs)
{
	scenario_plan(f, text);
	if (run(f, jobs, false))
		fail_msg("%s", f->err.msg);
	assert_int_equal(sweep_count(&f->w, SWEEP_DONE), f->w.count);
}

static uint32_t taken_over(const struct scenario_fixture *f)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->w.count; i++)
		n += f->w.runs[i].before;
	return n;
}

static bool exists(const struct scenario_fixture *f, const char *name)
{
	char path[FILE_PATH_MAX];
	return !file_path(path, f->out, name, NULL) && !access(path, F_OK);
}

static void sweep_run__writes_every_run(void **state)
{
	struct scenario_fixture *f = *state;
	char run_dir[64];
	runs(f, SMALL, 2);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(run_dir, sizeof run_dir, "%s/runs/%04u", f->out, i);
		scenario_file_says(run_dir, "run.json", "\"scenario\": \"small\"");
		scenario_file_says(run_dir, "run.json", i < 2 ? "\"label\": \"a\"" : "\"label\": \"b\"");
		scenario_file_says(run_dir, "flows.csv", "\n3,3,");
		scenario_file_says(run_dir, "table.txt", "4 verified");
		assert_int_equal(f->w.runs[i].record.result.seed, i % 2 + 1);
		assert_int_equal(f->w.runs[i].record.summary.verified, 4);
	}
	scenario_file_says(f->out, "sweep.json", "\"status\": \"done\"");
	scenario_file_says(f->out, "table.txt", "tail FCT us");
}

static void sweep_run__workers_change_nothing(void **state)
{
	struct scenario_fixture *f = *state;
	uint64_t digests[4];
	runs(f, SMALL, 1);
	for (unsigned i = 0; i < 4; i++)
		digests[i] = f->w.runs[i].record.result.digest;
	assert_int_equal(file_remove_tree(f->out, NULL), 0);
	runs(f, SMALL, 3);
	assert_int_equal(taken_over(f), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_true(f->w.runs[i].record.result.digest == digests[i]);
	assert_true(digests[0] != digests[2]);
}

static void sweep_run__takes_over_what_is_there(void **state)
{
	struct scenario_fixture *f = *state;
	char gone[64];
	runs(f, SMALL, 2);
	snprintf(gone, sizeof gone, "%s/runs/0002", f->out);
	assert_int_equal(file_remove_tree(gone, NULL), 0);
	runs(f, SMALL, 2);
	assert_int_equal(taken_over(f), 3);
	assert_false(f->w.runs[2].before);
}

static void sweep_run__fresh_takes_over_nothing(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, SMALL, 2);
	scenario_plan(f, SMALL);
	assert_int_equal(run(f, 2, true), 0);
	assert_int_equal(taken_over(f), 0);
	assert_int_equal(sweep_count(&f->w, SWEEP_DONE), 4);
}

static void sweep_run__redoes_what_changed(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, SMALL, 2);
	runs(f,
	     "title: another\n"
	     "topology: star:4\n"
	     "matrix: permutation:4:16KiB\n"
	     "cases: [{name: a, lb: ops}, {name: b, lb: reps}]\n"
	     "seeds: 2\n",
	     2);
	assert_int_equal(taken_over(f), 2);
	assert_string_equal(f->w.runs[2].record.lb, "reps");
}

static void sweep_run__redoes_what_a_changed_file_says(void **state)
{
	struct scenario_fixture *f = *state;
	static const char text[] = "topology: star:4\nmatrix: one.cm\n";
	scenario_write(f, "one.cm", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n");
	runs(f, text, 1);
	runs(f, text, 1);
	assert_int_equal(taken_over(f), 1);
	scenario_write(f, "one.cm", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 2000\n");
	runs(f, text, 1);
	assert_int_equal(taken_over(f), 0);
}

/* Another selection of runs on the same directory loses nothing. */
static void sweep_run__keeps_results_of_other_settings(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, SMALL, 2);
	runs(f,
	     "topology: star:4\n"
	     "matrix: permutation:4:16KiB\n"
	     "cases: [{name: b, lb: ecmp}]\n"
	     "seeds: [2]\n",
	     2);
	assert_int_equal(taken_over(f), 1);
	assert_false(exists(f, "runs/0001"));
	runs(f, SMALL, 2);
	assert_int_equal(taken_over(f), 4);
}

static void sweep_run__forgets_unfinished_runs(void **state)
{
	struct scenario_fixture *f = *state;
	char left[64];
	snprintf(left, sizeof left, "%s/runs/.0001", f->out);
	assert_int_equal(file_make_dir(left, NULL), 0);
	snprintf(left, sizeof left, "%s/runs/.0999", f->out);
	assert_int_equal(file_make_dir(left, NULL), 0);
	runs(f, SMALL, 2);
	assert_false(exists(f, "runs/.0001"));
	assert_false(exists(f, "runs/.0999"));
}

static void sweep_run__a_damaged_result_is_redone(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, SMALL, 2);
	scenario_write(f, "out/runs/0001/run.json", "{\"schema\": \"weft.ru");
	scenario_write(f, "out/runs/0003/run.json", "[]");
	runs(f, SMALL, 2);
	assert_int_equal(taken_over(f), 2);
}

static void sweep_run__flows_that_do_not_end_are_a_failed_run(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, "topology: star:4\nmatrix: permutation:4:1MiB\nsweep: {end: [10us, 100ms]}\n");
	assert_int_equal(run(f, 2, false), 0);
	assert_int_equal(f->w.runs[0].status, SWEEP_FAILED);
	assert_non_null(strstr(f->w.runs[0].error, "had not ended"));
	assert_true(f->w.runs[0].known);
	assert_int_equal(f->w.runs[0].record.summary.failed, 4);
	assert_int_equal(f->w.runs[1].status, SWEEP_DONE);
	scenario_file_says(f->out, "sweep.json", "had not ended");
}

static void sweep_run__names_what_cannot_be_written(void **state)
{
	struct scenario_fixture *f = *state;
	scenario_plan(f, SMALL);
	scenario_write(f, "out", "a file");
	assert_true(run(f, 2, false) < 0);
	assert_non_null(strstr(f->err.msg, f->out));
	scenario_plan(f, SMALL);
	f->w.dir = "/proc/nowhere";
	assert_true(run(f, 2, false) < 0);
	assert_non_null(strstr(f->err.msg, "/proc/nowhere"));
	assert_int_equal(sweep_count(&f->w, SWEEP_WAITING), 4);
}

static void sweep_run__one_sweep_at_a_time(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, SMALL, 2);
	int other = open(f->out, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(other, LOCK_EX), 0);
	scenario_plan(f, SMALL);
	assert_int_equal(run(f, 1, false), -EBUSY);
	assert_non_null(strstr(f->err.msg, "another sweep"));
	close(other);
	assert_int_equal(run(f, 1, false), 0);
}

/* As a parent that does not care for its children leaves it; the alarm ends a wait for workers nobody can see. */
static void sweep_run__ignored_children_are_waited_for(void **state)
{
	struct scenario_fixture *f = *state;
	void (*before)(int) = signal(SIGCHLD, SIG_IGN);
	alarm(60);
	runs(f, SMALL, 2);
	alarm(0);
	assert_true(signal(SIGCHLD, before) == SIG_IGN);
}

static void sweep_run__captures_lie_with_the_run(void **state)
{
	struct scenario_fixture *f = *state;
	runs(f, "topology: star:4\nmatrix: permutation:4:16KiB\npcap: some/where/all.pcap\n", 1);
	assert_true(exists(f, "runs/0000/all.pcap"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENARIO_TEST(sweep_run__writes_every_run),
		SCENARIO_TEST(sweep_run__workers_change_nothing),
		SCENARIO_TEST(sweep_run__takes_over_what_is_there),
		SCENARIO_TEST(sweep_run__fresh_takes_over_nothing),
		SCENARIO_TEST(sweep_run__redoes_what_changed),
		SCENARIO_TEST(sweep_run__redoes_what_a_changed_file_says),
		SCENARIO_TEST(sweep_run__keeps_results_of_other_settings),
		SCENARIO_TEST(sweep_run__forgets_unfinished_runs),
		SCENARIO_TEST(sweep_run__a_damaged_result_is_redone),
		SCENARIO_TEST(sweep_run__flows_that_do_not_end_are_a_failed_run),
		SCENARIO_TEST(sweep_run__names_what_cannot_be_written),
		SCENARIO_TEST(sweep_run__one_sweep_at_a_time),
		SCENARIO_TEST(sweep_run__captures_lie_with_the_run),
		SCENARIO_TEST(sweep_run__ignored_children_are_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
