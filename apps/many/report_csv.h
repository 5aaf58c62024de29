/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads tables of numbers and plain names that a lab run wrote: comma-separated, one line of column names first. */
#ifndef WEFT_REPORT_CSV_H
#define WEFT_REPORT_CSV_H

#include <stddef.h>
#include <stdio.h>

#include "weft/err.h"

#define TABLE_COLUMNS 32 /* most in a file */

struct table {
	FILE *file;
	const char *path;    /* the caller's */
	char *line;          /* owned; the current one, cut into fields */
	size_t room, number; /* of the line; number counts from 1 */
	char *fields[TABLE_COLUMNS];
	size_t field_count;       /* columns of the file */
	const char *const *names; /* the caller's: the columns wanted */
	size_t name_count;
	size_t where[TABLE_COLUMNS]; /* wanted column -> field */
};

/* Opens `path` and finds the wanted columns by name; others may be there too. `names` and `path` must live as long as
 * the reader. -ENOENT when there is no such file, -EINVAL with file and line. */
int table_open(struct table *c, const char *path, const char *const *names, size_t count, struct weft_err *err);

/* Next line: 1, or 0 at the end, or -EINVAL with file and line. */
int table_next(struct table *c, struct weft_err *err);

/* A wanted column's text in the current line, valid until the next. */
const char *table_text(const struct table *c, size_t column);

/* The same as a number; NaN when empty. -EINVAL with file, line and column. */
int table_number(const struct table *c, size_t column, double *value, struct weft_err *err);

/* After table_open, successful or not. */
void table_close(struct table *c);

#endif
