/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that start when a counter reaches a threshold: FI_TRIGGER, and the domain's deferred work queue. */
#ifndef PROV_TRIGGER_H
#define PROV_TRIGGER_H

#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include "prov.h"

/* Calls with FI_TRIGGER, whose context is a struct fi_triggered_context: everything is copied but the payload. Flags
 * are those of the call. -FI_EINVAL: no such counter, too many segments, or FI_INJECT; -FI_ENOSYS: another event. */
ssize_t prov_trigger_op(struct prov_ep *ep, const struct prov_op *op);
ssize_t prov_trigger_rma(struct prov_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg, uint64_t flags);
/* `fetch` and `compare` as the operation has them, or NULL. */
ssize_t prov_trigger_atomic(struct prov_ep *ep, const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
			    const struct fi_msg_compare *compare, uint64_t flags);

/* FI_QUEUE_WORK, FI_CANCEL_WORK and FI_FLUSH_WORK of a domain (arg of the last: NULL, or only what waits for this
 * counter). */
int prov_work_control(struct prov_domain *domain, int command, void *arg);

/* Lock held for the rest. */

/* The counter has changed: what it was waited for becomes due. */
void prov_trigger_check(struct prov_cntr *cntr);
/* Starts what is due. True when there was something. */
bool prov_trigger_fire(struct prov_nic *nic);
/* fi_cancel of an operation that waits for its counter. False: none has this context. */
bool prov_trigger_cancel(struct prov_ep *ep, const void *context);
/* Forgets what belongs to an object that closes; the others NULL. */
void prov_trigger_drop(struct prov_nic *nic, const struct prov_ep *ep, const struct prov_cntr *cntr);

#endif
