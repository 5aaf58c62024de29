/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a page tells of the runs of one scenario: table, comparisons, and plots over time. */
#ifndef WEFT_REPORT_RUNS_H
#define WEFT_REPORT_RUNS_H

#include "report_data.h"
#include "report_html.h"

/* A negative errno with a message. */
int report_runs(struct report *r, const struct data *d, struct weft_err *err);

/* What the words of tables and plots mean. */
void report_definitions(struct report *r);

#endif
