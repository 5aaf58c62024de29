/* SPDX-License-Identifier: BSD-3-Clause */
#include "file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Reads to the end in growing steps, so that pipes work too. NULL: errno says why. */
static char *read_all(FILE *f, size_t *len)
{
	size_t room = 1 << 16, used = 0;
	char *text = malloc(room + 1);
	while (text) {
		used += fread(text + used, 1, room - used, f);
		if (used < room)
			break;
		room *= 2;
		char *grown = realloc(text, room + 1);
		if (!grown)
			free(text);
		text = grown;
	}
	if (text && ferror(f)) {
		free(text);
		text = NULL;
	}
	if (text)
		text[used] = '\0';
	*len = used;
	return text;
}

char *file_read(const char *path, size_t *len, int *code, struct weft_err *err)
{
	FILE *f = fopen(path, "r");
	char *text = f ? read_all(f, len) : NULL;
	if (!text)
		*code = weft_err_set(err, errno ? -errno : -EIO, "%s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	return text;
}

FILE *file_create(const char *path, struct weft_err *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!f)
		weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return f;
}

int file_finish(FILE *f, const char *path, struct weft_err *err)
{
	bool failed = fflush(f) || ferror(f);
	if (f != stdout)
		failed |= fclose(f) != 0;
	return failed ? weft_err_set(err, -EIO, "%s: could not be written: %s", path, strerror(errno)) : 0;
}
