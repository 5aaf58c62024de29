/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a report that set combinations side by side. */
#ifndef WEFT_REPORT_COMPARE_H
#define WEFT_REPORT_COMPARE_H

#include "report_data.h"
#include "report_html.h"
#include "weft/err.h"

/* The table of all combinations, means with confidence intervals over the seeds, and what failed. */
void compare_table(struct report *r, const struct data *d);

/* Tail and mean FCT with confidence intervals: lines over the axis when the only axis is numeric, bars otherwise. */
int compare_fct(struct report *r, const struct data *d, struct weft_err *err);

/* From flows.csv, seeds pooled: distribution of the FCT, and slowdown by size when sizes differ. */
int compare_flows(struct report *r, const struct data *d, struct weft_err *err);

#endif
