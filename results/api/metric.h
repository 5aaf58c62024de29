/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a run: one registry, from which JSON, the printed table and `weft sim --metrics` take what they need.
 * To add one, add a field to struct run_result or run_summary and a row to metric_flows.c or metric_fabric.c. */
#ifndef WEFT_METRIC_H
#define WEFT_METRIC_H

#include <stdint.h>

#include "result.h"

/* What a metric is in memory. */
enum metric_type {
	METRIC_U32,
	METRIC_U64,
	METRIC_REAL, /* double */
	METRIC_PS,   /* weft_ps, told in microseconds */
};

struct metric {
	const char *name; /* for people and claims: "fct_max_us"; NULL: only in JSON */
	const char *json; /* where it is in run.json: "fct_us.max"; NULL: not there */
	const char *unit; /* NULL: it has none */
	const char *help; /* meaning, one line */
	enum metric_type type;
	uint32_t offset; /* of its field in struct run_record */
};

/* All of them, from 0 on; NULL: there are no more. */
const struct metric *metric_at(uint32_t index);

/* By name or place in JSON; NULL: there is none. */
const struct metric *metric_find(const char *name);

/* Its value; 0 when the run does not have it, NaN when it is not known. */
double metric_value(const struct metric *m, const struct run_record *record);

/* The same of integers, exact. */
uint64_t metric_count(const struct metric *m, const struct run_record *record);

/* Whether it counts something: its values are integers. */
bool metric_is_count(const struct metric *m);

#endif
