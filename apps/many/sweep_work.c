/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simrun.h"
#include "sweep_int.h"

/* What a worker says at its end, in one write. */
struct last_words {
	int code;     /* 0, or a negative errno: no complete result */
	bool writing; /* because something could not be written */
	struct weft_err err;
};

/* Names and values of the axes, for run.json. */
struct axes {
	const char *names[SCENARIO_AXES_MAX], *values[SCENARIO_AXES_MAX];
};

static struct run_origin origin_of(const struct sweep *w, const struct sweep_run *r, struct axes *axes)
{
	const struct scenario *s = w->scenario;
	for (uint32_t i = 0; i < s->axis_count; i++) {
		axes->names[i] = s->axes[i].name;
		axes->values[i] = s->axes[i].values[r->pick.values[i]];
	}
	return (struct run_origin){.scenario = s->title,
				   .label = r->label,
				   .case_name = s->cases[r->pick.case_index].name,
				   .identity = r->identity,
				   .axes = axes->names,
				   .values = axes->values,
				   .axis_count = s->axis_count};
}

/* A capture lies with the run's other files. */
static int place_capture(struct options *o, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	if (!o->files.pcap)
		return 0;
	const char *slash = strrchr(o->files.pcap, '/');
	int rc = file_path(path, o->files.dir, slash ? slash + 1 : o->files.pcap, err);
	o->files.pcap = rc ? NULL : options_keep(o, path);
	return rc || o->files.pcap ? rc : weft_err_set(err, -ENOMEM, "no memory");
}

static bool is_of_writing(int rc)
{
	return rc == -EIO || rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG || rc == -EROFS || rc == -EACCES;
}

/* The run, in its own process. */
static void work(struct sweep *w, uint32_t id, struct last_words *words)
{
	struct axes axes;
	struct options o;
	char dir[FILE_PATH_MAX];
	struct run_origin origin = origin_of(w, &w->runs[id], &axes);
	struct simrun run = {.o = &o, .origin = &origin};
	int rc = sweep_dir_of(w, id, true, dir, &words->err);
	if (!rc)
		rc = file_make_dir(dir, &words->err);
	if (!rc)
		rc = scenario_options(w->scenario, &w->runs[id].pick, &o, &words->err);
	o.files.dir = dir;
	if (!rc)
		rc = place_capture(&o, &words->err);
	if (!rc)
		rc = simrun(&run, &words->err);
	if (!rc)
		rc = sweep_dir_finish(w, id, &words->err);
	words->code = rc;
	words->writing = is_of_writing(rc);
}

/* Never returns. Ctrl-C is the parent's business; a limit on file sizes is an error of writing, no reason to die. */
static void be_worker(struct sweep *w, uint32_t id, int fd, pid_t parent)
{
	struct last_words words = {0};
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	work(w, id, &words);
	ssize_t told = write(fd, &words, sizeof words);
	_exit(told == (ssize_t)sizeof words ? 0 : 1);
}

int sweep_work_start(struct sweep *w, struct sweep_worker *worker, uint32_t id, struct weft_err *err)
{
	int ends[2];
	pid_t parent = getpid();
	if (pipe(ends))
		return weft_err_set(err, -errno, "pipe: %s", strerror(errno));
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		close(ends[0]);
		be_worker(w, id, ends[1], parent);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return weft_err_set(err, -errno, "fork: %s", strerror(errno));
	}
	*worker = (struct sweep_worker){.pid = pid, .pipe = ends[0], .id = id, .start_s = sweep_wall_s()};
	return 0;
}

static void fail(struct sweep_run *r, const char *reason)
{
	r->status = SWEEP_FAILED;
	snprintf(r->error, sizeof r->error, "%s", reason);
}

/* A process that ended without last words. */
static void fail_dead(struct sweep_run *r, int wait_status)
{
	char text[100];
	int sig = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
	if (sig)
		snprintf(text, sizeof text, "the run's process was killed by signal %d (%s%s)", sig, strsignal(sig),
			 sig == SIGKILL ? ", perhaps for want of memory" : "");
	else
		snprintf(text, sizeof text, "the run's process ended with exit code %d", WEXITSTATUS(wait_status));
	fail(r, text);
}

int sweep_work_ended(struct sweep *w, struct sweep_worker *worker, int wait_status, struct weft_err *err)
{
	struct sweep_run *r = &w->runs[worker->id];
	struct last_words words;
	bool told = read(worker->pipe, &words, sizeof words) == (ssize_t)sizeof words;
	close(worker->pipe);
	worker->pid = 0;
	if (!told)
		fail_dead(r, wait_status);
	else if (words.code)
		fail(r, words.err.msg);
	else if (!sweep_dir_load(w, worker->id))
		fail(r, "the result cannot be read back");
	if (r->known)
		return 0;
	sweep_dir_discard(w, worker->id);
	if (!told || !words.writing)
		return 0;
	r->status = SWEEP_WAITING;
	return weft_err_set(err, words.code, "%s", words.err.msg);
}
