/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations (fi_collective(3)). A call becomes a list of steps, messages between members and work on our
 * own memory, which is carried out while somebody makes progress. The messages travel between engine endpoints of their
 * own, whose numbers follow those of the endpoints: the application's receives never see them. All under the device's
 * lock. */
#ifndef WEFT_PROV_COLL_H
#define WEFT_PROV_COLL_H

#include <rdma/fi_collective.h>

#include "prov.h"

struct prov_group;

enum coll_kind { COLL_SEND, COLL_RECV, COLL_COPY, COLL_REDUCE, COLL_WAIT };

/* COPY and REDUCE work on what is here when the WAIT before them is over. */
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
	bool short_of_mem;          /* not all of them are there */
	uint8_t *scratch;           /* ours */
	unsigned outstanding;       /* messages */
	int err;                    /* errno of the first that failed */
	uint64_t tag;
	struct weft_op_atomic amo; /* REDUCE */
	struct prov_req *req;      /* its completion; NULL: it is the joining of its group */
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

/* What an endpoint opened with FI_COLLECTIVE has. */
struct prov_coll;
/* Opens the number behind the endpoint's. Errors of weft_ep_open. */
int prov_coll_open(struct prov_ep *ep);
void prov_coll_close(struct prov_ep *ep);
/* Takes what the engine has finished; true: something. */
bool prov_coll_progress(struct prov_ep *ep);
int prov_coll_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc, void *context);
int prov_coll_query(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr,
		    uint64_t flags);
extern struct fi_ops_collective prov_coll_ops;

/* Addresses that may become a group, in this order (avset.c). Under the device's lock. */
struct prov_av_set {
	struct fid_av_set fid;
	struct prov_av *av;
	fi_addr_t *addrs;
	size_t count, room;
};

int prov_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set, void *context);

#endif
