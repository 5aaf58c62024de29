/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that start when a counter reaches a threshold: FI_TRIGGER, and the domain's deferred work queue. */
#ifndef PROV_TRIGGER_H
#define PROV_TRIGGER_H

#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdbool.h>

#include "member.h"
#include "post.h"
#include "prov_amo.h"
#include "prov_cntr.h"
#include "prov_deferred.h"
#include "prov_domain.h"
#include "prov_ep.h"

/* ---- FI_TRIGGER (trigger_calls.c) ---- */

/* The calls' context is a struct fi_triggered_context: everything is copied but the payload. Flags are those of the
 * call. -FI_EINVAL: no such counter, too many segments, or FI_INJECT; -FI_ENOSYS: another event; -FI_EAGAIN: no memory.
 */
ssize_t prov_trigger_op(struct prov_ep *ep, const struct prov_op *op);
ssize_t prov_trigger_rma(struct prov_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg, uint64_t flags);
ssize_t prov_trigger_amo(struct prov_ep *ep, const struct prov_amo *amo);
/* fi_cancel of an operation that waits for its counter. False: none has this context. Lock held. */
bool prov_trigger_cancel(struct prov_ep *ep, const void *context);

/* ---- the operation (trigger.c) ---- */

struct prov_trigger {
	struct prov_deferred deferred;       /* first */
	struct prov_domain *domain;          /* whose work queue, or the endpoint's */
	const struct fi_deferred_work *work; /* NULL: FI_TRIGGER */
	struct prov_cntr *completion;        /* of deferred work; NULL: none */
	struct prov_ep *ep;                  /* NULL: the operation changes a counter */
	enum fi_op_type type;
	union {
		struct prov_op op; /* sends and receives */
		struct {
			struct fi_msg_rma msg;
			uint64_t flags;
		} rma;
		struct {
			struct fi_msg_atomic msg;
			struct prov_amo call;
		} atomic;
		struct {
			struct prov_cntr *cntr;
			uint64_t value;
		} change;
	};
	struct iovec iov[PROV_IOV_MAX];
	union {
		struct fi_rma_iov rma_iov[PROV_IOV_MAX];
		struct fi_rma_ioc rma_ioc[PROV_IOV_MAX];
	};
	struct fi_ioc ioc[3][PROV_IOV_MAX]; /* operands, results, comparands */
};

/* An operation of `ep`, not described yet. NULL: no memory. */
struct prov_trigger *prov_trigger_new(struct prov_domain *domain, struct prov_ep *ep, enum fi_op_type type);
/* Queues it, complete, to wait for `cntr`; takes it over. */
void prov_trigger_queue(struct prov_trigger *t, struct prov_cntr *cntr, uint64_t threshold);
/* True for FI_OP_CNTR_SET and FI_OP_CNTR_ADD. */
bool prov_trigger_is_change(const struct prov_trigger *t);
/* The context that the application passed with the operation. */
void *prov_trigger_context(const struct prov_trigger *t);

static inline const struct prov_trigger *prov_trigger_of(const struct prov_deferred *d)
{
	return container_of(d, struct prov_trigger, deferred);
}

/* ---- copies of what a call describes (trigger_copy.c). False: more segments than fit. ---- */

bool prov_trigger_copy_op(struct prov_trigger *t, const struct prov_op *op);
bool prov_trigger_copy_rma(struct prov_trigger *t, const struct fi_msg_rma *msg, uint64_t flags);
bool prov_trigger_copy_amo(struct prov_trigger *t, const struct prov_amo *amo);

#endif
