/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "metric.h"
#include "stat.h"
#include "sweep.h"

/* A metric of runs; with `known` only of those that have it, otherwise of what there is. */
static const struct column {
	const char *title, *metric;
	uint8_t decimals;
	bool known;
} columns[] = {
	{"tail FCT us", "fct_max_us", 1, false}, {"mean FCT us", "fct_mean_us", 1, false},
	{"inflation", "inflation", 3, true},     {"goodput Gb/s", "goodput_gbps", 1, false},
	{"retx", "retransmitted", 0, false},     {"trimmed", "trimmed", 0, false},
	{"dropped", "dropped", 0, false},        {"timeouts", "timeouts", 0, false},
	{"failed", "failed", 0, false},
};

static double column_value(const struct column *c, const struct run_record *r)
{
	const struct metric *m = metric_find(c->metric);
	return c->known ? metric_value(m, r) : metric_raw(m, r);
}

enum { COLUMNS = sizeof columns / sizeof *columns, CELL_MAX = 48 };

double sweep_half_width(double sum, double squares, uint32_t n)
{
	if (n < 2)
		return 0;
	double variance = (squares - sum * sum / n) / (n - 1);
	return variance > 0 ? stat_t975(n - 1) * sqrt(variance / n) : 0;
}

/* Mean over the runs of a combination that know it, "-" without one. */
static void fill_cell(const struct sweep *w, uint32_t first, uint32_t seeds, const struct column *c,
		      char cell[CELL_MAX])
{
	double sum = 0, squares = 0;
	uint32_t n = 0;
	for (uint32_t i = first; i < first + seeds; i++) {
		double v = w->runs[i].known ? column_value(c, &w->runs[i].record) : NAN;
		if (isnan(v))
			continue;
		sum += v;
		squares += v * v;
		n++;
	}
	if (!n)
		strcpy(cell, "-");
	else if (seeds > 1)
		snprintf(cell, CELL_MAX, "%.*f ±%.*f", c->decimals, sum / n, c->decimals,
			 sweep_half_width(sum, squares, n));
	else
		snprintf(cell, CELL_MAX, "%.*f", c->decimals, sum);
}

/* Characters on the screen: the sign of the interval is two bytes. */
static int shown_width(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Right-aligned. */
static void put_cell(FILE *out, const char *text, int width)
{
	fprintf(out, "  %*s%s", width - shown_width(text), "", text);
}

static uint32_t seeds_of(const struct sweep *w)
{
	return w->scenario->seed_count ? w->scenario->seed_count : 1;
}

struct widths {
	int label, cell[COLUMNS];
};

static void measure(const struct sweep *w, struct widths *widths)
{
	char cell[CELL_MAX];
	*widths = (struct widths){0};
	for (uint32_t c = 0; c < COLUMNS; c++)
		widths->cell[c] = (int)strlen(columns[c].title);
	for (uint32_t i = 0; i < w->count; i += seeds_of(w)) {
		int width = shown_width(w->runs[i].label);
		widths->label = width > widths->label ? width : widths->label;
		for (uint32_t c = 0; c < COLUMNS; c++) {
			fill_cell(w, i, seeds_of(w), &columns[c], cell);
			width = shown_width(cell);
			widths->cell[c] = width > widths->cell[c] ? width : widths->cell[c];
		}
	}
}

static void print_row(const struct sweep *w, FILE *out, uint32_t first, const struct widths *widths)
{
	char cell[CELL_MAX];
	uint32_t seeds = seeds_of(w), missing = 0;
	for (uint32_t i = first; i < first + seeds; i++)
		missing += !w->runs[i].known;
	fprintf(out, "%s%*s", w->runs[first].label, widths->label - shown_width(w->runs[first].label), "");
	for (uint32_t c = 0; c < COLUMNS; c++) {
		fill_cell(w, first, seeds, &columns[c], cell);
		put_cell(out, cell, widths->cell[c]);
	}
	if (missing)
		fprintf(out, "  (%u of %u without result)", missing, seeds);
	fputc('\n', out);
}

void sweep_print_table(const struct sweep *w, FILE *out)
{
	struct widths widths;
	measure(w, &widths);
	fprintf(out, "%s%s\n%*s", w->scenario->title,
		seeds_of(w) > 1 ? " (mean over seeds ± half of the 95 % confidence interval)" : "", widths.label, "");
	for (uint32_t c = 0; c < COLUMNS; c++)
		put_cell(out, columns[c].title, widths.cell[c]);
	fputc('\n', out);
	for (uint32_t i = 0; i < w->count; i += seeds_of(w))
		print_row(w, out, i, &widths);
}
