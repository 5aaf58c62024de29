/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/runs/NNNN is one run, complete or not there: it is written as runs/.NNNN and then renamed. DIR/kept/SETTINGS
 * holds results of settings the scenario does not have any more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "result_json.h"
#include "sweep_int.h"

int sweep_dir_of(const struct sweep *w, uint32_t id, bool unfinished, char path[FILE_PATH_MAX], struct weft_err *err)
{
	char name[32];
	snprintf(name, sizeof name, "runs/%s%04u", unfinished ? "." : "", id);
	return file_path(path, w->dir, name, err);
}

/* DIR/kept/SETTINGS for results with this identity. */
static int kept_path(const struct sweep *w, const char *identity, char path[FILE_PATH_MAX], struct weft_err *err)
{
	char name[SWEEP_IDENTITY_LEN + 8];
	const char *settings = strchr(identity, '-');
	snprintf(name, sizeof name, "kept/%.16s", settings ? settings + 1 : identity);
	return file_path(path, w->dir, name, err);
}

/* Whether two results are of the same settings, maybe by different builds. */
static bool same_settings(const char *a, const char *b)
{
	const char *x = strchr(a, '-'), *y = strchr(b, '-');
	return x && y && !strcmp(x, y);
}

static int move(const char *from, const char *to, struct weft_err *err)
{
	int rc = file_remove_tree(to, err);
	if (rc || !rename(from, to))
		return rc;
	return weft_err_set(err, -errno, "%s: %s", to, strerror(errno));
}

static bool read_record(const char *dir, struct run_record *rec)
{
	char path[FILE_PATH_MAX];
	return !file_path(path, dir, "run.json", NULL) && !result_read_json(path, rec, NULL);
}

bool sweep_dir_load(struct sweep *w, uint32_t id)
{
	struct sweep_run *r = &w->runs[id];
	char dir[FILE_PATH_MAX];
	if (sweep_dir_of(w, id, false, dir, NULL) || !read_record(dir, &r->record))
		return false;
	r->record.result.cc = r->record.cc;
	r->record.result.lb = r->record.lb;
	if (strcmp(r->record.identity, r->identity) != 0 &&
	    !(w->any_build && same_settings(r->record.identity, r->identity)))
		return false;
	r->known = true;
	r->status = r->record.error[0] ? SWEEP_FAILED : SWEEP_DONE;
	memcpy(r->error, r->record.error, sizeof r->error);
	return true;
}

/* Moves one earlier result out of the way when it is not what the scenario has in its place. */
static int keep_one(struct sweep *w, uint32_t id, struct weft_err *err)
{
	struct run_record rec;
	char dir[FILE_PATH_MAX], kept[FILE_PATH_MAX];
	int rc = sweep_dir_of(w, id, false, dir, err);
	if (rc || !read_record(dir, &rec) || (id < w->count && same_settings(rec.identity, w->runs[id].identity)))
		return rc;
	rc = file_path(kept, w->dir, "kept", err);
	if (!rc)
		rc = file_make_dir(kept, err);
	if (!rc)
		rc = kept_path(w, rec.identity, kept, err);
	return rc ? rc : move(dir, kept, err);
}

/* One entry of DIR/runs: a result, or what a run left that did not end. */
static int sort_entry(struct sweep *w, const char *runs, const char *name, struct weft_err *err)
{
	char *end, path[FILE_PATH_MAX];
	bool unfinished = name[0] == '.';
	unsigned long id = strtoul(name + unfinished, &end, 10);
	if (end == name + unfinished || *end || id > UINT32_MAX)
		return 0;
	if (!unfinished)
		return keep_one(w, (uint32_t)id, err);
	int rc = file_path(path, runs, name, err);
	return rc ? rc : file_remove_tree(path, err);
}

/* All there are, which may be more than the scenario has runs. */
static int sort_earlier(struct sweep *w, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_path(path, w->dir, "runs", err);
	DIR *dir = rc ? NULL : opendir(path);
	if (!dir)
		return rc ? rc : weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	struct dirent *entry;
	while (!rc && (entry = readdir(dir)))
		rc = sort_entry(w, path, entry->d_name, err);
	closedir(dir);
	return rc;
}

/* Takes back what fits a run, then marks it. */
static int find_result(struct sweep *w, uint32_t id, struct weft_err *err)
{
	char dir[FILE_PATH_MAX], kept[FILE_PATH_MAX];
	int rc = sweep_dir_of(w, id, false, dir, err);
	if (!rc)
		rc = kept_path(w, w->runs[id].identity, kept, err);
	if (!rc && access(dir, F_OK) && !access(kept, F_OK))
		rc = move(kept, dir, err);
	w->runs[id].before = !rc && sweep_dir_load(w, id);
	return rc;
}

static int discard_all(const struct sweep *w, struct weft_err *err)
{
	static const char *const names[] = {"runs", "kept", "sweep.json", "table.txt"};
	char path[FILE_PATH_MAX];
	int rc = 0;
	for (unsigned i = 0; i < sizeof names / sizeof *names && !rc; i++) {
		rc = file_path(path, w->dir, names[i], err);
		if (!rc)
			rc = file_remove_tree(path, err);
	}
	return rc;
}

static int take_lock(struct sweep *w, struct weft_err *err)
{
	w->lock = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->lock < 0)
		return weft_err_set(err, -errno, "%s: %s", w->dir, strerror(errno));
	if (flock(w->lock, LOCK_EX | LOCK_NB))
		return weft_err_set(err, -EBUSY, "%s: another sweep is writing there", w->dir);
	return 0;
}

/* Writes a file and takes it away again: nothing worse than to compute for an hour and not be able to say the result.
 */
static int try_writing(const struct sweep *w, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_path(path, w->dir, "runs/.try", err);
	FILE *f = rc ? NULL : file_create(path, err);
	if (!f)
		return rc ? rc : -EIO;
	fputs("weft\n", f);
	rc = file_finish(f, path, err);
	unlink(path);
	return rc;
}

int sweep_dir_open(struct sweep *w, bool fresh, struct weft_err *err)
{
	char runs[FILE_PATH_MAX];
	int rc = file_make_dir(w->dir, err);
	if (!rc)
		rc = take_lock(w, err);
	if (!rc && fresh)
		rc = discard_all(w, err);
	if (!rc)
		rc = file_path(runs, w->dir, "runs", err);
	if (!rc)
		rc = file_make_dir(runs, err);
	if (!rc)
		rc = try_writing(w, err);
	if (!rc)
		rc = sort_earlier(w, err);
	for (uint32_t i = 0; i < w->count && !rc; i++)
		rc = find_result(w, i, err);
	return rc;
}

void sweep_dir_close(struct sweep *w)
{
	if (w->lock >= 0)
		close(w->lock);
	w->lock = -1;
}

int sweep_dir_finish(const struct sweep *w, uint32_t id, struct weft_err *err)
{
	char from[FILE_PATH_MAX], to[FILE_PATH_MAX];
	int rc = sweep_dir_of(w, id, true, from, err);
	if (!rc)
		rc = sweep_dir_of(w, id, false, to, err);
	return rc ? rc : move(from, to, err);
}

void sweep_dir_discard(const struct sweep *w, uint32_t id)
{
	char path[FILE_PATH_MAX];
	if (!sweep_dir_of(w, id, true, path, NULL))
		file_remove_tree(path, NULL);
}

static json_t *json_axes(const struct scenario *s)
{
	json_t *axes = json_array();
	for (uint32_t i = 0; i < s->axis_count; i++) {
		json_t *values = json_array();
		for (uint32_t v = 0; v < s->axes[i].count; v++)
			json_array_append_new(values, result_value(s->axes[i].values[v]));
		json_array_append_new(axes, json_pack("{s:s,s:o}", "name", s->axes[i].name, "values", values));
	}
	return axes;
}

static json_t *json_cases(const struct scenario *s)
{
	json_t *cases = json_array();
	for (uint32_t i = 0; i < s->case_count && s->cases[i].name[0]; i++)
		json_array_append_new(cases, json_string(s->cases[i].name));
	return cases;
}

/* The seeds of the first combination are those of all. */
static json_t *json_seeds(const struct sweep *w)
{
	json_t *seeds = json_array();
	uint32_t n = w->scenario->seed_count ? w->scenario->seed_count : 1;
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(seeds, json_integer((json_int_t)w->runs[i].seed));
	return seeds;
}

static json_t *json_run(const struct sweep *w, uint32_t id)
{
	static const char *const words[] = {"waiting", "done", "failed"};
	const struct scenario *s = w->scenario;
	const struct sweep_run *r = &w->runs[id];
	char dir[32];
	json_t *values = json_object();
	for (uint32_t i = 0; i < s->axis_count; i++)
		json_object_set_new(values, s->axes[i].name, result_value(s->axes[i].values[r->pick.values[i]]));
	snprintf(dir, sizeof dir, "runs/%04u", id);
	return json_pack("{s:i,s:s,s:o,s:s,s:o,s:I,s:s,s:o}", "id", (int)id, "dir", dir, "label", result_text(r->label),
			 "case", s->cases[r->pick.case_index].name, "values", values, "seed", (json_int_t)r->seed,
			 "status", words[r->status], "error", result_text(r->error));
}

static json_t *json_sweep(const struct sweep *w)
{
	json_t *runs = json_array();
	for (uint32_t i = 0; i < w->count; i++)
		json_array_append_new(runs, json_run(w, i));
	return json_pack("{s:s,s:o,s:s,s:o,s:o,s:o,s:o}", "schema", "weft.sweep/1", "title",
			 result_text(w->scenario->title), "about", w->scenario->about, "axes", json_axes(w->scenario),
			 "cases", json_cases(w->scenario), "seeds", json_seeds(w), "runs", runs);
}

/* Puts a file that was written beside its place into it. */
static int settle(const struct sweep *w, const char *from, const char *name, struct weft_err *err)
{
	char to[FILE_PATH_MAX];
	int rc = file_path(to, w->dir, name, err);
	return rc ? rc : move(from, to, err);
}

/* table.txt: of the only run, or of all. */
static int write_table(const struct sweep *w, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_path(path, w->dir, ".table.txt", err);
	FILE *out = rc ? NULL : file_create(path, err);
	if (!out)
		return rc ? rc : -EIO;
	sweep_print_table(w, out);
	rc = file_finish(out, path, err);
	return rc ? rc : settle(w, path, "table.txt", err);
}

int sweep_dir_write(const struct sweep *w, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_path(path, w->dir, ".sweep.json", err);
	json_t *json = rc ? NULL : json_sweep(w);
	if (!json)
		return rc ? rc : weft_err_set(err, -ENOMEM, "no memory for the results");
	rc = result_dump(json, path, err);
	json_decref(json);
	if (!rc)
		rc = settle(w, path, "sweep.json", err);
	return rc ? rc : write_table(w, err);
}
