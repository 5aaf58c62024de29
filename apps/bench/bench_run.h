/* SPDX-License-Identifier: BSD-3-Clause */
/* The flows of a benchmark and the nodes' threads that drive them. A driver owns a range of ranks; what concerns ranks
 * of other drivers, in this process or another, goes through the fabric as control messages. */
#ifndef WEFT_BENCH_RUN_H
#define WEFT_BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_node.h"
#include "pattern.h"
#include "weft/err.h"
#include "weft/time.h"
#include "workload.h"

/* One flow. Times are bench_now(); 0: has not happened. The source's driver writes the first group, the
 * destination's the second. */
struct bench_flow {
	struct bench_op send;
	bool queued;      /* is to start, or did */
	weft_ns start_ns; /* submitted */
	weft_ns sent_ns;  /* acknowledged to its last byte */
	int send_err;     /* errno */

	struct bench_op recv;
	weft_ns delivered_ns;
	int recv_err;
	bool verified; /* every byte is the pattern's */
};

struct bench_run {
	const struct weft_workload *work; /* the caller's */
	struct bench_flow *flows;         /* as work->flows */
	struct pattern pattern;           /* senders need no buffers of their own */
	uint8_t *recv_mem;                /* all receive buffers of the ranks first..first+count-1 */
	uint32_t first, count;
};

/* Makes pattern and receive buffers for `count` ranks from `first` on. A negative errno with a message; *run is for
 * bench_run_free in any case. */
int bench_run_init(struct bench_run *run, const struct weft_workload *work, uint32_t first, uint32_t count,
		   struct weft_err *err);
/* Compares what arrived with the pattern; sets flows[].verified. */
void bench_run_verify(struct bench_run *run);
/* After all nodes are closed. */
void bench_run_free(struct bench_run *run);

/* CLOCK_MONOTONIC: the same in all processes of a machine. */
weft_ns bench_now(void);

/* Messages between drivers: what happened, and to which trigger, flow or rank. */
enum bench_ctl {
	BENCH_CTL_FIRE,  /* activate this trigger */
	BENCH_CTL_START, /* start this flow */
	BENCH_CTL_GONE,  /* this flow failed at its source */
	BENCH_CTL_READY, /* this rank is ready */
	BENCH_CTL_GO,    /* all ranks are ready */
	BENCH_CTL_BYE,   /* rank 0 has everybody's results */
};

struct bench_ctl_msg;
struct bench_timed;

struct bench_driver {
	struct bench_run *run;
	struct bench_node *nodes; /* of the ranks first..first+count-1; the caller's */
	uint32_t first, count;
	uint32_t sends_left, recvs_left; /* flows of these ranks that are not over */
	uint32_t ready;                  /* ranks that reported READY, each once */
	bool *is_ready;                  /* of each rank: whether it did */
	bool is_reported;                /* a READY of ours was acknowledged */
	bool go, bye;                    /* GO, BYE were received */
	weft_ns t0;                      /* start times count from here */
	struct bench_timed *timed;       /* flows with a start time, in order */
	uint32_t timed_count, timed_next;
	uint32_t *starts; /* queue of flows to start; each flow enters once */
	uint32_t starts_next, starts_end;
	uint32_t *targets;           /* room for any trigger's targets */
	uint32_t *fired;             /* activations of each trigger whose count is kept here */
	struct bench_ctl_msg *ctls;  /* every control message allocated, for freeing */
	struct bench_ctl_msg *spare; /* those free to send */
	uint32_t ctl_under_way;      /* control messages sent and not yet acknowledged */
	uint32_t caller_over;        /* operations of bench_driver_post that are over */
	int queue_err;               /* a completion queue failed: negative errno */
	uint32_t idle;               /* polls in a row without an event */
};

/* Takes over the nodes (opened and connected) and posts all receives. -ENOMEM or what posting returned. */
int bench_driver_init(struct bench_driver *d, struct bench_run *run, struct bench_node *nodes, uint32_t first,
		      uint32_t count, struct weft_err *err);
/* After the nodes are closed. */
void bench_driver_free(struct bench_driver *d);

/* The flows' start times count from `t0`, which may lie ahead. */
void bench_driver_start(struct bench_driver *d, weft_ns t0);

/* One round over all nodes: progress, events, starts that are due. Yields the CPU when nothing happens for long. */
void bench_driver_poll(struct bench_driver *d);

/* True when all flows of these ranks are over, one way or the other, or a queue failed. */
bool bench_driver_done(const struct bench_driver *d);

/* Sends a control message from one of our ranks; failures count as lost messages. */
void bench_ctl_send(struct bench_driver *d, uint32_t from, uint32_t to, enum bench_ctl kind, uint32_t arg);

/* Starts an operation of the caller's beside the flows. When it is over, polls set op->result to 1 or a
 * negative errno and count it in d->caller_over. */
void bench_driver_post(struct bench_driver *d, uint32_t rank, struct bench_op *op);

/* Tag for the caller's own operations; flows use their index, control messages a tag of their own. */
#define BENCH_TAG_CALLER (UINT64_C(1) << 62)

#endif
