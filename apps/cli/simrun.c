/* SPDX-License-Identifier: BSD-3-Clause */
#include "simrun.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double wall_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The first flow that did not end well. */
static void judge_flows(struct simrun *s, const struct run_result *r)
{
	const struct weft_flow *flows = s->o->lab.workload.flows;
	for (uint32_t i = 0; i < r->flow_count && !s->verdict.msg[0]; i++) {
		if (!r->flows[i].verified)
			weft_err_set(&s->verdict, -1, "flow %u (%u->%u): %s", i, flows[i].src, flows[i].dst,
				     r->flows[i].err ? strerror(r->flows[i].err) : "not delivered correctly");
	}
}

static int write_result(struct simrun *s, struct run_result *r, struct weft_err *err)
{
	judge_flows(s, r);
	const struct run_origin origin = {s->o->given, s->o->given_count, s->verdict.msg};
	r->origin = &origin;
	int rc = s->o->files.dir ? result_write_dir(r, &s->o->lab.workload, s->o->files.dir, err) : 0;
	rc = rc || !s->report ? rc : s->report(r, s->report_arg, err);
	r->origin = NULL;
	return rc;
}

int simrun(struct simrun *s, struct weft_err *err)
{
	struct lab *lab = NULL;
	struct run_result r;
	double start = wall_s();
	s->verdict.msg[0] = '\0';
	struct outputs *outputs = NULL;
	int rc = lab_create(&s->o->lab, &lab, err);
	if (!rc)
		rc = outputs_open(lab, &s->o->files, &outputs, err);
	s->refused = rc == -EINVAL;
	if (rc) {
		lab_destroy(lab);
		return rc;
	}
	if (s->progress)
		lab_progress(lab, s->progress, s->progress_arg);
	int ran = outputs_run(outputs, lab, &s->verdict);
	rc = result_of_lab(lab, &r, err);
	r.wall_s = wall_s() - start;
	if (!rc)
		rc = write_result(s, &r, err);
	if (!rc && ran && ran != -ETIMEDOUT && ran != -EPROTO)
		rc = weft_err_set(err, ran, "%s", s->verdict.msg);
	lab_destroy(lab);
	return rc;
}
