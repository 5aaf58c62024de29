/* SPDX-License-Identifier: BSD-3-Clause */
#include "csv.h"

#include <errno.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 20 };

int csv_open(struct csv *csv, const char *dir, const char *name, const char *header, struct weft_err *err)
{
	int rc = file_path(csv->path, dir, name, err);
	if (rc)
		return rc;
	csv->file = file_create(csv->path, err);
	if (!csv->file)
		return -EIO;
	csv->buffer = malloc(BUFFER_BYTES);
	if (csv->buffer)
		setvbuf(csv->file, csv->buffer, _IOFBF, BUFFER_BYTES);
	fprintf(csv->file, "%s\n", header);
	return 0;
}

int csv_check(const struct csv *csv, struct weft_err *err)
{
	return csv->file ? file_check(csv->file, csv->path, err) : 0;
}

int csv_close(struct csv *csv, struct weft_err *err)
{
	int rc = csv->file ? file_finish(csv->file, csv->path, err) : 0;
	free(csv->buffer);
	csv->file = NULL;
	csv->buffer = NULL;
	return rc;
}
