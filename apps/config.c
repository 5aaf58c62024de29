/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration is one YAML mapping of option names to scalars; `set` maps parameters to values. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "options.h"

struct config {
	struct options *o;
	const struct opt_desc *extra;
	void *extra_base;
	const char *path;
	yaml_parser_t parser;
	struct weft_err *err;
};

static int complain(struct config *c, size_t line, const char *reason)
{
	return weft_err_set(c->err, -EINVAL, "%s:%zu: %.180s", c->path, line + 1, reason);
}

/* The next event, which the caller deletes. */
static int next(struct config *c, yaml_event_t *event)
{
	if (yaml_parser_parse(&c->parser, event))
		return 0;
	return complain(c, c->parser.problem_mark.line, c->parser.problem ? c->parser.problem : "not YAML");
}

/* One pair whose key and value are scalars on `line`. `in_set`: a parameter rather than an option. */
static int pair(struct config *c, bool in_set, const char *key, const char *value, size_t line)
{
	struct weft_err why = {""};
	int rc;
	if (in_set) {
		char text[160], where[160];
		if ((size_t)snprintf(text, sizeof text, "%s=%s", key, value) >= sizeof text)
			return complain(c, line, "longer than any parameter");
		snprintf(where, sizeof where, "%s:%zu", c->path, line + 1);
		rc = options_add_setting(c->o, text, where, &why);
	} else {
		const char *kept = options_keep(c->o, value);
		rc = kept ? options_set(c->o, c->extra, c->extra_base, key, kept, &why) : -ENOMEM;
	}
	return rc ? complain(c, line, why.msg[0] ? why.msg : "no memory") : 0;
}

static int mapping(struct config *c, bool in_set);

/* The value behind `key`. */
static int value_of(struct config *c, bool in_set, const char *key)
{
	yaml_event_t event;
	int rc = next(c, &event);
	if (rc)
		return rc;
	size_t line = event.start_mark.line;
	if (event.type == YAML_SCALAR_EVENT)
		rc = pair(c, in_set, key, (const char *)event.data.scalar.value, line);
	else if (event.type == YAML_MAPPING_START_EVENT && !in_set && !strcmp(key, "set"))
		rc = mapping(c, true);
	else
		rc = complain(c, line, "a single value is expected here");
	yaml_event_delete(&event);
	return rc;
}

/* Pairs up to the end of the mapping whose start was read. */
static int mapping(struct config *c, bool in_set)
{
	for (;;) {
		yaml_event_t event;
		int rc = next(c, &event);
		if (rc)
			return rc;
		bool end = event.type == YAML_MAPPING_END_EVENT;
		if (event.type == YAML_SCALAR_EVENT)
			rc = value_of(c, in_set, (const char *)event.data.scalar.value);
		else if (!end)
			rc = complain(c, event.start_mark.line, "a name is expected here");
		yaml_event_delete(&event);
		if (rc || end)
			return rc;
	}
}

/* Stream and document up to the mapping everything is in. An empty file is an empty mapping. */
static int document(struct config *c)
{
	for (;;) {
		yaml_event_t event;
		int rc = next(c, &event);
		if (rc)
			return rc;
		yaml_event_type_t type = event.type;
		size_t line = event.start_mark.line;
		yaml_event_delete(&event);
		if (type == YAML_MAPPING_START_EVENT)
			return mapping(c, false);
		if (type == YAML_STREAM_END_EVENT)
			return 0;
		if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT)
			return complain(c, line, "the file must be a mapping of option names to values");
	}
}

int options_config(struct options *o, const struct opt_desc *extra, void *extra_base, const char *path,
		   struct weft_err *err)
{
	struct config c = {.o = o, .extra = extra, .extra_base = extra_base, .path = path, .err = err};
	FILE *f = fopen(path, "r");
	if (!f)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = -ENOMEM;
	if (yaml_parser_initialize(&c.parser)) {
		yaml_parser_set_input_file(&c.parser, f);
		rc = document(&c);
		yaml_parser_delete(&c.parser);
	}
	fclose(f);
	return rc;
}
