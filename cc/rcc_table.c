/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cc_ops.h"

const struct weft_rcc_ops *const weft_rcc_table[] = {
	&weft_rcc_eqds,
	&weft_rcc_spraypass,
	&weft_rcc_expresspass,
	NULL,
};

static const struct weft_rcc_ops *find(const char *name, size_t len)
{
	for (const struct weft_rcc_ops *const *ops = weft_rcc_table; *ops; ops++) {
		if (strlen((*ops)->name) == len && !strncmp((*ops)->name, name, len))
			return *ops;
	}
	return NULL;
}

const struct weft_rcc_ops *weft_rcc_find(const char *name)
{
	return find(name, strlen(name));
}

static int unknown(const char *name, struct weft_err *err)
{
	struct weft_err why = {""};
	const struct weft_cc_ops *none;
	char valid[64] = "";
	weft_cc_choose(name, &none, &why);
	for (unsigned i = 0, len = 0; weft_rcc_table[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "",
					  weft_rcc_table[i]->name);
	return weft_err_set(err, -ENOENT, "%.160s; receiver-driven: %s, alone or NAME+one of the others", why.msg,
			    valid);
}

int weft_cc_select(const char *name, struct weft_cc_choice *choice, struct weft_err *err)
{
	const char *plus = strchr(name, '+');
	*choice = (struct weft_cc_choice){NULL, NULL};
	if (plus) {
		choice->rcc = find(name, (size_t)(plus - name));
		choice->cc = choice->rcc ? weft_cc_find(plus + 1) : NULL;
	} else {
		choice->cc = weft_cc_find(name);
		if (!choice->cc)
			choice->rcc = weft_rcc_find(name);
		if (choice->rcc)
			choice->cc = weft_cc_find(choice->rcc->sender);
	}
	if (choice->cc)
		return 0;
	choice->rcc = NULL;
	return unknown(name, err);
}

void weft_cc_select_defaults(const char *name, const struct weft_cc_choice *choice, void *cc_tune)
{
	weft_param_defaults(choice->cc->tunes, cc_tune);
	if (!choice->rcc || !choice->rcc->sender_set || strchr(name, '+'))
		return;
	char key[64];
	const char *eq = strchr(choice->rcc->sender_set, '=');
	snprintf(key, sizeof key, "%.*s", (int)(eq - choice->rcc->sender_set), choice->rcc->sender_set);
	weft_param_set(choice->cc->tunes, cc_tune, key, eq + 1, NULL);
}
