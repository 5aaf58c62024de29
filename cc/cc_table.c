/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cc_ops.h"

const struct weft_cc_ops *const weft_cc_table[] = {
	&weft_cc_smartt,
	&weft_cc_fixed,
	NULL,
};

const struct weft_cc_ops *weft_cc_find(const char *name)
{
	for (const struct weft_cc_ops *const *ops = weft_cc_table; *ops; ops++) {
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}
