/* SPDX-License-Identifier: BSD-3-Clause */
/* A self-contained HTML page, written piece by piece: headings, text, tables, plots. All texts are UTF-8 of any
 * content; the page escapes them. */
#ifndef WEFT_REPORT_HTML_H
#define WEFT_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "report_plot.h"
#include "weft/err.h"

struct report;

/* NULL with a message. */
struct report *report_begin(const char *title, struct weft_err *err);

/* Writes the page to `path`, "-" is standard output, and frees it whether that worked or not; *size gets the bytes.
 * 0 or a negative errno with a message. NULL as path only frees. */
int report_end(struct report *r, const char *path, size_t *size, struct weft_err *err);

/* A heading; what follows belongs to it. */
void report_section(struct report *r, const char *heading);

/* A paragraph. */
void report_text(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A paragraph that says what is missing or was left out. */
void report_note(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A term and what it means or is; a run of them makes one list. */
void report_term(struct report *r, const char *term, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A table: heads, then rows of as many cells. The first column is text, the others are set as numbers; a
 * line break in a cell is kept. */
void report_table(struct report *r, const char *const *heads, size_t columns);
void report_row(struct report *r);
void report_cell(struct report *r, bool alarming, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Draws the plot with its title, legend and caption (NULL: none) and frees it; an empty one is left out. NULL as plot
 * counts as no memory. 0 or a negative errno with a message. */
int report_plot(struct report *r, struct plot *p, const char *caption, struct weft_err *err);

/* Bytes and plots so far. */
size_t report_size(struct report *r);
unsigned report_plots(const struct report *r);

#endif
