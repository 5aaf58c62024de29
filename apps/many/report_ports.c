/* SPDX-License-Identifier: BSD-3-Clause */
/* What ports did: their time series and their part of the load. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "report_csv.h"
#include "report_series.h"

#define DEEPEST    6  /* ports drawn */
#define NAMED_BARS 24 /* most bars with a name each */

static const char *const port_columns[] = {"time_us", "port", "queue_bytes", "utilisation"};
enum port_column { PORT_TIME, PORT_NAME, PORT_QUEUE, PORT_UTIL };

static const char *const link_columns[] = {"port", "share"};
enum link_column { LINK_NAME, LINK_SHARE };

/* A port's deepest queue. */
struct deepest {
	char name[64];
	double bytes;
};

/* The uplinks that have a row for this time; the others are idle then. */
struct uplinks {
	double time_us, min, max, sum;
	unsigned count;
};

static bool is_uplink(const char *port)
{
	return strstr(port, ":up");
}

/* One line: time, queue and utilisation. */
struct sample {
	double time_us, queue_bytes, utilisation;
};

static int read_sample(const struct table *c, struct sample *s, struct weft_err *err)
{
	int rc = table_number(c, PORT_TIME, &s->time_us, err);
	if (!rc)
		rc = table_number(c, PORT_QUEUE, &s->queue_bytes, err);
	return rc ? rc : table_number(c, PORT_UTIL, &s->utilisation, err);
}

/* Keeps the maximum of a port in a map from name to bytes. */
static int keep_maximum(json_t *maxima, const char *port, double bytes)
{
	json_t *known = json_object_get(maxima, port);
	if (!known)
		return json_object_set_new(maxima, port, json_real(isnan(bytes) ? 0 : bytes));
	return bytes > json_real_value(known) ? json_real_set(known, bytes) : 0;
}

/* The deepest few of the map, in falling order; gives how many. */
static size_t pick_deepest(json_t *maxima, struct deepest top[DEEPEST])
{
	const char *name;
	json_t *bytes;
	size_t n = 0;
	json_object_foreach(maxima, name, bytes)
	{
		size_t at = n;
		while (at && top[at - 1].bytes < json_real_value(bytes))
			at--;
		if (at == DEEPEST)
			continue;
		n += n < DEEPEST;
		memmove(&top[at + 1], &top[at], (n - at - 1) * sizeof *top);
		top[at].bytes = json_real_value(bytes);
		snprintf(top[at].name, sizeof top[at].name, "%s", name);
	}
	return n;
}

static unsigned count_uplinks(json_t *ports)
{
	const char *name;
	json_t *bytes;
	unsigned n = 0;
	json_object_foreach(ports, name, bytes) n += is_uplink(name);
	return n;
}

/* First pass over the file. */
static int find_deepest(const char *path, struct deepest top[DEEPEST], size_t *count, unsigned *uplinks,
			struct weft_err *err)
{
	struct table c;
	struct sample s;
	json_t *maxima = json_object();
	int rc = table_open(&c, path, port_columns, 4, err);
	while (!rc && (rc = table_next(&c, err)) == 1) {
		rc = read_sample(&c, &s, err);
		if (!rc && keep_maximum(maxima, table_text(&c, PORT_NAME), s.queue_bytes))
			rc = weft_err_set(err, -EINVAL, "%s:%zu: the port's name is no UTF-8", path, c.number);
	}
	table_close(&c);
	*count = rc ? 0 : pick_deepest(maxima, top);
	*uplinks = count_uplinks(maxima);
	json_decref(maxima);
	return rc;
}

/* What the second pass fills. Series of `up`: 0 the band, 1 the mean. */
struct port_plots {
	struct plot *depth, *busy, *up;
	struct uplinks *samples; /* owned; by time */
	size_t count, room;
	unsigned total; /* uplinks that ever have a row */
};

/* The sample of this time. Rows come by time but for the first after a pause, which says when the pause ended. NULL: no
 * memory. */
static struct uplinks *sample_at(struct port_plots *p, double time_us)
{
	size_t at = p->count;
	while (at && p->samples[at - 1].time_us > time_us)
		at--;
	if (at && p->samples[at - 1].time_us == time_us)
		return &p->samples[at - 1];
	if (!array_reserve(&p->samples, p->count, &p->room, sizeof *p->samples))
		return NULL;
	memmove(&p->samples[at + 1], &p->samples[at], (p->count++ - at) * sizeof *p->samples);
	p->samples[at] = (struct uplinks){.time_us = time_us, .min = INFINITY};
	return &p->samples[at];
}

static bool add_uplink(struct port_plots *p, const struct sample *s)
{
	struct uplinks *u = isnan(s->utilisation) ? NULL : sample_at(p, s->time_us);
	if (!u)
		return isnan(s->utilisation);
	u->min = fmin(u->min, s->utilisation);
	u->max = fmax(u->max, s->utilisation);
	u->sum += s->utilisation;
	u->count++;
	return true;
}

static void draw_uplinks(struct port_plots *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct uplinks *u = &p->samples[i];
		double min = u->count < p->total ? 0 : u->min;
		plot_range(p->up, 0, u->time_us, u->max, min, u->max);
		plot_point(p->up, 1, u->time_us, u->sum / p->total);
	}
}

/* Second pass. */
static int draw_ports(struct port_plots *p, const char *path, const struct deepest *top, size_t count,
		      struct weft_err *err)
{
	struct table c;
	struct sample s;
	int rc = table_open(&c, path, port_columns, 4, err);
	while (!rc && (rc = table_next(&c, err)) == 1) {
		const char *port = table_text(&c, PORT_NAME);
		rc = read_sample(&c, &s, err);
		for (size_t i = 0; i < count && !rc; i++) {
			if (strcmp(port, top[i].name) != 0)
				continue;
			plot_point(p->depth, i, s.time_us, s.queue_bytes);
			plot_point(p->busy, i, s.time_us, s.utilisation);
		}
		if (!rc && is_uplink(port) && !add_uplink(p, &s))
			rc = weft_err_set(err, -ENOMEM, "no memory for the samples of %s", path);
	}
	table_close(&c);
	draw_uplinks(p);
	return rc;
}

static void name_series(struct port_plots *p, const struct deepest *top, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		plot_series(p->depth, top[i].name, PLOT_LINES);
		plot_series(p->busy, top[i].name, PLOT_LINES);
	}
	p->depth->from_zero = true;
	p->busy->y_max = p->up->y_max = 1.05;
	plot_series(p->up, "lowest to highest", PLOT_BAND);
	if (plot_series(p->up, "mean", PLOT_LINES) < p->up->series_count)
		p->up->series[1].colour = p->up->series[0].colour;
}

static int draw_or_free(struct report *r, struct port_plots *p, int rc, struct weft_err *err)
{
	char caption[128];
	snprintf(caption, sizeof caption,
		 "Lowest, mean and highest at each sample of the %u uplinks that carried anything.", p->total);
	struct plot *plots[] = {p->depth, p->busy, p->up};
	for (unsigned i = 0; i < 3; i++) {
		if (rc)
			plot_free(plots[i]);
		else
			rc = report_plot(r, plots[i], i == 2 ? caption : NULL, err);
	}
	free(p->samples);
	return rc;
}

int series_ports(struct report *r, const char *path, struct weft_err *err)
{
	struct deepest top[DEEPEST];
	size_t count = 0;
	unsigned uplinks = 0;
	int rc = find_deepest(path, top, &count, &uplinks, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	struct port_plots p = {
		.depth = plot_create("Queue depth, deepest ports", "time", PLOT_TIME, "queue", PLOT_BYTES),
		.busy = plot_create("Utilisation of these ports", "time", PLOT_TIME, "utilisation", PLOT_SHARE),
		.up = plot_create("Utilisation of the uplinks", "time", PLOT_TIME, "utilisation", PLOT_SHARE),
		.total = uplinks};
	if (p.depth && p.busy && p.up) {
		name_series(&p, top, count);
		rc = draw_ports(&p, path, top, count, err);
	} else {
		rc = weft_err_set(err, -ENOMEM, "no memory for a plot");
	}
	rc = draw_or_free(r, &p, rc, err);
	return rc ? rc : 1;
}

/* One uplink's part. */
struct link_share {
	char name[64];
	double share;
};

struct links {
	struct link_share *all;
	size_t count, room;
};

static int by_share(const void *a, const void *b)
{
	const struct link_share *x = a, *y = b;
	return x->share != y->share ? (x->share < y->share) - (x->share > y->share) : strcmp(x->name, y->name);
}

static int read_links(struct links *l, const char *path, struct weft_err *err)
{
	struct table c;
	double share;
	int rc = table_open(&c, path, link_columns, 2, err);
	while (!rc && (rc = table_next(&c, err)) == 1) {
		rc = table_number(&c, LINK_SHARE, &share, err);
		if (rc || !is_uplink(table_text(&c, LINK_NAME)) || isnan(share))
			continue;
		if (!array_reserve(&l->all, l->count, &l->room, sizeof *l->all)) {
			rc = weft_err_set(err, -ENOMEM, "no memory for the links");
			break;
		}
		snprintf(l->all[l->count].name, sizeof l->all->name, "%s", table_text(&c, LINK_NAME));
		l->all[l->count++].share = share;
	}
	table_close(&c);
	return rc;
}

static struct plot *bars_of(const struct links *l)
{
	struct plot *p =
		plot_create("Share of each uplink", "share of its switch's upward bytes", PLOT_SHARE, "", PLOT_PLAIN);
	size_t s = p ? plot_series(p, "", PLOT_BARS) : 0;
	for (size_t i = 0; p && i < l->count; i++) {
		plot_tic(p, (double)i, l->all[i].name);
		plot_range(p, s, l->all[i].share, (double)i, l->all[i].share, l->all[i].share);
	}
	return p;
}

/* Too many for names: a staircase over the rank. */
static struct plot *stairs_of(const struct links *l)
{
	struct plot *p = plot_create("Share of each uplink, sorted", "uplink, by rank", PLOT_PLAIN,
				     "share of its switch's upward bytes", PLOT_SHARE);
	size_t s = p ? plot_series(p, "", PLOT_STEPS) : 0;
	for (size_t i = 0; p && i < l->count; i++)
		plot_point(p, s, (double)i + 1, l->all[i].share);
	if (p)
		p->from_zero = true;
	return p;
}

int series_links(struct report *r, const char *path, struct weft_err *err)
{
	struct links l = {NULL};
	double sum = 0;
	char caption[128];
	int rc = read_links(&l, path, err);
	if (!rc && l.count) {
		qsort(l.all, l.count, sizeof *l.all, by_share);
		for (size_t i = 0; i < l.count; i++)
			sum += l.all[i].share;
		snprintf(caption, sizeof caption,
			 "%zu uplinks over the whole run; mean %.3g %%, highest %.3g %%, lowest %.3g %%.", l.count,
			 100 * sum / (double)l.count, 100 * l.all[0].share, 100 * l.all[l.count - 1].share);
		rc = report_plot(r, l.count <= NAMED_BARS ? bars_of(&l) : stairs_of(&l), caption, err);
	}
	free(l.all);
	return rc == -ENOENT ? 0 : rc ? rc : 1;
}
