/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep_int.h"

/* A sweep under way. */
struct crew {
	struct sweep *w;
	struct sweep_worker *workers;
	uint32_t jobs;
	uint32_t next; /* run to look at for starting */
	struct sweep_progress progress;
	struct weft_err *err;
};

static uint32_t busy(const struct crew *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->jobs; i++)
		n += c->workers[i].pid != 0;
	return n;
}

/* Gives every idle worker a run that has no result. */
static int start_runs(struct crew *c)
{
	for (uint32_t i = 0; i < c->jobs; i++) {
		while (c->next < c->w->count && c->w->runs[c->next].known)
			c->next++;
		if (c->next == c->w->count)
			return 0;
		if (c->workers[i].pid)
			continue;
		int rc = sweep_work_start(c->w, &c->workers[i], c->next++, c->err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Takes all that have ended. Waits for our own processes only: a caller may have others. */
static int take_ended(struct crew *c)
{
	for (uint32_t i = 0; i < c->jobs; i++) {
		struct sweep_worker *worker = &c->workers[i], was = *worker;
		int status;
		if (!worker->pid || waitpid(worker->pid, &status, WNOHANG) != worker->pid)
			continue;
		int rc = sweep_work_ended(c->w, worker, status, c->err);
		if (rc)
			return rc;
		sweep_progress_ended(&c->progress, c->w, &was);
	}
	return 0;
}

static void stop_all(struct crew *c)
{
	for (uint32_t i = 0; i < c->jobs; i++) {
		struct sweep_worker *worker = &c->workers[i];
		if (!worker->pid)
			continue;
		kill(worker->pid, SIGKILL);
		waitpid(worker->pid, NULL, 0);
		close(worker->pipe);
		worker->pid = 0;
		/* It may have ended just before. */
		if (!sweep_dir_load(c->w, worker->id))
			sweep_dir_discard(c->w, worker->id);
	}
}

/* Until every run has ended, or one of the signals in `set` other than SIGCHLD comes. */
static int supervise(struct crew *c, const sigset_t *set)
{
	static const struct timespec blink = {.tv_nsec = 200000000};
	int rc = 0;
	for (;;) {
		rc = rc ? rc : start_runs(c);
		if (rc || !busy(c))
			return rc;
		sweep_progress_show(&c->progress, c->w, c->workers, c->jobs);
		int sig = sigtimedwait(set, NULL, &blink);
		if (sig == SIGINT || sig == SIGTERM)
			return weft_err_set(c->err, -EINTR, "stopped by %s", strsignal(sig));
		rc = take_ended(c);
	}
}

static int run_all(struct sweep *w, const struct sweep_conf *conf, const sigset_t *set, struct weft_err *err)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct crew c = {.w = w, .jobs = conf->jobs ? conf->jobs : cores > 0 ? (uint32_t)cores : 1, .err = err};
	if (c.jobs > w->count)
		c.jobs = w->count;
	c.workers = calloc((size_t)c.jobs + 1, sizeof *c.workers);
	if (!c.workers)
		return weft_err_set(err, -ENOMEM, "no memory");
	sweep_progress_start(&c.progress, w, conf->quiet);
	int rc = supervise(&c, set);
	stop_all(&c);
	sweep_progress_clear(&c.progress);
	free(c.workers);
	return rc;
}

int sweep_run(struct sweep *w, const struct sweep_conf *conf, struct weft_err *err)
{
	/* Who started us may have left SIGCHLD ignored, and then nobody could wait for workers. */
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	struct sigaction inherited;
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigaction(SIGCHLD, &usual, &inherited);
	w->any_build = conf->any_build;
	int rc = sweep_dir_open(w, conf->fresh, err);
	if (!rc) {
		rc = run_all(w, conf, &set, err);
		/* What is there is written down in any case; the first trouble is told. */
		int written = sweep_dir_write(w, rc ? NULL : err);
		rc = rc ? rc : written;
	}
	sweep_dir_close(w);
	sigaction(SIGCHLD, &inherited, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}
