/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "report_gnuplot.h"

#define THIN_STRETCHES 300 /* of a long series; each keeps its lowest and its highest point */
#define WIDTH_PX       640
#define HEIGHT_PX      320
#define BAR_PX         24 /* per bar */
#define BAR_FRAME_PX   70 /* axis and its label */

static const char *const colours[] = {"#2484c6", "#d9690b", "#12936c", "#c5629b",
				      "#b58900", "#7d66c4", "#7a8288", "#c0392b"};
#define COLOURS (sizeof colours / sizeof *colours)

struct plot *plot_create(const char *title, const char *x_label, enum plot_unit x_unit, const char *y_label,
			 enum plot_unit y_unit)
{
	struct plot *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->x_unit = x_unit;
	p->y_unit = y_unit;
	p->title = strdup(title);
	p->x_label = strdup(x_label);
	p->y_label = strdup(y_label);
	p->no_memory = !p->title || !p->x_label || !p->y_label;
	return p;
}

void plot_free(struct plot *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->series_count; i++) {
		free(p->series[i].name);
		free(p->series[i].points);
	}
	for (size_t i = 0; i < p->tic_count; i++)
		free(p->tics[i].label);
	free(p->series);
	free(p->tics);
	free(p->title);
	free(p->x_label);
	free(p->y_label);
	free(p);
}

size_t plot_series(struct plot *p, const char *name, enum plot_style style)
{
	size_t n = p->series_count;
	if (!array_reserve(&p->series, n, &p->series_room, sizeof *p->series)) {
		p->no_memory = true;
		return n;
	}
	p->series[p->series_count++] = (struct plot_series){.name = strdup(name),
							    .style = style,
							    .colour = (unsigned)(n % COLOURS),
							    .dash = (unsigned)(n / COLOURS)};
	p->no_memory |= !p->series[n].name;
	return n;
}

void plot_range(struct plot *p, size_t series, double x, double y, double low, double high)
{
	if (series >= p->series_count || isnan(x) || isnan(y) || isnan(low) || isnan(high))
		return;
	struct plot_series *s = &p->series[series];
	if (array_reserve(&s->points, s->count, &s->room, sizeof *s->points))
		s->points[s->count++] = (struct plot_point){x, y, low, high};
	else
		p->no_memory = true;
}

void plot_point(struct plot *p, size_t series, double x, double y)
{
	plot_range(p, series, x, y, y, y);
}

static int by_x(const void *a, const void *b)
{
	const struct plot_point *p = a, *q = b;
	return (p->x > q->x) - (p->x < q->x);
}

void plot_sort(struct plot *p)
{
	for (size_t i = 0; i < p->series_count; i++) {
		if (p->series[i].count)
			qsort(p->series[i].points, p->series[i].count, sizeof *p->series[i].points, by_x);
	}
}

void plot_tic(struct plot *p, double at, const char *label)
{
	if (!array_reserve(&p->tics, p->tic_count, &p->tic_room, sizeof *p->tics)) {
		p->no_memory = true;
		return;
	}
	p->tics[p->tic_count] = (struct plot_tic){at, strdup(label)};
	p->no_memory |= !p->tics[p->tic_count++].label;
}

bool plot_is_empty(const struct plot *p)
{
	for (size_t i = 0; i < p->series_count; i++) {
		if (p->series[i].count)
			return false;
	}
	return true;
}

const char *plot_colour(unsigned colour)
{
	return colours[colour % COLOURS];
}

static bool has_bars(const struct plot *p)
{
	return p->series_count && p->series[0].style == PLOT_BARS;
}

/* How far the points go. */
struct extent {
	double x, y;  /* highest, with error bars */
	double y_low; /* lowest y */
};

static struct extent extent_of(const struct plot *p)
{
	struct extent e = {-INFINITY, -INFINITY, INFINITY};
	for (size_t i = 0; i < p->series_count; i++) {
		for (size_t j = 0; j < p->series[i].count; j++) {
			const struct plot_point *q = &p->series[i].points[j];
			bool bar = p->series[i].style == PLOT_BARS;
			e.x = fmax(e.x, bar ? fmax(q->x, q->high) : q->x);
			e.y = fmax(e.y, bar ? q->y : fmax(q->y, q->high));
			e.y_low = fmin(e.y_low, q->y);
		}
	}
	return e;
}

/* What the numbers of an axis are divided by, and the unit's name then. */
struct scale {
	double by;
	const char *unit; /* "": none */
};

static struct scale scale_of(enum plot_unit unit, double most)
{
	switch (unit) {
	case PLOT_TIME:
		return most < 1e4   ? (struct scale){1, "µs"}
		       : most < 1e7 ? (struct scale){1e3, "ms"}
				    : (struct scale){1e6, "s"};
	case PLOT_BYTES:
		return most < 8192      ? (struct scale){1, "bytes"}
		       : most < 8 << 20 ? (struct scale){1024, "KiB"}
					: (struct scale){1 << 20, "MiB"};
	case PLOT_SHARE:
		return (struct scale){0.01, "%"};
	default:
		return (struct scale){1, ""};
	}
}

/* The axis shows powers of two with their own prefixes. */
static bool log_bytes(const struct plot *p)
{
	return p->log_x && p->x_unit == PLOT_BYTES;
}

/* Scales of both axes. */
struct scales {
	struct scale x, y;
};

static struct scales scales_of(const struct plot *p)
{
	struct extent e = extent_of(p);
	return (struct scales){log_bytes(p) ? (struct scale){1, ""} : scale_of(p->x_unit, e.x),
			       scale_of(p->y_unit, e.y)};
}

/* Columns: x, y, low, high. Low and high are of the axis that the values are on. */
static void write_point(FILE *f, const struct scales *s, bool bar, const struct plot_point *q)
{
	double by = bar ? s->x.by : s->y.by;
	fprintf(f, "%.9g %.9g %.9g %.9g\n", q->x / s->x.by, q->y / s->y.by, q->low / by, q->high / by);
}

/* One stretch of a long series: its lowest and its highest point, in their order. */
static void write_stretch(FILE *f, const struct scales *s, const struct plot_point *q, size_t n)
{
	size_t low = 0, high = 0;
	for (size_t i = 1; i < n; i++) {
		if (q[i].low < q[low].low)
			low = i;
		if (q[i].high > q[high].high)
			high = i;
	}
	write_point(f, s, false, &q[low < high ? low : high]);
	if (low != high)
		write_point(f, s, false, &q[low < high ? high : low]);
}

static void write_data(FILE *f, const struct scales *scales, const struct plot_series *s, size_t index)
{
	fprintf(f, "$d%zu << END_OF_DATA\n", index);
	if (s->count <= (size_t)2 * THIN_STRETCHES) {
		for (size_t i = 0; i < s->count; i++)
			write_point(f, scales, s->style == PLOT_BARS, &s->points[i]);
	} else { /* the ends stay, so that the axes keep their range */
		write_point(f, scales, false, &s->points[0]);
		for (size_t k = 0; k < THIN_STRETCHES; k++) {
			size_t from = s->count * k / THIN_STRETCHES, to = s->count * (k + 1) / THIN_STRETCHES;
			write_stretch(f, scales, &s->points[from], to - from);
		}
		write_point(f, scales, false, &s->points[s->count - 1]);
	}
	fputs("END_OF_DATA\n", f);
}

static unsigned height_of(const struct plot *p)
{
	struct extent e = extent_of(p);
	return has_bars(p) ? (unsigned)(BAR_FRAME_PX + BAR_PX * (e.y - e.y_low + 1)) : HEIGHT_PX;
}

static void write_bar_axes(FILE *f, const struct plot *p, double scale)
{
	struct extent e = extent_of(p);
	fputs("set ytics nomirror out scale 0 (", f);
	for (size_t i = 0; i < p->tic_count; i++) {
		fputs(i ? ", " : "", f);
		gnuplot_tic(f, p->tics[i].label);
		fprintf(f, " %.9g", p->tics[i].at);
	}
	fprintf(f, ")\nunset grid\nset grid x lc rgb '#888888' lw 0.5 dt 3\nset yrange [%.9g:%.9g]\n", e.y + 0.7,
		e.y_low - 0.7);
	fprintf(f, "set xrange [0:%.9g]\n", e.x > 0 ? 1.15 * e.x / scale : 1);
}

static void write_label(FILE *f, const char *axis, const char *label, const char *unit)
{
	char text[256];
	snprintf(text, sizeof text, "%s%s%s%s", label, *unit ? " (" : "", unit, *unit ? ")" : "");
	fprintf(f, "set %slabel ", axis);
	gnuplot_string(f, text);
	fputc('\n', f);
}

/* Powers of four with the prefixes used elsewhere; gnuplot's own are other ones. */
static void write_byte_tics(FILE *f, double most)
{
	static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
	fputs("set xtics (", f);
	for (unsigned bit = 0; bit < 48 && ldexp(1, (int)bit) <= 4 * most; bit += 2)
		fprintf(f, "%s'%u %sB' %.0f", bit ? ", " : "", 1u << bit % 10, prefixes[bit / 10], ldexp(1, (int)bit));
	fputs(")\n", f);
}

static void write_axes(FILE *f, const struct plot *p, const struct scales *scales, unsigned id)
{
	double margin = p->series_count && p->series[0].style == PLOT_ERRORS ? 0.04 : 0;
	fprintf(f,
		"set encoding utf8\n"
		"set terminal svg size %u,%u dynamic noenhanced font 'sans-serif,13' name 'p%u'\n"
		"unset key\nset border 3\nset xtics nomirror out\nset ytics nomirror out\n"
		"set grid y lc rgb '#888888' lw 0.5 dt 3\nset offsets graph %g, graph %g, 0, 0\n",
		WIDTH_PX, height_of(p), id, margin, margin);
	write_label(f, "x", p->x_label, scales->x.unit);
	write_label(f, "y", p->y_label, scales->y.unit);
	if (p->log_x)
		fputs(log_bytes(p) ? "set logscale x 2\n" : "set logscale x\n", f);
	if (p->x_unit == PLOT_TIME && !has_bars(p) && p->series[0].style != PLOT_STEPS)
		fputs("set autoscale xfixmax\nset xrange [0:*]\n", f);
	if (log_bytes(p))
		write_byte_tics(f, extent_of(p).x);
	if (has_bars(p))
		write_bar_axes(f, p, scales->x.by);
	else if (p->y_max > 0)
		fprintf(f, "set yrange [0:%.9g]\n", p->y_max / scales->y.by);
	else if (p->from_zero)
		fprintf(f, "set yrange [0:%s]\n", extent_of(p).y > 0 ? "*" : "1");
}

/* Error bars are vectors: gnuplot's own blot out what lies below. */
static void write_curve(FILE *f, const struct plot_series *s, size_t i)
{
	const char *colour = plot_colour(s->colour);
	static const char *const lines[] = {
		[PLOT_LINES] = "using 1:2 with lines",
		[PLOT_STEPS] = "using 1:2 with steps",
		[PLOT_BAND] = "using 1:3:4 with filledcurves fs solid 0.25 noborder",
		[PLOT_ERRORS] = "using 1:2 with linespoints pt 7 ps 0.5",
		[PLOT_BARS] = "using 1:2:(0):1:($2-0.38):($2+0.38) with boxxyerror fs solid 0.85 noborder"};
	fprintf(f, "$d%zu %s lc rgb '%s' lw 1.6", i, lines[s->style], colour);
	if (s->style != PLOT_BARS && s->style != PLOT_BAND)
		fprintf(f, " dt %u", s->dash + 1);
	if (s->style == PLOT_ERRORS)
		fprintf(f, ", $d%zu using 1:3:(0):($4-$3) with vectors nohead lc rgb '%s' lw 3", i, colour);
	if (s->style == PLOT_BARS)
		fprintf(f,
			", $d%zu using 3:2:($4-$3):(0) with vectors nohead lc rgb 'black' lw 2"
			", $d%zu using ($4>$1?$4:$1):2:(sprintf('%%.4g',$1)) with labels left offset 0.6,0",
			i, i);
}

static void write_script(FILE *f, const struct plot *p, unsigned id)
{
	const char *before = "plot ";
	struct scales scales = scales_of(p);
	write_axes(f, p, &scales, id);
	for (size_t i = 0; i < p->series_count; i++)
		write_data(f, &scales, &p->series[i], i);
	for (size_t i = 0; i < p->series_count; i++) {
		if (!p->series[i].count)
			continue;
		fputs(before, f);
		write_curve(f, &p->series[i], i);
		before = ", ";
	}
	fputc('\n', f);
}

char *plot_svg(const struct plot *p, unsigned id, struct weft_err *err)
{
	char *svg = NULL;
	if (p->no_memory) {
		weft_err_set(err, -ENOMEM, "no memory for the plot '%s'", p->title);
		return NULL;
	}
	if (plot_is_empty(p)) {
		weft_err_set(err, -EINVAL, "nothing to draw in the plot '%s'", p->title);
		return NULL;
	}
	FILE *script = tmpfile();
	if (!script) {
		weft_err_set(err, -errno, "no temporary file for gnuplot: %s", strerror(errno));
		return NULL;
	}
	write_script(script, p, id);
	svg = gnuplot_run(script, id, err);
	fclose(script);
	return svg;
}
