/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that a caller takes beside those of a table. */
#ifndef WEFT_ALSO_VALID_H
#define WEFT_ALSO_VALID_H

#include "weft/err.h"

/* Puts `names`, such as "auto", first into a message's list of valid names, if it has one. Returns `rc`; of 0 it leaves
 * the message alone. */
int weft_also_valid(struct weft_err *err, int rc, const char *names);

#endif
