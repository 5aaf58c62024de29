/* SPDX-License-Identifier: BSD-3-Clause */
/* Input files of the tests. */
#ifndef WEFT_TEST_FILE_H
#define WEFT_TEST_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The content of CONFIG_DIR/`name`; to be freed by the caller. */
static inline char *config_read(const char *name, size_t *len)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", CONFIG_DIR, name);
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	size_t size = 1 << 20;
	char *text = malloc(size);
	*len = text ? fread(text, 1, size, f) : 0;
	fclose(f);
	return text;
}

/* Copies `text` to `out` (long enough) with line `line` (from 1) replaced by `with`. Every line ends in a newline. */
static inline void text_replace(const char *text, int line, const char *with, char *out)
{
	for (int n = 1; *text; n++) {
		const char *eol = strchr(text, '\n') + 1;
		out += n == line ? sprintf(out, "%s\n", with) : sprintf(out, "%.*s", (int)(eol - text), text);
		text = eol;
	}
}

#endif
