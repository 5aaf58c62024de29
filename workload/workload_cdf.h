/* SPDX-License-Identifier: BSD-3-Clause */
/* Empirical distributions of flow sizes: text of lines "bytes probability", straight between the points. All arithmetic
 * is in integers, so every machine draws the same sizes. */
#ifndef WEFT_WORKLOAD_CDF_H
#define WEFT_WORKLOAD_CDF_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"
#include "weft/err.h"

enum { CDF_POINTS_MAX = 1024, CDF_ONE = 1000000000 };

/* The share of flows of at most `bytes`, in 1 / CDF_ONE. Two points with one size are a step, two with one probability
 * a gap. */
struct cdf_point {
	uint64_t bytes;
	uint32_t below;
};

struct cdf {
	uint32_t count;
	struct cdf_point point[CDF_POINTS_MAX];
};

/* A distribution that is part of the program: configs/workloads/NAME.cdf. */
struct cdf_text {
	const char *name; /* NULL ends the table */
	const char *text;
};
extern const struct cdf_text cdf_texts[];

/* Parses the text; messages as name:line: reason. Both columns may only grow, the last probability is 1. -EINVAL. */
int cdf_parse(const char *text, size_t len, const char *name, struct cdf *cdf, struct weft_err *err);

/* The mean in 1 / (2 CDF_ONE) bytes, exact; below 2^64. */
uint64_t cdf_mean(const struct cdf *cdf);

/* One size, at least 1 byte. */
uint64_t cdf_draw(const struct cdf *cdf, struct rng *rng);

#endif
