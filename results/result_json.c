/* SPDX-License-Identifier: BSD-3-Clause */
#include "result_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { REAL_DIGITS = 10 };

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

/* A number as JSON has it, without an exponent: a decimal one, and no zeros before it. */
static bool is_plain_number(const char *text)
{
	const char *digits = text + (*text == '-');
	size_t whole = strspn(digits, "0123456789");
	const char *point = digits + whole;
	size_t rest = *point == '.' ? strspn(point + 1, "0123456789") : 0;
	return whole && !(*digits == '0' && whole > 1) && !point[rest ? rest + 1 : 0];
}

/* What the command line takes for a number of another kind (0x10), and what JSON would not give back, stays text. */
json_t *result_value(const char *text)
{
	char back[32], *end;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (!is_plain_number(text))
		return result_text(text);
	if (!*end)
		return errno ? result_text(text) : json_integer(whole);
	double real = strtod(text, NULL);
	snprintf(back, sizeof back, "%.*g", REAL_DIGITS, real);
	return strtod(back, NULL) == real ? json_real(real) : result_text(text);
}

int result_dump(const json_t *json, const char *path, struct weft_err *err)
{
	FILE *f = file_create(path, err);
	if (!f)
		return -EIO;
	json_dumpf(json, f, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
	fputc('\n', f);
	return file_finish(f, path, err);
}
