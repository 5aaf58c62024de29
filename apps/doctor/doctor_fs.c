/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /sys, /proc and /dev, of this machine or of a tree that looks like them. */
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

enum { PATH_BYTES = 512, LINE_BYTES = 4096 };

static bool path_make(const struct doctor *d, char *out, size_t size, const char *format, va_list args)
{
	int len = snprintf(out, size, "%s/", d->root);
	assert(len > 0);
	if ((size_t)len >= size)
		return false;
	int more = vsnprintf(out + len, size - (size_t)len, format, args);
	return more >= 0 && (size_t)more < size - (size_t)len;
}

bool fs_path(const struct doctor *d, char *out, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	bool made = path_make(d, out, size, format, args);
	va_end(args);
	return made && access(out, F_OK) == 0;
}

static void trim_end(char *text)
{
	size_t len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

static bool first_line(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return false;
	bool has = fgets(out, (int)size, file) != NULL;
	fclose(file);
	if (has)
		trim_end(out);
	return has;
}

bool fs_text(const struct doctor *d, char *out, size_t size, const char *format, ...)
{
	char path[PATH_BYTES];
	va_list args;
	va_start(args, format);
	bool made = path_make(d, path, sizeof path, format, args);
	va_end(args);
	return made && first_line(path, out, size);
}

bool fs_number(const struct doctor *d, int64_t *out, const char *format, ...)
{
	char path[PATH_BYTES], text[64], *end;
	va_list args;
	va_start(args, format);
	bool made = path_make(d, path, sizeof path, format, args);
	va_end(args);
	if (!made || !first_line(path, text, sizeof text))
		return false;
	*out = strtoll(text, &end, 0);
	return end != text;
}

bool fs_link(const struct doctor *d, char *out, size_t size, const char *format, ...)
{
	char path[PATH_BYTES], target[PATH_MAX];
	va_list args;
	va_start(args, format);
	bool made = path_make(d, path, sizeof path, format, args);
	va_end(args);
	ssize_t len = made ? readlink(path, target, sizeof target - 1) : -1;
	if (len <= 0)
		return false;
	target[len] = '\0';
	const char *slash = strrchr(target, '/');
	return (size_t)snprintf(out, size, "%s", slash != NULL ? slash + 1 : target) < size;
}

static const char *field_of(const char *line, const char *key)
{
	size_t len = strlen(key);
	if (strncmp(line, key, len) != 0 || (line[len] != ':' && !isspace((unsigned char)line[len])))
		return NULL;
	return line + len + strspn(line + len, ": \t");
}

bool fs_field(const struct doctor *d, const char *path, const char *key, char *out, size_t size)
{
	char full[PATH_BYTES], line[LINE_BYTES];
	const char *value = NULL;
	if (!fs_path(d, full, sizeof full, "%s", path))
		return false;
	FILE *file = fopen(full, "r");
	if (file == NULL)
		return false;
	while (value == NULL && fgets(line, sizeof line, file) != NULL)
		value = field_of(line, key);
	fclose(file);
	if (value == NULL)
		return false;
	snprintf(out, size, "%s", value);
	trim_end(out);
	return true;
}

bool fs_field_number(const struct doctor *d, const char *path, const char *key, int base, uint64_t *out)
{
	char text[256], *end;
	if (!fs_field(d, path, key, text, sizeof text))
		return false;
	*out = strtoull(text, &end, base);
	return end != text;
}
