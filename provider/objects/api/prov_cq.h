/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues. */
#ifndef PROV_CQ_H
#define PROV_CQ_H

#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "prov_domain.h"
#include "prov_req.h"
#include "prov_wait.h"

struct prov_ep;

/* Under the device's lock. */
struct prov_cq {
	struct fid_cq fid;
	struct prov_domain *domain;
	struct prov_req_list done; /* finished requests, oldest first: the queue itself */
	size_t count;              /* in `done` */
	size_t errors;             /* of these, failed operations */
	size_t size;               /* unread entries beyond which new operations get -FI_EAGAIN */
	size_t entry_bytes;        /* of the application's format */
	bool has_threshold;        /* FI_CQ_COND_THRESHOLD */
	void *err_data;            /* of the error entry read last, until the next read; ours */
	struct prov_wait_obj wait;
	unsigned waiters;    /* in fi_cq_sread */
	unsigned signals;    /* times fi_cq_signal ended their waits */
	bool signal_pending; /* fi_cq_signal came when nobody waited */
	atomic_uint refs;    /* endpoints, poll sets */
};

int prov_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
/* Takes over a finished request, PROV_REQ_HELD; entry and src are filled in. Lock held. */
void prov_cq_add(struct prov_cq *cq, struct prov_req *req);
/* Forgets that entries came from `ep`, which is being closed. Lock held. */
void prov_cq_detach(struct prov_cq *cq, const struct prov_ep *ep);
/* fi_trywait: -FI_EAGAIN when there is something to read. */
int prov_cq_trywait(struct fid *fid);

#endif
