/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of endpoints, their operations, and the steps these consist of. All under the device's lock. */
#ifndef PROV_COLL_INNER_H
#define PROV_COLL_INNER_H

#include <rdma/fi_collective.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "prov_ep.h"
#include "prov_req.h"
#include "weft/engine.h"

/* ---- plans (coll_plan.c) ---- */

struct prov_group;

enum coll_kind { COLL_SEND, COLL_RECV, COLL_COPY, COLL_REDUCE, COLL_WAIT };

/* COPY and REDUCE use the data that is present after the WAIT before them. */
struct coll_step {
	uint8_t kind;     /* enum coll_kind */
	uint32_t rank;    /* SEND, RECV: the other member */
	void *to;         /* RECV, COPY, REDUCE */
	const void *from; /* SEND, COPY, REDUCE */
	size_t bytes;
};

/* One operation of one member. */
struct coll_run {
	TAILQ_ENTRY(coll_run) link; /* prov_coll.runs */
	struct prov_group *group;   /* NULL: closed meanwhile */
	struct coll_step *steps;    /* ours */
	size_t count, room, at;     /* steps; allocated; the next one */
	bool short_of_mem;          /* some steps are missing */
	uint8_t *scratch;           /* ours */
	unsigned outstanding;       /* messages */
	unsigned cancels;           /* of them, not submitted yet */
	int err;                    /* errno of the first that failed */
	uint64_t tag;
	struct weft_op_atomic amo; /* REDUCE */
	struct prov_req *req;      /* its completion; NULL: the run joins its group */
	void *context;             /* of that */
};

/* What is to be done, by the element's size in bytes. */
struct coll_call {
	enum fi_collective_op coll;
	const void *buf;
	void *result;
	size_t count, element_bytes;
	uint32_t rank, members, root;
};

/* Fills in the steps of `c` (coll_plan.c). -FI_ENOMEM; what is there already has to be freed. */
int coll_plan(struct coll_run *run, const struct coll_call *c);

/* ---- runs (coll_run.c) ---- */

TAILQ_HEAD(coll_run_list, coll_run);
TAILQ_HEAD(coll_group_list, prov_group);

/* How often this endpoint joined a group of these members, so that no identifier is used twice. */
struct coll_joined {
	struct coll_joined *next;
	uint64_t hash, times;
};

/* What an endpoint opened with FI_COLLECTIVE has. */
struct prov_coll {
	struct prov_ep *ep;
	struct prov_poller poller;
	struct weft_ep *wep; /* NULL: in a forked child */
	struct coll_group_list groups;
	struct coll_run_list runs;
	struct coll_joined *joined;
};

struct prov_group {
	struct fid_mc mc; /* fi_addr: its own address */
	TAILQ_ENTRY(prov_group) link;
	struct prov_ep *ep;
	struct prov_eq *eq;        /* where FI_JOIN_COMPLETE is reported */
	struct prov_event *joined; /* memory to tell of it; NULL: told */
	uint64_t id;  /* upper part of its messages' tags: agreed upon without a message, see group_id_set */
	uint64_t seq; /* operations so far */
	uint32_t rank, count;
	fi_addr_t *addrs; /* of the members, ours */
	uint32_t *peers;  /* the engine's ids of their collective endpoints */
};

enum { COLL_GROUP_MAX = 65535, COLL_SEQ_BITS = 24 };

/* Begins `c` in the group; `req` becomes the run's, and `context` is for a run without one. -FI_ENOMEM: `req` is still
 * the caller's. */
int coll_run_start(struct prov_group *g, struct coll_call *c, const struct weft_op_atomic *amo, struct prov_req *req,
		   void *context);
/* The group closes: its operations under way end without completions. */
void coll_runs_abandon(struct prov_group *g);

#endif
