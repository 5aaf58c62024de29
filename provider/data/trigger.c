/* SPDX-License-Identifier: BSD-3-Clause */
/* Triggered operations wait in the order of their thresholds at their counter. What a call describes is copied, so that
 * it can be made again, through the endpoint's own functions, when its time has come. That happens at the end of
 * progress, with the lock held: prov_nic_lock lets the thread that fires pass. */
#include "trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct prov_trigger {
	TAILQ_ENTRY(prov_trigger) link; /* at the counter, in the order of thresholds; then prov_nic.due */
	struct prov_domain *domain;     /* whose work queue, or the endpoint's */
	struct prov_cntr *cntr;         /* what it waits for */
	uint64_t threshold;
	const struct fi_deferred_work *work; /* NULL: FI_TRIGGER */
	struct prov_cntr *completion;        /* of deferred work; NULL: none */
	struct prov_ep *ep;                  /* NULL: the operation changes a counter */
	enum fi_op_type type;
	uint64_t flags;
	union {
		struct fi_msg msg;
		struct fi_msg_tagged tagged;
		struct fi_msg_rma rma;
		struct {
			struct fi_msg_atomic msg;
			struct fi_msg_fetch fetch;
			struct fi_msg_compare compare;
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

static struct prov_cntr *cntr_of(struct fid_cntr *fid)
{
	return fid ? container_of(fid, struct prov_cntr, fid) : NULL;
}

/* ---- copies of what a call describes; false: more segments than fit ---- */

static bool segments(void *to, const void **from, size_t count, size_t size)
{
	if (count > PROV_IOV_MAX || (count && !*from))
		return false;
	if (count)
		memcpy(to, *from, count * size);
	*from = to;
	return true;
}

#define SEGMENTS(TO, FROM, COUNT) segments(TO, (const void **)&(FROM), COUNT, sizeof *(TO))

static bool copy_msg(struct prov_trigger *t, const struct fi_msg *msg)
{
	t->msg = *msg;
	return SEGMENTS(t->iov, t->msg.msg_iov, msg->iov_count);
}

static bool copy_tagged(struct prov_trigger *t, const struct fi_msg_tagged *msg)
{
	t->tagged = *msg;
	return SEGMENTS(t->iov, t->tagged.msg_iov, msg->iov_count);
}

static bool copy_rma(struct prov_trigger *t, const struct fi_msg_rma *msg)
{
	t->rma = *msg;
	return SEGMENTS(t->iov, t->rma.msg_iov, msg->iov_count) &&
	       SEGMENTS(t->rma_iov, t->rma.rma_iov, msg->rma_iov_count);
}

static bool copy_atomic(struct prov_trigger *t, const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
			const struct fi_msg_compare *compare)
{
	t->atomic.msg = *msg;
	if (fetch)
		t->atomic.fetch = *fetch;
	if (compare)
		t->atomic.compare = *compare;
	return SEGMENTS(t->ioc[0], t->atomic.msg.msg_iov, msg->iov_count) &&
	       SEGMENTS(t->rma_ioc, t->atomic.msg.rma_iov, msg->rma_iov_count) &&
	       SEGMENTS(t->ioc[1], t->atomic.fetch.msg_iov, t->atomic.fetch.iov_count) &&
	       SEGMENTS(t->ioc[2], t->atomic.compare.msg_iov, t->atomic.compare.iov_count);
}

/* ---- waiting ---- */

/* Deferred work counts errors as well (fi_trigger(3)). */
static bool reached(const struct prov_trigger *t)
{
	return t->cntr->value + (t->work ? t->cntr->errors : 0) >= t->threshold;
}

static void become_due(struct prov_nic *nic, struct prov_trigger *t)
{
	TAILQ_REMOVE(&t->cntr->triggers, t, link);
	nic->waiting--;
	TAILQ_INSERT_TAIL(&nic->due, t, link);
}

void prov_trigger_check(struct prov_cntr *cntr)
{
	struct prov_trigger *t = TAILQ_FIRST(&cntr->triggers), *next;
	for (; t && t->threshold <= cntr->value + cntr->errors; t = next) {
		next = TAILQ_NEXT(t, link);
		if (reached(t))
			become_due(cntr->domain->nic, t);
	}
}

/* Behind those with the same threshold. */
static void wait_for(struct prov_trigger *t)
{
	struct prov_trigger *before = TAILQ_LAST(&t->cntr->triggers, prov_trigger_list);
	t->cntr->domain->nic->waiting++;
	while (before && before->threshold > t->threshold)
		before = TAILQ_PREV(before, prov_trigger_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&t->cntr->triggers, before, t, link);
	else
		TAILQ_INSERT_HEAD(&t->cntr->triggers, t, link);
}

/* ---- starting ---- */

static ssize_t transfer(struct prov_trigger *t, struct fid_ep *ep)
{
	switch (t->type) {
	case FI_OP_RECV:
		return ep->msg->recvmsg(ep, &t->msg, t->flags);
	case FI_OP_SEND:
		return ep->msg->sendmsg(ep, &t->msg, t->flags);
	case FI_OP_TRECV:
		return ep->tagged->recvmsg(ep, &t->tagged, t->flags);
	case FI_OP_TSEND:
		return ep->tagged->sendmsg(ep, &t->tagged, t->flags);
	case FI_OP_READ:
		return ep->rma->readmsg(ep, &t->rma, t->flags);
	case FI_OP_WRITE:
		return ep->rma->writemsg(ep, &t->rma, t->flags);
	case FI_OP_ATOMIC:
		return ep->atomic->writemsg(ep, &t->atomic.msg, t->flags);
	case FI_OP_FETCH_ATOMIC:
		return ep->atomic->readwritemsg(ep, &t->atomic.msg, t->ioc[1], NULL, t->atomic.fetch.iov_count,
						t->flags);
	case FI_OP_COMPARE_ATOMIC:
		return ep->atomic->compwritemsg(ep, &t->atomic.msg, t->ioc[2], NULL, t->atomic.compare.iov_count,
						t->ioc[1], NULL, t->atomic.fetch.iov_count, t->flags);
	default:
		return -FI_ENOSYS;
	}
}

static bool is_change(const struct prov_trigger *t)
{
	return t->type == FI_OP_CNTR_SET || t->type == FI_OP_CNTR_ADD;
}

static ssize_t call(struct prov_trigger *t)
{
	if (!is_change(t))
		return transfer(t, &t->ep->fid);
	prov_cntr_change(t->change.cntr, t->type == FI_OP_CNTR_ADD, t->change.value);
	return 0;
}

static bool is_receive(const struct prov_trigger *t)
{
	return t->type == FI_OP_RECV || t->type == FI_OP_TRECV;
}

static void *context_of(const struct prov_trigger *t)
{
	switch (t->type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		return t->msg.context;
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		return t->tagged.context;
	case FI_OP_READ:
	case FI_OP_WRITE:
		return t->rma.context;
	default:
		return t->atomic.msg.context;
	}
}

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

/* It ends before it began. */
static void fail(const struct prov_trigger *t, int err)
{
	struct prov_ep *ep = t->ep;
	struct prov_cq *cq = is_receive(t) ? ep->rx_cq : ep->tx_cq;
	struct prov_cntr *cntr = t->work ? t->completion : ep->cntrs[counter_of(t->type)];
	struct prov_req *req = cq && !t->completion ? prov_req_get(ep->domain->nic) : NULL;
	if (cntr)
		prov_cntr_count(cntr, 0, 1);
	if (!req)
		return;
	req->ep = ep;
	req->is_send = !is_receive(t);
	req->entry.op_context = context_of(t);
	req->entry.flags = req->is_send ? FI_TRANSMIT : FI_RECV;
	req->entry.err = req->entry.prov_errno = err;
	prov_cq_push(cq, req);
}

static ssize_t start(struct prov_nic *nic, struct prov_trigger *t)
{
	nic->work_completion = t->completion;
	nic->is_work = t->work != NULL;
	ssize_t ret = call(t);
	nic->is_work = false;
	return ret;
}

bool prov_trigger_fire(struct prov_nic *nic)
{
	struct prov_trigger *t;
	bool any = false;
	if (TAILQ_EMPTY(&nic->due) || nic->firing)
		return false;
	nic->firer = pthread_self();
	atomic_store_explicit(&nic->firing, true, memory_order_release);
	while ((t = TAILQ_FIRST(&nic->due))) {
		TAILQ_REMOVE(&nic->due, t, link);
		ssize_t ret = start(nic, t);
		if (ret == -FI_EAGAIN) { /* later, and before all others */
			TAILQ_INSERT_HEAD(&nic->due, t, link);
			break;
		}
		if (ret)
			fail(t, (int)-ret);
		free(t);
		any = true;
	}
	atomic_store_explicit(&nic->firing, false, memory_order_release);
	return any;
}

/* ---- FI_TRIGGER ---- */

/* Queues a copy that is complete; takes it over. */
static int enqueue(struct prov_trigger *t)
{
	struct prov_nic *nic = t->domain->nic;
	prov_nic_lock(nic);
	wait_for(t);
	prov_trigger_check(t->cntr);
	prov_trigger_fire(nic);
	prov_nic_unlock(nic);
	return 0;
}

static struct prov_trigger *trigger_new(struct prov_ep *ep, enum fi_op_type type, uint64_t flags)
{
	struct prov_trigger *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->domain = ep->domain;
	t->ep = ep;
	t->type = type;
	t->flags = flags & ~FI_TRIGGER;
	return t;
}

/* The last step of the calls with FI_TRIGGER: when? */
static ssize_t condition(struct prov_trigger *t, bool copied, const struct fi_triggered_context *context)
{
	int ret = copied && context && !(t->flags & FI_INJECT) ? 0 : -FI_EINVAL;
	if (!ret && context->event_type != FI_TRIGGER_THRESHOLD)
		ret = -FI_ENOSYS;
	if (!ret) {
		t->cntr = cntr_of(context->trigger.threshold.cntr);
		t->threshold = context->trigger.threshold.threshold;
	}
	if (!ret && (!t->cntr || t->cntr->domain->nic != t->domain->nic))
		ret = -FI_EINVAL;
	if (!ret)
		return enqueue(t);
	free(t);
	return ret;
}

ssize_t prov_trigger_op(struct prov_ep *ep, const struct prov_op *op)
{
	static const enum fi_op_type type_of[] = {[WEFT_OP_SEND] = FI_OP_SEND,
						  [WEFT_OP_TSEND] = FI_OP_TSEND,
						  [WEFT_OP_RECV] = FI_OP_RECV,
						  [WEFT_OP_TRECV] = FI_OP_TRECV};
	bool tagged = op->kind == WEFT_OP_TSEND || op->kind == WEFT_OP_TRECV, copied;
	struct prov_trigger *t = trigger_new(ep, type_of[op->kind], op->flags);
	if (!t)
		return -FI_EAGAIN;
	if (tagged)
		copied = copy_tagged(t, &(struct fi_msg_tagged){.msg_iov = op->iov,
								.iov_count = op->iov_count,
								.addr = op->addr,
								.tag = op->tag,
								.ignore = op->ignore,
								.context = op->context,
								.data = op->data});
	else
		copied = copy_msg(t, &(struct fi_msg){.msg_iov = op->iov,
						      .iov_count = op->iov_count,
						      .addr = op->addr,
						      .context = op->context,
						      .data = op->data});
	return condition(t, copied, op->context);
}

ssize_t prov_trigger_rma(struct prov_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct prov_trigger *t = trigger_new(ep, type, flags);
	return t ? condition(t, copy_rma(t, msg), msg->context) : -FI_EAGAIN;
}

ssize_t prov_trigger_atomic(struct prov_ep *ep, const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
			    const struct fi_msg_compare *compare, uint64_t flags)
{
	enum fi_op_type type = compare ? FI_OP_COMPARE_ATOMIC : fetch ? FI_OP_FETCH_ATOMIC : FI_OP_ATOMIC;
	struct prov_trigger *t = trigger_new(ep, type, flags);
	return t ? condition(t, copy_atomic(t, msg, fetch, compare), msg->context) : -FI_EAGAIN;
}

/* ---- deferred work ---- */

/* All the requests for endpoints begin with the endpoint. */
static bool copy_work(struct prov_trigger *t, const struct fi_deferred_work *work)
{
	switch (work->op_type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		t->flags = work->op.msg->flags;
		return copy_msg(t, &work->op.msg->msg);
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		t->flags = work->op.tagged->flags;
		return copy_tagged(t, &work->op.tagged->msg);
	case FI_OP_READ:
	case FI_OP_WRITE:
		t->flags = work->op.rma->flags;
		return copy_rma(t, &work->op.rma->msg);
	case FI_OP_ATOMIC:
		t->flags = work->op.atomic->flags;
		return copy_atomic(t, &work->op.atomic->msg, NULL, NULL);
	case FI_OP_FETCH_ATOMIC:
		t->flags = work->op.fetch_atomic->flags;
		return copy_atomic(t, &work->op.fetch_atomic->msg, &work->op.fetch_atomic->fetch, NULL);
	case FI_OP_COMPARE_ATOMIC:
		t->flags = work->op.compare_atomic->flags;
		return copy_atomic(t, &work->op.compare_atomic->msg, &work->op.compare_atomic->fetch,
				   &work->op.compare_atomic->compare);
	case FI_OP_CNTR_SET:
	case FI_OP_CNTR_ADD:
		t->change.cntr = cntr_of(work->op.cntr->cntr);
		t->change.value = work->op.cntr->value;
		return t->change.cntr && t->change.cntr->domain == t->domain && !t->completion;
	}
	return false;
}

static int work_fill(struct prov_trigger *t, struct prov_domain *domain, const struct fi_deferred_work *work)
{
	t->domain = domain;
	t->work = work;
	t->cntr = cntr_of(work->triggering_cntr);
	t->threshold = work->threshold;
	t->completion = cntr_of(work->completion_cntr);
	t->type = work->op_type;
	if (t->type > FI_OP_CNTR_ADD)
		return -FI_ENOSYS;
	if (!t->cntr || t->cntr->domain != domain || (t->completion && t->completion->domain != domain) ||
	    !work->op.msg || !copy_work(t, work) || t->flags & (FI_INJECT | FI_TRIGGER))
		return -FI_EINVAL;
	if (is_change(t))
		return 0;
	t->ep = prov_ep_of(work->op.msg->ep);
	return t->ep->domain == domain ? 0 : -FI_EINVAL;
}

static int work_queue(struct prov_domain *domain, const struct fi_deferred_work *work)
{
	struct prov_trigger *t = work ? calloc(1, sizeof *t) : NULL;
	int ret = !work ? -FI_EINVAL : t ? work_fill(t, domain, work) : -FI_ENOMEM;
	if (!ret)
		return enqueue(t);
	free(t);
	return ret;
}

/* ---- ending before the time has come ---- */

/* What a search wants; NULL: any. */
struct want {
	const struct prov_ep *ep;
	const struct prov_cntr *cntr;        /* the one waited for */
	const struct fi_deferred_work *work; /* this one */
	const struct prov_domain *queue;     /* any of the domain's deferred work */
	const void *context;
	const struct prov_cntr *used; /* waited for, changed or counted in */
	bool one;                     /* at most one */
	bool told;                    /* by an error entry */
};

static bool is_wanted(const struct prov_trigger *t, const struct want *w)
{
	bool uses = t->cntr == w->used || t->completion == w->used || (is_change(t) && t->change.cntr == w->used);
	return (!w->ep || t->ep == w->ep) && (!w->cntr || t->cntr == w->cntr) && (!w->work || t->work == w->work) &&
	       (!w->queue || (t->work && t->domain == w->queue)) && (!w->used || uses) &&
	       (!w->context || (t->ep && !t->work && context_of(t) == w->context));
}

/* Ends what is wanted of one list. Returns how many. */
static int sweep_list(struct prov_trigger_list *list, const struct want *w)
{
	struct prov_trigger *t = TAILQ_FIRST(list), *next;
	int n = 0;
	for (; t && !(w->one && n); t = next) {
		next = TAILQ_NEXT(t, link);
		if (!is_wanted(t, w))
			continue;
		if (w->told)
			fail(t, FI_ECANCELED);
		TAILQ_REMOVE(list, t, link);
		free(t);
		n++;
	}
	return n;
}

/* Counters are few, and this is rare. */
static int sweep(struct prov_nic *nic, const struct want *w)
{
	struct prov_cntr *cntr;
	int n = sweep_list(&nic->due, w);
	if (!nic->waiting) /* as always where there are many counters */
		return n;
	TAILQ_FOREACH(cntr, &nic->cntrs, link)
	{
		int gone = w->one && n ? 0 : sweep_list(&cntr->triggers, w);
		nic->waiting -= (unsigned)gone;
		n += gone;
	}
	return n;
}

void prov_trigger_drop(struct prov_nic *nic, const struct prov_ep *ep, const struct prov_cntr *cntr)
{
	sweep(nic, &(struct want){.ep = ep, .used = cntr});
}

bool prov_trigger_cancel(struct prov_ep *ep, const void *context)
{
	return sweep(ep->domain->nic, &(struct want){.ep = ep, .context = context, .one = true, .told = true});
}

int prov_work_control(struct prov_domain *domain, int command, void *arg)
{
	struct want want = {.queue = domain};
	if (command == FI_QUEUE_WORK)
		return work_queue(domain, arg);
	want.one = command == FI_CANCEL_WORK;
	if (command == FI_CANCEL_WORK)
		want.work = arg;
	else if (command == FI_FLUSH_WORK)
		want.cntr = cntr_of(arg);
	else
		return -FI_ENOSYS;
	if (command == FI_CANCEL_WORK && !arg)
		return -FI_EINVAL;
	prov_nic_lock(domain->nic);
	int n = sweep(domain->nic, &want);
	prov_nic_unlock(domain->nic);
	return n || command == FI_FLUSH_WORK ? 0 : -FI_ENOENT;
}
