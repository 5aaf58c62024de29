/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "weft/err.h"

/* The whole file, terminated by a zero that `*len` does not count; the caller frees it. NULL with a message that names
 * the file, and *code set to the negative errno. */
char *file_read(const char *path, size_t *len, int *code, struct weft_err *err);

/* Opens for writing, "-" is standard output. NULL with a message. */
FILE *file_create(const char *path, struct weft_err *err);

/* Closes what file_create opened. -EIO with a message when anything written did not arrive. */
int file_finish(FILE *f, const char *path, struct weft_err *err);

#endif
