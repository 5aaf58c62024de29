/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Receive memory one process may ask for: what a benchmark machine certainly has. */
#define RECV_BYTES_MAX (UINT64_C(4) << 30)

weft_ns bench_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return WEFT_S(ts.tv_sec) + (weft_ns)ts.tv_nsec;
}

static bool is_ours(const struct bench_run *run, uint32_t rank)
{
	return rank - run->first < run->count;
}

static uint64_t largest_flow(const struct weft_workload *work)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < work->flow_count; i++)
		if (work->flows[i].bytes > largest)
			largest = work->flows[i].bytes;
	return largest;
}

static uint64_t recv_bytes(const struct bench_run *run)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < run->work->flow_count; i++)
		if (is_ours(run, run->work->flows[i].dst))
			bytes += run->work->flows[i].bytes;
	return bytes;
}

static void flow_init(struct bench_run *run, uint32_t i, uint64_t *recv_offset)
{
	const struct weft_flow *flow = &run->work->flows[i];
	struct bench_flow *f = &run->flows[i];
	f->send = (struct bench_op){.buf = (void *)pattern_of(&run->pattern, i),
				    .len = flow->bytes,
				    .tag = i,
				    .peer = flow->dst,
				    .kind = BENCH_OP_SEND};
	f->recv = (struct bench_op){.len = flow->bytes, .tag = i, .peer = flow->src, .kind = BENCH_OP_RECV};
	if (!is_ours(run, flow->dst))
		return;
	f->recv.buf = run->recv_mem + *recv_offset;
	*recv_offset += flow->bytes;
}

int bench_run_init(struct bench_run *run, const struct weft_workload *work, uint32_t first, uint32_t count,
		   struct weft_err *err)
{
	*run = (struct bench_run){.work = work, .first = first, .count = count};
	uint64_t bytes = recv_bytes(run), offset = 0;
	if (bytes > RECV_BYTES_MAX)
		return weft_err_set(err, -EINVAL,
				    "the matrix needs %" PRIu64
				    " MiB of receive buffers in one process, at most %" PRIu64 " are given",
				    bytes >> 20, RECV_BYTES_MAX >> 20);
	run->flows = calloc(work->flow_count, sizeof *run->flows);
	run->recv_mem = malloc(bytes + 1);
	if (!run->flows || !run->recv_mem)
		return weft_err_set(err, -ENOMEM, "no memory for %u flows", work->flow_count);
	int rc = pattern_create(&run->pattern, largest_flow(work), err);
	if (rc)
		return rc;
	/* Touches every page before the clock runs, with bytes that are not the pattern's. */
	memset(run->recv_mem, 0xa5, bytes);
	for (uint32_t i = 0; i < work->flow_count; i++)
		flow_init(run, i, &offset);
	return 0;
}

void bench_run_verify(struct bench_run *run)
{
	for (uint32_t i = 0; i < run->work->flow_count; i++) {
		struct bench_flow *f = &run->flows[i];
		if (f->delivered_ns && is_ours(run, run->work->flows[i].dst))
			f->verified = memcmp(f->recv.buf, pattern_of(&run->pattern, i), f->recv.len) == 0;
	}
}

void bench_run_free(struct bench_run *run)
{
	free(run->flows);
	pattern_destroy(&run->pattern);
	free(run->recv_mem);
	*run = (struct bench_run){0};
}
