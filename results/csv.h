/* SPDX-License-Identifier: BSD-3-Clause */
/* A CSV file that grows row by row behind a large buffer. */
#ifndef WEFT_CSV_H
#define WEFT_CSV_H

#include <stdio.h>

#include "file.h"
#include "weft/err.h"
#include "weft/time.h"

struct csv {
	FILE *file; /* NULL: not open; rows go here */
	char path[FILE_PATH_MAX];
	char *buffer;
};

/* Opens `dir`/`name` and writes the header line. `csv` is zero before. -EIO or -ENAMETOOLONG with a
 * message. */
int csv_open(struct csv *csv, const char *dir, const char *name, const char *header, struct weft_err *err);

/* -EIO with a message when a row could not be written. What is still in the buffer shows later. */
int csv_check(const struct csv *csv, struct weft_err *err);

/* Closes; fine when not open. -EIO with a message when not everything could be written. */
int csv_close(struct csv *csv, struct weft_err *err);

/* For the first column, time_us. */
static inline double csv_us(weft_ps time)
{
	return (double)time / 1e6;
}

#endif
