/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast flows arrived over time. */
#include <errno.h>
#include <stdio.h>

#include "report_csv.h"
#include "report_series.h"

enum { FLOWS = 8 }; /* drawn */

static const char *const columns[] = {"time_us", "interval_us", "flow", "bytes"};
enum column { TIME, INTERVAL, FLOW, BYTES, COLUMNS };

struct rates {
	struct plot *plot;
	double flows[FLOWS];   /* their numbers */
	double last_us[FLOWS]; /* end of the last interval in which something arrived */
	size_t count;
};

/* The series of a flow: FLOWS when it is none of the first. */
static size_t series_of(struct rates *rates, double flow)
{
	char name[32];
	size_t i = 0;
	while (i < rates->count && rates->flows[i] != flow)
		i++;
	if (i < rates->count || i == FLOWS)
		return i;
	snprintf(name, sizeof name, "flow %.0f", flow);
	rates->flows[rates->count] = flow;
	rates->last_us[rates->count++] = -1;
	return plot_series(rates->plot, name, PLOT_LINES);
}

static int read_line(struct rates *rates, const struct table *csv, struct weft_err *err)
{
	double v[COLUMNS];
	for (unsigned i = 0; i < COLUMNS; i++) {
		int rc = table_number(csv, i, &v[i], err);
		if (rc)
			return rc;
	}
	size_t at = series_of(rates, v[FLOW]);
	if (at == FLOWS || !(v[INTERVAL] > 0))
		return 0;
	double since = v[TIME] - v[INTERVAL], last = rates->last_us[at];
	/* Nothing arrived in between: the line goes down to 0 and comes up again. */
	if (last >= 0 && since - last > v[INTERVAL] / 2)
		plot_point(rates->plot, at, last + v[INTERVAL] / 2, 0);
	if (last < 0 || since - last > v[INTERVAL] / 2)
		plot_point(rates->plot, at, since, 0);
	plot_point(rates->plot, at, v[TIME], v[BYTES] * 8e-3 / v[INTERVAL]);
	rates->last_us[at] = v[TIME];
	return 0;
}

int series_rates(struct report *r, const char *path, struct weft_err *err)
{
	struct rates rates = {.plot = plot_create("Throughput of flows", "time", PLOT_TIME, "Gb/s", PLOT_PLAIN)};
	struct table csv;
	if (!rates.plot)
		return weft_err_set(err, -ENOMEM, "no memory for a plot");
	rates.plot->from_zero = true;
	int rc = table_open(&csv, path, columns, COLUMNS, err);
	while (!rc && (rc = table_next(&csv, err)) == 1)
		rc = read_line(&rates, &csv, err);
	table_close(&csv);
	if (rc)
		plot_free(rates.plot);
	else
		rc = report_plot(r, rates.plot, NULL, err);
	return rc == -ENOENT ? 0 : rc ? rc : 1;
}
