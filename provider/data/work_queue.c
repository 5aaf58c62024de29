/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain's queue of deferred work (fi_trigger(3)). */
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

/* ---- what the application describes. False: it is impossible. ---- */

static bool copy_msg(struct prov_trigger *t, const struct fi_op_msg *from)
{
	const struct fi_msg *msg = &from->msg;
	const struct prov_op op = {.kind = t->type == FI_OP_SEND ? WEFT_OP_SEND : WEFT_OP_RECV,
				   .iov = msg->msg_iov,
				   .iov_count = msg->iov_count,
				   .addr = msg->addr,
				   .data = msg->data,
				   .flags = from->flags & ~PROV_NO_COMPLETION,
				   .context = msg->context};
	return prov_trigger_copy_op(t, &op);
}

static bool copy_tagged(struct prov_trigger *t, const struct fi_op_tagged *from)
{
	const struct fi_msg_tagged *msg = &from->msg;
	const struct prov_op op = {.kind = t->type == FI_OP_TSEND ? WEFT_OP_TSEND : WEFT_OP_TRECV,
				   .iov = msg->msg_iov,
				   .iov_count = msg->iov_count,
				   .addr = msg->addr,
				   .tag = msg->tag,
				   .ignore = msg->ignore,
				   .data = msg->data,
				   .flags = from->flags & ~PROV_NO_COMPLETION,
				   .context = msg->context};
	return prov_trigger_copy_op(t, &op);
}

static bool copy_atomic(struct prov_trigger *t, enum prov_amo_family family, const struct fi_op_atomic *from,
			const struct fi_msg_fetch *fetch, const struct fi_msg_compare *compare)
{
	struct prov_amo amo = {.family = family, .msg = &from->msg, .flags = from->flags & ~PROV_NO_COMPLETION};
	amo.operands = (struct prov_ioc){.at = from->msg.msg_iov, .count = from->msg.iov_count};
	if (fetch)
		amo.results = (struct prov_ioc){.at = fetch->msg_iov, .count = fetch->iov_count};
	if (compare)
		amo.comparands = (struct prov_ioc){.at = compare->msg_iov, .count = compare->iov_count};
	return prov_trigger_copy_amo(t, &amo);
}

static bool copy_fetch(struct prov_trigger *t, const struct fi_op_fetch_atomic *from)
{
	const struct fi_op_atomic base = {.msg = from->msg, .flags = from->flags};
	return copy_atomic(t, PROV_AMO_FETCH, &base, &from->fetch, NULL);
}

static bool copy_compare(struct prov_trigger *t, const struct fi_op_compare_atomic *from)
{
	const struct fi_op_atomic base = {.msg = from->msg, .flags = from->flags};
	return copy_atomic(t, PROV_AMO_COMPARE, &base, &from->fetch, &from->compare);
}

static bool copy_change(struct prov_trigger *t, const struct fi_op_cntr *from)
{
	assert(prov_trigger_is_change(t));
	t->change.cntr = cntr_of(from->cntr);
	t->change.value = from->value;
	return t->change.cntr && t->change.cntr->domain == t->domain && !t->completion;
}

static bool copy_work(struct prov_trigger *t, const struct fi_deferred_work *work)
{
	switch (work->op_type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		return copy_msg(t, work->op.msg);
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		return copy_tagged(t, work->op.tagged);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return prov_trigger_copy_rma(t, &work->op.rma->msg, work->op.rma->flags & ~PROV_NO_COMPLETION);
	case FI_OP_ATOMIC:
		return copy_atomic(t, PROV_AMO_BASE, work->op.atomic, NULL, NULL);
	case FI_OP_FETCH_ATOMIC:
		return copy_fetch(t, work->op.fetch_atomic);
	case FI_OP_COMPARE_ATOMIC:
		return copy_compare(t, work->op.compare_atomic);
	case FI_OP_CNTR_SET:
	case FI_OP_CNTR_ADD:
		return copy_change(t, work->op.cntr);
	}
	return false;
}

/* ---- FI_QUEUE_WORK ---- */

static uint64_t flags_of(const struct prov_trigger *t)
{
	switch (t->type) {
	case FI_OP_READ:
	case FI_OP_WRITE:
		return t->rma.flags;
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return t->atomic.call.flags;
	default:
		return t->op.flags;
	}
}

/* All the requests for endpoints begin with the endpoint. */
static int ep_fill(struct prov_trigger *t, const struct fi_deferred_work *work)
{
	assert(!t->ep && t->work == work);
	if (prov_trigger_is_change(t))
		return 0;
	t->ep = prov_ep_of(work->op.msg->ep);
	if (t->ep->domain != t->domain)
		return -FI_EINVAL;
	return 0;
}

static int counters_check(const struct prov_domain *domain, const struct fi_deferred_work *work)
{
	const struct prov_cntr *cntr = cntr_of(work->triggering_cntr), *completion = cntr_of(work->completion_cntr);
	return cntr && cntr->domain == domain && (!completion || completion->domain == domain) ? 0 : -FI_EINVAL;
}

static int work_fill(struct prov_trigger *t, const struct fi_deferred_work *work)
{
	t->work = work;
	t->completion = cntr_of(work->completion_cntr);
	int ret = ep_fill(t, work);
	if (ret)
		return ret;
	if (!copy_work(t, work))
		return -FI_EINVAL;
	return !prov_trigger_is_change(t) && flags_of(t) & (FI_INJECT | FI_TRIGGER) ? -FI_EINVAL : 0;
}

static int work_queue(struct prov_domain *domain, const struct fi_deferred_work *work)
{
	if (!work)
		return -FI_EINVAL;
	if (work->op_type > FI_OP_CNTR_ADD)
		return -FI_ENOSYS;
	if (counters_check(domain, work) || !work->op.msg)
		return -FI_EINVAL;
	struct prov_trigger *t = prov_trigger_new(domain, NULL, work->op_type);
	int ret = t ? work_fill(t, work) : -FI_ENOMEM;
	if (ret) {
		free(t);
		return ret;
	}
	prov_trigger_queue(t, cntr_of(work->triggering_cntr), work->threshold);
	return 0;
}

/* ---- FI_CANCEL_WORK, FI_FLUSH_WORK ---- */

/* NULL: any. */
struct want {
	const struct prov_domain *domain;
	const struct fi_deferred_work *work;
	const struct prov_cntr *cntr; /* waited for */
};

static bool is_wanted(const struct prov_deferred *d, const void *arg)
{
	const struct want *want = arg;
	const struct prov_trigger *t = prov_trigger_of(d);
	return t->work && t->domain == want->domain && (!want->work || t->work == want->work) &&
	       (!want->cntr || d->tally == &want->cntr->tally);
}

static size_t work_drop(struct prov_domain *domain, const struct want *want)
{
	const struct prov_deferred_search search = {
		.matches = is_wanted, .arg = want, .only_first = want->work != NULL};
	prov_nic_lock(domain->nic);
	size_t n = prov_deferred_cancel(&domain->nic->deferred, &search);
	prov_nic_unlock(domain->nic);
	return n;
}

int prov_work_control(struct fid *fid, int command, void *arg)
{
	struct prov_domain *domain = container_of(fid, struct prov_domain, fid.fid);
	assert(fid->fclass == FI_CLASS_DOMAIN);
	switch (command) {
	case FI_QUEUE_WORK:
		return work_queue(domain, arg);
	case FI_CANCEL_WORK:
		if (!arg)
			return -FI_EINVAL;
		return work_drop(domain, &(struct want){.domain = domain, .work = arg}) ? 0 : -FI_ENOENT;
	case FI_FLUSH_WORK:
		work_drop(domain, &(struct want){.domain = domain, .cntr = cntr_of(arg)});
		return 0;
	default:
		return -FI_ENOSYS;
	}
}
