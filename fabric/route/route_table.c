/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "route_impl.h"

const struct weft_route_ops route_ecmp = {
	.name = "ecmp",
	.help = "by hash of the five-tuple with the switch's salt: an entropy keeps its path",
	.by_entropy = true,
};

const struct weft_route_ops *const weft_route_table[] = {
	&route_ecmp,      &route_random, &route_rr,         &route_adaptive, &route_digits, &route_drill,
	&route_symmetric, &route_wcmp,   &route_drill_flow, &route_conga,    NULL,
};

static const struct weft_route_ops *find(const char *name)
{
	const struct weft_route_ops *const *ops = weft_route_table;

	while (*ops && strcmp((*ops)->name, name) != 0)
		ops++;
	return *ops;
}

int weft_route_find(const char *name, const struct weft_route_ops **ops, struct weft_err *err)
{
	char valid[200] = "";

	*ops = find(name);
	if (*ops)
		return 0;
	for (unsigned i = 0, len = 0; weft_route_table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "",
					  weft_route_table[i]->name);
	return weft_err_set(err, -ENOENT, "unknown route '%.40s'; valid: %s", name, valid);
}
