/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions. */
#ifndef PROV_MR_H
#define PROV_MR_H

#include <rdma/fi_domain.h>

#include "prov_cntr.h"
#include "prov_domain.h"
#include "prov_hmem.h"
#include "weft/engine.h"

struct prov_ep;

struct prov_mr {
	struct fid_mr fid;
	struct prov_domain *domain;
	struct weft_mr *wmr;
	struct prov_cntr *remote_read, *remote_write; /* or NULL */
	struct prov_hmem mem;
	LIST_ENTRY(prov_mr) link; /* prov_domain.devices, if it is memory of a device */
	size_t count;             /* of `iov`; 0: ordinary memory */
	struct iovec iov[];       /* its pieces */
};

extern struct fi_ops_mr prov_mr_ops;
/* The slow part of prov_mr_device_at. */
const struct prov_hmem *prov_mr_device_find(const struct prov_domain *domain, const void *at);
/* Whose memory is at this address, by the regions that are registered; NULL: the CPU may use it. Lock held. */
static inline const struct prov_hmem *prov_mr_device_at(const struct prov_domain *domain, const void *at)
{
	assert_locked(domain->nic);
	return LIST_EMPTY(&domain->devices) ? NULL : prov_mr_device_find(domain, at);
}

/* One of these pieces is memory of a device. Lock held. */
bool prov_mr_device_has(const struct prov_domain *domain, const struct iovec *iov, size_t count);
/* A peer's access to our memory through `ep` has ended. Needs up to one free request. Lock held. */
void prov_mr_event(struct prov_ep *ep, const struct weft_cqe *cqe);

#endif
