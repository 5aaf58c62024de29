/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations under way, and the engine endpoint that carries their messages. */
#include <assert.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "member.h"
#include "prov_coll.h"
#include "prov_cq.h"
#include "prov_eq.h"

enum { CQE_BURST = 32, RING_ENTRIES = 256 };

static void run_free(struct prov_ep *ep, struct coll_run *run)
{
	assert(!TAILQ_EMPTY(&ep->coll->runs));
	TAILQ_REMOVE(&ep->coll->runs, run, link);
	if (run->req)
		prov_req_put(ep->domain->nic, run->req);
	free(run->steps);
	free(run->scratch);
	free(run);
}

static void joined_report(struct prov_group *g, const struct coll_run *run)
{
	const struct fi_eq_err_entry entry = {
		.fid = (struct fid *)&g->mc.fid, .context = run->context, .err = run->err, .prov_errno = run->err};
	prov_eq_post_reserved(g->eq, g->ep->domain->nic, g->joined, FI_JOIN_COMPLETE, &entry);
	g->joined = NULL;
}

static void run_end(struct prov_ep *ep, struct coll_run *run)
{
	struct prov_req *req = run->req;
	assert(!run->outstanding && (run->err || run->at == run->count));
	if (!run->group) {
		run_free(ep, run);
		return;
	}
	if (!req)
		joined_report(run->group, run);
	if (req && ep->tx_cq && (req->wants_entry || run->err)) {
		req->entry.err = run->err == EMSGSIZE ? FI_ETRUNC : run->err;
		req->entry.prov_errno = run->err;
		prov_cq_add(ep->tx_cq, req);
		run->req = NULL;
	}
	run_free(ep, run);
}

/* As many as the engine's ring takes. */
static void cancels_submit(struct prov_ep *ep, struct coll_run *run)
{
	const struct weft_op cancel = {.kind = WEFT_OP_CANCEL, .context = run};
	if (!run->cancels || !ep->coll->wep)
		return;
	while (run->cancels && !weft_submit(ep->coll->wep, &cancel))
		run->cancels--;
	prov_nic_poll_soon(ep->domain->nic);
}

/* Cancels the messages that have not arrived. */
static void run_fail(struct prov_ep *ep, struct coll_run *run, int err)
{
	if (run->err)
		return;
	run->err = err;
	run->cancels = run->outstanding;
	cancels_submit(ep, run);
}

/* -EAGAIN: the engine's ring is full. */
static int message_submit(struct prov_ep *ep, struct coll_run *run, const struct coll_step *step)
{
	bool sends = step->kind == COLL_SEND;
	assert(step->rank < run->group->count);
	const struct weft_op op = {.kind = sends ? WEFT_OP_TSEND : WEFT_OP_TRECV,
				   .peer = run->group->peers[step->rank],
				   .buf = sends ? (void *)step->from : step->to,
				   .len = step->bytes,
				   .tag = run->tag,
				   .context = run};
	int ret = weft_submit(ep->coll->wep, &op);
	if (ret)
		return ret;
	run->outstanding++;
	prov_nic_poll_soon(ep->domain->nic);
	return 0;
}

/* -EAGAIN: it has to wait. */
static int step_do(struct prov_ep *ep, struct coll_run *run, const struct coll_step *step)
{
	switch (step->kind) {
	case COLL_SEND:
	case COLL_RECV:
		return message_submit(ep, run, step);
	case COLL_COPY:
		if (step->bytes)
			memmove(step->to, step->from, step->bytes);
		return 0;
	case COLL_REDUCE:
		weft_amo_apply(run->amo.op, run->amo.type, step->to, step->from,
			       step->bytes / weft_amo_bytes(run->amo.type));
		return 0;
	default:
		assert(step->kind == COLL_WAIT);
		return run->outstanding ? -EAGAIN : 0;
	}
}

/* Step by step until one has to wait. */
static void run_advance(struct prov_ep *ep, struct coll_run *run)
{
	assert(run->at <= run->count);
	for (; !run->err && run->at < run->count; run->at++)
		if (step_do(ep, run, &run->steps[run->at]))
			return;
	if (!run->outstanding)
		run_end(ep, run);
}

static unsigned completions_take(struct prov_ep *ep)
{
	struct weft_cqe cqes[CQE_BURST];
	unsigned n, all = 0;
	do {
		n = weft_cq_take(ep->coll->wep, cqes, CQE_BURST);
		for (unsigned i = 0; i < n; i++) {
			struct coll_run *run = cqes[i].context;
			assert(run->outstanding > 0);
			run->outstanding--;
			if (cqes[i].err)
				run_fail(ep, run, cqes[i].err);
		}
		all += n;
	} while (n == CQE_BURST);
	return all;
}

static bool coll_poll(struct prov_poller *poller)
{
	struct prov_coll *coll = container_of(poller, struct prov_coll, poller);
	struct coll_run *run, *next;
	bool any = completions_take(coll->ep) > 0;
	for (run = TAILQ_FIRST(&coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		cancels_submit(coll->ep, run);
		run_advance(coll->ep, run);
	}
	return any;
}

/* In a forked child: closing the engine's endpoint would rewrite packets that are the parent's. */
static void coll_orphan(struct prov_poller *poller)
{
	container_of(poller, struct prov_coll, poller)->wep = NULL;
}

int coll_run_start(struct prov_group *g, struct coll_call *c, const struct weft_op_atomic *amo, struct prov_req *req,
		   void *context)
{
	struct prov_ep *ep = g->ep;
	assert_locked(ep->domain->nic);
	struct coll_run *run = calloc(1, sizeof *run);
	if (!run)
		return -FI_ENOMEM;
	c->rank = g->rank;
	c->members = g->count;
	TAILQ_INSERT_TAIL(&ep->coll->runs, run, link);
	if (coll_plan(run, c)) {
		run_free(ep, run);
		return -FI_ENOMEM;
	}
	assert(run->count <= run->room && c->rank < c->members);
	run->group = g;
	run->amo = *amo;
	run->req = req;
	run->context = context;
	run->tag = g->id | (g->seq++ & ((UINT64_C(1) << COLL_SEQ_BITS) - 1));
	run_advance(ep, run);
	return 0;
}

void coll_runs_abandon(struct prov_group *g)
{
	struct prov_ep *ep = g->ep;
	struct coll_run *run, *next;
	assert_locked(ep->domain->nic);
	for (run = TAILQ_FIRST(&ep->coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		if (run->group != g)
			continue;
		run_fail(ep, run, ECANCELED);
		run->group = NULL;
		if (!run->outstanding)
			run_free(ep, run);
	}
}

/* ---- the endpoint's part ---- */

static int wep_open(struct prov_ep *ep, struct prov_coll *coll, struct weft_err *err)
{
	uint32_t port = weft_ep_port(ep->wep) + 1u;
	struct weft_err why = {""};
	int ret = port > UINT16_MAX ? -FI_EADDRINUSE
				    : weft_ep_open(ep->domain->nic->engine, (uint16_t)port, RING_ENTRIES, RING_ENTRIES,
						   &coll->wep, &why);
	return ret ? weft_err_set(err, ret, "endpoint %u: no number behind it for collective operations",
				  weft_ep_port(ep->wep))
		   : 0;
}

int prov_coll_open(struct prov_ep *ep, struct weft_err *err)
{
	assert_locked(ep->domain->nic);
	assert(!ep->coll);
	if (ep->is_dgram || !(ep->caps & FI_COLLECTIVE))
		return 0;
	struct prov_coll *coll = calloc(1, sizeof *coll);
	if (!coll)
		return weft_err_set(err, -FI_ENOMEM, "out of memory");
	int ret = wep_open(ep, coll, err);
	if (ret) {
		free(coll);
		return ret;
	}
	coll->ep = ep;
	TAILQ_INIT(&coll->groups);
	TAILQ_INIT(&coll->runs);
	coll->poller = (struct prov_poller){.poll = coll_poll, .orphan = coll_orphan};
	prov_poller_add(ep->domain->nic, &coll->poller);
	ep->coll = coll;
	return 0;
}

static void joined_free(struct coll_joined *joined)
{
	while (joined) {
		struct coll_joined *next = joined->next;
		free(joined);
		joined = next;
	}
}

void prov_coll_close(struct prov_ep *ep)
{
	struct prov_coll *coll = ep->coll;
	struct coll_run *run, *next;
	assert_locked(ep->domain->nic);
	if (!coll)
		return;
	assert(TAILQ_EMPTY(&coll->groups));
	if (coll->wep) {
		prov_poller_remove(ep->domain->nic, &coll->poller);
		weft_ep_close(coll->wep);
	}
	for (run = TAILQ_FIRST(&coll->runs); run; run = next) {
		next = TAILQ_NEXT(run, link);
		run_free(ep, run);
	}
	joined_free(coll->joined);
	free(coll);
	ep->coll = NULL;
}
