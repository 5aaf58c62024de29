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

#endif
