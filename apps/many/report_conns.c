/* SPDX-License-Identifier: BSD-3-Clause */
/* What connections did over time. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report_csv.h"
#include "report_series.h"

#define FLOWS 8 /* connections drawn */

static const char *const columns[] = {"time_us", "src",     "dst",        "cwnd_bytes", "inflight_bytes",
				      "srtt_us", "brtt_us", "cached_evs", "frozen"};
enum column { TIME, SRC, DST, CWND, INFLIGHT, SRTT, BRTT, CACHED, FROZEN, COLUMNS };

enum picture { PICTURE_CWND, PICTURE_INFLIGHT, PICTURE_RTT, PICTURE_CACHED, PICTURE_FROZEN, PICTURES };

/* Column behind each picture that has a line per connection. */
static const enum column columns_of[] = {
	[PICTURE_CWND] = CWND, [PICTURE_INFLIGHT] = INFLIGHT, [PICTURE_RTT] = SRTT, [PICTURE_CACHED] = CACHED};

struct conns {
	struct plot *plots[PICTURES];
	char names[FLOWS][48];
	size_t count;
	double first_us, last_us; /* of all samples; NaN: none yet */
	double brtt_us;           /* smallest base RTT; NaN: none yet */
	json_t *frozen;           /* the connections that are, by name */
	bool froze;               /* any, ever */
};

static bool create_plots(struct conns *c)
{
	c->plots[PICTURE_CWND] = plot_create("Congestion window", "time", PLOT_TIME, "cwnd", PLOT_BYTES);
	c->plots[PICTURE_INFLIGHT] = plot_create("Bytes in flight", "time", PLOT_TIME, "in flight", PLOT_BYTES);
	c->plots[PICTURE_RTT] = plot_create("Round-trip time", "time", PLOT_TIME, "smoothed RTT", PLOT_TIME);
	c->plots[PICTURE_CACHED] = plot_create("Cached entropies", "time", PLOT_TIME, "entropies", PLOT_PLAIN);
	c->plots[PICTURE_FROZEN] = plot_create("Connections frozen", "time", PLOT_TIME, "connections", PLOT_PLAIN);
	bool all = c->frozen != NULL;
	for (unsigned i = 0; i < PICTURES; i++)
		all &= c->plots[i] != NULL;
	for (unsigned i = 0; all && i < PICTURES; i++)
		c->plots[i]->from_zero = true;
	return all;
}

/* The series of a connection: FLOWS when it is none of the first. */
static size_t series_of(struct conns *c, const char *name)
{
	size_t i = 0;
	while (i < c->count && strcmp(c->names[i], name) != 0)
		i++;
	if (i < c->count || i == FLOWS)
		return i;
	snprintf(c->names[c->count++], sizeof *c->names, "%s", name);
	for (unsigned k = PICTURE_CWND; k <= PICTURE_CACHED; k++)
		plot_series(c->plots[k], name, PLOT_LINES);
	return i;
}

/* A connection has rows only when something about it changed, so its last state counts. */
static void count_frozen(struct conns *c, const char *name, bool frozen)
{
	size_t before = json_object_size(c->frozen);
	if (frozen)
		json_object_set_new(c->frozen, name, json_true());
	else
		json_object_del(c->frozen, name);
	size_t now = json_object_size(c->frozen);
	if (now != before)
		plot_point(c->plots[PICTURE_FROZEN], 0, c->last_us, (double)now);
	c->froze |= now > 0;
}

static void note_sample(struct conns *c, double time_us, double brtt_us)
{
	if (isnan(c->first_us))
		plot_point(c->plots[PICTURE_FROZEN], 0, time_us, 0);
	c->first_us = fmin(c->first_us, time_us);
	c->last_us = fmax(c->last_us, time_us);
	c->brtt_us = brtt_us > 0 ? fmin(c->brtt_us, brtt_us) : c->brtt_us;
}

static int read_line(struct conns *c, const struct table *csv, struct weft_err *err)
{
	double v[COLUMNS];
	for (unsigned i = 0; i < COLUMNS; i++) {
		int rc = i == SRC || i == DST ? 0 : table_number(csv, i, &v[i], err);
		if (rc)
			return rc;
	}
	char name[48];
	snprintf(name, sizeof name, "%.20s → %.20s", table_text(csv, SRC), table_text(csv, DST));
	size_t at = series_of(c, name);
	note_sample(c, v[TIME], v[BRTT]);
	if (v[SRTT] <= 0) /* not known yet */
		v[SRTT] = NAN;
	for (unsigned k = PICTURE_CWND; k <= PICTURE_CACHED && at < FLOWS; k++)
		plot_point(c->plots[k], at, v[TIME], v[columns_of[k]]);
	count_frozen(c, name, v[FROZEN] > 0);
	return 0;
}

static int read_conns(struct conns *c, const char *path, struct weft_err *err)
{
	struct table csv;
	int rc = table_open(&csv, path, columns, COLUMNS, err);
	while (!rc && (rc = table_next(&csv, err)) == 1)
		rc = read_line(c, &csv, err);
	table_close(&csv);
	plot_point(c->plots[PICTURE_FROZEN], 0, c->last_us, (double)json_object_size(c->frozen));
	return rc;
}

static void draw_base_rtt(struct conns *c)
{
	size_t s = plot_series(c->plots[PICTURE_RTT], "smallest base RTT", PLOT_LINES);
	plot_point(c->plots[PICTURE_RTT], s, c->first_us, c->brtt_us);
	plot_point(c->plots[PICTURE_RTT], s, c->last_us, c->brtt_us);
	if (s < c->plots[PICTURE_RTT]->series_count) {
		c->plots[PICTURE_RTT]->series[s].colour = PLOT_GREY;
		c->plots[PICTURE_RTT]->series[s].dash = 1;
	}
}

int series_conns(struct report *r, const char *path, struct weft_err *err)
{
	struct conns c = {.first_us = NAN, .last_us = NAN, .brtt_us = NAN, .frozen = json_object()};
	int rc = create_plots(&c) ? 0 : weft_err_set(err, -ENOMEM, "no memory for a plot");
	if (!rc) {
		plot_series(c.plots[PICTURE_FROZEN], "", PLOT_STEPS);
		rc = read_conns(&c, path, err);
	}
	if (!rc)
		draw_base_rtt(&c);
	for (unsigned i = 0; i < PICTURES; i++) {
		if (rc || (i == PICTURE_FROZEN && !c.froze))
			plot_free(c.plots[i]);
		else
			rc = report_plot(r, c.plots[i], NULL, err);
	}
	json_decref(c.frozen);
	return rc == -ENOENT ? 0 : rc ? rc : 1;
}
