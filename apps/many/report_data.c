/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "file.h"

/* Where run.json has the metrics: object (NULL: the top) and key. */
static const struct {
	const char *object, *key;
} places[METRICS] = {
	[METRIC_TAIL] = {"fct_us", "max"},
	[METRIC_MEAN] = {"fct_us", "mean"},
	[METRIC_P99] = {"fct_us", "p99"},
	[METRIC_INFLATION] = {NULL, "inflation"},
	[METRIC_GOODPUT] = {NULL, "goodput_gbps"},
	[METRIC_JAIN] = {NULL, "jain"},
	[METRIC_RETRANSMITTED] = {"packets", "retransmitted"},
	[METRIC_TRIMMED] = {"packets", "trimmed"},
	[METRIC_DROPPED] = {"packets", "dropped"},
	[METRIC_MARKED] = {"packets", "marked"},
	[METRIC_TIMEOUTS] = {"packets", "timeouts"},
	[METRIC_FLOWS] = {"flows", "count"},
	[METRIC_COMPLETED] = {"flows", "completed"},
};

static int no_memory(struct weft_err *err)
{
	return weft_err_set(err, -ENOMEM, "no memory for the results");
}

char *data_path(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool holds(const char *dir, const char *name)
{
	struct stat st;
	char *path = data_path(dir, name);
	bool there = path && !stat(path, &st);
	free(path);
	return there;
}

bool data_is_directory(const char *path)
{
	return holds(path, "sweep.json") || holds(path, "run.json");
}

/* A JSON object of the given schema. */
static int load(const char *path, const char *schema, json_t **json, struct weft_err *err)
{
	size_t len;
	int code = 0;
	json_error_t why;
	char *text = file_read(path, &len, &code, err);
	if (!text)
		return code;
	*json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	free(text);
	if (!*json)
		return weft_err_set(err, -EINVAL, "%s:%d: %s", path, why.line, why.text);
	const char *found = json_string_value(json_object_get(*json, "schema"));
	if (found && !strcmp(found, schema))
		return 0;
	int rc = weft_err_set(err, -EINVAL, "%s:1: not a result: schema '%s' is wanted, '%.40s' found", path, schema,
			      found ? found : "none");
	json_decref(*json);
	*json = NULL;
	return rc;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static int read_metrics(struct data_run *run, const char *path, struct weft_err *err)
{
	for (unsigned i = 0; i < METRICS; i++) {
		const char *object = places[i].object;
		const json_t *in = object ? json_object_get(run->json, object) : run->json;
		const json_t *number = json_object_get(in, places[i].key);
		if (!json_is_number(number))
			return weft_err_set(err, -EINVAL, "%s: %s%s%s is not there or not a number", path,
					    object ? object : "", object ? "." : "", places[i].key);
		run->metrics[i] = json_number_value(number);
	}
	run->seed = json_integer_value(json_object_get(run->json, "seed"));
	return 0;
}

static struct data_run *new_run(struct data *d)
{
	if (!array_reserve(&d->runs, d->run_count, &d->run_room, sizeof *d->runs))
		return NULL;
	struct data_run *run = &d->runs[d->run_count++];
	*run = (struct data_run){.combo = (size_t)-1};
	return run;
}

/* What a run says of itself, or its sweep of it. */
struct identity {
	const char *key, *name, *source, *case_name;
	json_t *values; /* borrowed; may be NULL */
};

/* The combination the run belongs to, new or known. */
static int join(struct data *d, struct data_run *run, const struct identity *id, struct weft_err *err)
{
	for (run->combo = 0; run->combo < d->combo_count; run->combo++) {
		if (!strcmp(d->combos[run->combo].key, id->key))
			return 0;
	}
	if (!array_reserve(&d->combos, d->combo_count, &d->combo_room, sizeof *d->combos))
		return no_memory(err);
	struct data_combo *c = &d->combos[d->combo_count++];
	*c = (struct data_combo){.key = strdup(id->key),
				 .name = strdup(id->name),
				 .source = strdup(id->source),
				 .case_name = strdup(id->case_name),
				 .values = json_is_object(id->values) ? json_incref(id->values) : json_object(),
				 .first = (size_t)-1};
	return c->key && c->name && c->source && c->case_name && c->values ? 0 : no_memory(err);
}

/* "cc + lb", to be freed. */
static char *algorithms(const json_t *json)
{
	char *text = NULL;
	return asprintf(&text, "%s + %s", text_of(json, "cc"), text_of(json, "lb")) < 0 ? NULL : text;
}

/* True when the combination already has a run of this seed from elsewhere. */
static bool has_seed(const struct data *d, const char *key, json_int_t seed)
{
	for (size_t i = 0; i < d->run_count; i++) {
		const struct data_run *run = &d->runs[i];
		if (run->json && run->combo < d->combo_count && run->seed == seed &&
		    !strcmp(d->combos[run->combo].key, key))
			return true;
	}
	return false;
}

/* Runs given one by one belong together when scenario and label are the same and the seed is another. */
static int join_single(struct data *d, struct data_run *run, const char *path, struct weft_err *err)
{
	const char *label = text_of(run->json, "label");
	char *key = NULL, *plain = algorithms(run->json);
	int rc = -ENOMEM;
	if (plain && asprintf(&key, "run\n%s\n%s\n%s", text_of(run->json, "scenario"), label, plain) >= 0) {
		struct identity id = {.key = !*label || has_seed(d, key, run->seed) ? path : key,
				      .name = *label ? label : plain,
				      .source = path,
				      .case_name = text_of(run->json, "case"),
				      .values = json_object_get(run->json, "values")};
		rc = join(d, run, &id, err);
	} else {
		key = NULL;
		no_memory(err);
	}
	free(key);
	free(plain);
	return rc;
}

/* `dir`: NULL for a bare file. */
static int add_single(struct data *d, const char *path, const char *dir, struct weft_err *err)
{
	struct data_run *run = new_run(d);
	if (!run)
		return no_memory(err);
	run->status = strdup("done");
	run->error = strdup("");
	run->dir = dir ? strdup(dir) : NULL;
	if (!run->status || !run->error || (dir && !run->dir))
		return no_memory(err);
	int rc = load(path, "weft.run/1", &run->json, err);
	if (!rc)
		rc = read_metrics(run, path, err);
	return rc ? rc : join_single(d, run, dir ? dir : path, err);
}

static int load_done(struct data_run *run, struct weft_err *err)
{
	char *path = data_path(run->dir, "run.json");
	int rc = path ? load(path, "weft.run/1", &run->json, err) : no_memory(err);
	if (!rc)
		rc = read_metrics(run, path, err);
	free(path);
	return rc;
}

/* One entry of a sweep's runs. */
static int add_listed(struct data *d, const char *sweep, const json_t *entry, struct weft_err *err)
{
	struct data_run *run = new_run(d);
	char *key = NULL, *plain = NULL;
	if (!run || !(run->dir = data_path(sweep, text_of(entry, "dir"))) ||
	    !(run->status = strdup(text_of(entry, "status"))) || !(run->error = strdup(text_of(entry, "error"))))
		return no_memory(err);
	int rc = strcmp(run->status, "done") ? 0 : load_done(run, err);
	if (rc)
		return rc;
	run->seed = json_integer_value(json_object_get(entry, "seed"));
	const char *label = text_of(entry, "label");
	plain = run->json ? algorithms(run->json) : strdup("run");
	if (!plain || asprintf(&key, "sweep\n%zu\n%s", d->inputs, label) < 0) {
		free(plain);
		return no_memory(err);
	}
	struct identity id = {key, *label ? label : plain, sweep, text_of(entry, "case"),
			      json_object_get(entry, "values")};
	rc = join(d, run, &id, err);
	free(key);
	free(plain);
	return rc;
}

static int add_sweep(struct data *d, const char *dir, struct weft_err *err)
{
	json_t *sweep = NULL, *entry;
	size_t i;
	char *path = data_path(dir, "sweep.json");
	int rc = path ? load(path, "weft.sweep/1", &sweep, err) : no_memory(err);
	if (!rc && !json_is_array(json_object_get(sweep, "runs")))
		rc = weft_err_set(err, -EINVAL, "%s: runs is not there or not a list", path);
	free(path);
	json_array_foreach(json_object_get(sweep, "runs"), i, entry)
	{
		if (rc)
			break;
		rc = add_listed(d, dir, entry, err);
	}
	if (!rc && !d->inputs)
		d->sweep = json_incref(sweep);
	json_decref(sweep);
	return rc;
}

int data_add(struct data *d, const char *path, struct weft_err *err)
{
	struct stat st;
	int rc;
	if (stat(path, &st))
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (d->inputs && d->sweep) {
		json_decref(d->sweep);
		d->sweep = NULL;
	}
	if (!S_ISDIR(st.st_mode)) {
		rc = add_single(d, path, NULL, err);
	} else if (holds(path, "sweep.json")) {
		rc = add_sweep(d, path, err);
	} else if (holds(path, "run.json")) {
		char *file = data_path(path, "run.json");
		rc = file ? add_single(d, file, path, err) : no_memory(err);
		free(file);
	} else {
		rc = weft_err_set(err, -ENOENT, "%s: no results here: neither sweep.json nor run.json", path);
	}
	d->inputs++;
	return rc;
}

/* Names that more than one combination has get their source in front. */
static int tell_apart(struct data *d, struct weft_err *err)
{
	bool *twice = calloc(d->combo_count + 1, sizeof *twice);
	int rc = twice ? 0 : no_memory(err);
	for (size_t i = 0; twice && i < d->combo_count; i++) {
		for (size_t j = 0; j < d->combo_count; j++)
			twice[i] |= i != j && !strcmp(d->combos[i].name, d->combos[j].name);
	}
	for (size_t i = 0; twice && i < d->combo_count; i++) {
		char *name = NULL;
		if (!twice[i])
			continue;
		if (asprintf(&name, "%s: %s", d->combos[i].source, d->combos[i].name) < 0) {
			rc = no_memory(err);
			break;
		}
		free(d->combos[i].name);
		d->combos[i].name = name;
	}
	free(twice);
	return rc;
}

int data_finish(struct data *d, struct weft_err *err)
{
	size_t done = 0;
	for (size_t i = 0; i < d->run_count; i++) {
		const struct data_run *run = &d->runs[i];
		struct data_combo *c = &d->combos[run->combo];
		if (!run->json)
			continue;
		if (!c->done++)
			c->first = i;
		done++;
	}
	if (!done)
		return weft_err_set(err, -ENOENT, "no run has results yet");
	return tell_apart(d, err);
}

void data_free(struct data *d)
{
	for (size_t i = 0; i < d->run_count; i++) {
		free(d->runs[i].dir);
		free(d->runs[i].status);
		free(d->runs[i].error);
		json_decref(d->runs[i].json);
	}
	for (size_t i = 0; i < d->combo_count; i++) {
		free(d->combos[i].key);
		free(d->combos[i].name);
		free(d->combos[i].source);
		free(d->combos[i].case_name);
		json_decref(d->combos[i].values);
	}
	free(d->runs);
	free(d->combos);
	json_decref(d->sweep);
	*d = (struct data){0};
}

struct stat_mean data_mean(const struct data *d, size_t combo, enum run_metric metric)
{
	double *x = calloc(d->run_count + 1, sizeof *x);
	size_t n = 0;
	for (size_t i = 0; x && i < d->run_count; i++) {
		bool known = metric != METRIC_INFLATION || d->runs[i].metrics[metric] > 0;
		if (d->runs[i].combo == combo && d->runs[i].json && known)
			x[n++] = d->runs[i].metrics[metric];
	}
	struct stat_mean m = stat_mean(x, n);
	free(x);
	return m;
}
