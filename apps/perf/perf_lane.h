/* SPDX-License-Identifier: BSD-3-Clause */
/* What one thread measures with: a libfabric domain with a completion queue and an endpoint for each of its
 * connections. Between rows everything is idle. */
#ifndef WEFT_PERF_LANE_H
#define WEFT_PERF_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "perf.h"
#include "perf_samples.h"
#include "weft/err.h"

struct perf_conn;

/* One operation of a window. `ctx` is the provider's while it runs, and first. */
struct perf_slot {
	struct fi_context2 ctx;
	struct perf_conn *conn;
	uint32_t index;
	bool is_rx, busy;
};

struct perf_conn {
	uint32_t number; /* of all connections of the job */
	struct fid_ep *ep;
	struct fid_mr *mr;
	uint8_t *buf; /* what is sent, behind it what is received or is the peer's to write and read; owned */
	size_t half;  /* bytes of either */
	fi_addr_t peer;
	uint64_t remote_addr, remote_key; /* of the peer's second half */
	struct perf_slot *tx, *rx;        /* `window` of each; owned */
	uint64_t sent;                    /* operations begun in this row */
	uint64_t completed;               /* ... and ended */
	uint64_t received;                /* messages in this row */
	uint64_t expected;                /* of them; UINT64_MAX: not known yet */
	uint64_t wrong;                   /* messages, or parts of memory, with other bytes than were sent */
	uint32_t posted;                  /* receives that wait for messages */
};

/* The present row. */
struct perf_row {
	enum perf_test test;
	uint32_t bytes, window;
	bool is_server; /* this side answers every message of a latency row */
};

struct perf_lane {
	const struct perf_job *job;
	struct fi_info *info; /* owned */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct perf_conn *conns; /* owned */
	uint32_t count;
	struct perf_row row;
	bool cleaning; /* messages that come now only end receives */
	struct perf_samples samples;
	_Atomic uint64_t moved_ns;   /* when an operation last ended, or operations may have begun; others read it */
	const struct perf_lane *all; /* of the side: whoever waits looks whether others move */
	uint32_t all_count;
	struct weft_err err;
};

/* Which interface of a provider: what the user says, else one whose address is `near`, the control connection's, if any
 * is. */
struct perf_where {
	const char *provider;
	const char *address; /* NULL: not said */
	const char *near;
};

/* Operations outstanding at a time: what the job says, and no more than fit a reasonable memory. */
uint32_t perf_window(const struct perf_job *job, uint32_t bytes);

/* Opens a thread's part of a job: connections `first`, `first` + threads, ... A negative errno with a message; `lane`
 * is to be closed in any case. */
int perf_lane_open(struct perf_lane *lane, const struct perf_job *job, const struct perf_where *where, uint32_t first,
		   struct weft_err *err);
void perf_lane_close(struct perf_lane *lane);

/* A connection's own name. -errno with a message. */
int perf_conn_name(const struct perf_conn *c, uint8_t name[PERF_NAME_MAX], size_t *len, struct weft_err *err);

/* Where the peer may write and read, as it has to name it. */
uint64_t perf_conn_addr(const struct perf_lane *lane, const struct perf_conn *c);
uint64_t perf_conn_key(const struct perf_conn *c);

/* The peer of a connection. */
int perf_conn_join(struct perf_lane *lane, struct perf_conn *c, const uint8_t *name, struct weft_err *err);

/* Prepares a row: counts are 0, and with `receives` its receives are posted. */
int perf_lane_row(struct perf_lane *lane, const struct perf_row *row, bool receives);

/* Begins one operation of a connection: 1, or 0 when its window is full or the provider has no room. Negative: failed,
 * with lane->err. */
int perf_conn_post(struct perf_lane *lane, struct perf_conn *c);

/* Begins a message without bytes, which ends a receive at the peer. As perf_conn_post. */
int perf_conn_post_empty(struct perf_lane *lane, struct perf_conn *c);

/* Posts one receive. As perf_conn_post. */
int perf_conn_post_recv(struct perf_lane *lane, struct perf_conn *c);

/* When an operation of any of these lanes last ended; 0 without lanes. */
static inline uint64_t perf_lanes_moved_ns(const struct perf_lane *lanes, uint32_t count)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t moved_ns = lanes[i].moved_ns;
		last = moved_ns > last ? moved_ns : last;
	}
	return last;
}

/* Takes completions, and answers and posts again what these call for. Negative: failed, with lane->err; -ETIMEDOUT when
 * operations are outstanding and none has ended for half a minute, here or in other lanes of the side. */
int perf_lane_poll(struct perf_lane *lane);

/* Parts of the memory that the peer wrote in this row and that have other bytes than the last writes. */
uint64_t perf_conn_compare(struct perf_lane *lane, struct perf_conn *c, uint64_t writes);

uint64_t perf_now_ns(void);

#endif
