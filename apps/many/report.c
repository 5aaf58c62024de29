/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft report`: a page about runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "opt_table.h"
#include "report_data.h"
#include "report_html.h"
#include "report_runs.h"

struct wishes {
	const char *output, *title;
	char **paths;
	int path_count;
};

static const struct opt_desc report_options[] = {
	{"output", "FILE", "the page, also -o; default: report.html in the first directory, or beside the first file",
	 opt_string, offsetof(struct wishes, output)},
	{"title", "TEXT", "default: the scenario's title", opt_string, offsetof(struct wishes, title)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command report_command = {
	.name = "report",
	.args = " PATH...",
	.about = "Makes one HTML page, with tables and plots, of runs: directories that `weft sim` wrote (a sweep's or "
		 "one run's),\n"
		 "or files of --json; several are compared. Plots are drawn by gnuplot.",
	.table = report_options,
	.positional_min = 1,
	.positional_max = UINT32_MAX,
};

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static const json_t *first_run(const struct data *d)
{
	for (size_t i = 0; i < d->run_count; i++) {
		if (d->runs[i].json)
			return d->runs[i].json;
	}
	return NULL;
}

/* The wish, or what the results say, or something plain. */
static const char *title_of(const struct wishes *w, const struct data *d)
{
	const char *sweep = text_in(d->sweep, "title"), *run = text_in(first_run(d), "scenario");
	if (w->title)
		return w->title;
	return *sweep ? sweep : *run && d->inputs == 1 ? run : "Weft report";
}

static void put_value(FILE *f, const json_t *value)
{
	if (json_is_string(value))
		fputs(json_string_value(value), f);
	else
		json_dumpf(value, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

/* A list of JSON values as text: "1, 2, 3"; to be freed, NULL when empty. */
static char *list_of(const json_t *values)
{
	char *text = NULL;
	size_t len, i;
	json_t *value;
	FILE *f = json_array_size(values) ? open_memstream(&text, &len) : NULL;
	if (!f)
		return NULL;
	json_array_foreach(values, i, value)
	{
		fputs(i ? ", " : "", f);
		put_value(f, value);
	}
	fclose(f);
	return text;
}

static void tell_list(struct report *r, const char *term, const json_t *values)
{
	char *text = list_of(values);
	if (text)
		report_term(r, term, "%s", text);
	free(text);
}

/* An option that is the same in all runs that have results. */
static bool is_common(const struct data *d, const char *name, const json_t *value)
{
	for (size_t i = 0; i < d->run_count; i++) {
		const json_t *run = d->runs[i].json;
		if (run && !json_equal(json_object_get(json_object_get(run, "options"), name), value))
			return false;
	}
	return true;
}

/* As `weft sim` takes it: "name value", "set key=value", "fault spec". */
static void put_option(FILE *f, const char *name, json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;
	if (json_is_object(value)) {
		json_object_foreach(value, key, item)
		{
			fprintf(f, " --%s %s=", name, key);
			put_value(f, item);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, item)
			fprintf(f, " --fault '%s'", json_string_value(item) ? json_string_value(item) : "");
	} else {
		fprintf(f, " --%s", name);
		if (!json_is_true(value)) {
			fputc(' ', f);
			put_value(f, value);
		}
	}
}

/* What was run, as far as all runs have it in common. */
static void tell_options(struct report *r, const struct data *d)
{
	json_t *options = json_object_get(first_run(d), "options"), *value;
	const char *name;
	char *text = NULL;
	size_t len = 0;
	FILE *f = json_object_size(options) ? open_memstream(&text, &len) : NULL;
	if (!f)
		return;
	json_object_foreach(options, name, value)
	{
		if (is_common(d, name, value))
			put_option(f, name, value);
	}
	fclose(f);
	if (len)
		report_term(r, d->combo_count == 1 ? "options" : "common options", "%s", text + 1);
	free(text);
}

static void tell_origin(struct report *r, const struct wishes *w, const struct data *d)
{
	const json_t *run = first_run(d), *axis;
	size_t done = 0, i;
	for (i = 0; i < d->run_count; i++)
		done += d->runs[i].json != NULL;
	if (*text_in(d->sweep, "about"))
		report_text(r, "%s", text_in(d->sweep, "about"));
	for (int k = 0; k < w->path_count; k++)
		report_term(r, "results", "%s", w->paths[k]);
	report_term(r, "runs", done == d->run_count ? "%zu" : "%zu of %zu", done, d->run_count);
	tell_list(r, "cases", json_object_get(d->sweep, "cases"));
	json_array_foreach(json_object_get(d->sweep, "axes"), i, axis)
		tell_list(r, text_in(axis, "name"), json_object_get(axis, "values"));
	tell_list(r, "seeds", json_object_get(d->sweep, "seeds"));
	if (d->combo_count == 1)
		report_term(r, "algorithms", "%s + %s", text_in(run, "cc"), text_in(run, "lb"));
	tell_options(r, d);
	report_term(r, "clock", "%s", strcmp(text_in(run, "mode"), "sim") ? "real time" : "virtual time");
}

static int write_report(const struct wishes *w, const struct data *d, const char *path, struct weft_err *err)
{
	size_t size = 0;
	struct report *r = report_begin(title_of(w, d), err);
	if (!r)
		return -ENOMEM;
	tell_origin(r, w, d);
	int rc = report_runs(r, d, err);
	report_definitions(r);
	if (rc) {
		report_end(r, NULL, &size, NULL);
		return rc;
	}
	rc = report_end(r, path, &size, err);
	if (!rc && strcmp(path, "-") != 0)
		printf("%s: %zu KiB\n", path, (size + 1023) / 1024);
	return rc;
}

/* Where the page goes when nobody says; to be freed. */
static char *default_output(const char *first)
{
	const char *slash = strrchr(first, '/');
	char *path = NULL;
	if (data_is_directory(first))
		return data_path(first, "report.html");
	if (asprintf(&path, "%.*sreport.html", slash ? (int)(slash + 1 - first) : 0, first) < 0)
		return NULL;
	return path;
}

static int run(const struct wishes *w, struct weft_err *err)
{
	struct data d = {0};
	int rc = 0;
	for (int i = 0; i < w->path_count && !rc; i++)
		rc = data_add(&d, w->paths[i], err);
	if (!rc)
		rc = data_finish(&d, err);
	char *path = w->output ? strdup(w->output) : default_output(w->paths[0]);
	if (!rc)
		rc = path ? write_report(w, &d, path, err) : weft_err_set(err, -ENOMEM, "no memory for a path");
	free(path);
	data_free(&d);
	return rc;
}

int weft_cmd_report(int argc, char **argv)
{
	struct wishes w = {NULL};
	struct weft_err err = {""};
	uint32_t paths;
	int status;
	if (!opt_main(&report_command, &w, argc, argv, &paths, &status))
		return status;
	w.paths = argv + 1;
	w.path_count = (int)paths;
	if (!run(&w, &err))
		return 0;
	fprintf(stderr, "weft report: %s\n", err.msg);
	return 1;
}
