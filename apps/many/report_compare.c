/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_axis.h"

#define MOST_BARS 60 /* in one plot */

static const char *const heads[] = {"combination",  "seeds",     "flows completed", "tail FCT (µs)", "mean FCT (µs)",
				    "p99 FCT (µs)", "inflation", "goodput (Gb/s)",  "Jain",          "retransmitted",
				    "trimmed",      "dropped",   "marked",          "timeouts"};

/* Decimals that show about four figures of a number; counts have at most one. */
static int decimals_of(double x, enum run_metric metric)
{
	bool count = metric >= METRIC_RETRANSMITTED;
	return fabs(x) >= 1000 || (count && x == rint(x)) ? 0 : fabs(x) >= 10 || count ? 1 : 3;
}

static void mean_cell(struct report *r, const struct data *d, size_t combo, enum run_metric metric)
{
	struct stat_mean m = data_mean(d, combo, metric);
	int decimals = decimals_of(m.mean, metric);
	if (!m.n)
		report_cell(r, false, "–");
	else if (m.n < 2)
		report_cell(r, false, "%.*f", decimals, m.mean);
	else
		report_cell(r, false, "%.*f\n± %.*f", decimals, m.mean, decimals, m.half);
}

static void table_row(struct report *r, const struct data *d, size_t combo)
{
	const struct data_combo *c = &d->combos[combo];
	struct stat_mean flows = data_mean(d, combo, METRIC_FLOWS), completed = data_mean(d, combo, METRIC_COMPLETED);
	double n = (double)flows.n;
	report_row(r);
	report_cell(r, false, "%s", c->name);
	report_cell(r, false, "%zu", c->done);
	report_cell(r, completed.mean < flows.mean, "%.0f of %.0f", completed.mean * n, flows.mean * n);
	for (unsigned m = METRIC_TAIL; m <= METRIC_TIMEOUTS; m++)
		mean_cell(r, d, combo, m);
}

static void tell_failures(struct report *r, const struct data *d)
{
	for (size_t i = 0; i < d->run_count; i++) {
		const struct data_run *run = &d->runs[i];
		if (!run->json)
			report_note(r, "%s, seed %lld: %s%s%s", d->combos[run->combo].name, (long long)run->seed,
				    *run->status ? run->status : "not run", *run->error ? ": " : "", run->error);
	}
}

void compare_table(struct report *r, const struct data *d)
{
	report_section(r, "Summary");
	report_table(r, heads, sizeof heads / sizeof *heads);
	for (size_t i = 0; i < d->combo_count; i++) {
		if (d->combos[i].done)
			table_row(r, d, i);
	}
	tell_failures(r, d);
}

static void add_mean(struct plot *p, size_t series, const struct data *d, size_t combo, enum run_metric metric,
		     double x)
{
	struct stat_mean m = data_mean(d, combo, metric);
	plot_range(p, series, x, m.mean, m.mean - m.half, m.mean + m.half);
}

/* One line per series of combinations, over the axis. */
static struct plot *lines_of(const struct data *d, const struct axes *a, enum run_metric metric, const char *title)
{
	struct plot *p = plot_create(title, a->name, PLOT_PLAIN, "FCT", PLOT_TIME);
	for (size_t s = 0; p && s < a->series_count; s++) {
		size_t series = plot_series(p, a->series[s], PLOT_ERRORS);
		for (size_t c = 0; c < a->cluster_count; c++) {
			for (size_t i = 0; i < d->combo_count; i++) {
				if (a->of[i].series == s && a->of[i].cluster == c && d->combos[i].done)
					add_mean(p, series, d, i, metric, a->numbers[c]);
			}
		}
	}
	if (p) {
		p->from_zero = true;
		plot_sort(p);
	}
	return p;
}

/* Bars in clusters of one per series; a cluster's name stands at its middle. */
static struct plot *bars_of(const struct data *d, const struct axes *a, enum run_metric metric, const char *title)
{
	struct plot *p = plot_create(title, "FCT", PLOT_TIME, a->name, PLOT_PLAIN);
	double gap = a->series_count > 1 ? 0.8 : 0, pitch = (double)a->series_count + gap;
	for (size_t s = 0; p && s < a->series_count; s++)
		plot_series(p, a->series_count > 1 ? a->series[s] : "", PLOT_BARS);
	for (size_t i = 0; p && i < d->combo_count; i++) {
		struct stat_mean m = data_mean(d, i, metric);
		double y = (double)a->of[i].cluster * pitch + (double)a->of[i].series;
		if (d->combos[i].done)
			plot_range(p, a->of[i].series, m.mean, y, m.mean - m.half, m.mean + m.half);
	}
	for (size_t c = 0; p && c < a->cluster_count; c++)
		plot_tic(p, (double)c * pitch + ((double)a->series_count - 1) / 2, a->clusters[c]);
	return p;
}

int compare_fct(struct report *r, const struct data *d, struct weft_err *err)
{
	static const struct {
		enum run_metric metric;
		const char *title;
	} shown[] = {{METRIC_TAIL, "Tail FCT"}, {METRIC_MEAN, "Mean FCT"}};
	const char *caption = "Means over the seeds; error bars are 95 % confidence intervals.";
	struct axes a;
	int rc = 0;
	if (d->combo_count < 2)
		return 0;
	if (axes_find(&a, d))
		return weft_err_set(err, -ENOMEM, "no memory for the comparison");
	report_section(r, "Comparison");
	if (!a.numbers && d->combo_count > MOST_BARS)
		report_note(r, "%zu combinations are too many for bars; the table has them all.", d->combo_count);
	else
		for (unsigned i = 0; i < 2 && !rc; i++)
			rc = report_plot(r, (a.numbers ? lines_of : bars_of)(d, &a, shown[i].metric, shown[i].title),
					 caption, err);
	axes_free(&a);
	return rc;
}
