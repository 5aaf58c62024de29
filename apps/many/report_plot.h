/* SPDX-License-Identifier: BSD-3-Clause */
/* One plot: collected as numbers, drawn by gnuplot as SVG to be put into a page. The legend is the page's (names and
 * colours are in the struct), so that it wraps, prints and escapes as text does. */
#ifndef WEFT_REPORT_PLOT_H
#define WEFT_REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/err.h"

enum plot_style {
	PLOT_LINES,  /* y over x; long series are thinned, keeping every stretch's lowest and highest point */
	PLOT_STEPS,  /* a staircase that is at y up to the next x */
	PLOT_BAND,   /* filled from `low` to `high` */
	PLOT_ERRORS, /* marked points with lines between and a bar from `low` to `high` */
	PLOT_BARS,   /* lying bars: y is the place on the axis, x the length, `low` to `high` a bar at its end */
};

/* Index of the colour of reference lines. */
#define PLOT_GREY 6

/* What an axis counts; decides the unit that is shown, by the largest value. */
enum plot_unit {
	PLOT_PLAIN, /* as it is; any unit is part of the label */
	PLOT_TIME,  /* given in us */
	PLOT_BYTES,
	PLOT_SHARE, /* given as 0..1, shown in per cent */
};

struct plot_point {
	double x, y, low, high;
};

struct plot_series {
	char *name; /* owned; for the legend */
	enum plot_style style;
	unsigned colour;           /* index; same index, same colour */
	unsigned dash;             /* 0: solid */
	struct plot_point *points; /* owned */
	size_t count, room;
};

struct plot_tic {
	double at;
	char *label; /* owned */
};

struct plot {
	char *title, *x_label, *y_label; /* owned */
	enum plot_unit x_unit, y_unit;
	struct plot_series *series; /* owned */
	size_t series_count, series_room;
	struct plot_tic *tics; /* owned; of the y axis, instead of numbers */
	size_t tic_count, tic_room;
	double y_max;   /* top of the y axis, which begins at 0 then; 0: by the data */
	bool log_x;     /* logarithmic x axis */
	bool from_zero; /* y axis begins at 0 */
	bool no_memory; /* something was not kept; plot_svg says so */
};

/* NULL when there is no memory; plot_free takes NULL. Texts are UTF-8 of any content; labels come without the unit. */
struct plot *plot_create(const char *title, const char *x_label, enum plot_unit x_unit, const char *y_label,
			 enum plot_unit y_unit);
void plot_free(struct plot *p);

/* A new series; gives its number. Colour and dash follow the number. "" as name: not in the legend. */
size_t plot_series(struct plot *p, const char *name, enum plot_style style);

/* Adds to a series. Points with a NaN are left out. */
void plot_point(struct plot *p, size_t series, double x, double y);
void plot_range(struct plot *p, size_t series, double x, double y, double low, double high);

/* Puts every series in the order of x. */
void plot_sort(struct plot *p);

/* Names a place on the y axis. */
void plot_tic(struct plot *p, double at, const char *label);

/* True when no series has a point. */
bool plot_is_empty(const struct plot *p);

/* "#rrggbb" of a series' colour, to be read on light and on dark ground. */
const char *plot_colour(unsigned colour);

/* Draws it. `id` makes the names inside the SVG unique in the page. The caller frees the text. NULL with a message:
 * no gnuplot, or what it complained of. */
char *plot_svg(const struct plot *p, unsigned id, struct weft_err *err);

#endif
