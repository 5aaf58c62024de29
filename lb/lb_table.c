/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lb_ops.h"

const struct weft_lb_ops *const weft_lb_table[] = {
	&weft_lb_reps,     &weft_lb_reps2,
	&weft_lb_prime,    &weft_lb_prime2,
	&weft_lb_co_prime, &weft_lb_spray,
	&weft_lb_bitmap,   &weft_lb_mprdma,
	&weft_lb_mptcp,    &weft_lb_flowlet,
	&weft_lb_presto,   &weft_lb_plb,
	&weft_lb_ecmp,     NULL,
};

static const struct weft_lb_ops *find(const struct weft_lb_ops *const *table, const char *name)
{
	for (; *table; table++) {
		if (strcmp((*table)->name, name) == 0)
			return *table;
	}
	return NULL;
}

const struct weft_lb_ops *weft_lb_find(const char *name)
{
	return find(weft_lb_table, name);
}

int weft_lb_choose_from(const struct weft_lb_ops *const *table, const char *also, const char *name,
			const struct weft_lb_ops **ops, struct weft_err *err)
{
	char valid[160] = "";
	*ops = find(table, name);
	if (*ops)
		return 0;
	for (unsigned i = 0, len = 0; table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "", table[i]->name);
	return weft_err_set(err, -ENOENT, "unknown lb '%.40s'; valid: %s%s%s", name, also ? also : "", also ? ", " : "",
			    valid);
}

int weft_lb_choose(const char *name, const struct weft_lb_ops **ops, struct weft_err *err)
{
	return weft_lb_choose_from(weft_lb_table, NULL, name, ops, err);
}
