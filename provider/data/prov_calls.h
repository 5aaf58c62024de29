/* SPDX-License-Identifier: BSD-3-Clause */
/* From the application's call to the operation: checks, FI_TRIGGER, the lock. */
#ifndef PROV_CALLS_H
#define PROV_CALLS_H

#include <rdma/fi_errno.h>

#include "post.h"
#include "prov_data.h"

/* For operations that are not work of the domain's queue. */
#define PROV_NO_WORK ((struct prov_work){.deferred = false})

/* -FI_EOPBADSTATE: the endpoint is not enabled, or has no such side. */
static inline int prov_tx_check(const struct prov_ep *ep)
{
	return !ep->enabled || ep->no_tx ? -FI_EOPBADSTATE : 0;
}

static inline int prov_rx_check(const struct prov_ep *ep)
{
	return !ep->enabled || ep->no_rx ? -FI_EOPBADSTATE : 0;
}

/* Sends and receives, tagged or not. */
ssize_t prov_send(struct prov_ep *ep, const struct prov_op *op);
ssize_t prov_recv(struct prov_ep *ep, const struct prov_op *op);

#endif
