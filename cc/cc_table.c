/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cc_ops.h"

const struct weft_cc_ops *const weft_cc_table[] = {
	&weft_cc_smartt, &weft_cc_smartt2, &weft_cc_mprdma, &weft_cc_swift,
	&weft_cc_dcqcn,  &weft_cc_newreno, &weft_cc_fixed,  NULL,
};

const struct weft_cc_ops *weft_cc_find(const char *name)
{
	for (const struct weft_cc_ops *const *ops = weft_cc_table; *ops; ops++) {
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}

int weft_cc_choose(const char *name, const struct weft_cc_ops **ops, struct weft_err *err)
{
	char valid[160] = "";
	*ops = weft_cc_find(name);
	if (*ops)
		return 0;
	for (unsigned i = 0, len = 0; weft_cc_table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "",
					  weft_cc_table[i]->name);
	return weft_err_set(err, -ENOENT, "unknown cc '%.40s'; valid: %s", name, valid);
}
