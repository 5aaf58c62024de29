/* SPDX-License-Identifier: BSD-3-Clause */
#include "file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* stdio forgets why a write failed; writing once more to the file, which is broken anyway, brings the reason back. */
int file_check(FILE *f, const char *path, struct weft_err *err)
{
	if (!ferror(f))
		return 0;
	errno = 0;
	fputc('\n', f);
	fflush(f);
	if (!errno)
		return weft_err_set(err, -EIO, "%s: could not be written", path);
	return weft_err_set(err, -EIO, "%s: could not be written: %s", path, strerror(errno));
}

int file_finish(FILE *f, const char *path, struct weft_err *err)
{
	fflush(f);
	int rc = file_check(f, path, err);
	if (f != stdout && fclose(f) && !rc)
		return weft_err_set(err, -EIO, "%s: could not be written: %s", path, strerror(errno));
	return rc;
}

int file_path(char path[FILE_PATH_MAX], const char *dir, const char *name, struct weft_err *err)
{
	int len = snprintf(path, FILE_PATH_MAX, "%s/%s", dir, name);
	return len < FILE_PATH_MAX ? 0 : weft_err_set(err, -ENAMETOOLONG, "%.100s...: name too long", dir);
}

int file_make_dir(const char *dir, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	size_t len = strlen(dir);
	if (len >= sizeof path)
		return weft_err_set(err, -ENAMETOOLONG, "%.100s...: name too long", dir);
	for (size_t i = 1; i <= len; i++) {
		if (dir[i] && dir[i] != '/')
			continue;
		snprintf(path, i + 1, "%s", dir);
		if (mkdir(path, 0777) && errno != EEXIST)
			return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	struct stat st;
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return weft_err_set(err, -ENOTDIR, "%s: not a directory", dir);
	return 0;
}
