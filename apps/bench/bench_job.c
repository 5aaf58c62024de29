/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "bench_node.h"

#define NAME_KEY "weft.bench.name"

/* Longest wait for a rank that never comes, in seconds: PMIx's own default is forever. */
enum { FENCE_TIMEOUT_S = 60 };

static int pmix_fail(struct weft_err *err, const char *call, pmix_status_t rc)
{
	return weft_err_set(err, -EPROTO, "%s: %s", call, PMIx_Error_string(rc));
}

bool bench_job_launched(void)
{
	/* PMIx_Init would make a job of one process of its own otherwise. */
	return getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE");
}

static int job_size(struct bench_job *job, struct weft_err *err)
{
	pmix_proc_t all = *(pmix_proc_t *)job->proc;
	pmix_value_t *value = NULL;
	all.rank = PMIX_RANK_WILDCARD;
	pmix_status_t rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
	if (rc != PMIX_SUCCESS)
		return pmix_fail(err, "PMIx_Get " PMIX_JOB_SIZE, rc);
	job->size = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return 0;
}

int bench_job_join(struct bench_job *job, struct weft_err *err)
{
	*job = (struct bench_job){0};
	pmix_proc_t *proc = calloc(1, sizeof *proc);
	if (!proc)
		return weft_err_set(err, -ENOMEM, "no memory for the job");
	pmix_status_t rc = PMIx_Init(proc, NULL, 0);
	if (rc != PMIX_SUCCESS) {
		free(proc);
		return pmix_fail(err, "PMIx_Init", rc);
	}
	job->pmix = true;
	job->proc = proc;
	job->rank = proc->rank;
	int size_rc = job_size(job, err);
	if (size_rc)
		bench_job_leave(job);
	return size_rc;
}

static int name_put(const uint8_t *name, struct weft_err *err)
{
	pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
	value.data.bo.bytes = (char *)name;
	value.data.bo.size = BENCH_NAME_MAX;
	pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, NAME_KEY, &value);
	if (rc != PMIX_SUCCESS)
		return pmix_fail(err, "PMIx_Put", rc);
	rc = PMIx_Commit();
	return rc == PMIX_SUCCESS ? 0 : pmix_fail(err, "PMIx_Commit", rc);
}

static int fence(struct weft_err *err)
{
	pmix_info_t info[2];
	bool collect = true;
	int timeout_s = FENCE_TIMEOUT_S;
	PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
	pmix_status_t rc = PMIx_Fence(NULL, 0, info, 2);
	return rc == PMIX_SUCCESS ? 0 : pmix_fail(err, "PMIx_Fence", rc);
}

static int name_get(const struct bench_job *job, uint32_t rank, uint8_t *name, struct weft_err *err)
{
	pmix_proc_t peer = *(pmix_proc_t *)job->proc;
	pmix_value_t *value = NULL;
	peer.rank = rank;
	pmix_status_t rc = PMIx_Get(&peer, NAME_KEY, NULL, 0, &value);
	if (rc != PMIX_SUCCESS)
		return weft_err_set(err, -EPROTO, "PMIx_Get of rank %u's name: %s", rank, PMIx_Error_string(rc));
	bool good = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == BENCH_NAME_MAX;
	if (good)
		memcpy(name, value->data.bo.bytes, BENCH_NAME_MAX);
	PMIX_VALUE_RELEASE(value);
	return good ? 0 : weft_err_set(err, -EPROTO, "rank %u's name has an unexpected form", rank);
}

int bench_job_exchange(const struct bench_job *job, uint8_t *names, struct weft_err *err)
{
	int rc = name_put(names + (size_t)job->rank * BENCH_NAME_MAX, err);
	if (!rc)
		rc = fence(err);
	for (uint32_t r = 0; !rc && r < job->size; r++)
		rc = name_get(job, r, names + (size_t)r * BENCH_NAME_MAX, err);
	return rc;
}

void bench_job_leave(struct bench_job *job)
{
	if (job->pmix)
		PMIx_Finalize(NULL, 0);
	free(job->proc);
	*job = (struct bench_job){0};
}
