/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON the way all files of runs have it. */
#ifndef WEFT_RESULT_JSON_H
#define WEFT_RESULT_JSON_H

#include <jansson.h>

#include "weft/err.h"

/* Writes JSON to a file, "-" is standard output. An errno with a message. */
int result_dump(const json_t *json, const char *path, struct weft_err *err);

/* A string. File names may hold anything, JSON only UTF-8: in other text '?' stands for what is not ASCII. NULL: no
 * memory. */
json_t *result_text(const char *text);

/* A number where the text is one as JSON writes it, a string otherwise: what an option is given again with. NULL: no
 * memory. */
json_t *result_value(const char *text);

#endif
