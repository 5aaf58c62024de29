/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program of libfabric calls for runs without memory consists of (alloc_app.c): two hosts, what they open, and
 * what they do with it (alloc_ops.c). */
#ifndef WEFT_TEST_ALLOC_APP_H
#define WEFT_TEST_ALLOC_APP_H

#include "fixture.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdbool.h>

enum {
	FIDS_MAX = 48,
	BYTES = 60000, /* of the longest message */
	KEY = 7,
};

/* One host. */
struct side {
	struct host h;
	struct fid *fids[FIDS_MAX]; /* what it opened, in this order */
	int count;
	struct fid_eq *eq;
	struct fid_cntr *trigger;
	struct fid_mr *mr;
	struct fid_av_set *set;
	struct fid_mc *mc;
	struct fid_ep *alias;
	struct fid_poll *poll;
	struct fid_wait *wait;
	uint8_t in[BYTES], out[BYTES], mem[BYTES];
};

extern struct side sides[2]; /* their numbers in both address vectors */

extern int refusals; /* calls and operations that failed, of this run */

/* Tells that a call failed; returns false. */
bool refused(const char *what, ssize_t ret);

/* Ends the program: something is wrong. */
void broken(const char *what, const char *why) __attribute__((noreturn));

/* Keeps what a call opened, to be closed; false: it failed. */
bool opened(struct side *s, const char *what, ssize_t ret, struct fid *fid);

/* False: the call failed. */
bool done(const char *what, ssize_t ret);

#define OPEN(s, call, object)                                                                                          \
	({                                                                                                             \
		ssize_t ret_ = (call);                                                                                 \
		opened((s), #call, ret_, ret_ ? NULL : &(object)->fid);                                                \
	})
#define DO(call) done(#call, (call))

/* Messages, accesses to memory, atomics, deferred work and collectives between the two, which are open. False: one was
 * refused or failed for want of memory. */
bool use_all(void);

#endif
