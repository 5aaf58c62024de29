/* SPDX-License-Identifier: BSD-3-Clause */
/* The job a process belongs to: its rank and the other ranks' endpoint names, by PMIx under mpirun or srun, or from the
 * command line alone. */
#ifndef WEFT_BENCH_JOB_H
#define WEFT_BENCH_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/err.h"

struct bench_job {
	uint32_t rank, size;
	bool pmix;
	void *proc; /* PMIx's name of this process */
};

/* True when a launcher that speaks PMIx started this process. */
bool bench_job_launched(void);

/* Joins the launcher's job. -EPROTO with PMIx's reason. */
int bench_job_join(struct bench_job *job, struct weft_err *err);

/* Exchanges the names of all ranks: `names` has room for job->size names of BENCH_NAME_MAX bytes, and ours is in place.
 * Waits for all ranks. With PMIx only. */
int bench_job_exchange(const struct bench_job *job, uint8_t *names, struct weft_err *err);

/* Leaves the job; nothing to do without PMIx. */
void bench_job_leave(struct bench_job *job);

#endif
