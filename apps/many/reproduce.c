/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft reproduce`: a publication's figures as scenarios, their claims judged by the results. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "claim.h"
#include "cmd.h"
#include "file.h"
#include "opt_table.h"
#include "reproduce.h"

struct wishes {
	const char *paper, *only, *out;
	struct sweep_conf conf;
	bool list, measures;
};

static const struct opt_desc reproduce_options[] = {
	{"only", "NAME[,NAME]...", "these figures; a name is that of the file without .yaml, or its beginning",
	 opt_string, offsetof(struct wishes, only)},
	{"out", "DIR", "results; default: weft-out/reproduce/PAPER", opt_string, offsetof(struct wishes, out)},
	{"jobs", "N", "runs at the same time; default: one per core", opt_u32, offsetof(struct wishes, conf.jobs)},
	{"fresh", NULL, "discard earlier results", opt_flag, offsetof(struct wishes, conf.fresh)},
	{"any-build", NULL, "use earlier results of other builds, too", opt_flag,
	 offsetof(struct wishes, conf.any_build)},
	{"list", NULL, "tell the figures and their claims, run nothing", opt_flag, offsetof(struct wishes, list)},
	{"measures", NULL, "tell what a claim can be about", opt_flag, offsetof(struct wishes, measures)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command reproduce_command = {
	.name = "reproduce",
	.args = " PAPER|DIRECTORY",
	.about = "Runs the scenarios of a publication's figures (configs/papers/PAPER, or any directory of scenario "
		 "files with\n"
		 "claims), judges each claim by the results and makes a page with the figures redrawn. Goes on where "
		 "it was\n"
		 "stopped.",
	.table = reproduce_options,
	.positional_max = 1,
};

/* The directory of a paper's scenarios: as given, below the working directory, beside the program that was built or
 * installed, wherever it was moved, or where it was meant to be installed. */
static int find_dir(const char *paper, char dir[FILE_PATH_MAX], struct weft_err *err)
{
	char exe[FILE_PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[len > 0 ? len : 0] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	const char *const formats[] = {"%.0s%s", "%.0sconfigs/papers/%s", "%s/../configs/papers/%s",
				       "%s/../" WEFT_DATA_FROM_BIN "/configs/papers/%s",
				       "%.0s" WEFT_DATA "/configs/papers/%s"};
	for (unsigned i = strchr(paper, '/') ? 0 : 1; i < sizeof formats / sizeof *formats; i++) {
		struct stat st;
		snprintf(dir, FILE_PATH_MAX, formats[i], exe, paper);
		if (!stat(dir, &st) && S_ISDIR(st.st_mode))
			return 0;
	}
	return weft_err_set(err, -ENOENT, "no scenarios for '%.200s' (configs/papers/%.200s is no directory)", paper,
			    paper);
}

static int is_scenario(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return dot && dot > entry->d_name && !strcmp(dot, ".yaml");
}

/* Whether one of the comma-separated names begins `file`. */
static bool is_wanted(const char *only, const char *file)
{
	while (only && *only) {
		size_t len = strcspn(only, ",");
		if (len && !strncmp(file, only, len))
			return true;
		only += len + (only[len] == ',');
	}
	return !only;
}

static int load_figure(struct figure *f, const char *dir, const char *file, const char *out, struct weft_err *err)
{
	char path[FILE_PATH_MAX], results[FILE_PATH_MAX];
	int rc = file_path(path, dir, file, err);
	snprintf(f->name, sizeof f->name, "%.*s", (int)(strlen(file) - strlen(".yaml")), file);
	if (!rc)
		rc = file_path(results, out, f->name, err);
	if (rc)
		return rc;
	rc = scenario_load(&f->scenario, path, err);
	if (!rc)
		f->scenario.out = scenario_keep(&f->scenario, results);
	if (!rc && !f->scenario.out)
		rc = weft_err_set(err, -ENOMEM, "no memory");
	if (!rc)
		rc = claims_load(&f->claims, &f->scenario, err);
	return rc ? rc : sweep_plan(&f->sweep, &f->scenario, err);
}

/* Takes those of `n` entries that are wanted. */
static int load_entries(struct reproduction *p, const char *dir, struct dirent **entries, int n, const char *only,
			struct weft_err *err)
{
	p->figures = calloc((size_t)n + 1, sizeof *p->figures);
	if (!p->figures)
		return weft_err_set(err, -ENOMEM, "no memory");
	for (int i = 0; i < n; i++) {
		if (!is_wanted(only, entries[i]->d_name))
			continue;
		struct figure *f = &p->figures[p->count++];
		f->sweep.lock = -1;
		int rc = load_figure(f, dir, entries[i]->d_name, p->out, err);
		if (rc)
			return rc;
	}
	return p->count ? 0
			: weft_err_set(err, -ENOENT, "%s: no scenario%s%s", dir, only ? " begins with " : "",
				       only ? only : "");
}

static int load_figures(struct reproduction *p, const char *dir, const struct wishes *w, struct weft_err *err)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_scenario, alphasort);
	if (n < 0)
		return weft_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int rc = load_entries(p, dir, entries, n, w->only, err);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return rc;
}

static void free_figures(struct reproduction *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		struct figure *f = &p->figures[i];
		free(f->verdicts);
		claims_free(&f->claims);
		sweep_free(&f->sweep);
		scenario_free(&f->scenario);
	}
	free(p->figures);
}

static int judge(struct figure *f, struct weft_err *err)
{
	int rc = 0;
	f->verdicts = calloc(f->claims.count + 1, sizeof *f->verdicts);
	if (!f->verdicts)
		return weft_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < f->claims.count && !rc; i++)
		rc = claim_judge(&f->claims.all[i], &f->sweep, &f->verdicts[i], err);
	return rc;
}

static int run_figures(struct reproduction *p, const struct wishes *w, struct weft_err *err)
{
	for (uint32_t i = 0; i < p->count; i++) {
		struct figure *f = &p->figures[i];
		fprintf(stderr, "[%u of %u] %s: %s\n", i + 1, p->count, f->name, f->scenario.title);
		int rc = sweep_run(&f->sweep, &w->conf, err);
		if (!rc)
			rc = reproduce_real(f, w->conf.fresh, err);
		if (!rc)
			rc = judge(f, err);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *verdict_word(const struct claim *c, const struct claim_verdict *v)
{
	if (!v->known)
		return "?";
	return !claim_judges(c) ? "told" : v->holds ? "holds" : "BREAKS";
}

static void print_claim(FILE *out, const struct claim *c, const struct claim_verdict *v)
{
	char bound[64], verdict[64];
	reproduce_bound(c, bound, sizeof bound);
	snprintf(verdict, sizeof verdict, "%s%s%s", verdict_word(c, v), reproduce_doubt(v), v->unsure ? ":" : "");
	fprintf(out, "  %-7s %s\n", verdict, c->text);
	fprintf(out, claim_judges(c) ? "          ours %s, must be %s" : "          ours %s", v->ours, bound);
	fprintf(out, *c->paper ? "; paper: %s\n" : "%s\n", c->paper);
	if (!v->holds && *c->note)
		fprintf(out, "          %s: %s\n", claim_judges(c) ? "why" : "note", c->note);
}

static void print_verdicts(const struct reproduction *p, FILE *out)
{
	uint32_t held = 0, all = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct figure *f = &p->figures[i];
		fprintf(out, "%s: %s\n", f->name, f->scenario.title);
		for (uint32_t k = 0; k < f->claims.count; k++) {
			print_claim(out, &f->claims.all[k], &f->verdicts[k]);
			held += f->verdicts[k].holds;
			all += claim_judges(&f->claims.all[k]);
		}
	}
	fprintf(out, "%u of %u claims hold\n", held, all);
}

static int write_verdicts(const struct reproduction *p, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_path(path, p->out, "claims.txt", err);
	FILE *f = rc ? NULL : file_create(path, err);
	if (!f)
		return rc ? rc : -EIO;
	print_verdicts(p, f);
	return file_finish(f, path, err);
}

static int conclude(const struct reproduction *p, struct weft_err *err)
{
	int rc = write_verdicts(p, err);
	print_verdicts(p, stdout);
	return rc ? rc : reproduce_page(p, err);
}

static void list(const struct reproduction *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct figure *f = &p->figures[i];
		printf("%s: %s (%u runs)\n", f->name, f->scenario.title, f->sweep.count);
		for (uint32_t k = 0; k < f->claims.count; k++)
			printf("  %s\n", f->claims.all[k].text);
	}
}

static int reproduce(const struct wishes *w, struct weft_err *err)
{
	char dir[FILE_PATH_MAX], out[FILE_PATH_MAX];
	const char *slash = strrchr(w->paper, '/');
	struct reproduction p = {.paper = slash && slash[1] ? slash + 1 : w->paper, .out = out};
	snprintf(out, sizeof out, w->out ? "%s" : "weft-out/reproduce/%s", w->out ? w->out : p.paper);
	int rc = find_dir(w->paper, dir, err);
	if (!rc)
		rc = load_figures(&p, dir, w, err);
	if (!rc && w->list)
		list(&p);
	else if (!rc)
		rc = run_figures(&p, w, err);
	if (!rc && !w->list)
		rc = conclude(&p, err);
	free_figures(&p);
	return rc;
}

int weft_cmd_reproduce(int argc, char **argv)
{
	struct wishes w = {0};
	struct weft_err err = {""};
	uint32_t papers;
	int status;
	if (!opt_main(&reproduce_command, &w, argc, argv, &papers, &status))
		return status;
	if (w.measures) {
		measure_print_all(stdout);
		return 0;
	}
	if (!papers) {
		fputs("weft reproduce: which paper? (see --help)\n", stderr);
		return 2;
	}
	w.paper = argv[1];
	int rc = reproduce(&w, &err);
	if (rc)
		fprintf(stderr, "weft reproduce: %s\n", err.msg);
	return rc == -EINTR ? 130 : rc ? 1 : 0;
}
