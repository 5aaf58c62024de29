/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_samples.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int perf_samples_init(struct perf_samples *s, uint32_t room)
{
	assert(room >= 2);
	*s = (struct perf_samples){.ns = malloc(room * sizeof *s->ns), .room = room, .stride = 1};
	return s->ns ? 0 : -ENOMEM;
}

void perf_samples_free(struct perf_samples *s)
{
	free(s->ns);
	*s = (struct perf_samples){0};
}

void perf_samples_clear(struct perf_samples *s)
{
	s->count = 0;
	s->stride = 1;
	s->seen = s->sum_ns = 0;
}

static void thin_out(struct perf_samples *s)
{
	for (uint32_t i = 0; i < s->count / 2; i++)
		s->ns[i] = s->ns[2 * i];
	s->count /= 2;
	s->stride *= 2;
}

void perf_samples_add(struct perf_samples *s, uint64_t ns)
{
	s->sum_ns += ns;
	if (s->seen++ % s->stride != 0)
		return;
	if (s->count == s->room)
		thin_out(s);
	s->ns[s->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* The smallest sample that `per_mille` of all do not exceed. */
static double percentile_us(const uint32_t *sorted, uint64_t count, uint32_t per_mille, uint32_t divisor)
{
	uint64_t rank = (count * per_mille + 999) / 1000;
	return sorted[rank > 0 ? rank - 1 : 0] / 1000.0 / divisor;
}

static void summarize(const uint32_t *sorted, uint64_t count, uint32_t divisor, struct perf_summary *out)
{
	out->min_us = sorted[0] / 1000.0 / divisor;
	out->p50_us = percentile_us(sorted, count, 500, divisor);
	out->p99_us = percentile_us(sorted, count, 990, divisor);
	out->p999_us = percentile_us(sorted, count, 999, divisor);
	out->max_us = sorted[count - 1] / 1000.0 / divisor;
}

int perf_samples_summary(struct perf_samples *const *sets, uint32_t count, uint32_t divisor, struct perf_summary *out)
{
	uint64_t kept = 0, sum_ns = 0, at = 0;
	*out = (struct perf_summary){0};
	for (uint32_t i = 0; i < count; i++) {
		kept += sets[i]->count;
		sum_ns += sets[i]->sum_ns;
		out->seen += sets[i]->seen;
	}
	if (kept == 0)
		return 0;
	uint32_t *all = malloc(kept * sizeof *all);
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; at += sets[i++]->count)
		memcpy(all + at, sets[i]->ns, sets[i]->count * sizeof *all);
	qsort(all, kept, sizeof *all, ascending);
	summarize(all, kept, divisor, out);
	out->mean_us = (double)sum_ns / (double)out->seen / 1000.0 / divisor;
	free(all);
	return 0;
}
