/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Reads a line and cuts it. 1, 0 at the end, or a negative errno with a message. */
static int read_line(struct table *c, struct weft_err *err)
{
	errno = 0;
	ssize_t len = getline(&c->line, &c->room, c->file);
	if (len < 0 && (ferror(c->file) || errno))
		return weft_err_set(err, -EIO, "%s:%zu: %s", c->path, c->number + 1, strerror(errno ? errno : EIO));
	if (len < 0)
		return 0;
	c->number++;
	if (memchr(c->line, '"', (size_t)len) || strlen(c->line) != (size_t)len)
		return weft_err_set(err, -EINVAL, "%s:%zu: quotes and zero bytes have no place here", c->path,
				    c->number);
	c->line[strcspn(c->line, "\r\n")] = '\0';
	c->field_count = 0;
	for (char *at = c->line, *field; (field = strsep(&at, ","));) {
		if (c->field_count == TABLE_COLUMNS)
			return weft_err_set(err, -EINVAL, "%s:%zu: more than %d columns", c->path, c->number,
					    TABLE_COLUMNS);
		c->fields[c->field_count++] = field;
	}
	return 1;
}

/* Where the header has a name. */
static int find_column(struct table *c, size_t wanted, struct weft_err *err)
{
	bool found = false;
	for (size_t i = 0; i < c->field_count; i++) {
		if (strcmp(c->fields[i], c->names[wanted]) != 0)
			continue;
		if (found)
			return weft_err_set(err, -EINVAL, "%s:1: column '%s' is there twice", c->path,
					    c->names[wanted]);
		c->where[wanted] = i;
		found = true;
	}
	return found ? 0 : weft_err_set(err, -EINVAL, "%s:1: no column '%s'", c->path, c->names[wanted]);
}

int table_open(struct table *c, const char *path, const char *const *names, size_t count, struct weft_err *err)
{
	*c = (struct table){.path = path, .names = names, .name_count = count};
	c->file = fopen(path, "r");
	if (!c->file)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = read_line(c, err);
	if (!rc)
		rc = weft_err_set(err, -EINVAL, "%s:1: empty, a line with the columns' names is missing", path);
	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = find_column(c, i, err);
	return rc < 0 ? rc : 0;
}

int table_next(struct table *c, struct weft_err *err)
{
	size_t columns = c->field_count;
	int rc = read_line(c, err);
	if (rc == 1 && c->field_count != columns) {
		rc = weft_err_set(err, -EINVAL, "%s:%zu: %zu fields, the header has %zu", c->path, c->number,
				  c->field_count, columns);
	}
	return rc;
}

const char *table_text(const struct table *c, size_t column)
{
	return c->fields[c->where[column]];
}

int table_number(const struct table *c, size_t column, double *value, struct weft_err *err)
{
	const char *text = table_text(c, column);
	char *end;
	*value = *text ? strtod(text, &end) : NAN;
	if (*text && (*end || end == text || !isfinite(*value)))
		return weft_err_set(err, -EINVAL, "%s:%zu: %s: '%.40s' is not a number", c->path, c->number,
				    c->names[column], text);
	return 0;
}

void table_close(struct table *c)
{
	if (c->file)
		fclose(c->file);
	free(c->line);
	*c = (struct table){0};
}
