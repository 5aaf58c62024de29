/* SPDX-License-Identifier: BSD-3-Clause */
/* A run back from its JSON. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "metric.h"
#include "result_int.h"

enum { PATH_MAX_CHARS = 64 };

/* The value at a path of names; NULL: it is not there. */
static const json_t *json_at(const json_t *json, const char *path)
{
	char name[PATH_MAX_CHARS];
	for (size_t len; json && *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		assert(len < sizeof name);
		memcpy(name, path, len);
		name[len] = '\0';
		json = json_object_get(json, name);
	}
	return json;
}

/* Reads every metric that the JSON has; the others stay 0. */
static void read_metrics(const json_t *json, struct run_record *rec)
{
	const struct metric *m;
	for (uint32_t i = 0; (m = metric_at(i)) != NULL; i++) {
		const json_t *value = m->json ? json_at(json, m->json) : NULL;
		if (value)
			metric_set(m, rec, (uint64_t)json_integer_value(value), json_number_value(value));
	}
}

static void copy(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	snprintf(to, size, "%s", text ? text : "");
}

static void read_names(const json_t *json, struct run_record *rec)
{
	copy(rec->cc, sizeof rec->cc, json, "cc");
	copy(rec->lb, sizeof rec->lb, json, "lb");
	copy(rec->identity, sizeof rec->identity, json, "identity");
	copy(rec->error, sizeof rec->error, json, "error");
	rec->result.mode = "sim";
	rec->result.cc = rec->cc;
	rec->result.lb = rec->lb;
	rec->result.seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
}

/* Fills in what JSON has in another form, and what follows from other numbers. */
static void read_rest(const json_t *json, struct run_record *rec)
{
	const char *digest = json_string_value(json_at(json, "run.digest"));
	rec->result.digest = digest ? strtoull(digest, NULL, 16) : 0;
	rec->result.fabric = json_is_object(json_object_get(json, "hops"));
	rec->result.order.known = json_is_object(json_object_get(json, "reordering"));
	rec->result.ideal = (weft_ps)(rec->summary.ideal_us * 1e6);
	rec->summary.makespan_us = rec->summary.inflation * rec->summary.ideal_us;
	rec->summary.failed = rec->result.flow_count - rec->summary.verified;
}

int result_read_json(const char *path, struct run_record *rec, struct weft_err *err)
{
	size_t len;
	int rc = 0;
	json_error_t why;
	char *text = file_read(path, &len, &rc, err);
	if (!text)
		return rc;
	json_t *json = json_loadb(text, len, 0, &why);
	free(text);
	const char *schema = json_string_value(json_object_get(json, "schema"));
	if (!schema || strcmp(schema, "weft.run/1") != 0) {
		json_decref(json);
		return weft_err_set(err, -EINVAL, "%s: not a run's result (schema weft.run/1)", path);
	}
	*rec = (struct run_record){.cc = ""};
	read_names(json, rec);
	read_metrics(json, rec);
	read_rest(json, rec);
	json_decref(json);
	return 0;
}
