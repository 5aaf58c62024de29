/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that wait for a counter: how they start, and how they end before that. They start at the end of progress,
 * with the lock held. */
#include "trigger.h"
#include "member.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "prov_calls.h"
#include "prov_cq.h"

bool prov_trigger_is_change(const struct prov_trigger *t)
{
	return t->type == FI_OP_CNTR_SET || t->type == FI_OP_CNTR_ADD;
}

static bool is_receive(const struct prov_trigger *t)
{
	return t->type == FI_OP_RECV || t->type == FI_OP_TRECV;
}

void *prov_trigger_context(const struct prov_trigger *t)
{
	switch (t->type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		return t->op.context;
	case FI_OP_READ:
	case FI_OP_WRITE:
		return t->rma.msg.context;
	default:
		return t->atomic.msg.context;
	}
}

/* ---- starting ---- */

static ssize_t recv_start(const struct prov_trigger *t, struct prov_work work)
{
	int ret = prov_rx_check(t->ep);
	return ret ? ret : prov_recv_post(prov_rx_of(t->ep), &t->op, work);
}

static ssize_t send_start(const struct prov_trigger *t, struct prov_work work)
{
	int ret = prov_tx_check(t->ep);
	if (!ret && t->ep->is_dgram && t->op.kind != WEFT_OP_SEND)
		ret = -FI_EOPNOTSUPP;
	return ret ? ret : prov_send_post(t->ep, &t->op, work);
}

static ssize_t rma_start(const struct prov_trigger *t, struct prov_work work)
{
	uint8_t kind = t->type == FI_OP_READ ? WEFT_OP_READ : WEFT_OP_WRITE;
	int ret = prov_tx_check(t->ep);
	return ret ? ret : prov_rma_post(t->ep, &t->rma.msg, kind, t->rma.flags, work);
}

static ssize_t amo_start(const struct prov_trigger *t, struct prov_work work)
{
	int ret = prov_tx_check(t->ep);
	if (!ret)
		ret = prov_amo_check_flags(t->atomic.call.flags);
	return ret ? ret : prov_amo_post(t->ep, &t->atomic.call, work);
}

static ssize_t trigger_start(struct prov_deferred *d)
{
	const struct prov_trigger *t = prov_trigger_of(d);
	const struct prov_work work = {.deferred = t->work != NULL,
				       .cntr = t->completion,
				       .started = t->completion ? &t->completion->started : NULL};
	assert_locked(t->domain->nic);
	switch (t->type) {
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return recv_start(t, work);
	case FI_OP_SEND:
	case FI_OP_TSEND:
		return send_start(t, work);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return rma_start(t, work);
	case FI_OP_CNTR_SET:
	case FI_OP_CNTR_ADD:
		prov_cntr_change(t->change.cntr, t->type == FI_OP_CNTR_ADD, t->change.value);
		return 0;
	default:
		return amo_start(t, work);
	}
}

/* ---- ending ---- */

static enum prov_cntr_of counter_of(enum fi_op_type type)
{
	switch (type) {
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return PROV_CNTR_RECV;
	case FI_OP_READ:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return PROV_CNTR_READ;
	case FI_OP_WRITE:
	case FI_OP_ATOMIC:
		return PROV_CNTR_WRITE;
	default:
		return PROV_CNTR_TRANSMIT;
	}
}

static void error_report(const struct prov_trigger *t, struct prov_cq *cq, int err)
{
	struct prov_req *req = prov_req_get(t->domain->nic);
	if (!req)
		return;
	req->ep = t->ep;
	req->is_send = !is_receive(t);
	req->entry.op_context = prov_trigger_context(t);
	req->entry.flags = req->is_send ? FI_TRANSMIT : FI_RECV;
	req->entry.err = req->entry.prov_errno = err;
	prov_cq_add(cq, req);
}

static void trigger_fail(struct prov_deferred *d, int err)
{
	const struct prov_trigger *t = prov_trigger_of(d);
	assert(err > 0 && t->ep);
	struct prov_cq *cq = is_receive(t) ? t->ep->rx_cq : t->ep->tx_cq;
	struct prov_cntr *cntr = t->work ? t->completion : t->ep->cntrs[counter_of(t->type)];
	if (cntr)
		prov_cntr_count(cntr, 0, 1);
	if (cq && !t->completion)
		error_report(t, cq, err);
}

static bool trigger_uses(const struct prov_deferred *d, const void *object)
{
	const struct prov_trigger *t = prov_trigger_of(d);
	return object == t->ep || (t->completion && object == &t->completion->tally) ||
	       (prov_trigger_is_change(t) && object == &t->change.cntr->tally);
}

static void trigger_free(struct prov_deferred *d)
{
	free(container_of(d, struct prov_trigger, deferred));
}

static const struct prov_deferred_ops trigger_ops = {
	.start = trigger_start,
	.fail = trigger_fail,
	.uses = trigger_uses,
	.free = trigger_free,
};

/* ---- queueing ---- */

struct prov_trigger *prov_trigger_new(struct prov_domain *domain, struct prov_ep *ep, enum fi_op_type type)
{
	struct prov_trigger *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->deferred.ops = &trigger_ops;
	t->domain = domain;
	t->ep = ep;
	t->type = type;
	return t;
}

void prov_trigger_queue(struct prov_trigger *t, struct prov_cntr *cntr, uint64_t threshold)
{
	struct prov_nic *nic = t->domain->nic;
	assert(cntr->domain->nic == nic);
	t->deferred.tally = &cntr->tally;
	t->deferred.threshold = threshold;
	t->deferred.counts_errors = t->work != NULL; /* fi_trigger(3) */
	prov_nic_lock(nic);
	prov_deferred_add(&nic->deferred, &t->deferred);
	prov_deferred_start(&nic->deferred);
	prov_nic_unlock(nic);
}
