/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions. */
#ifndef PROV_MR_H
#define PROV_MR_H

#include <rdma/fi_domain.h>

#include "prov_cntr.h"
#include "prov_domain.h"
#include "weft/engine.h"

struct prov_ep;

struct prov_mr {
	struct fid_mr fid;
	struct prov_domain *domain;
	struct weft_mr *wmr;
	struct prov_cntr *remote_read, *remote_write; /* or NULL */
};

extern struct fi_ops_mr prov_mr_ops;
/* A peer's access to our memory through `ep` has ended. Needs up to one free request. Lock held. */
void prov_mr_event(struct prov_ep *ep, const struct weft_cqe *cqe);

#endif
