/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make up sweep.h. */
#ifndef WEFT_SWEEP_INT_H
#define WEFT_SWEEP_INT_H

#include "file.h"
#include "sweep.h"

/* ---- sweep_dir.c: the result directory ---- */

/* Makes the directory, takes the lock, tries to write, and marks runs whose results are there. Results of other
 * settings move to DIR/kept. An errno with a message. */
int sweep_dir_open(struct sweep *w, bool fresh, struct weft_err *err);
void sweep_dir_close(struct sweep *w);

/* Where run `id` ends up, and where it is written before. -ENAMETOOLONG with a message. */
int sweep_dir_of(const struct sweep *w, uint32_t id, bool unfinished, char path[FILE_PATH_MAX], struct weft_err *err);

/* Makes the unfinished directory of a run the finished one. An errno with a message. */
int sweep_dir_finish(const struct sweep *w, uint32_t id, struct weft_err *err);

/* Removes what a stopped run has written. */
void sweep_dir_discard(const struct sweep *w, uint32_t id);

/* Takes a finished run's result into memory. False: there is none that fits. */
bool sweep_dir_load(struct sweep *w, uint32_t id);

/* sweep.json and table.txt. An errno with a message. */
int sweep_dir_write(const struct sweep *w, struct weft_err *err);

/* ---- sweep_work.c: one run in a process of its own ---- */

/* A run under way. */
struct sweep_worker {
	int pid;  /* 0: idle */
	int pipe; /* read end; the worker's last words */
	uint32_t id;
	double start_s; /* wall clock */
};

/* Starts run `id`. An errno with a message. */
int sweep_work_start(struct sweep *w, struct sweep_worker *worker, uint32_t id, struct weft_err *err);

/* Takes the end of a worker whose process was reaped with `wait_status`, and its result. An error when nothing more can
 * be written. */
int sweep_work_ended(struct sweep *w, struct sweep_worker *worker, int wait_status, struct weft_err *err);

/* ---- sweep_progress.c: what a user sees meanwhile ---- */

struct sweep_progress {
	bool quiet, bar;
	double start_s;
	double worked_s, worked_weight; /* of the runs that ended in this sweep */
	uint32_t before;                /* results that were there */
	uint32_t ended;                 /* in this sweep */
};

double sweep_wall_s(void);
void sweep_progress_start(struct sweep_progress *p, const struct sweep *w, bool quiet);
void sweep_progress_ended(struct sweep_progress *p, const struct sweep *w, const struct sweep_worker *worker);
void sweep_progress_show(const struct sweep_progress *p, const struct sweep *w, const struct sweep_worker *workers,
			 uint32_t jobs);
void sweep_progress_clear(const struct sweep_progress *p);

#endif
