/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MATCH_H
#define WEFT_MATCH_H

#include <stdbool.h>

/* True when `name` (up to 255 characters) fits one of the shell patterns in `list`, which commas separate:
 * "host3,leaf0:*". */
bool match_any(const char *list, const char *name);

enum { NAME_FAR = 255 };

/* In how many letters a typed word differs from a name that it may have been meant for: inserted, left out, or others.
 * NAME_FAR: in too many for that, of its length. */
unsigned name_misspelt(const char *typed, const char *name);

struct weft_param;

/* Which of several names a typed word was probably meant for. Begins as {.typed = word, .letters = NAME_FAR}. */
struct name_guess {
	const char *typed;
	const char *nearest; /* NULL: no name so far; borrowed */
	unsigned letters;    /* in which the two differ */
};

/* Compares with the keys of a table; NULL is an empty one. The first of several as near is kept. */
void name_guess_param(struct name_guess *guess, const struct weft_param *table);

#endif
