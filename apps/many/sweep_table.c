/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "stat.h"
#include "sweep.h"

/* Columns: what a run says of each. */
static double tail_us(const struct run_record *r)
{
	return r->summary.fct_us.max;
}

static double mean_us(const struct run_record *r)
{
	return r->summary.fct_us.mean;
}

/* Not known when a flow did not complete. */
static double inflation(const struct run_record *r)
{
	return r->summary.inflation > 0 ? r->summary.inflation : NAN;
}

static double goodput_gbps(const struct run_record *r)
{
	return r->summary.goodput_gbps;
}

static double retransmitted(const struct run_record *r)
{
	return (double)r->result.packets.retransmitted;
}

static double trimmed(const struct run_record *r)
{
	return (double)r->result.packets.trimmed;
}

static double dropped(const struct run_record *r)
{
	return (double)r->result.packets.dropped;
}

static double timeouts(const struct run_record *r)
{
	return (double)r->result.packets.timeouts;
}

static double failed(const struct run_record *r)
{
	return r->summary.failed;
}

static const struct column {
	const char *title;
	double (*value)(const struct run_record *r);
	uint8_t decimals;
} columns[] = {
	{"tail FCT us", tail_us, 1},       {"mean FCT us", mean_us, 1}, {"inflation", inflation, 3},
	{"goodput Gb/s", goodput_gbps, 1}, {"retx", retransmitted, 0},  {"trimmed", trimmed, 0},
	{"dropped", dropped, 0},           {"timeouts", timeouts, 0},   {"failed", failed, 0},
};

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
		double v = w->runs[i].known ? c->value(&w->runs[i].record) : NAN;
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
