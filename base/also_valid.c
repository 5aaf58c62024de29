/* SPDX-License-Identifier: BSD-3-Clause */
#include "also_valid.h"

#include <string.h>

int weft_also_valid(struct weft_err *err, int rc, const char *names)
{
	static const char mark[] = "; valid: ";
	const char *at = rc && err ? strstr(err->msg, mark) : NULL;
	if (at) {
		const struct weft_err old = *err;
		size_t head = (size_t)(at - err->msg) + strlen(mark);
		weft_err_set(err, rc, "%.*s%s, %s", (int)head, old.msg, names, old.msg + head);
	}
	return rc;
}
