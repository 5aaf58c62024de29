/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/err.h"

#include <stdarg.h>
#include <stdio.h>

int weft_err_set(struct weft_err *err, int code, const char *fmt, ...)
{
	if (err) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof err->msg, fmt, ap);
		va_end(ap);
	}
	return code;
}
