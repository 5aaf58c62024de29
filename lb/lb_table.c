/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lb_ops.h"

const struct weft_lb_ops *const weft_lb_table[] = {
	&weft_lb_reps,  &weft_lb_prime,   &weft_lb_co_prime, &weft_lb_spray, &weft_lb_bitmap, &weft_lb_mprdma,
	&weft_lb_mptcp, &weft_lb_flowlet, &weft_lb_presto,   &weft_lb_plb,   &weft_lb_ecmp,   NULL,
};

const struct weft_lb_ops *weft_lb_find(const char *name)
{
	for (const struct weft_lb_ops *const *ops = weft_lb_table; *ops; ops++) {
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}

int weft_lb_choose(const char *name, const struct weft_lb_ops **ops, struct weft_err *err)
{
	char valid[160] = "";
	*ops = weft_lb_find(name);
	if (*ops)
		return 0;
	for (unsigned i = 0, len = 0; weft_lb_table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "",
					  weft_lb_table[i]->name);
	return weft_err_set(err, -ENOENT, "unknown lb '%.40s'; valid: %s", name, valid);
}
