/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a run: one registry, from which JSON, the printed table, claims and the tables of sweeps take what
 * they need. To add one, add a field to struct run_result or run_summary and a row to metric_flows.c or
 * metric_fabric.c. */
#ifndef WEFT_METRIC_H
#define WEFT_METRIC_H

#include <stdint.h>

#include "result.h"

/* What a metric is in memory. */
enum metric_type {
	METRIC_U32,
	METRIC_U64,
	METRIC_REAL,    /* double */
	METRIC_PS,      /* weft_ps, told in microseconds */
	METRIC_DERIVED, /* computed from others */
};

struct metric {
	const char *name; /* for people and claims: "fct_max_us"; NULL: only in JSON */
	const char *json; /* where it is in run.json: "fct_us.max"; NULL: not there */
	const char *unit; /* NULL: it has none */
	const char *help; /* meaning, one line */
	enum metric_type type;
	uint32_t offset;                                   /* of its field in struct run_record, unless derived */
	double (*derive)(const struct run_record *record); /* METRIC_DERIVED */
	/* False: this run does not have it. NULL: every run has it. */
	bool (*is_known)(const struct run_record *record);
};

/* All of them, from 0 on; NULL: there are no more. */
const struct metric *metric_at(uint32_t index);

/* By name or place in JSON; NULL: there is none. */
const struct metric *metric_find(const char *name);

/* Its value; NaN: not known of this run. */
double metric_value(const struct metric *m, const struct run_record *record);

/* The field or what is derived, whether it is known or not. */
double metric_raw(const struct metric *m, const struct run_record *record);

/* The same of integers, exact. */
uint64_t metric_count(const struct metric *m, const struct run_record *record);

/* Whether it counts something: its values are integers. */
bool metric_is_count(const struct metric *m);

/* Sets its field; not for derived ones. Counts take `count`, others `value`. */
void metric_set(const struct metric *m, struct run_record *record, uint64_t count, double value);

#endif
