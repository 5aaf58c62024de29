/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of a figure in real time, beside what they were in the lab: DIR/real/NNNN has the run.json of `weft bench
 * --local` and what it said. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "reproduce.h"

enum { ARGS_MAX = 256 };

/* The command line of one run; texts without an owner elsewhere are freed with it. */
struct command {
	char *args[ARGS_MAX + 1];
	uint32_t count;
};

static int add(struct command *c, const char *fmt, const char *text, struct weft_err *err)
{
	if (c->count < ARGS_MAX && asprintf(&c->args[c->count], fmt, text) >= 0) {
		c->args[++c->count] = NULL;
		return 0;
	}
	c->args[c->count] = NULL;
	return weft_err_set(err, -ENOMEM, "no room for a command line");
}

static void clear(struct command *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		free(c->args[i]);
	c->count = 0;
}

/* What only the lab has, and the rate, for real links have one of their own. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {"series", "series-ports", "pcap", "pcap-port", "end", "link-gbps"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static int add_item(struct command *c, const struct scenario *s, const struct scenario_item *item, struct weft_err *err)
{
	char text[SCENARIO_PATH_MAX];
	const struct opt_desc *d = options_find(item->name);
	int rc = add(c, "--%s", item->name, err);
	return rc || (d && !d->arg) ? rc : add(c, "%s", scenario_locate(s, item, text), err);
}

static int add_list(struct command *c, const struct scenario *s, const struct scenario_list *list, bool lab,
		    struct weft_err *err)
{
	int rc = 0;
	for (uint32_t i = 0; i < list->count && !rc; i++) {
		if (!lab || !is_left_out(list->items[i].name))
			rc = add_item(c, s, &list->items[i], err);
	}
	return rc;
}

static int compose(struct command *c, const struct figure *f, uint32_t id, const char *json, struct weft_err *err)
{
	struct scenario_list list = {0};
	int rc = add(c, "%s", "weft", err);
	if (!rc)
		rc = add(c, "%s", "bench", err);
	if (!rc)
		rc = add(c, "%s", "--local", err);
	if (!rc)
		rc = scenario_combine(&f->scenario, &f->sweep.runs[id].pick, &list, err);
	if (!rc)
		rc = add_list(c, &f->scenario, &list, true, err);
	if (!rc)
		rc = add_list(c, &f->scenario, &f->claims.bench.options, false, err);
	if (!rc)
		rc = add(c, "--json=%s", json, err);
	free(list.items);
	return rc;
}

/* Build and settings of the run, then the command line: same text, same run. To be freed. */
static char *identify(const struct figure *f, uint32_t id, const struct command *c)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	fprintf(out, "%s\n", f->sweep.runs[id].identity);
	for (uint32_t i = 0; i < c->count; i++)
		fprintf(out, "%s%s", c->args[i], i + 1 < c->count ? " " : "\n");
	fclose(out);
	return text;
}

static bool is_there(const char *json, const char *command, const char *identity, bool any_build)
{
	size_t len;
	int rc = 0;
	char *before = access(json, R_OK) ? NULL : file_read(command, &len, &rc, NULL);
	size_t skip = any_build ? SWEEP_BUILD_LEN : 0;
	bool same = before && identity && len > skip && !strcmp(before + skip, identity + skip);
	free(before);
	return same;
}

/* What the process says goes into `log`. */
static void become(const struct command *c, const char *log)
{
	int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	execv("/proc/self/exe", c->args);
	_exit(127);
}

static int execute(const struct command *c, const char *log, const char *label, struct weft_err *err)
{
	int status = 0;
	fflush(NULL);
	pid_t pid = fork();
	if (!pid)
		become(c, log);
	if (pid < 0)
		return weft_err_set(err, -errno, "fork: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return weft_err_set(err, -errno, "waitpid: %s", strerror(errno));
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		return weft_err_set(err, -EINTR, "stopped");
	fprintf(stderr, "real time: %s: %s%s\n", label, status ? "failed, see " : "done", status ? log : "");
	return 0;
}

static int write_text(const char *path, const char *text, struct weft_err *err)
{
	FILE *f = file_create(path, err);
	if (!f)
		return -EIO;
	fputs(text, f);
	return file_finish(f, path, err);
}

/* A result of other settings goes first, so that a run that fails leaves none. */
static int run_in(const char *dir, const struct figure *f, uint32_t id, bool fresh, struct weft_err *err)
{
	char json[FILE_PATH_MAX], command[FILE_PATH_MAX], log[FILE_PATH_MAX];
	struct command c = {.count = 0};
	char *identity = NULL;
	int rc = file_path(json, dir, "run.json", err);
	if (!rc)
		rc = file_path(command, dir, "command.txt", err);
	if (!rc)
		rc = file_path(log, dir, "bench.log", err);
	if (!rc)
		rc = compose(&c, f, id, json, err);
	if (!rc && !(identity = identify(f, id, &c)))
		rc = weft_err_set(err, -ENOMEM, "no memory");
	if (!rc && (fresh || !is_there(json, command, identity, f->sweep.any_build))) {
		rc = file_remove_tree(dir, err);
		if (!rc)
			rc = file_make_dir(dir, err);
		if (!rc)
			rc = write_text(command, identity, err);
		if (!rc)
			rc = execute(&c, log, f->sweep.runs[id].label, err);
	}
	free(identity);
	clear(&c);
	return rc;
}

static bool is_wanted(const struct figure *f, uint32_t id)
{
	const struct claim_bench *b = &f->claims.bench;
	for (uint32_t i = 0; i < b->count; i++) {
		if (claim_picks(&f->sweep, &b->picks[i], &f->sweep.runs[id].pick))
			return true;
	}
	return false;
}

int reproduce_real(const struct figure *f, bool fresh, struct weft_err *err)
{
	uint32_t seeds = f->scenario.seed_count ? f->scenario.seed_count : 1;
	int rc = 0;
	for (uint32_t id = 0; id < f->sweep.count && !rc; id += seeds) {
		char dir[FILE_PATH_MAX];
		if (!is_wanted(f, id))
			continue;
		rc = claim_real_dir(&f->sweep, id, dir, err);
		if (!rc)
			rc = run_in(dir, f, id, fresh, err);
	}
	return rc;
}
