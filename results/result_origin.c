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

int result_add_origin(json_t *json, const struct run_origin *o)
{
	if (json_object_set_new(json, "options", json_options(o)))
		return -ENOMEM;
	bool failed = o->error && *o->error;
	return failed && json_object_set_new(json, "error", result_text(o->error)) ? -ENOMEM : 0;
}
