/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's ranks where PMIx was not there when the program was built: there are none but those of the command line. */
#include <errno.h>
#include <stdlib.h>

#include "bench_job.h"

bool bench_job_launched(void)
{
	return getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE");
}

int bench_job_join(struct bench_job *job, struct weft_err *err)
{
	*job = (struct bench_job){0};
	return weft_err_set(err, -ENOTSUP, "a launcher started this process, but weft was built without PMIx");
}

int bench_job_exchange(const struct bench_job *job, uint8_t *names, struct weft_err *err)
{
	return weft_err_set(err, -ENOTSUP, "weft was built without PMIx");
}

void bench_job_leave(struct bench_job *job)
{
	*job = (struct bench_job){0};
}
