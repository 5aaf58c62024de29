/* SPDX-License-Identifier: BSD-3-Clause */
/* Named parameters: one table describes a struct's fields and drives --set, --help, defaults and range checks. */
#ifndef WEFT_PARAM_H
#define WEFT_PARAM_H

#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"
#include "weft/err.h"

WEFT_BEGIN_DECLS

enum weft_param_type { WEFT_PARAM_U32, WEFT_PARAM_U64, WEFT_PARAM_BOOL }; /* BOOL: a uint8_t 0 or 1 */

struct weft_param {
	const char *key;  /* NULL ends a table */
	const char *help; /* meaning and unit, one line */
	uint64_t def, min, max;
	uint16_t offset; /* in the described struct */
	uint8_t type;    /* enum weft_param_type */
};

/* Writes every default into the struct at `base`; `table` may be NULL. */
void weft_param_defaults(const struct weft_param *table, void *base);

/* Sets `key` to the number in `value` (decimal or 0x; suffixes k, M, G for powers of 1000, Ki, Mi, Gi for 1024; on,
 * off, true, false for BOOL). -ENOENT: no such key in this table; -EINVAL: not a number; -ERANGE: outside min..max. The
 * message names key, value and what would be valid. */
int weft_param_set(const struct weft_param *table, void *base, const char *key, const char *value,
		   struct weft_err *err);

WEFT_END_DECLS

#endif
