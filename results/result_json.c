/* SPDX-License-Identifier: BSD-3-Clause */
#include "result_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

json_t *result_text(const char *text)
{
	json_t *json = json_string(text);
	char *plain = json ? NULL : strdup(text);
	if (!plain)
		return json;
	for (char *c = plain; *c; c++)
		*c = (unsigned char)*c < 0x80 ? *c : '?';
	json = json_string(plain);
	free(plain);
	return json;
}

json_t *result_value(const char *text)
{
	char *end;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (*text && !*end && !errno)
		return json_integer(whole);
	double real = strtod(text, &end);
	return *text && !*end && isfinite(real) ? json_real(real) : result_text(text);
}

int result_dump(const json_t *json, const char *path, struct weft_err *err)
{
	FILE *f = file_create(path, err);
	if (!f)
		return -EIO;
	json_dumpf(json, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
	fputc('\n', f);
	return file_finish(f, path, err);
}
