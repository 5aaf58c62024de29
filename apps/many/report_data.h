/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs on disk, read for a report: result directories of a sweep or of one run, and bare JSON results. */
#ifndef WEFT_REPORT_DATA_H
#define WEFT_REPORT_DATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "stat.h"
#include "weft/err.h"

/* What is told of every run; each is a number in run.json. */
enum run_metric {
	METRIC_TAIL, /* slowest flow's FCT, us */
	METRIC_MEAN, /* us */
	METRIC_P99,  /* us */
	METRIC_INFLATION,
	METRIC_GOODPUT, /* Gb/s */
	METRIC_JAIN,
	METRIC_RETRANSMITTED,
	METRIC_TRIMMED,
	METRIC_DROPPED,
	METRIC_MARKED,
	METRIC_TIMEOUTS,
	METRIC_FLOWS,
	METRIC_COMPLETED,
	METRICS,
};

struct data_run {
	char *dir;    /* with its CSV files; NULL: there is only the JSON */
	json_t *json; /* schema weft.run/1; NULL: the run failed or was not done */
	char *status; /* "done", "failed", ... */
	char *error;  /* of a failed run, or "" */
	double metrics[METRICS];
	json_int_t seed;
	size_t combo; /* index in combos */
};

/* Runs that differ in nothing but their seeds. */
struct data_combo {
	char *key;    /* internal: equal for the runs that belong together */
	char *name;   /* for people; unique */
	char *source; /* path it was found at */
	char *case_name;
	json_t *values; /* axis -> value; own reference; never NULL */
	size_t first;   /* index of its first run in `runs` that is done; (size_t)-1: none */
	size_t done;    /* runs with results */
};

struct data {
	struct data_run *runs;
	size_t run_count, run_room;
	struct data_combo *combos;
	size_t combo_count, combo_room;
	json_t *sweep; /* sweep.json when the only input is a sweep; NULL */
	size_t inputs;
};

/* Reads one more path. A negative errno with a message that names the file and, where there is one, the line. */
int data_add(struct data *d, const char *path, struct weft_err *err);

/* After the last data_add: makes names unique, counts. -ENOENT when no run has results. */
int data_finish(struct data *d, struct weft_err *err);

void data_free(struct data *d);

/* A metric over the seeds of a combination; without the runs whose inflation is unknown (0) when it is that. */
struct stat_mean data_mean(const struct data *d, size_t combo, enum run_metric metric);

/* True when `path` is a directory with results (sweep.json or run.json inside). */
bool data_is_directory(const char *path);

/* "dir/name", to be freed; NULL when there is no memory. */
char *data_path(const char *dir, const char *name);

#endif
