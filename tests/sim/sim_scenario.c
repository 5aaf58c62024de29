/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_args.h"

void scenario_start(struct scenario *s, const char *const *args)
{
	*s = (struct scenario){.rc = -1};
	args_lab_made(&s->options, args, &s->lab, &s->err);
}

void scenario_run(struct scenario *s)
{
	s->rc = lab_run(s->lab, &s->err);
	assert_int_equal(result_of_lab(s->lab, &s->result, NULL), 0);
	assert_int_equal(result_summarise(&s->result, &s->summary), 0);
	lab_stats(s->lab, &s->stats);
	weft_net_get_stats(lab_net(s->lab), &s->net);
	assert_int_equal(result_print(&s->result, stdout, NULL), 0);
}

void scenario_all_verified(const struct scenario *s)
{
	if (s->rc)
		fail_msg("%s", s->err.msg);
	assert_int_equal(s->summary.completed, s->result.flow_count);
	assert_int_equal(s->summary.verified, s->result.flow_count);
	assert_true(s->result.flow_count > 0);
}

void scenario_end(struct scenario *s)
{
	assert_int_equal(lab_destroy(s->lab), 0);
	options_free(&s->options);
}

void assert_at_most(double a, double b)
{
	if (!(a <= b))
		fail_msg("%g is above the bound %g", a, b);
}

FILE *scenario_matrix(char path[SCENARIO_PATH_MAX])
{
	strcpy(path, "/tmp/weft-matrix-XXXXXX");
	int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	assert_non_null(out);
	return out;
}
