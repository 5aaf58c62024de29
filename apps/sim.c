/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft sim`: a workload in the lab. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "lab.h"

static double wall_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void show_progress(struct lab *lab, void *arg)
{
	const struct options *o = arg;
	fprintf(stderr, "\r%u of %u flows, %.1f us ", lab_flows_ended(lab), o->workload.flow_count,
		(double)lab_now(lab) / 1e6);
}

static int report(const struct options *o, const struct run_result *r, struct weft_err *err)
{
	bool to_stdout = o->json && !strcmp(o->json, "-");
	int rc = o->json ? result_write_json(r, o->json, err) : 0;
	return rc ? rc : result_print(r, to_stdout ? stderr : stdout, err);
}

/* Runs and reports; the table is shown even when not all flows ended well, because it says how. */
static int run(struct options *o, struct weft_err *err)
{
	struct lab *lab = NULL;
	struct run_result r;
	double start = wall_s();
	int rc = lab_create(o, &lab, err);
	if (rc)
		return rc;
	if (isatty(STDERR_FILENO))
		lab_progress(lab, show_progress, o);
	rc = lab_run(lab, err);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	struct weft_err late = {""};
	int told = lab_result(lab, &r, &late);
	r.wall_s = wall_s() - start;
	if (!told)
		told = report(o, &r, &late);
	for (uint32_t i = 0; i < r.flow_count && !rc; i++) {
		if (!r.flows[i].verified)
			rc = weft_err_set(err, -1, "flow %u (%u->%u): %s", i, o->workload.flows[i].src,
					  o->workload.flows[i].dst,
					  r.flows[i].err ? strerror(r.flows[i].err) : "not delivered correctly");
	}
	if (told && !rc) {
		rc = told;
		*err = late;
	}
	lab_destroy(lab);
	return rc;
}

int weft_cmd_sim(int argc, char **argv)
{
	struct options o;
	int status;
	if (!options_main(&o, argc, argv, NULL, NULL, "Runs a workload on a virtual fabric in virtual time.", &status))
		return status;
	struct weft_err err = {""};
	int rc = run(&o, &err);
	if (rc)
		fprintf(stderr, "weft sim: %s\n", err.msg);
	options_free(&o);
	return rc ? 1 : 0;
}
