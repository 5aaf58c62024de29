/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up metric.h. */
#ifndef WEFT_METRIC_INT_H
#define WEFT_METRIC_INT_H

#include <stddef.h>

#include "metric.h"

/* The type is the field's own. */
#define METRIC_FIELD(path)                                                                                             \
	.offset = offsetof(struct run_record, path), .type = _Generic(((struct run_record *)0)->path, uint32_t         \
								      : METRIC_U32, uint64_t                           \
								      : METRIC_U64, double                             \
								      : METRIC_REAL)

/* Within an object of the JSON, rows stand in its order; the list of measures has this one. */
extern const struct metric metrics_of_flows[], metrics_of_fabric[];
extern const uint32_t metrics_of_flows_count, metrics_of_fabric_count;

#endif
