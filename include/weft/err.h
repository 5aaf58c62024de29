/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors are negative errno values; the message names the file, line, key or peer. */
#ifndef WEFT_ERR_H
#define WEFT_ERR_H

#include "weft/decl.h"

WEFT_BEGIN_DECLS

/* One human-readable reason. The caller owns it; functions that take one accept NULL. */
struct weft_err {
	char msg[256]; /* always terminated; empty when nothing failed */
};

/* Formats the message (if `err` is not NULL) and returns `code`, so that `return weft_err_set(err, -EINVAL, ...)`
 * works. */
int weft_err_set(struct weft_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

WEFT_END_DECLS

#endif
