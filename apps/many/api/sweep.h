/* SPDX-License-Identifier: BSD-3-Clause */
/* All runs of a scenario, over the cores of the machine: each run is a process, so that one that crashes or runs out of
 * memory is that run's failure. Results lie in a directory and in memory; a sweep that was stopped goes on where it
 * was. */
#ifndef WEFT_SWEEP_H
#define WEFT_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "result.h"
#include "scenario.h"

enum sweep_status {
	SWEEP_WAITING, /* not run yet, or stopped */
	SWEEP_DONE,    /* every flow ended well */
	SWEEP_FAILED   /* see `error`; there may be a result */
};

/* An identity is 16 digits of the build, '-', 16 of the settings. */
enum { SWEEP_BUILD_LEN = 16, SWEEP_IDENTITY_LEN = 33 };

struct sweep_run {
	struct scenario_pick pick;
	char label[SCENARIO_TEXT_MAX];         /* case and axis values */
	char identity[SWEEP_IDENTITY_LEN + 1]; /* same text: same result */
	uint64_t seed;
	double weight; /* how much work it is beside the others: bytes times links of the longest path */
	enum sweep_status status;
	bool before;              /* the result is of an earlier sweep */
	bool known;               /* `record` is valid */
	struct run_record record; /* what run.json says; use sweep_record */
	char error[256];          /* empty when done */
};

struct sweep {
	struct scenario *scenario; /* the caller's, outlives the sweep */
	struct sweep_run *runs;
	uint32_t count;
	const char *dir; /* of the results: scenario->out */
	int lock;        /* the directory, held by one sweep at a time; -1: not open */
	bool any_build;  /* see struct sweep_conf */
};

struct sweep_conf {
	uint32_t jobs;  /* worker processes; 0: as many as there are cores */
	bool fresh;     /* do not use earlier results */
	bool any_build; /* use those of other builds, too */
	bool quiet;     /* say nothing on standard error */
};

/* Lists the runs and resolves the options of each, so that an impossible one is found before the first starts. Errors
 * of scenario_options; -E2BIG: more than SCENARIO_RUNS_MAX. Takes sweep_free also after an error. */
int sweep_plan(struct sweep *w, struct scenario *s, struct weft_err *err);
void sweep_free(struct sweep *w);

/* Runs what has no result yet, then writes sweep.json and table.txt. Failed runs are no error. -EINTR: stopped by
 * SIGINT or SIGTERM, complete results are kept; -EBUSY: another sweep has the directory; an errno of the file system,
 * with a message that names the file. Blocks SIGINT, SIGTERM and SIGCHLD meanwhile. */
int sweep_run(struct sweep *w, const struct sweep_conf *conf, struct weft_err *err);

/* Runs with this status. */
uint32_t sweep_count(const struct sweep *w, enum sweep_status status);

/* Half of the 95 % confidence interval of a mean (Student's t), from the sum and the sum of squares of n values; 0 for
 * one value. */
double sweep_half_width(double sum, double squares, uint32_t n);

/* One row per combination: means over its seeds with half of their 95 % confidence interval. */
void sweep_print_table(const struct sweep *w, FILE *out);

#endif
