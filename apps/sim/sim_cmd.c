/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft sim`: a workload in the lab. Scenarios with many runs are weftlab's. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "launch.h"
#include "sim_file.h"
#include "sim_tell.h"
#include "simrun.h"

struct sim_args {
	uint32_t jobs; /* as the next two for weftlab, which reads the command line again */
	bool fresh, any_build, dry_run, metrics;
	struct options o;
};

static int opt_jobs(void *field, const char *value, struct weft_err *err)
{
	int rc = opt_u32(field, value, err);
	return rc || *(uint32_t *)field ? rc : weft_err_set(err, -EINVAL, "'%s' is not a number from 1", value);
}

static const struct opt_desc sim_options[] = {
	{"", "[SCENARIO.yaml]", "", opt_string, offsetof(struct sim_args, o.scenario)},
	{"jobs", "N", "runs of a scenario at the same time; default: one per core", opt_jobs,
	 offsetof(struct sim_args, jobs)},
	{"fresh", NULL, "discard a scenario's earlier results", opt_flag, offsetof(struct sim_args, fresh)},
	{"any-build", NULL, "use a scenario's earlier results of other builds, too", opt_flag,
	 offsetof(struct sim_args, any_build)},
	{"dry-run", NULL, "tell what would be run (JSON; of a scenario its list of runs), run nothing", opt_flag,
	 offsetof(struct sim_args, dry_run)},
	{"metrics", NULL, "tell the metrics of a run and where run.json has them (JSON), run nothing", opt_flag,
	 offsetof(struct sim_args, metrics)},
	{NULL, NULL, NULL, NULL, 0},
};

static void show_progress(struct lab *lab, void *arg)
{
	const struct options *o = arg;
	fprintf(stderr, "\r%u of %u flows, %.1f us ", lab_flows_ended(lab), o->lab.workload.flow_count,
		(double)lab_now(lab) / 1e6);
}

/* The table is there whatever became of the JSON: a run may have taken hours. The first error is told. */
static int report(const struct run_result *r, void *arg, struct weft_err *err)
{
	const struct options *o = arg;
	struct weft_err second;
	bool to_stdout = o->json && !strcmp(o->json, "-");
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	int rc = o->json ? result_write_json(r, o->json, err) : 0;
	int printed = result_print(r, to_stdout ? stderr : stdout, rc ? &second : err);
	return rc ? rc : printed;
}

static int complain(const char *reason)
{
	fprintf(stderr, "weft sim: %s\n", reason);
	return 1;
}

/* Runs and reports; the table is shown even when not all flows ended well, because it says how. `written` is whether
 * the results are where they should be. */
static int run_one(struct options *o, bool *written)
{
	struct weft_err err = {""};
	struct simrun run = {.o = o,
			     .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
			     .progress_arg = o,
			     .report = report,
			     .report_arg = o};
	int rc = simrun(&run, &err);
	*written = !rc;
	if (run.verdict.msg[0])
		complain(run.verdict.msg);
	if (rc && strcmp(err.msg, run.verdict.msg) != 0)
		complain(err.msg);
	return run.refused ? 2 : rc || run.verdict.msg[0] ? 1 : 0;
}

/* weftlab wants the file first: it does not know which options of ours take a value. */
static int run_many(int argc, char **argv, const char *file)
{
	static char command[] = "sweep";
	char **args = calloc((size_t)argc + 1, sizeof *args);
	int count = 0, status = 1;
	if (!args)
		return complain("no memory");
	args[count++] = command;
	args[count++] = (char *)file;
	for (int i = 1; i < argc; i++) {
		if (argv[i] != file)
			args[count++] = argv[i];
	}
	status = launch_weftlab(count, args);
	free(args);
	return status;
}

static int run_file(const struct sim_args *args)
{
	struct options o;
	struct weft_err err = {""};
	bool written = false;
	int rc = sim_file_read(&o, args->o.scenario, &args->o, &err), status = 2;
	if (rc)
		complain(err.msg);
	else if (args->dry_run)
		status = sim_tell_config(&o, &err) ? complain(err.msg) : 0;
	else
		status = run_one(&o, &written);
	if (written)
		fprintf(stderr, "results in %s\n", o.files.dir);
	options_free(&o);
	return status;
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);
	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* A file of another kind that is named as if it were a scenario. */
static int refuse_other_file(const char *name, struct weft_err *err)
{
	bool topology = ends_in(name, ".topo");
	if (!topology && !ends_in(name, ".cm"))
		return 0;
	return weft_err_set(err, -EINVAL, "%s is no scenario: --%s %s", name, topology ? "topology" : "matrix", name);
}

static int run_scenario(int argc, char **argv, const struct sim_args *args)
{
	struct weft_err err = {""};
	bool many;
	if (args->metrics)
		return sim_tell_metrics(&err) ? complain(err.msg) : 0;
	if (refuse_other_file(args->o.scenario, &err) || sim_file_is_many(args->o.scenario, &many, &err)) {
		complain(err.msg);
		return 2;
	}
	return many ? run_many(argc, argv, args->o.scenario) : run_file(args);
}

/* What the command line alone describes. */
static int run_options(struct sim_args *args)
{
	struct weft_err err = {""};
	if (args->jobs || args->fresh || args->any_build) {
		complain("--jobs, --fresh and --any-build are for a scenario of many runs");
		return 2;
	}
	int rc = args->metrics ? sim_tell_metrics(&err) : args->dry_run ? sim_tell_config(&args->o, &err) : 0;
	if (rc)
		return complain(err.msg);
	if (args->metrics || args->dry_run)
		return 0;
	if (args->o.files.series_ns && !args->o.files.dir) {
		complain("--series: needs a directory to write to, --out DIR");
		return 2;
	}
	bool written;
	return run_one(&args->o, &written);
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
	status = args.o.scenario ? run_scenario(argc, argv, &args) : run_options(&args);
	options_free(&args.o);
	return status;
}
