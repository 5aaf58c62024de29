/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of arrivals.csv: what arrived of each flow in each interval. */
#ifndef WEFT_SERIES_FLOW_H
#define WEFT_SERIES_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "csv.h"
#include "lab.h"

/* How much of each flow had arrived at the last sample. */
struct series_flows {
	struct csv csv;
	uint64_t *arrived; /* per flow of the workload, bytes; ours */
	uint32_t count;
};

/* -ENOMEM; errors of csv_open. */
int series_flows_open(struct series_flows *s, const struct lab *lab, const char *dir, struct weft_err *err);

/* A row for each flow of which something arrived after `since` and up to `now`. True: there was one. */
bool series_flows_sample(struct series_flows *s, const struct lab *lab, weft_ps since, weft_ps now);

/* Errors of csv_close. */
int series_flows_close(struct series_flows *s, struct weft_err *err);

#endif
