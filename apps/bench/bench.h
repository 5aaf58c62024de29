/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft bench`: shared by its two forms, all nodes in this process or one node per process. */
#ifndef WEFT_BENCH_H
#define WEFT_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_job.h"
#include "bench_run.h"
#include "net.h"
#include "options.h"
#include "weft/err.h"
#include "weft/stats.h"

/* Options beside those of options.h. */
struct bench_opts {
	uint64_t link_bps;   /* rate of every link in real time */
	bool local;          /* all nodes and the fabric in this process */
	uint32_t threads;    /* that drive the nodes (local) */
	const char *device;  /* DPDK port of a process's node, %r is the rank */
	uint32_t rank, size; /* of this process when nobody launched it; size 0: not given */
	weft_ns timeout_ns;  /* of the whole run, from the start of the first flow */
};

/* The outcome of a run. */
struct bench_outcome {
	struct bench_run run;
	struct weft_stats stats;   /* sum over all engines */
	struct weft_net_stats net; /* of the fabric; local only */
	weft_ps ideal;             /* least time the matrix can take, 0: unknown */
	weft_ns t0;                /* bench_now() when start times began to count, here */
	bool report;               /* this process has everything and reports it */
	bool one_clock; /* all ranks' times are of the same clock; else t0 stands for the start that each of them saw */
};

/* Runs the matrix. A negative errno with a message when it could not be run; flows that failed are in the outcome. The
 * outcome is for bench_run_free in any case. */
int bench_local(struct options *o, const struct bench_opts *b, struct bench_outcome *out, struct weft_err *err);
int bench_rank(struct options *o, const struct bench_opts *b, const struct bench_job *job, struct bench_outcome *out,
	       struct weft_err *err);

/* Sets the environment libfabric and the provider read: where the provider lies, algorithms, parameters, and for each
 * node (';' between them) device and address. */
int bench_env_set(struct options *o, const char *devices, const char *addrs, struct weft_err *err);

/* Address of a rank in text. */
void bench_rank_host(uint32_t rank, char host[BENCH_NAME_MAX]);

/* Drives until the driver's flows are over or `deadline`; shows progress on a terminal. */
void bench_drive(struct bench_driver *d, weft_ns deadline);

/* Names the first few flows that went wrong on stderr; returns how many did. */
uint32_t bench_report_failed(const struct bench_outcome *out);

/* Table and JSON. A negative errno with a message. */
int bench_report(const struct options *o, const struct bench_outcome *out, struct weft_err *err);

#endif
