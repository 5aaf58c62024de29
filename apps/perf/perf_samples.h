/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of single operations, and exact percentiles of them. */
#ifndef WEFT_PERF_SAMPLES_H
#define WEFT_PERF_SAMPLES_H

#include <stdint.h>

/* Keeps every sample, and of very many every second, fourth, ... */
struct perf_samples {
	uint32_t *ns;    /* owned; saturated at about 4 s */
	uint32_t count;  /* kept */
	uint32_t room;   /* of `ns` */
	uint32_t stride; /* one of so many is kept */
	uint64_t seen;   /* all */
	uint64_t sum_ns; /* of all */
};

struct perf_summary {
	uint64_t seen;
	double min_us, mean_us, p50_us, p99_us, p999_us, max_us;
};

/* Room for `room` samples, at least 2; -ENOMEM. */
int perf_samples_init(struct perf_samples *s, uint32_t room);
void perf_samples_free(struct perf_samples *s);
void perf_samples_add(struct perf_samples *s, uint64_t ns);

/* Empties it. */
void perf_samples_clear(struct perf_samples *s);

/* Of all samples of `count` sets together, each divided by `divisor`. All 0 without samples;
 * -ENOMEM. */
int perf_samples_summary(struct perf_samples *const *sets, uint32_t count, uint32_t divisor, struct perf_summary *out);

#endif
