/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "report_compare.h"
#include "report_series.h"

/* Bounds of the plots over time, which grow with the runs. */
#define PLOTS      64
#define PAGE_BYTES (9 << 19) /* 4.5 MiB */

/* One of a run's files by one of the functions that draw them. 1 when it was there. */
static int draw(struct report *r, const char *dir, const char *file,
		int (*series)(struct report *r, const char *path, struct weft_err *err), struct weft_err *err)
{
	char *path = data_path(dir, file);
	int rc = path ? series(r, path, err) : weft_err_set(err, -ENOMEM, "no memory for a path");
	free(path);
	return rc;
}

static bool has_plots(const char *dir)
{
	static const char *const files[] = {"ports.csv", "conns.csv", "links.csv", "arrivals.csv"};
	bool any = false;
	struct stat st;
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		char *path = dir ? data_path(dir, files[i]) : NULL;
		any |= path && !stat(path, &st);
		free(path);
	}
	return any;
}

static int draw_run(struct report *r, const struct data *d, const struct data_combo *c, struct weft_err *err)
{
	const struct data_run *run = &d->runs[c->first];
	char heading[256];
	snprintf(heading, sizeof heading, "Over time: %.200s, seed %lld", c->name, (long long)run->seed);
	report_section(r, heading);
	int rc = draw(r, run->dir, "ports.csv", series_ports, err);
	if (rc >= 0)
		rc = draw(r, run->dir, "conns.csv", series_conns, err);
	if (rc >= 0)
		rc = draw(r, run->dir, "arrivals.csv", series_rates, err);
	if (rc >= 0)
		rc = draw(r, run->dir, "links.csv", series_links, err);
	return rc < 0 ? rc : 0;
}

/* The first seed of each combination, as long as the page keeps within bounds. */
static int draw_runs(struct report *r, const struct data *d, struct weft_err *err)
{
	size_t left_out = 0;
	int rc = 0;
	for (size_t i = 0; i < d->combo_count && !rc; i++) {
		const struct data_combo *c = &d->combos[i];
		if (!c->done || !has_plots(d->runs[c->first].dir))
			continue;
		if (report_plots(r) >= PLOTS || report_size(r) >= PAGE_BYTES)
			left_out++;
		else
			rc = draw_run(r, d, c, err);
	}
	if (left_out)
		report_note(r, "%zu more combinations have time series; give their directories alone to see them.",
			    left_out);
	return rc;
}

int report_runs(struct report *r, const struct data *d, struct weft_err *err)
{
	compare_table(r, d);
	int rc = compare_fct(r, d, err);
	if (!rc)
		rc = compare_flows(r, d, err);
	return rc ? rc : draw_runs(r, d, err);
}

void report_definitions(struct report *r)
{
	report_section(r, "Definitions");
	report_term(r, "FCT",
		    "flow completion time: from the submission at the sender to the acknowledgement of the last byte "
		    "there");
	report_term(r, "tail, mean, p99 FCT", "of all flows of a run: the slowest, the mean, the 99th percentile");
	report_term(r, "ideal",
		    "bytes with headers at the bottleneck's rate plus the idle path's latency, no queueing");
	report_term(r, "inflation",
		    "first submission to last acknowledgement, over the ideal; only of runs that completed");
	report_term(r, "slowdown", "a flow's FCT over its own ideal");
	report_term(r, "goodput", "payload of completed flows over that time, all hosts together");
	report_term(r, "Jain", "fairness of the flows' rates; 1 is equal");
	report_term(r, "±, error bars",
		    "half width of the 95 %% confidence interval of the mean over the seeds (Student's t)");
	report_term(r, "percentiles", "by nearest rank");
	report_term(r, "curves over time", "long series keep the lowest and the highest value of every stretch");
}
