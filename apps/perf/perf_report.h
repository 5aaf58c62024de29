/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_REPORT_H
#define WEFT_PERF_REPORT_H

#include <jansson.h>

#include "perf_run.h"

/* Lines of text, as perftest prints them, and the same as JSON, schema weft.perf/1. */
void perf_print_about(const struct perf_side *side, const char *server);
void perf_print_head(const struct perf_side *side, enum perf_test test);
void perf_print_row(const struct perf_result *r);
json_t *perf_about_to_json(const struct perf_side *side, const char *server);
json_t *perf_row_to_json(const struct perf_result *r);

#endif
