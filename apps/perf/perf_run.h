/* SPDX-License-Identifier: BSD-3-Clause */
/* One row on all threads of a side. */
#ifndef WEFT_PERF_RUN_H
#define WEFT_PERF_RUN_H

#include "perf_lane.h"

/* All threads of one side of a measurement. */
struct perf_side {
	struct perf_job job;
	struct perf_lane *lanes; /* job.threads; owned */
	uint32_t open;           /* lanes that were opened, or tried */
	bool is_server;
	uint64_t end_ns; /* when the latest phase ended, of perf_now_ns */
	struct weft_err err;
};

/* What a row measured. */
struct perf_result {
	enum perf_test test;
	uint32_t bytes;
	uint64_t operations; /* of both sides */
	double seconds;
	struct perf_summary latency; /* of a latency row */
};

/* -errno with a message; `side` is to be closed in any case. `side->job` is set. */
int perf_side_open(struct perf_side *side, const struct perf_where *where, struct weft_err *err);
void perf_side_close(struct perf_side *side);

/* The connection with this number. */
struct perf_conn *perf_side_conn(const struct perf_side *side, uint32_t number, struct perf_lane **lane);

/* Prepares all threads for a row. Negative: failed, with side->err, as all below. */
int perf_side_row(struct perf_side *side, enum perf_test test, uint32_t bytes);

/* Whether this side begins operations in a row, and whether messages come to it. */
bool perf_side_sends(const struct perf_side *side, enum perf_test test);
bool perf_side_receives(const struct perf_side *side, enum perf_test test);

/* The threads work in the background, until what is asked for has happened:
 * - RUN: the client has begun and ended its operations, the server is told to stop;
 * - SETTLE: the messages that are expected have come;
 * - CLEAN: a message for each of the peer's waiting receives was sent, and ours have ended. */
enum perf_phase { PERF_RUN, PERF_SETTLE, PERF_CLEAN };
struct perf_phase_run;
int perf_phase_start(struct perf_side *side, enum perf_phase phase, bool warmup, struct perf_phase_run **run);
bool perf_phase_is_over(const struct perf_phase_run *run);

/* Readable once it is over. */
int perf_phase_fd(const struct perf_phase_run *run);

/* Tells the server's threads to begin no more operations, and all to stop waiting with `abort`. */
void perf_phase_stop(struct perf_phase_run *run, bool abort);

/* Waits for the threads and frees *run; negative when one failed. */
int perf_phase_join(struct perf_phase_run *run);

/* One turn for all threads' connections, between phases. */
int perf_side_poll(struct perf_side *side);

#endif
