/* SPDX-License-Identifier: BSD-3-Clause */
#include "claim_rates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "report_csv.h"

static const char *const columns[] = {"time_us", "interval_us", "flow", "bytes"};
enum column { TIME, INTERVAL, FLOW, BYTES, COLUMNS };

/* A line: what arrived of a flow in the interval that ends at this time. */
struct arrival {
	double v[COLUMNS];
};

/* Bytes of each flow in each sample; the last sample of a run may be shorter and is left out. */
struct rates {
	const struct claim_scope *scope;
	struct arrival *lines;
	size_t line_count, line_room;
	double from_us, interval_us;
	uint32_t flows;
	size_t samples;
	double *bytes; /* samples of the first flow, of the second, ... */
};

static int read_lines(struct rates *r, const char *path, struct weft_err *err)
{
	struct table table;
	int rc = table_open(&table, path, columns, COLUMNS, err);
	while (!rc && (rc = table_next(&table, err)) == 1) {
		struct arrival a;
		rc = 0;
		for (unsigned i = 0; i < COLUMNS && !rc; i++)
			rc = table_number(&table, i, &a.v[i], err);
		if (!rc && !array_reserve(&r->lines, r->line_count, &r->line_room, sizeof a))
			rc = weft_err_set(err, -ENOMEM, "no memory for %s", path);
		if (!rc)
			r->lines[r->line_count++] = a;
	}
	table_close(&table);
	return rc;
}

/* How many whole samples lie between `from` and `to` or the last arrival. */
static size_t whole_samples(const struct rates *r)
{
	double to_us = (double)r->scope->to_ns / 1e3, last_us = r->line_count ? r->lines[r->line_count - 1].v[TIME] : 0;
	double span_us = fmin(to_us, last_us) - r->from_us;
	return r->interval_us > 0 && span_us > 0 ? (size_t)(span_us / r->interval_us + 1e-3) : 0;
}

static void sort_in(struct rates *r)
{
	for (size_t i = 0; i < r->line_count; i++) {
		const double *v = r->lines[i].v;
		double sample = (v[TIME] - r->from_us) / r->interval_us - 1;
		bool meant = v[FLOW] >= r->scope->first_flow && v[FLOW] < (double)r->scope->first_flow + r->flows;
		if (meant && sample > -0.5 && sample < (double)r->samples - 0.5)
			r->bytes[(size_t)(v[FLOW] - r->scope->first_flow) * r->samples + (size_t)(sample + 0.5)] +=
				v[BYTES];
	}
}

/* Bytes of a flow in the samples FIRST to the last, per sample. */
static double flow_mean(const struct rates *r, uint32_t flow, size_t first)
{
	double sum = 0;
	for (size_t i = first; i < r->samples; i++)
		sum += r->bytes[flow * r->samples + i];
	return sum / (double)(r->samples - first);
}

static double all_mean(const struct rates *r, size_t first)
{
	double sum = 0;
	for (uint32_t f = 0; f < r->flows; f++)
		sum += flow_mean(r, f, first);
	return sum / r->flows;
}

static double jain(const struct rates *r)
{
	double sum = 0, squares = 0;
	for (uint32_t f = 0; f < r->flows; f++) {
		double x = flow_mean(r, f, 0);
		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (squares * r->flows) : NAN;
}

static double unsteady(const struct rates *r)
{
	double sum = 0;
	for (uint32_t f = 0; f < r->flows; f++) {
		double mean = flow_mean(r, f, 0), squares = 0;
		for (size_t i = 0; i < r->samples; i++) {
			double off = r->bytes[f * r->samples + i] - mean;
			squares += off * off;
		}
		sum += mean > 0 ? sqrt(squares / (double)r->samples) / mean : 0;
	}
	return sum / r->flows;
}

static bool all_fair(const struct rates *r, size_t sample, double fair)
{
	bool all = true;
	for (uint32_t f = 0; f < r->flows; f++)
		all &= fabs(r->bytes[f * r->samples + sample] - fair) <= r->scope->within * fair;
	return all;
}

/* The end of the last sample in which some flow was too far from its fair rate. */
static double settle_us(const struct rates *r)
{
	double fair = all_mean(r, r->samples / 2);
	size_t bad = r->samples;
	while (bad > 0 && all_fair(r, bad - 1, fair))
		bad--;
	return (double)bad * r->interval_us;
}

/* The end of the first sample in which all had it; as if in the last, when there is none. */
static double reach_us(const struct rates *r)
{
	double fair = all_mean(r, r->samples / 2);
	size_t i = 0;
	while (i + 1 < r->samples && !all_fair(r, i, fair))
		i++;
	return (double)(i + 1) * r->interval_us;
}

static double slowest_or_fastest(const struct rates *r, bool slowest)
{
	double found = flow_mean(r, 0, 0);
	for (uint32_t f = 1; f < r->flows; f++) {
		double x = flow_mean(r, f, 0);
		found = slowest ? fmin(found, x) : fmax(found, x);
	}
	return found;
}

static double evaluate(const struct rates *r, enum claim_rate what)
{
	double gbps_per_byte = 8e-3 / r->interval_us;
	switch (what) {
	case CLAIM_RATE_MEAN:
		return all_mean(r, 0) * gbps_per_byte;
	case CLAIM_RATE_MIN:
		return slowest_or_fastest(r, true) * gbps_per_byte;
	case CLAIM_RATE_MAX:
		return slowest_or_fastest(r, false) * gbps_per_byte;
	case CLAIM_RATE_JAIN:
		return jain(r);
	case CLAIM_RATE_UNSTEADY:
		return unsteady(r);
	case CLAIM_RATE_REACH:
		return reach_us(r);
	case CLAIM_RATE_SETTLE:
		return settle_us(r);
	}
	return NAN;
}

int claim_rate(enum claim_rate what, const struct claim_scope *scope, uint32_t flow_count, const char *dir,
	       double *value, struct weft_err *err)
{
	struct rates r = {.scope = scope, .from_us = (double)scope->from_ns / 1e3};
	char path[FILE_PATH_MAX];
	int rc = file_path(path, dir, "arrivals.csv", err);
	uint32_t end = scope->last_flow < flow_count ? scope->last_flow + 1 : flow_count;
	if (!rc && scope->first_flow >= end)
		rc = weft_err_set(err, -EINVAL, "%s: there is no flow %u", path, scope->first_flow);
	if (!rc)
		rc = read_lines(&r, path, err);
	r.flows = end - scope->first_flow;
	r.interval_us = r.line_count ? r.lines[0].v[INTERVAL] : 0;
	r.samples = rc ? 0 : whole_samples(&r);
	r.bytes = calloc(r.samples ? r.samples : 1, r.flows * sizeof *r.bytes);
	if (!rc && !r.bytes)
		rc = weft_err_set(err, -ENOMEM, "no memory for the samples of %s", path);
	if (!rc && r.samples)
		sort_in(&r);
	*value = !rc && r.samples ? evaluate(&r, what) : NAN;
	free(r.bytes);
	free(r.lines);
	return rc;
}
