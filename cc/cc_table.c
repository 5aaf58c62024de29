/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cc_ops.h"

const struct weft_cc_ops *const weft_cc_table[] = {
	&weft_cc_smartt,  &weft_cc_smartt2, &weft_cc_smartt3,
	&weft_cc_mprdma,  &weft_cc_swift,   &weft_cc_dcqcn,
	&weft_cc_newreno, &weft_cc_fixed,   NULL,
};

static const struct weft_cc_ops *find(const struct weft_cc_ops *const *table, const char *name)
{
	for (; *table; table++) {
		if (strcmp((*table)->name, name) == 0)
			return *table;
	}
	return NULL;
}

const struct weft_cc_ops *weft_cc_find(const char *name)
{
	return find(weft_cc_table, name);
}

int weft_cc_choose_from(const struct weft_cc_ops *const *table, const char *also, const char *name,
			const struct weft_cc_ops **ops, struct weft_err *err)
{
	char valid[160] = "";
	*ops = find(table, name);
	if (*ops)
		return 0;
	for (unsigned i = 0, len = 0; table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "", table[i]->name);
	return weft_err_set(err, -ENOENT, "unknown cc '%.40s'; valid: %s%s%s", name, also ? also : "", also ? ", " : "",
			    valid);
}

int weft_cc_choose(const char *name, const struct weft_cc_ops **ops, struct weft_err *err)
{
	return weft_cc_choose_from(weft_cc_table, NULL, name, ops, err);
}

const struct weft_cc_ops *weft_cc_auto(void)
{
	return &weft_cc_smartt3;
}
