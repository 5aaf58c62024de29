/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

/* What has been opened and must be closed before something else begins. */
enum open_part { OPEN_NOTHING, OPEN_ROWS, OPEN_TERMS, OPEN_FIGURES };

struct report {
	FILE *out;  /* grows `page` */
	char *page; /* valid after fflush(out) */
	size_t len;
	enum open_part open;
	bool in_row, in_section;
	unsigned plots;
};

/* Colours of gnuplot's own drawing are attributes, which a style overrides: so plots follow the page's theme. */
static const char style[] =
	":root{color-scheme:light "
	"dark;--fg:#1d232a;--bg:#fff;--soft:#5b6670;--line:#d5dae0;--grid:#aeb6be;--card:#f7f8fa;--bad:#b3261e}\n"
	"@media "
	"(prefers-color-scheme:dark){:root{--fg:#dfe5ea;--bg:#14181d;--soft:#98a3ad;--line:#333b44;--grid:#56616c;--"
	"card:#1b2127;"
	"--bad:#ff8a80}}\n"
	"body{margin:0 auto;max-width:84rem;padding:1.5rem;font:15px/1.45 system-ui,sans-serif;color:var(--fg);"
	"background:var(--bg)}\n"
	"h1{font-size:1.6rem;margin:0 0 .4rem}h2{font-size:1.2rem;margin:2rem 0 .6rem;border-bottom:1px solid "
	"var(--line)}\n"
	"p{margin:.4rem 0;max-width:60rem}.note{color:var(--soft)}.note::before{content:'Note: '}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.6rem 0;max-width:70rem}\n"
	"dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.82rem}\n"
	"th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid var(--line);white-space:pre-line}\n"
	"td{white-space:pre}th:first-child,td:first-child{text-align:left;white-space:pre-wrap;min-width:12rem;"
	"overflow-wrap:break-word}th{color:var(--soft);font-weight:600;vertical-align:bottom}\n"
	"tbody tr:hover{background:var(--card)}.bad{color:var(--bad);font-weight:600}\n"
	".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem;"
	"align-items:start}\n"
	"figure{margin:0;padding:.7rem;background:var(--card);border:1px solid var(--line);border-radius:6px;"
	"break-inside:avoid}\n"
	"figcaption{font-weight:600;margin-bottom:.3rem}figure p{font-size:.85rem;color:var(--soft)}\n"
	"figure>svg{display:block;width:100%;height:auto}\n"
	".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.3rem 0 "
	"0;padding:0;font-size:.85rem}\n"
	".legend svg{width:1.6em;height:.7em;margin-right:.35em}\n"
	"figure>svg text{fill:var(--fg)}figure>svg path[stroke='black'],figure>svg path[stroke='rgb(  0,   0,   0)']"
	"{stroke:var(--fg)}\n"
	"figure>svg path.gridline{stroke:var(--grid)}\n"
	"@media print{:root{--fg:#000;--bg:#fff;--soft:#444;--line:#bbb;--card:#fff}body{padding:0;font-size:10pt}"
	".scroll{overflow:visible}th,td{padding:.1rem .3rem;font-size:8pt}"
	"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

/* Escapes text; characters that no XML may hold become spaces. */
static void put(struct report *r, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '&')
			fputs("&amp;", r->out);
		else if (c == '<')
			fputs("&lt;", r->out);
		else if (c == '>')
			fputs("&gt;", r->out);
		else if (c == '"')
			fputs("&quot;", r->out);
		else
			fputc(c < 0x20 && c != '\n' ? ' ' : c, r->out);
	}
}

static void put_format(struct report *r, const char *fmt, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, args) >= 0)
		put(r, text);
	free(text);
}

static void close_part(struct report *r)
{
	static const char *const ends[] = {"", "</tbody></table></div>\n", "</dl>\n", "</div>\n"};
	if (r->in_row)
		fputs("</tr>\n", r->out);
	r->in_row = false;
	fputs(ends[r->open], r->out);
	r->open = OPEN_NOTHING;
}

struct report *report_begin(const char *title, struct weft_err *err)
{
	struct report *r = calloc(1, sizeof *r);
	if (r)
		r->out = open_memstream(&r->page, &r->len);
	if (!r || !r->out) {
		free(r);
		weft_err_set(err, -ENOMEM, "no memory for the page");
		return NULL;
	}
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n<title>",
	      r->out);
	put(r, title);
	fprintf(r->out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
	put(r, title);
	fputs("</h1>\n", r->out);
	return r;
}

static int write_page(struct report *r, const char *path, size_t *size, struct weft_err *err)
{
	if (fflush(r->out) || ferror(r->out))
		return weft_err_set(err, -ENOMEM, "no memory for the page");
	FILE *f = file_create(path, err);
	if (!f)
		return -EIO;
	fwrite(r->page, 1, r->len, f);
	*size = r->len;
	return file_finish(f, path, err);
}

int report_end(struct report *r, const char *path, size_t *size, struct weft_err *err)
{
	close_part(r);
	fputs(r->in_section ? "</section>\n</body>\n</html>\n" : "</body>\n</html>\n", r->out);
	int rc = path ? write_page(r, path, size, err) : 0;
	fclose(r->out);
	free(r->page);
	free(r);
	return rc;
}

void report_section(struct report *r, const char *heading)
{
	close_part(r);
	fputs(r->in_section ? "</section>\n<section>\n<h2>" : "<section>\n<h2>", r->out);
	r->in_section = true;
	put(r, heading);
	fputs("</h2>\n", r->out);
}

static void paragraph(struct report *r, const char *tag, const char *fmt, va_list args)
{
	close_part(r);
	fputs(tag, r->out);
	put_format(r, fmt, args);
	fputs("</p>\n", r->out);
}

void report_text(struct report *r, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	paragraph(r, "<p>", fmt, args);
	va_end(args);
}

void report_note(struct report *r, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	paragraph(r, "<p class=\"note\">", fmt, args);
	va_end(args);
}

void report_term(struct report *r, const char *term, const char *fmt, ...)
{
	va_list args;
	if (r->open != OPEN_TERMS) {
		close_part(r);
		fputs("<dl>\n", r->out);
		r->open = OPEN_TERMS;
	}
	fputs("<dt>", r->out);
	put(r, term);
	fputs("</dt><dd>", r->out);
	va_start(args, fmt);
	put_format(r, fmt, args);
	va_end(args);
	fputs("</dd>\n", r->out);
}

void report_table(struct report *r, const char *const *heads, size_t columns)
{
	close_part(r);
	fputs("<div class=\"scroll\"><table><thead><tr>", r->out);
	for (size_t i = 0; i < columns; i++) {
		fputs("<th>", r->out);
		put(r, heads[i]);
		fputs("</th>", r->out);
	}
	fputs("</tr></thead><tbody>\n", r->out);
	r->open = OPEN_ROWS;
}

void report_row(struct report *r)
{
	fputs(r->in_row ? "</tr>\n<tr>" : "<tr>", r->out);
	r->in_row = true;
}

void report_cell(struct report *r, bool alarming, const char *fmt, ...)
{
	va_list args;
	fputs(alarming ? "<td class=\"bad\">" : "<td>", r->out);
	va_start(args, fmt);
	put_format(r, fmt, args);
	va_end(args);
	fputs("</td>", r->out);
}

/* One entry per series; only when there is something to tell apart. */
static void put_legend(struct report *r, const struct plot *p)
{
	size_t named = 0;
	for (size_t i = 0; i < p->series_count; i++)
		named += *p->series[i].name && p->series[i].count;
	if (!named || (p->series_count == 1 && p->series[0].style != PLOT_LINES))
		return;
	fputs("<ul class=\"legend\">\n", r->out);
	for (size_t i = 0; i < p->series_count; i++) {
		const struct plot_series *s = &p->series[i];
		bool area = s->style == PLOT_BARS || s->style == PLOT_BAND;
		if (!*s->name || !s->count)
			continue;
		fprintf(r->out,
			"<li><svg viewBox=\"0 0 24 10\" aria-hidden=\"true\"><path d=\"M0 5H24\" fill=\"none\" "
			"stroke=\"%s\" "
			"stroke-width=\"%d\"%s/></svg>",
			plot_colour(s->colour), area ? 10 : 3,
			s->style == PLOT_BAND ? " stroke-opacity=\"0.25\""
			: s->dash             ? " stroke-dasharray=\"5 3\""
					      : "");
		put(r, s->name);
		fputs("</li>\n", r->out);
	}
	fputs("</ul>\n", r->out);
}

static void put_figure(struct report *r, const struct plot *p, const char *svg, const char *caption)
{
	if (r->open != OPEN_FIGURES) {
		close_part(r);
		fputs("<div class=\"figures\">\n", r->out);
		r->open = OPEN_FIGURES;
	}
	fputs("<figure>\n<figcaption>", r->out);
	put(r, p->title);
	fprintf(r->out, "</figcaption>\n%s", svg);
	put_legend(r, p);
	if (caption) {
		fputs("<p>", r->out);
		put(r, caption);
		fputs("</p>\n", r->out);
	}
	fputs("</figure>\n", r->out);
}

int report_plot(struct report *r, struct plot *p, const char *caption, struct weft_err *err)
{
	int rc = 0;
	if (!p)
		return weft_err_set(err, -ENOMEM, "no memory for a plot");
	if (!plot_is_empty(p) || p->no_memory) {
		char *svg = plot_svg(p, ++r->plots, err);
		if (svg)
			put_figure(r, p, svg, caption);
		else
			rc = -EIO;
		free(svg);
	}
	plot_free(p);
	return rc;
}

size_t report_size(struct report *r)
{
	fflush(r->out);
	return r->len;
}

unsigned report_plots(const struct report *r)
{
	return r->plots;
}
