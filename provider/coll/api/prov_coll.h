/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations (fi_collective(3)). A call becomes a list of steps, messages between members and work on our
 * own memory, which is carried out while somebody makes progress. The messages travel between engine endpoints of their
 * own, whose numbers follow those of the endpoints: the application's receives never see them. */
#ifndef PROV_COLL_H
#define PROV_COLL_H

#include <rdma/fi_collective.h>

#include "weft/err.h"

struct prov_ep;

extern struct fi_ops_collective prov_coll_ops;

/* fi_join_collective. */
int prov_coll_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc, void *context);
/* fi_query_collective. */
int prov_coll_query(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr,
		    uint64_t flags);

/* prov_ep_events.opened: an endpoint with FI_COLLECTIVE gets the number behind its own, too. Errors of weft_ep_open. */
int prov_coll_open(struct prov_ep *ep, struct weft_err *err);
/* prov_ep_events.closing. */
void prov_coll_close(struct prov_ep *ep);

#endif
