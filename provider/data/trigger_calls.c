/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with FI_TRIGGER. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_calls.h"
#include "trigger.h"

static struct prov_cntr *cntr_of(struct fid_cntr *fid)
{
	return fid ? container_of(fid, struct prov_cntr, fid) : NULL;
}

static int condition_check(const struct prov_trigger *t, uint64_t flags, const struct fi_triggered_context *context)
{
	if (!context || flags & FI_INJECT)
		return -FI_EINVAL;
	if (context->event_type != FI_TRIGGER_THRESHOLD)
		return -FI_ENOSYS;
	const struct prov_cntr *cntr = cntr_of(context->trigger.threshold.cntr);
	return cntr && cntr->domain->nic == t->domain->nic ? 0 : -FI_EINVAL;
}

/* Last step of all triggered calls: waits for the counter that `context` names. Takes `t` over. */
static ssize_t wait_for(struct prov_trigger *t, bool copied, uint64_t flags, const struct fi_triggered_context *context)
{
	int ret = copied ? condition_check(t, flags, context) : -FI_EINVAL;
	if (ret) {
		free(t);
		return ret;
	}
	prov_trigger_queue(t, cntr_of(context->trigger.threshold.cntr), context->trigger.threshold.threshold);
	return 0;
}

ssize_t prov_trigger_op(struct prov_ep *ep, const struct prov_op *op)
{
	static const enum fi_op_type type_of[] = {[WEFT_OP_SEND] = FI_OP_SEND,
						  [WEFT_OP_TSEND] = FI_OP_TSEND,
						  [WEFT_OP_RECV] = FI_OP_RECV,
						  [WEFT_OP_TRECV] = FI_OP_TRECV};
	struct prov_trigger *t = prov_trigger_new(ep->domain, ep, type_of[op->kind]);
	assert(op->kind < count_of(type_of) && op->flags & FI_TRIGGER);
	struct prov_op at_once = *op;
	at_once.flags &= ~FI_TRIGGER;
	return t ? wait_for(t, prov_trigger_copy_op(t, &at_once), op->flags, op->context) : -FI_EAGAIN;
}

ssize_t prov_trigger_rma(struct prov_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct prov_trigger *t = prov_trigger_new(ep->domain, ep, type);
	return t ? wait_for(t, prov_trigger_copy_rma(t, msg, flags & ~FI_TRIGGER), flags, msg->context) : -FI_EAGAIN;
}

ssize_t prov_trigger_amo(struct prov_ep *ep, const struct prov_amo *amo)
{
	static const enum fi_op_type type_of[] = {[PROV_AMO_BASE] = FI_OP_ATOMIC,
						  [PROV_AMO_FETCH] = FI_OP_FETCH_ATOMIC,
						  [PROV_AMO_COMPARE] = FI_OP_COMPARE_ATOMIC};
	struct prov_trigger *t = prov_trigger_new(ep->domain, ep, type_of[amo->family]);
	assert(amo->flags & FI_TRIGGER);
	struct prov_amo at_once = *amo;
	at_once.flags &= ~FI_TRIGGER;
	return t ? wait_for(t, prov_trigger_copy_amo(t, &at_once), amo->flags, amo->msg->context) : -FI_EAGAIN;
}

struct context_of_ep {
	const struct prov_ep *ep;
	const void *context;
};

static bool has_context(const struct prov_deferred *d, const void *arg)
{
	const struct context_of_ep *want = arg;
	const struct prov_trigger *t = prov_trigger_of(d);
	return t->ep == want->ep && !t->work && prov_trigger_context(t) == want->context;
}

bool prov_trigger_cancel(struct prov_ep *ep, const void *context)
{
	const struct context_of_ep want = {.ep = ep, .context = context};
	const struct prov_deferred_search search = {
		.matches = has_context, .arg = &want, .only_first = true, .reported = true};
	assert_locked(ep->domain->nic);
	return prov_deferred_cancel(&ep->domain->nic->deferred, &search) > 0;
}
