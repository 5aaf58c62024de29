/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft sim`: a workload in the lab, or all runs of a scenario. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "file.h"
#include "simrun.h"
#include "sweep.h"

struct sim_args {
	uint32_t jobs;
	bool fresh, any_build;
	struct options o;
};

static const struct opt_desc sim_options[] = {
	{"", "[SCENARIO.yaml]", "", opt_string, offsetof(struct sim_args, o.scenario)},
	{"jobs", "N", "runs of a scenario at the same time; default: one per core", opt_u32,
	 offsetof(struct sim_args, jobs)},
	{"fresh", NULL, "discard a scenario's earlier results", opt_flag, offsetof(struct sim_args, fresh)},
	{"any-build", NULL, "use a scenario's earlier results of other builds, too", opt_flag,
	 offsetof(struct sim_args, any_build)},
	{NULL, NULL, NULL, NULL, 0},
};

static void show_progress(struct lab *lab, void *arg)
{
	const struct options *o = arg;
	fprintf(stderr, "\r%u of %u flows, %.1f us ", lab_flows_ended(lab), o->lab.workload.flow_count,
		(double)lab_now(lab) / 1e6);
}

static int report(const struct run_result *r, void *arg, struct weft_err *err)
{
	const struct options *o = arg;
	bool to_stdout = o->json && !strcmp(o->json, "-");
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	int rc = o->json ? result_write_json(r, o->json, err) : 0;
	return rc ? rc : result_print(r, to_stdout ? stderr : stdout, err);
}

static int complain(const char *reason)
{
	fprintf(stderr, "weft sim: %s\n", reason);
	return 1;
}

/* Runs and reports; the table is shown even when not all flows ended well, because it says how. */
static int run_one(struct options *o)
{
	struct run_origin origin = {0};
	struct weft_err err = {""};
	struct simrun run = {.o = o,
			     .origin = &origin,
			     .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
			     .progress_arg = o,
			     .report = report,
			     .report_arg = o};
	int rc = simrun(&run, &err);
	if (run.verdict.msg[0])
		return complain(run.verdict.msg);
	return rc ? complain(err.msg) : 0;
}

/* A file of the result directory on standard output. */
static int show_file(const char *dir, const char *name, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	size_t len;
	int rc = file_path(path, dir, name, err);
	char *text = rc ? NULL : file_read(path, &len, &rc, err);
	if (text)
		fwrite(text, 1, len, stdout);
	free(text);
	return rc;
}

/* The table of the only run, or of all; JSON of the only one when it was asked for. */
static int show(const struct sweep *w, const struct options *o, struct weft_err *err)
{
	if (w->count == 1 && w->runs[0].known) {
		bool json = o->json && !strcmp(o->json, "-");
		return show_file(w->dir, json ? "runs/0000/run.json" : "runs/0000/table.txt", err);
	}
	sweep_print_table(w, stdout);
	return 0;
}

/* What a user needs to know after the table. */
static int conclude(const struct sweep *w, int rc, const struct weft_err *err)
{
	uint32_t failed = sweep_count(w, SWEEP_FAILED), waiting = sweep_count(w, SWEEP_WAITING);
	for (uint32_t i = 0; i < w->count && w->count == 1 && failed; i++)
		fprintf(stderr, "weft sim: %s\n", w->runs[i].error);
	if (failed && w->count > 1)
		fprintf(stderr, "weft sim: %u of %u runs failed; %s/sweep.json says why\n", failed, w->count, w->dir);
	if (rc)
		fprintf(stderr, "weft sim: %s\n", err->msg);
	if (waiting)
		fprintf(stderr, "weft sim: %u of %u runs have results in %s; the same command goes on from there\n",
			w->count - waiting, w->count, w->dir);
	else
		fprintf(stderr, "results in %s\n", w->dir);
	return rc == -EINTR ? 130 : rc || failed ? 1 : 0;
}

static int run_sweep(struct sweep *w, const struct sim_args *args)
{
	struct weft_err err = {""};
	const struct sweep_conf conf = {.jobs = args->jobs, .fresh = args->fresh, .any_build = args->any_build};
	int rc = sweep_run(w, &conf, &err);
	if (sweep_count(w, SWEEP_WAITING) < w->count) {
		struct weft_err late;
		int shown = show(w, &args->o, &late);
		if (shown && !rc) {
			rc = shown;
			err = late;
		}
	}
	return conclude(w, rc, &err);
}

static int run_scenario(const struct sim_args *args)
{
	struct scenario s;
	struct sweep w = {.lock = -1};
	struct weft_err err = {""};
	int status = 2, rc = scenario_load(&s, args->o.scenario, &err);
	if (!rc)
		rc = scenario_override(&s, &args->o, &err);
	if (!rc)
		rc = sweep_plan(&w, &s, &err);
	if (!rc && args->o.json && (w.count > 1 || strcmp(args->o.json, "-") != 0))
		rc = weft_err_set(&err, -EINVAL, "json: a scenario's results are in %s; - shows that of a single run",
				  s.out);
	if (rc)
		complain(err.msg);
	else
		status = run_sweep(&w, args);
	sweep_free(&w);
	scenario_free(&s);
	return status;
}

int weft_cmd_sim(int argc, char **argv)
{
	struct sim_args args = {0};
	int status;
	if (!options_main(&args.o, argc, argv, sim_options, &args,
			  "Runs a workload on a virtual fabric in virtual time, or all runs of a scenario.\n"
			  "Defaults: --topology leafspine:4:4:4 --end 100s.",
			  &status))
		return status;
	if (args.o.files.series_ns && !args.o.files.dir && !args.o.scenario) {
		complain("--series: needs a directory to write to, --out DIR");
		options_free(&args.o);
		return 2;
	}
	status = args.o.scenario ? run_scenario(&args) : run_one(&args.o);
	options_free(&args.o);
	return status;
}
