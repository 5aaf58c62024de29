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

static const struct weft_rcc_ops *find(const struct weft_rcc_ops *const *table, const char *name, size_t len)
{
	for (; *table; table++) {
		if (strlen((*table)->name) == len && !strncmp((*table)->name, name, len))
			return *table;
	}
	return NULL;
}

const struct weft_rcc_ops *weft_rcc_find(const char *name)
{
	return find(weft_rcc_table, name, strlen(name));
}

static int refuse(const struct weft_cc_tables *tables, const char *name, struct weft_err *err)
{
	struct weft_err why = {""};
	const struct weft_cc_ops *none;
	char valid[64] = "";
	weft_cc_choose_from(tables->cc, tables->also, name, &none, &why);
	for (unsigned i = 0, len = 0; tables->rcc[i] && len < sizeof valid; i++)
		len += (unsigned)snprintf(valid + len, sizeof valid - len, "%s%s", i ? ", " : "", tables->rcc[i]->name);
	return weft_err_set(err, -ENOENT, "%.166s; receiver-driven: %s, alone or NAME+one of the others", why.msg,
			    valid);
}

static const struct weft_cc_ops *sender(const struct weft_cc_tables *tables, const char *name)
{
	const struct weft_cc_ops *ops;
	weft_cc_choose_from(tables->cc, NULL, name, &ops, NULL);
	return ops;
}

int weft_cc_select_from(const struct weft_cc_tables *tables, const char *name, struct weft_cc_choice *choice,
			struct weft_err *err)
{
	const char *plus = strchr(name, '+');
	*choice = (struct weft_cc_choice){NULL, NULL};
	if (plus) {
		choice->rcc = find(tables->rcc, name, (size_t)(plus - name));
		choice->cc = choice->rcc ? sender(tables, plus + 1) : NULL;
	} else {
		choice->cc = sender(tables, name);
		if (!choice->cc)
			choice->rcc = find(tables->rcc, name, strlen(name));
		if (choice->rcc)
			choice->cc = sender(tables, choice->rcc->sender);
	}
	if (choice->cc)
		return 0;
	choice->rcc = NULL;
	return refuse(tables, name, err);
}

int weft_cc_select(const char *name, struct weft_cc_choice *choice, struct weft_err *err)
{
	return weft_cc_select_from(&(struct weft_cc_tables){weft_cc_table, weft_rcc_table, NULL}, name, choice, err);
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
