/* SPDX-License-Identifier: BSD-3-Clause */
/* What options remember until they are resolved. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

char *options_keep(struct options *o, const char *text)
{
	char **grown = realloc(o->kept, (o->kept_count + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	o->kept = grown;
	char *copy = strdup(text);
	if (copy)
		o->kept[o->kept_count++] = copy;
	return copy;
}

int options_add_setting(struct options *o, const char *text, const char *where, struct weft_err *err)
{
	const char *eq = strchr(text, '=');
	if (!eq || eq == text)
		return weft_err_set(err, -EINVAL, "'%s' is not KEY=VALUE", text);
	struct opt_setting *grown = realloc(o->settings, (o->setting_count + 1) * sizeof *grown);
	if (grown)
		o->settings = grown;
	struct opt_setting setting = {options_keep(o, text), options_keep(o, where)};
	if (!grown || !setting.text || !setting.where)
		return weft_err_set(err, -ENOMEM, "no memory");
	o->settings[o->setting_count++] = setting;
	return 0;
}
