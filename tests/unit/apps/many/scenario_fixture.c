/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int scenario_setup(void **state)
{
	struct scenario_fixture *f = calloc(1, sizeof *f);
	*state = f;
	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/weft-sweep-XXXXXX");
	f->w.lock = -1;
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/case.yaml", f->dir);
	snprintf(f->out, sizeof f->out, "%s/out", f->dir);
	return 0;
}

int scenario_teardown(void **state)
{
	struct scenario_fixture *f = *state;
	sweep_free(&f->w);
	scenario_free(&f->s);
	int rc = file_remove_tree(f->dir, NULL);
	free(f);
	return rc;
}

void scenario_write(struct scenario_fixture *f, const char *name, const char *text)
{
	char path[FILE_PATH_MAX];
	assert_int_equal(file_path(path, f->dir, name, NULL), 0);
	FILE *out = file_create(path, NULL);
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(file_finish(out, path, NULL), 0);
}

int scenario_try(struct scenario_fixture *f, const char *text)
{
	sweep_free(&f->w);
	scenario_free(&f->s);
	scenario_write(f, "case.yaml", text);
	f->err.msg[0] = '\0';
	int rc = scenario_load(&f->s, f->path, &f->err);
	if (!rc)
		f->s.out = f->out;
	return rc;
}

void scenario_plan(struct scenario_fixture *f, const char *text)
{
	int rc = scenario_try(f, text);
	if (!rc)
		rc = sweep_plan(&f->w, &f->s, &f->err);
	if (rc)
		fail_msg("%s", f->err.msg);
}

void scenario_refused(struct scenario_fixture *f, const char *text, unsigned line, const char *word)
{
	char where[80];
	snprintf(where, sizeof where, "%s:%u: ", f->path, line);
	int rc = scenario_try(f, text);
	if (!rc)
		rc = sweep_plan(&f->w, &f->s, &f->err);
	assert_true(rc < 0);
	if (!strstr(f->err.msg, where) || !strstr(f->err.msg, word))
		fail_msg("'%s' does not say '%s' and '%s'", f->err.msg, where, word);
}

void scenario_file_says(const char *dir, const char *name, const char *word)
{
	char path[FILE_PATH_MAX];
	size_t len;
	int rc = 0;
	assert_int_equal(file_path(path, dir, name, NULL), 0);
	char *text = file_read(path, &len, &rc, NULL);
	assert_non_null(text);
	if (!strstr(text, word))
		fail_msg("%s does not say '%s'", path, word);
	free(text);
}
