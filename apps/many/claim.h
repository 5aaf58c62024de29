/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims of a scenario: a measure of some of its runs, alone or beside that of others, and a bound. What a published
 * figure says, as something a machine can check. doc/guide/reproduce.md has the format. */
#ifndef WEFT_CLAIM_H
#define WEFT_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"
#include "metric.h"
#include "scenario.h"
#include "sweep.h"

enum { CLAIM_TEXT_MAX = 320 };

/* The runs where `name` ("case", an axis) has one of these values. */
struct claim_key {
	const char *name;
	const char **values; /* as in the scenario; of a path the end is enough */
	uint32_t count;
	uint32_t line; /* in the file */
};

struct claim_pick {
	struct claim_key keys[SCENARIO_AXES_MAX + 1];
	uint32_t count;
};

struct file_measure;

/* What a claim is about: one of these. */
struct measure {
	const struct metric *metric;     /* a number of the result, so that a run without further files has it */
	const struct file_measure *file; /* or of another file of the run */
};

/* What of a run's files a measure looks at. */
struct claim_scope {
	const char *ports;              /* pattern of port names; NULL: all */
	uint32_t first_flow, last_flow; /* inclusive */
	weft_ns from_ns, to_ns;         /* of time series */
	double within;                  /* a rate this share of the fair one away from it counts as fair */
};

struct claim {
	const char *text;  /* one line */
	const char *paper; /* what the publication says, in its words; "" */
	const char *note;  /* what to know when it does not hold; "" */
	struct measure measure;
	struct claim_scope scope;
	struct claim_pick of;     /* every combination it picks must meet the bound */
	struct claim_pick over;   /* keys to change for the combinations to divide by, or to subtract */
	bool relative;            /* there is an `over` or a `less` */
	bool difference;          /* it is a `less` */
	bool real;                /* the runs in real time, divided by the same ones in the lab */
	double at_most, at_least; /* NaN: no such bound; with `real` there may be none, then the value is only told */
	uint32_t line;            /* in the file */
};

/* Runs to repeat with `weft bench --local`. */
struct claim_bench {
	struct claim_pick *picks; /* owned; a run that one of them picks is repeated */
	uint32_t count;
	struct scenario_list options; /* for `weft bench`, over those of the run */
};

struct claims {
	const char *path;  /* of the scenario */
	struct claim *all; /* owned; texts belong to the scenario */
	uint32_t count;
	struct claim_bench bench;
};

struct claim_verdict {
	bool known;   /* all runs it needs have results */
	bool holds;   /* false without a bound */
	bool unsure;  /* the bound is within the value's interval, whether it holds or not */
	double value; /* the one nearest to breaking the bound, or beyond */
	double half;  /* of its 95 % confidence interval, Student's t over the seeds; 0: one seed, or `real`; NaN: none,
			 in  some seed there was nothing to divide by */
	char ours[CLAIM_TEXT_MAX]; /* the value, its interval, and which runs it comes from */
};

/* Reads the claims of a loaded scenario; texts are kept in it. Messages as file:line: key: reason. */
int claims_load(struct claims *c, struct scenario *s, struct weft_err *err);
void claims_free(struct claims *c);

/* An error only when a file of the results cannot be read; -ENOMEM. */
int claim_judge(const struct claim *c, const struct sweep *w, struct claim_verdict *v, struct weft_err *err);

/* Whether a run's value is the one a claim means: the same, or a path that ends with it. */
bool claim_value_is(const char *have, const char *wanted);

/* Whether a run is one of those picked. */
bool claim_picks(const struct sweep *w, const struct claim_pick *pick, const struct scenario_pick *run);

/* Whether there is a bound to hold. */
bool claim_judges(const struct claim *c);

/* Directory of run `id` repeated in real time. -ENAMETOOLONG with a message. */
int claim_real_dir(const struct sweep *w, uint32_t id, char path[FILE_PATH_MAX], struct weft_err *err);

/* ---- measures ---- */

/* By name; false: no such measure. */
bool measure_find(const char *name, struct measure *out);

/* One line "NAME  meaning" each. */
void measure_print_all(FILE *out);

/* Of one run with a result, whose files lie in `dir`. */
int measure_run(const struct measure *m, const struct claim_scope *scope, const struct run_record *record,
		const char *dir, double *value, struct weft_err *err);

#endif
