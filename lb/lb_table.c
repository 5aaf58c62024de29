/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "lb_ops.h"

const struct weft_lb_ops *const weft_lb_table[] = {
	&weft_lb_reps,
	&weft_lb_spray,
	&weft_lb_ecmp,
	NULL,
};

const struct weft_lb_ops *weft_lb_find(const char *name)
{
	for (const struct weft_lb_ops *const *ops = weft_lb_table; *ops; ops++) {
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}
