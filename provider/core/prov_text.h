/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the FI_WEFT_ variables. In each, %r, %l, %p and %n stand for the process's rank, its rank on the node, its
 * process id and the first number that no other process of the node has, so that one setting serves all ranks. */
#ifndef PROV_TEXT_H
#define PROV_TEXT_H

#include <stdbool.h>

#include "weft/err.h"

/* Text of FI_WEFT_<NAME>, `name` in lower case, for the caller to free; NULL when it is not set or empty. -EINVAL: a
 * rank that no process manager told, -ENOMEM. */
int prov_param_text(const char *name, char **out, struct weft_err *err);

/* Sets `value` when the variable is set. -EINVAL: no whole number, or below `min`. */
int prov_param_int(const char *name, int min, int *value, struct weft_err *err);

/* The same for yes and no, on and off, true and false, 1 and 0. */
int prov_param_bool(const char *name, bool *value, struct weft_err *err);

/* Rank on the node as process managers say; 0 when none does. */
unsigned prov_local_rank(void);

#endif
