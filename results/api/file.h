/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "weft/err.h"

enum { FILE_PATH_MAX = 4096 };

/* The whole file, terminated by a zero that `*len` does not count; the caller frees it. NULL with a message that names
 * the file, and *code set to the negative errno. */
char *file_read(const char *path, size_t *len, int *code, struct weft_err *err);

/* Opens for writing, "-" is standard output. NULL with a message. */
FILE *file_create(const char *path, struct weft_err *err);

/* -EIO with a message that says why, when something written before did not arrive; what is buffered shows later. */
int file_check(FILE *f, const char *path, struct weft_err *err);

/* Closes what file_create opened. -EIO with a message when anything written did not arrive. */
int file_finish(FILE *f, const char *path, struct weft_err *err);

/* "dir/name" in `path`. -ENAMETOOLONG with a message. */
int file_path(char path[FILE_PATH_MAX], const char *dir, const char *name, struct weft_err *err);

/* Makes a directory and those above it, as far as they are not there. An errno with a message. */
int file_make_dir(const char *dir, struct weft_err *err);

#endif
