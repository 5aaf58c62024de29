/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of what a snapshot has: columns, order, filter, and lines of text. */
#ifndef WEFT_TOP_TABLE_H
#define WEFT_TOP_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { TOP_VIEWS = 5, TOP_LINE_BYTES = 512 };

/* Which rows to show, and how. */
struct top_order {
	unsigned view;   /* below TOP_VIEWS */
	unsigned column; /* that rows are sorted by */
	bool descending;
	const char *filter; /* rows with this text in one of their cells, whatever its case; "": all */
};

struct top_table {
	struct top_order order;
	const json_t **rows; /* the snapshot's */
	size_t count;
};

/* "operations", "connections" ... */
const char *top_view_name(unsigned view);
/* How a view is sorted at first. */
struct top_order top_view_order(unsigned view);
unsigned top_view_columns(unsigned view);
const char *top_column_title(unsigned view, unsigned column);

/* Rows of a snapshot, which must outlive the table. False: no memory. */
bool top_table_make(struct top_table *table, const json_t *shot, const struct top_order *order);
void top_table_free(struct top_table *table);

/* Lines of text, without an end of line. */
void top_table_head(const struct top_table *table, char line[TOP_LINE_BYTES]);
void top_table_line(const struct top_table *table, size_t row, char line[TOP_LINE_BYTES]);
/* One line about all. */
void top_summary(const json_t *shot, char line[TOP_LINE_BYTES]);

#endif
