/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: one operation from fi_send to fi_cq_read. A pool per device; everything under the device's lock. */
#ifndef PROV_REQ_H
#define PROV_REQ_H

#include <assert.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "prov_limits.h"
#include "weft/engine.h"

struct prov_nic;
struct prov_ep;
struct prov_cntr;
struct prov_req;
TAILQ_HEAD(prov_req_list, prov_req);

/* Who has the request, and which list it is in. */
enum prov_req_state {
	PROV_REQ_FREE,    /* the pool */
	PROV_REQ_HELD,    /* the function that took it; no list */
	PROV_REQ_POSTED,  /* the engine; prov_ep.posted */
	PROV_REQ_DONE,    /* the application has to read it; prov_cq.done */
	PROV_REQ_CLAIMED, /* read, but its message is reserved; prov_ep.claims */
};

/* Work of the domain's queue (FI_QUEUE_WORK) is counted by `cntr` (or by nothing) instead of the endpoint's counters.
 */
struct prov_work {
	bool deferred; /* it is such work */
	struct prov_cntr *cntr;
	unsigned *started; /* of `cntr`: requests that it will count; NULL without it */
};

/* `context` of the engine's operation is its address. */
struct prov_req {
	TAILQ_ENTRY(prov_req) link;
	TAILQ_ENTRY(prov_req) young_link; /* prov_hang.young, while is_young */
	bool is_young;
	uint32_t peer, looks;         /* of the transmit side: for whom, and prov_hang.looks when it was posted */
	uint8_t state;                /* enum prov_req_state */
	struct prov_ep *ep;           /* NULL: closed meanwhile */
	struct fi_cq_err_entry entry; /* what the application will read; starts like every CQ format */
	fi_addr_t src;                /* of a received message */
	void *bounce;                 /* copy of injected or gathered data, ours */
	bool staged;                  /* `bounce` is for memory of devices (prov_stage.h) */
	bool is_send;                 /* or a read, write or atomic: of the transmit side */
	uint8_t counter;              /* enum prov_cntr_of, of the transmit side */
	bool gathered;                /* what is fetched goes to `bounce` first, and then to the pieces of `iov` */
	uint32_t parts;               /* operations of the engine that have not ended */
	uint64_t part_bytes;          /* of those that have */
	bool wants_entry;             /* success is reported */
	bool has_context;             /* the application can tell which operation an entry is about */
	bool told;                    /* it had its completion; a failure is the peer's next operation's */
	bool cancelling;              /* fi_cancel has ended it; its completion follows */
	bool claim;                   /* FI_PEEK | FI_CLAIM: lives on until the message is fetched */
	struct prov_work work;
	bool is_multi;      /* FI_MULTI_RECV: each message gets a request of its own, this one is for the end */
	uint32_t iov_count; /* > 1: payload is scattered as it arrives */
	struct iovec iov[PROV_IOV_MAX];
	struct weft_op_atomic atomics[PROV_IOV_MAX]; /* of the parts of an atomic operation */
};

struct prov_req_chunk;

struct prov_req_pool {
	struct prov_req_list free;
	size_t count;                  /* in `free` */
	struct prov_req_chunk *chunks; /* all memory */
};

void prov_req_pool_init(struct prov_req_pool *pool);
void prov_req_pool_free(struct prov_req_pool *pool);

/* The caller's, PROV_REQ_HELD. NULL: no memory. */
struct prov_req *prov_req_get(struct prov_nic *nic);
/* The request, which is no work or has ended it, is such work: until it ends its counter can't be closed. */
void prov_req_work_begin(struct prov_req *req, struct prov_work work);
/* It has been counted, or never will be. Nothing to do for other requests. */
static inline void prov_req_work_end(struct prov_req *req)
{
	if (!req->work.cntr)
		return;
	assert(*req->work.started > 0);
	--*req->work.started;
	req->work.cntr = NULL;
	req->work.started = NULL;
}

/* The request is in no list. Ends its work. */
void prov_req_put(struct prov_nic *nic, struct prov_req *req);
/* Makes sure that `count` prov_req_get in a row succeed. False: no memory. */
bool prov_req_reserve(struct prov_nic *nic, size_t count);
/* Takes all requests of a list and puts them back. */
void prov_req_put_all(struct prov_nic *nic, struct prov_req_list *list);

#endif
