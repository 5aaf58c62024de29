/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a run comes from, in its JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "result_int.h"
#include "result_json.h"

/* Options that do not change what happens. */
static bool about_output(const char *name)
{
	static const char *const names[] = {"json", "out", "pcap", "pcap-port", "series", "series-ports"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* KEY=VALUE into the mapping `set`. */
static int add_setting(json_t *options, const char *text)
{
	json_t *set = json_object_get(options, "set");
	if (!set && json_object_set_new(options, "set", set = json_object()))
		return -ENOMEM;
	size_t len = strcspn(text, "=");
	char key[64];
	snprintf(key, sizeof key, "%.*s", (int)len, text);
	return json_object_set_new(set, key, result_value(text[len] ? text + len + 1 : "")) ? -ENOMEM : 0;
}

static int add_fault(json_t *options, const char *spec)
{
	json_t *faults = json_object_get(options, "faults");
	if (!faults && json_object_set_new(options, "faults", faults = json_array()))
		return -ENOMEM;
	return json_array_append_new(faults, result_text(spec)) ? -ENOMEM : 0;
}

/* The options as a scenario would give them. */
static json_t *json_options(const struct run_origin *origin)
{
	json_t *options = json_object();
	int rc = options ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < origin->given_count && !rc; i++) {
		const struct run_option *g = &origin->given[i];
		if (about_output(g->name))
			continue;
		if (!strcmp(g->name, "set"))
			rc = add_setting(options, g->value);
		else if (!strcmp(g->name, "fault"))
			rc = add_fault(options, g->value);
		else
			rc = json_object_set_new(options, g->name, g->value ? result_value(g->value) : json_true());
	}
	if (!rc)
		return options;
	json_decref(options);
	return NULL;
}

static json_t *json_values(const struct run_origin *origin)
{
	json_t *values = json_object();
	for (uint32_t i = 0; i < origin->axis_count && values; i++) {
		if (!json_object_set_new(values, origin->axes[i], result_value(origin->values[i])))
			continue;
		json_decref(values);
		return NULL;
	}
	return values;
}

int result_add_origin(json_t *json, const struct run_origin *o)
{
	json_t *options = json_options(o);
	if (json_object_set_new(json, "options", options))
		return -ENOMEM;
	if (!o->scenario)
		return 0;
	json_t *more = json_pack("{s:o,s:o,s:s,s:o?,s:s,s:o}", "scenario", result_text(o->scenario), "label",
				 result_text(o->label), "case", o->case_name, "values", json_values(o), "identity",
				 o->identity, "error", result_text(o->error));
	int rc = more ? json_object_update(json, more) : -1;
	json_decref(more);
	return rc ? -ENOMEM : 0;
}
