/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow by flow: distribution of the FCT and slowdown by size, seeds of a combination pooled. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "report_compare.h"
#include "report_csv.h"

#define CURVES    16  /* most in one plot */
#define CDF_STEPS 400 /* most points of a curve */
#define BINS      12  /* of sizes */

static const char *const columns[] = {"bytes", "fct_us", "ideal_us"};
enum column { BYTES, FCT, IDEAL };

/* One completed flow. */
struct flow {
	double bytes, fct_us, slowdown;
};

/* Of one combination. */
struct pool {
	struct flow *flows;
	size_t count, room;
};

static int read_flows(struct pool *pool, const char *path, struct weft_err *err)
{
	struct table c;
	double ideal;
	struct flow f;
	int rc = table_open(&c, path, columns, 3, err);
	while (!rc && (rc = table_next(&c, err)) == 1) {
		rc = table_number(&c, BYTES, &f.bytes, err);
		if (!rc)
			rc = table_number(&c, FCT, &f.fct_us, err);
		if (!rc)
			rc = table_number(&c, IDEAL, &ideal, err);
		if (rc || isnan(f.fct_us) || isnan(f.bytes))
			continue;
		f.slowdown = ideal > 0 ? f.fct_us / ideal : NAN;
		if (array_reserve(&pool->flows, pool->count, &pool->room, sizeof f))
			pool->flows[pool->count++] = f;
		else
			rc = weft_err_set(err, -ENOMEM, "no memory for the flows of %s", path);
	}
	table_close(&c);
	return rc;
}

/* All seeds of a combination; *missing counts the runs without the file. */
static int read_pool(struct pool *pool, const struct data *d, size_t combo, size_t *missing, struct weft_err *err)
{
	int rc = 0;
	for (size_t i = 0; i < d->run_count && !rc; i++) {
		const struct data_run *run = &d->runs[i];
		if (run->combo != combo || !run->json)
			continue;
		char *path = run->dir ? data_path(run->dir, "flows.csv") : NULL;
		rc = path ? read_flows(pool, path, err) : -ENOENT;
		free(path);
		*missing += rc == -ENOENT;
		rc = rc == -ENOENT ? 0 : rc;
	}
	return rc;
}

static int by_fct(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;
	return (x->fct_us > y->fct_us) - (x->fct_us < y->fct_us);
}

static void add_cdf(struct plot *p, const char *name, struct pool *pool)
{
	size_t steps = pool->count < CDF_STEPS ? pool->count : CDF_STEPS, s = plot_series(p, name, PLOT_STEPS);
	if (!pool->count)
		return;
	qsort(pool->flows, pool->count, sizeof *pool->flows, by_fct);
	plot_point(p, s, pool->flows[0].fct_us, 0);
	for (size_t k = 1; k <= steps; k++) {
		size_t rank = pool->count * k / steps;
		plot_point(p, s, pool->flows[rank - 1].fct_us, (double)rank / (double)pool->count);
	}
}

static struct plot *cdf_of(const struct data *d, struct pool *pools, size_t count)
{
	double least = INFINITY, most = 0;
	struct plot *p = plot_create("Distribution of FCT", "FCT", PLOT_TIME, "flows", PLOT_SHARE);
	for (size_t i = 0; p && i < count; i++) {
		add_cdf(p, d->combos[i].name, &pools[i]);
		if (pools[i].count) {
			least = fmin(least, pools[i].flows[0].fct_us);
			most = fmax(most, pools[i].flows[pools[i].count - 1].fct_us);
		}
	}
	if (p) {
		p->y_max = 1;
		p->log_x = least > 0 && most > 50 * least;
	}
	return p;
}

/* Upper ends of the size bins, ascending. */
struct bins {
	double ends[BINS];
	size_t count;
};

/* Adds a size unless there are too many already; false then. */
static bool add_size(struct bins *b, double bytes)
{
	size_t at = b->count;
	while (at && b->ends[at - 1] > bytes)
		at--;
	if (at && b->ends[at - 1] == bytes)
		return true;
	if (b->count == BINS)
		return false;
	for (size_t i = b->count++; i > at; i--)
		b->ends[i] = b->ends[i - 1];
	b->ends[at] = bytes;
	return true;
}

/* A bin per size when they are few, otherwise bins of equal width on the logarithmic axis. */
static struct bins bins_of(const struct pool *pools, size_t count)
{
	struct bins b = {.count = 0};
	double least = INFINITY, most = 0;
	bool few = true;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < pools[i].count; j++) {
			double bytes = fmax(pools[i].flows[j].bytes, 1);
			least = fmin(least, bytes);
			most = fmax(most, bytes);
			few = few && add_size(&b, bytes);
		}
	}
	if (few)
		return b;
	for (b.count = 0; b.count < BINS; b.count++)
		b.ends[b.count] = least * pow(most / least, (double)(b.count + 1) / BINS);
	b.ends[BINS - 1] = most;
	return b;
}

/* Percentile of the slowdown in each bin, over the bin's mean size. */
static void add_slowdown(struct plot *p, const char *name, const struct pool *pool, const struct bins *b, double share)
{
	double *x = calloc(pool->count + 1, sizeof *x), low = 0;
	size_t s = plot_series(p, name, PLOT_ERRORS);
	p->no_memory |= !x;
	for (size_t k = 0; x && k < b->count; low = b->ends[k++]) {
		double sum = 0;
		size_t n = 0;
		for (size_t i = 0; i < pool->count; i++) {
			const struct flow *f = &pool->flows[i];
			double bytes = fmax(f->bytes, 1);
			if (bytes <= low || bytes > b->ends[k] || isnan(f->slowdown))
				continue;
			x[n++] = f->slowdown;
			sum += bytes;
		}
		stat_sort(x, n);
		if (n)
			plot_point(p, s, sum / (double)n, stat_percentile(x, n, share));
	}
	free(x);
}

static int plot_slowdown(struct report *r, const struct data *d, const struct pool *pools, size_t count,
			 struct weft_err *err)
{
	static const struct {
		const char *title;
		double share;
	} shown[] = {{"Median slowdown by flow size", 0.5}, {"99th percentile of slowdown by flow size", 0.99}};
	struct bins b = bins_of(pools, count);
	int rc = 0;
	for (unsigned k = 0; k < 2 && !rc && b.count > 1; k++) {
		struct plot *p = plot_create(shown[k].title, "flow size", PLOT_BYTES, "FCT / ideal", PLOT_PLAIN);
		for (size_t i = 0; p && i < count; i++)
			add_slowdown(p, d->combos[i].name, &pools[i], &b, shown[k].share);
		if (p)
			p->log_x = p->from_zero = true;
		rc = report_plot(r, p, NULL, err);
	}
	return rc;
}

static int plot_pools(struct report *r, const struct data *d, struct pool *pools, size_t count, struct weft_err *err)
{
	size_t missing = 0;
	int rc = 0;
	for (size_t i = 0; i < count && !rc; i++)
		rc = read_pool(&pools[i], d, i, &missing, err);
	if (rc)
		return rc;
	report_section(r, "Flows");
	if (missing)
		report_note(r, "%zu run%s no flows.csv and add%s nothing here.", missing,
			    missing == 1 ? " has" : "s have", missing == 1 ? "s" : "");
	if (count < d->combo_count)
		report_note(r, "The first %zu of %zu combinations are drawn.", count, d->combo_count);
	rc = report_plot(r, cdf_of(d, pools, count), NULL, err);
	return rc ? rc : plot_slowdown(r, d, pools, count, err);
}

int compare_flows(struct report *r, const struct data *d, struct weft_err *err)
{
	size_t count = d->combo_count < CURVES ? d->combo_count : CURVES;
	struct pool *pools = calloc(count + 1, sizeof *pools);
	int rc = pools ? plot_pools(r, d, pools, count, err) : weft_err_set(err, -ENOMEM, "no memory for the flows");
	for (size_t i = 0; pools && i < count; i++)
		free(pools[i].flows);
	free(pools);
	return rc;
}
