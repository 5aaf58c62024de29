/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft report`: a page about runs. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "report_compare.h"
#include "report_data.h"
#include "report_html.h"
#include "report_series.h"

/* Bounds of the plots over time, which grow with the runs. */
#define PLOTS      64
#define PAGE_BYTES (9 << 19) /* 4.5 MiB */

static const char usage[] = "usage: weft report PATH... [OPTION]...\n"
			    "Makes one HTML page, with tables and plots, of runs: directories that `weft sim` wrote (a "
			    "sweep's or one run's),\n"
			    "or files of --json; several are compared. Plots are drawn by gnuplot.\n"
			    "\n"
			    "  -o, --output FILE            the page; default: report.html in the first directory, or "
			    "beside the first file\n"
			    "  --title TEXT                 default: the scenario's title\n"
			    "  --help                       this text\n";

struct wishes {
	const char *output, *title;
	char **paths;
	int path_count;
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
		if (json_is_string(value))
			fputs(json_string_value(value), f);
		else
			json_dumpf(value, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
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
	report_term(r, "clock", "%s", strcmp(text_in(run, "mode"), "sim") ? "real time" : "virtual time");
}

/* One of a run's files by one of the functions that draw them. 1 when it was there. */
static int draw(struct report *r, const char *dir, const char *file,
		int (*series)(struct report *r, const char *path, struct weft_err *err), struct weft_err *err)
{
	char *path = data_path(dir, file);
	int rc = path ? series(r, path, err) : weft_err_set(err, -ENOMEM, "no memory for a path");
	free(path);
	return rc;
}

static bool has_plots(const char *dir)
{
	static const char *const files[] = {"ports.csv", "conns.csv", "links.csv"};
	bool any = false;
	struct stat st;
	for (unsigned i = 0; i < 3; i++) {
		char *path = dir ? data_path(dir, files[i]) : NULL;
		any |= path && !stat(path, &st);
		free(path);
	}
	return any;
}

static int draw_run(struct report *r, const struct data *d, const struct data_combo *c, struct weft_err *err)
{
	const struct data_run *run = &d->runs[c->first];
	char heading[256];
	snprintf(heading, sizeof heading, "Over time: %.200s, seed %lld", c->name, (long long)run->seed);
	report_section(r, heading);
	int rc = draw(r, run->dir, "ports.csv", series_ports, err);
	if (rc >= 0)
		rc = draw(r, run->dir, "conns.csv", series_conns, err);
	if (rc >= 0)
		rc = draw(r, run->dir, "links.csv", series_links, err);
	return rc < 0 ? rc : 0;
}

/* The first seed of each combination, as long as the page keeps within bounds. */
static int draw_runs(struct report *r, const struct data *d, struct weft_err *err)
{
	size_t left_out = 0;
	int rc = 0;
	for (size_t i = 0; i < d->combo_count && !rc; i++) {
		const struct data_combo *c = &d->combos[i];
		if (!c->done || !has_plots(d->runs[c->first].dir))
			continue;
		if (report_plots(r) >= PLOTS || report_size(r) >= PAGE_BYTES)
			left_out++;
		else
			rc = draw_run(r, d, c, err);
	}
	if (left_out)
		report_note(r, "%zu more combinations have time series; give their directories alone to see them.",
			    left_out);
	return rc;
}

static void define_terms(struct report *r)
{
	report_section(r, "Definitions");
	report_term(r, "FCT",
		    "flow completion time: from the submission at the sender to the acknowledgement of the last byte "
		    "there");
	report_term(r, "tail, mean, p99 FCT", "of all flows of a run: the slowest, the mean, the 99th percentile");
	report_term(r, "ideal",
		    "bytes with headers at the bottleneck's rate plus the idle path's latency, no queueing");
	report_term(r, "inflation",
		    "first submission to last acknowledgement, over the ideal; only of runs that completed");
	report_term(r, "slowdown", "a flow's FCT over its own ideal");
	report_term(r, "goodput", "payload of completed flows over that time, all hosts together");
	report_term(r, "Jain", "fairness of the flows' rates; 1 is equal");
	report_term(r, "±, error bars",
		    "half width of the 95 %% confidence interval of the mean over the seeds (Student's t)");
	report_term(r, "percentiles", "by nearest rank");
	report_term(r, "curves over time", "long series keep the lowest and the highest value of every stretch");
}

static int write_report(const struct wishes *w, const struct data *d, const char *path, struct weft_err *err)
{
	size_t size = 0;
	struct report *r = report_begin(title_of(w, d), err);
	if (!r)
		return -ENOMEM;
	tell_origin(r, w, d);
	compare_table(r, d);
	int rc = compare_fct(r, d, err);
	if (!rc)
		rc = compare_flows(r, d, err);
	if (!rc)
		rc = draw_runs(r, d, err);
	define_terms(r);
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

/* -1 to go on, or the exit code. */
static int parse(struct wishes *w, int argc, char **argv)
{
	static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
					      {"title", required_argument, NULL, 't'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	for (int c; (c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1;) {
		if (c == 'o') {
			w->output = optarg;
		} else if (c == 't') {
			w->title = optarg;
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	w->paths = argv + optind;
	w->path_count = argc - optind;
	if (w->path_count)
		return -1;
	fputs(usage, stderr);
	return 2;
}

int weft_cmd_report(int argc, char **argv)
{
	struct wishes w = {NULL};
	struct weft_err err = {""};
	int status = parse(&w, argc, argv);
	if (status >= 0)
		return status;
	if (!run(&w, &err))
		return 0;
	fprintf(stderr, "weft report: %s\n", err.msg);
	return 1;
}
