/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "file.h"

/* The file being read, and where its options go. */
struct reader {
	struct yamldoc y;
	struct options *o;
};

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

/* Adds one part of a value: where it is a file that is only found beside the scenario, the path from here. */
static void add_part(const struct reader *r, const char *part, size_t len, char path[FILE_PATH_MAX])
{
	const char *slash = strrchr(r->y.path, '/');
	char beside[FILE_PATH_MAX], *end = path + strlen(path);
	size_t room = (size_t)(path + FILE_PATH_MAX - end);
	snprintf(end, room, "%.*s", (int)len, part);
	if (!slash || *part == '/' || !strpbrk(end, "./") || !access(end, F_OK))
		return;
	snprintf(beside, sizeof beside, "%.*s/%.*s", (int)(slash - r->y.path), r->y.path, (int)len, part);
	if (!access(beside, F_OK))
		snprintf(end, room, "%s", beside);
}

/* The value of an option that may name files, each from the working directory or else from the scenario's. */
static void locate(const struct reader *r, const char *value, char path[FILE_PATH_MAX])
{
	path[0] = '\0';
	for (const char *p = value;;) {
		size_t len = strcspn(p, ":"), used;
		add_part(r, p, len, path);
		used = strlen(path);
		if (!p[len] || used + 1 >= FILE_PATH_MAX)
			return;
		memcpy(path + used, ":", 2);
		p += len + 1;
	}
}

static int put(void *arg, const char *name, const char *value, const yaml_node_t *at)
{
	static const char *const of_command_line[] = {"out", "json", "help", "help-params", NULL};
	struct reader *r = arg;
	struct weft_err why = {""};
	char path[FILE_PATH_MAX], where[FILE_PATH_MAX];
	const struct opt_desc *d = options_find(name);
	if (!d)
		return yamldoc_refuse(&r->y, at, name, "unknown key");
	if (is_one_of(name, of_command_line))
		return yamldoc_refuse(&r->y, at, name, "is for the command line only");
	if (!strcmp(name, "plugin") || (d->arg && !strncmp(d->arg, "FILE|", 5))) {
		locate(r, value, path);
		value = path;
	}
	const char *kept = options_keep(r->o, value);
	snprintf(where, sizeof where, "%s:%u", r->y.path, yamldoc_line(at));
	r->o->where = where;
	int rc = kept ? options_set(r->o, NULL, NULL, name, kept, &why) : weft_err_set(&why, -ENOMEM, "no memory");
	r->o->where = NULL;
	return rc ? yamldoc_refuse(&r->y, at, NULL, "%s", why.msg) : 0;
}

static int read_output(void *arg, const char *name, const yaml_node_t *value)
{
	struct reader *r = arg;
	const char *dir;
	if (!strcmp(name, "series"))
		return config_pair(&r->y, name, value, put, r);
	if (strcmp(name, "dir") != 0)
		return yamldoc_refuse(&r->y, value, name, "unknown key; outputs has dir and series");
	int rc = yamldoc_scalar(&r->y, value, name, &dir);
	if (!rc && !(r->o->files.dir = options_keep(r->o, dir)))
		rc = weft_err_set(r->y.err, -ENOMEM, "no memory");
	return rc;
}

static int read_pair(void *arg, const char *name, const yaml_node_t *value)
{
	static const char *const texts[] = {"title", "about", NULL}, *const of_weftlab[] = {"claims", "bench", "figure",
											    NULL};
	struct reader *r = arg;
	const char *text;
	if (is_one_of(name, texts))
		return yamldoc_scalar(&r->y, value, name, &text);
	if (is_one_of(name, of_weftlab))
		return 0;
	if (!strcmp(name, "outputs"))
		return yamldoc_pairs(&r->y, value, name, read_output, r);
	return config_pair(&r->y, name, value, put, r);
}

static int find_many(void *arg, const char *name, const yaml_node_t *value)
{
	static const char *const keys[] = {"cases", "sweep", "seeds", NULL};
	(void)value;
	*(bool *)arg |= is_one_of(name, keys);
	return 0;
}

/* Opens the document, which is not empty. */
static int open_document(struct yamldoc *y, const char *path, struct weft_err *err)
{
	int rc = yamldoc_open(y, path, err);
	if (rc || y->root)
		return rc;
	yamldoc_close(y);
	return weft_err_set(err, -EINVAL, "%s: empty; a scenario says at least one option", path);
}

int sim_file_is_many(const char *path, bool *many, struct weft_err *err)
{
	struct yamldoc y;
	*many = false;
	int rc = open_document(&y, path, err);
	if (rc)
		return rc;
	rc = yamldoc_pairs(&y, y.root, NULL, find_many, many);
	yamldoc_close(&y);
	return rc;
}

static int add_given(struct options *o, const struct options *given, struct weft_err *err)
{
	int rc = 0;
	for (uint32_t i = 0; i < given->given_count && !rc; i++)
		rc = options_set(o, NULL, NULL, given->given[i].name, given->given[i].value, err);
	return rc;
}

/* DIR/NAME as far as nothing else was said: the directory of the results, and the capture in it. */
static int set_places(struct options *o, const char *path, struct weft_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	char text[FILE_PATH_MAX];
	snprintf(text, sizeof text, "weft-out/%.*s", (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name)),
		 name);
	o->files.dir = o->files.dir ? o->files.dir : options_keep(o, text);
	if (o->files.dir && o->files.pcap) {
		slash = strrchr(o->files.pcap, '/');
		int rc = file_path(text, o->files.dir, slash ? slash + 1 : o->files.pcap, err);
		if (rc)
			return rc;
		o->files.pcap = options_keep(o, text);
		if (!o->files.pcap)
			return weft_err_set(err, -ENOMEM, "no memory");
	}
	return o->files.dir ? 0 : weft_err_set(err, -ENOMEM, "no memory");
}

/* Line of the file's own `key`; 0: it is not there. */
struct search {
	const char *key;
	uint32_t line;
};

/* Faults may stand in a list. */
static bool says(const char *name, const char *key)
{
	return !strcmp(name, key) || (!strcmp(name, "faults") && !strcmp(key, "fault"));
}

static int find_line(void *arg, const char *name, const yaml_node_t *value)
{
	struct search *s = arg;
	if (says(name, s->key))
		s->line = yamldoc_line(value);
	return 0;
}

/* Says where the option stands that could not be resolved. Parameters carry their place. */
static int refuse(const struct reader *r, const struct options *given, int rc, struct weft_err *err)
{
	struct search s = {.key = r->o->step};
	char reason[sizeof err->msg];
	if (!s.key || !strcmp(s.key, "set"))
		return rc;
	memcpy(reason, err->msg, sizeof reason);
	for (uint32_t i = 0; i < given->given_count; i++) {
		if (!strcmp(given->given[i].name, s.key))
			return weft_err_set(err, rc, "command line: %s: %.200s", s.key, reason);
	}
	struct yamldoc y = r->y;
	yamldoc_pairs(&y, y.root, NULL, find_line, &s);
	if (!s.line)
		return weft_err_set(err, rc, "%.100s: %s: %.200s", y.path, s.key, reason);
	return weft_err_set(err, rc, "%.100s:%u: %s: %.200s", y.path, s.line, s.key, reason);
}

int sim_file_read(struct options *o, const char *path, const struct options *given, struct weft_err *err)
{
	struct reader r = {.o = o};
	options_begin(o);
	int rc = open_document(&r.y, path, err);
	if (rc)
		return rc;
	rc = yamldoc_pairs(&r.y, r.y.root, NULL, read_pair, &r);
	if (!rc)
		rc = add_given(o, given, err);
	if (!rc)
		rc = set_places(o, path, err);
	if (!rc) {
		rc = options_resolve(o, err);
		rc = rc ? refuse(&r, given, rc, err) : 0;
	}
	yamldoc_close(&r.y);
	return rc;
}
