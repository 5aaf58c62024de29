/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as JSON, schema weft.run/1: what has a name, then the metrics, object by object. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metric.h"
#include "result_int.h"
#include "result_json.h"

enum { PATH_MAX_CHARS = 64 };

/* One object of the result, or one number beside them. It is there when one of two metrics is above 0. */
struct section {
	const char *path;
	const char *when, *or_when; /* metrics; NULL: always */
	bool of_fabric;             /* only of runs that know what the fabric counted */
	bool is_empty;              /* made without members; others fill it */
};

/* In the order of the JSON. */
static const struct section sections[] = {
	{.path = "flows"},
	{.path = "fct_us"},
	{.path = "delivered_us"},
	{.path = "slowdown", .when = "slowdown.max"},
	{.path = "ideal_us"},
	{.path = "inflation"},
	{.path = "goodput_gbps"},
	{.path = "jain"},
	{.path = "packets"},
	{.path = "drops", .of_fabric = true},
	{.path = "credit_queues", .when = "credit_queues.injected"},
	{.path = "queues"},
	{.path = "run"},
	{.path = "background", .when = "background"},
	{.path = "foreground_fct_us", .when = "background"},
	{.path = "background_fct_us", .when = "background"},
	{.path = "reordering", .when = "reordering.packets"},
	{.path = "hops", .of_fabric = true, .is_empty = true},
	{.path = "hops.leaf_host",
	 .when = "hops.leaf_host.data",
	 .or_when = "hops.leaf_host.dropped",
	 .of_fabric = true},
	{.path = "hops.leaf_up", .when = "hops.leaf_up.data", .or_when = "hops.leaf_up.dropped", .of_fabric = true},
	{.path = "hops.spine_up", .when = "hops.spine_up.data", .or_when = "hops.spine_up.dropped", .of_fabric = true},
	{.path = "hops.spine_down",
	 .when = "hops.spine_down.data",
	 .or_when = "hops.spine_down.dropped",
	 .of_fabric = true},
	{.path = "hops.core_down",
	 .when = "hops.core_down.data",
	 .or_when = "hops.core_down.dropped",
	 .of_fabric = true},
	{.path = "queue_spread", .when = "queue_spread.up.lengths"},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

static bool is_above_0(const char *name, const struct run_record *record)
{
	return name && metric_value(metric_find(name), record) > 0;
}

static bool is_there(const struct section *s, const struct run_record *record)
{
	if (s->of_fabric && !record->result.fabric)
		return false;
	return !s->when || is_above_0(s->when, record) || is_above_0(s->or_when, record);
}

/* The object at a path whose last name is cut off; made if it is not there. *last is that name. NULL: no memory. */
static json_t *object_of(json_t *json, char *path, const char **last)
{
	char *name = path;
	for (char *dot; json && (dot = strchr(name, '.')) != NULL; name = dot + 1) {
		*dot = '\0';
		json_t *inner = json_object_get(json, name);
		if (!inner && !json_object_set_new(json, name, json_object()))
			inner = json_object_get(json, name);
		json = inner;
	}
	*last = name;
	return json;
}

/* Takes over `value`; NULL: no memory for it. */
static int put(json_t *json, const char *path, json_t *value)
{
	char names[PATH_MAX_CHARS];
	const char *last;
	snprintf(names, sizeof names, "%s", path);
	json_t *object = object_of(json, names, &last);
	if (object)
		return json_object_set_new(object, last, value) ? -ENOMEM : 0;
	json_decref(value);
	return -ENOMEM;
}

static json_t *json_metric(const struct metric *m, const struct run_record *record)
{
	if (metric_is_count(m))
		return json_integer((json_int_t)metric_count(m, record));
	double value = metric_value(m, record);
	return isnan(value) ? json_null() : json_real(value);
}

static bool is_in(const struct metric *m, const struct section *s)
{
	size_t len = strlen(s->path);
	return m->json && !strncmp(m->json, s->path, len) && (m->json[len] == '.' || !m->json[len]);
}

static int put_section(json_t *json, const struct section *s, const struct run_record *record)
{
	int rc = s->is_empty ? put(json, s->path, json_object()) : 0;
	const struct metric *m;
	for (uint32_t i = 0; !rc && !s->is_empty && (m = metric_at(i)) != NULL; i++)
		rc = is_in(m, s) ? put(json, m->json, json_metric(m, record)) : 0;
	return rc;
}

/* The digest ends the object `run`. */
static int put_digest(json_t *json, uint64_t digest)
{
	char text[17];
	snprintf(text, sizeof text, "%016" PRIx64, digest);
	return put(json, "run.digest", json_string(text));
}

static int put_metrics(json_t *json, const struct run_record *record)
{
	int rc = 0;
	for (uint32_t i = 0; i < SECTIONS && !rc; i++) {
		if (is_there(&sections[i], record))
			rc = put_section(json, &sections[i], record);
		if (!rc && !strcmp(sections[i].path, "run"))
			rc = put_digest(json, record->result.digest);
	}
	return rc;
}

static json_t *json_names(const struct run_result *r)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:s*,s:s*,s:s*,s:s*,s:I}", "schema", "weft.run/1", "mode", r->mode, "cc",
			 r->cc, "lb", r->lb, "cc_reason", r->cc_reason, "lb_reason", r->lb_reason, "route", r->route,
			 "warning", r->warning, "seed", (json_int_t)r->seed);
}

int result_write_json(const struct run_result *r, const char *path, struct weft_err *err)
{
	struct run_record record = {.result = *r};
	json_t *json = result_summarise(r, &record.summary) ? NULL : json_names(r);
	int rc = json ? put_metrics(json, &record) : -ENOMEM;
	if (!rc && r->origin)
		rc = result_add_origin(json, r->origin);
	rc = rc ? weft_err_set(err, -ENOMEM, "no memory for the result") : result_dump(json, path, err);
	json_decref(json);
	return rc;
}
