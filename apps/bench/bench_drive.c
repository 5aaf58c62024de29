/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench_run.h"

enum {
	EVENTS = 32,
	CTL_RECVS = 8,       /* control messages a node takes at once; more wait in the provider */
	IDLE_POLLS_MAX = 16, /* empty rounds before the CPU is yielded: processes may outnumber cores */
};

#define TAG_CTL (UINT64_C(1) << 63)

/* What an operation of ours is, in bench_op.use. */
enum op_use { USE_FLOW, USE_CTL, USE_CALLER };

struct bench_ctl_msg {
	struct bench_op op;
	struct bench_ctl_msg *next;       /* in bench_driver.ctls */
	struct bench_ctl_msg *next_spare; /* in bench_driver.spare */
	uint32_t words[2];                /* enum bench_ctl, argument; in the machine's byte order */
};

struct bench_timed {
	weft_ns start_ns;
	uint32_t flow;
};

static bool is_ours(const struct bench_driver *d, uint32_t rank)
{
	return rank - d->first < d->count;
}

static struct bench_node *node_of(const struct bench_driver *d, uint32_t rank)
{
	return &d->nodes[rank - d->first];
}

/* ---- control messages ---- */

static struct bench_ctl_msg *ctl_get(struct bench_driver *d)
{
	struct bench_ctl_msg *m = d->spare;
	if (m) {
		d->spare = m->next_spare;
		return m;
	}
	m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->op = (struct bench_op){.owner = m, .buf = m->words, .len = sizeof m->words, .tag = TAG_CTL, .use = USE_CTL};
	m->next = d->ctls;
	d->ctls = m;
	return m;
}

static void ctl_put(struct bench_driver *d, struct bench_ctl_msg *m)
{
	m->next_spare = d->spare;
	d->spare = m;
}

void bench_ctl_send(struct bench_driver *d, uint32_t from, uint32_t to, enum bench_ctl kind, uint32_t arg)
{
	struct bench_ctl_msg *m = ctl_get(d);
	if (!m)
		return;
	m->words[0] = kind;
	m->words[1] = arg;
	m->op.kind = BENCH_OP_SEND;
	m->op.peer = to;
	if (bench_node_post(node_of(d, from), &m->op))
		ctl_put(d, m);
	else
		d->ctl_under_way++;
}

static int ctl_recv_post(struct bench_driver *d, uint32_t rank)
{
	struct bench_ctl_msg *m = ctl_get(d);
	if (!m)
		return -ENOMEM;
	m->op.kind = BENCH_OP_RECV;
	m->op.peer = rank;
	return bench_node_post(node_of(d, rank), &m->op);
}

/* ---- flows and triggers ---- */

static void trigger_fire(struct bench_driver *d, uint32_t from, uint32_t t);

static void trigger_activate(struct bench_driver *d, uint32_t from, int32_t t)
{
	const struct weft_workload *w = d->run->work;
	if (t < 0 || !w->triggers[t].target_count)
		return;
	/* The source of a trigger's first flow keeps its count. */
	uint32_t owner = w->flows[w->triggers[t].targets[0]].src;
	if (is_ours(d, owner))
		trigger_fire(d, owner, (uint32_t)t);
	else
		bench_ctl_send(d, from, owner, BENCH_CTL_FIRE, (uint32_t)t);
}

/* A failed flow fires its triggers too: the rest of the matrix runs on. */
static void recv_over(struct bench_driver *d, uint32_t i, int err)
{
	const struct weft_flow *flow = &d->run->work->flows[i];
	struct bench_flow *f = &d->run->flows[i];
	if (f->delivered_ns || f->recv_err)
		return;
	if (err)
		f->recv_err = err;
	else
		f->delivered_ns = bench_now();
	d->recvs_left--;
	trigger_activate(d, flow->dst, flow->recv_done_trigger);
}

/* The receiver of a flow that failed at its source waits no longer. */
static void recv_give_up(struct bench_driver *d, uint32_t i)
{
	const struct weft_flow *flow = &d->run->work->flows[i];
	if (is_ours(d, flow->dst))
		recv_over(d, i, ECANCELED);
	else
		bench_ctl_send(d, flow->src, flow->dst, BENCH_CTL_GONE, i);
}

static void send_over(struct bench_driver *d, uint32_t i, int err)
{
	const struct weft_flow *flow = &d->run->work->flows[i];
	struct bench_flow *f = &d->run->flows[i];
	f->send_err = err;
	if (!err)
		f->sent_ns = bench_now();
	d->sends_left--;
	if (err)
		recv_give_up(d, i);
	trigger_activate(d, flow->src, flow->send_done_trigger);
}

static void flow_start(struct bench_driver *d, uint32_t i)
{
	struct bench_flow *f = &d->run->flows[i];
	f->start_ns = bench_now();
	int rc = bench_node_post(node_of(d, d->run->work->flows[i].src), &f->send);
	if (rc)
		send_over(d, i, -rc);
}

/* Queued rather than started on the spot: a start that fails fires triggers itself. */
static void flow_queue(struct bench_driver *d, uint32_t i)
{
	struct bench_flow *f = &d->run->flows[i];
	if (f->queued)
		return;
	f->queued = true;
	d->starts[d->starts_end++] = i;
}

static void trigger_fire(struct bench_driver *d, uint32_t from, uint32_t t)
{
	const struct weft_workload *w = d->run->work;
	uint32_t n = weft_trigger_fire(&w->triggers[t], &d->fired[t], d->targets);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t src = w->flows[d->targets[k]].src;
		if (is_ours(d, src))
			flow_queue(d, d->targets[k]);
		else
			bench_ctl_send(d, from, src, BENCH_CTL_START, d->targets[k]);
	}
}

static void start_due(struct bench_driver *d)
{
	weft_ns now = d->timed_next < d->timed_count ? bench_now() : 0;
	while (d->t0 && d->timed_next < d->timed_count && now >= d->t0 + d->timed[d->timed_next].start_ns)
		flow_queue(d, d->timed[d->timed_next++].flow);
	while (d->starts_next < d->starts_end)
		flow_start(d, d->starts[d->starts_next++]);
}

/* ---- events ---- */

/* A rank that did not hear of the acknowledgement reports again. */
static void ready_count(struct bench_driver *d, uint32_t rank)
{
	d->ready += !d->is_ready[rank];
	d->is_ready[rank] = true;
}

static void ctl_handle(struct bench_driver *d, uint32_t rank, uint32_t kind, uint32_t arg)
{
	const struct weft_workload *w = d->run->work;
	if (kind == BENCH_CTL_FIRE && arg < w->trigger_count)
		trigger_fire(d, rank, arg);
	else if (kind == BENCH_CTL_START && arg < w->flow_count && is_ours(d, w->flows[arg].src))
		flow_queue(d, arg);
	else if (kind == BENCH_CTL_GONE && arg < w->flow_count && is_ours(d, w->flows[arg].dst))
		recv_over(d, arg, ECANCELED);
	else if (kind == BENCH_CTL_READY && arg < d->nodes[0].ranks)
		ready_count(d, arg);
	else if (kind == BENCH_CTL_GO)
		d->go = true;
	else if (kind == BENCH_CTL_BYE)
		d->bye = true;
}

static void ctl_event(struct bench_driver *d, uint32_t rank, const struct bench_event *ev)
{
	struct bench_ctl_msg *m = ev->op->owner;
	if (ev->op->kind == BENCH_OP_SEND) {
		d->ctl_under_way--;
		d->is_reported |= !ev->err && m->words[0] == BENCH_CTL_READY;
	}
	if (ev->op->kind == BENCH_OP_RECV && !ev->err) {
		if (ev->len == sizeof m->words)
			ctl_handle(d, rank, m->words[0], m->words[1]);
		if (bench_node_post(node_of(d, rank), &m->op) == 0)
			return;
	}
	ctl_put(d, m);
}

static void flow_event(struct bench_driver *d, const struct bench_event *ev)
{
	uint32_t i = (uint32_t)ev->op->tag;
	if (ev->op->kind == BENCH_OP_SEND)
		send_over(d, i, ev->err);
	else
		recv_over(d, i, ev->err ? ev->err : ev->len == ev->op->len ? 0 : EMSGSIZE);
}

static void caller_over(struct bench_driver *d, struct bench_op *op, int err)
{
	op->result = err ? -err : 1;
	d->caller_over++;
}

static void event(struct bench_driver *d, uint32_t rank, const struct bench_event *ev)
{
	if (ev->op->use == USE_FLOW)
		flow_event(d, ev);
	else if (ev->op->use == USE_CTL)
		ctl_event(d, rank, ev);
	else
		caller_over(d, ev->op, ev->err);
}

void bench_driver_post(struct bench_driver *d, uint32_t rank, struct bench_op *op)
{
	op->use = USE_CALLER;
	int rc = bench_node_post(node_of(d, rank), op);
	if (rc)
		caller_over(d, op, -rc);
}

void bench_driver_poll(struct bench_driver *d)
{
	struct bench_event events[EVENTS];
	bool busy = false;
	for (uint32_t k = 0; k < d->count; k++) {
		int n = bench_node_poll(&d->nodes[k], events, EVENTS);
		if (n < 0)
			d->queue_err = n;
		for (int i = 0; i < n; i++)
			event(d, d->first + k, &events[i]);
		busy |= n > 0;
	}
	start_due(d);
	d->idle = busy ? 0 : d->idle + 1;
	if (d->idle > IDLE_POLLS_MAX)
		sched_yield();
}

bool bench_driver_done(const struct bench_driver *d)
{
	return (!d->sends_left && !d->recvs_left) || d->queue_err;
}

/* ---- set-up ---- */

static int timed_cmp(const void *a, const void *b)
{
	const struct bench_timed *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->flow < y->flow ? -1 : 1;
}

static void collect_flows(struct bench_driver *d)
{
	const struct weft_workload *w = d->run->work;
	for (uint32_t i = 0; i < w->flow_count; i++) {
		d->recvs_left += is_ours(d, w->flows[i].dst);
		if (!is_ours(d, w->flows[i].src))
			continue;
		d->sends_left++;
		if (w->flows[i].start_ns != WEFT_NEVER)
			d->timed[d->timed_count++] = (struct bench_timed){w->flows[i].start_ns, i};
	}
	qsort(d->timed, d->timed_count, sizeof *d->timed, timed_cmp);
}

static int post_recvs(struct bench_driver *d)
{
	const struct weft_workload *w = d->run->work;
	int rc = 0;
	for (uint32_t k = 0; !rc && k < d->count * CTL_RECVS; k++)
		rc = ctl_recv_post(d, d->first + k / CTL_RECVS);
	for (uint32_t i = 0; !rc && i < w->flow_count; i++)
		if (is_ours(d, w->flows[i].dst))
			rc = bench_node_post(node_of(d, w->flows[i].dst), &d->run->flows[i].recv);
	return rc;
}

static uint32_t targets_max(const struct weft_workload *w)
{
	uint32_t max = 1;
	for (uint32_t t = 0; t < w->trigger_count; t++)
		if (w->triggers[t].target_count > max)
			max = w->triggers[t].target_count;
	return max;
}

int bench_driver_init(struct bench_driver *d, struct bench_run *run, struct bench_node *nodes, uint32_t first,
		      uint32_t count, struct weft_err *err)
{
	*d = (struct bench_driver){.run = run, .nodes = nodes, .first = first, .count = count};
	d->timed = calloc(run->work->flow_count, sizeof *d->timed);
	d->starts = calloc(run->work->flow_count, sizeof *d->starts);
	d->targets = calloc(targets_max(run->work), sizeof *d->targets);
	d->fired = calloc(run->work->trigger_count + 1, sizeof *d->fired);
	d->is_ready = calloc(nodes[0].ranks, sizeof *d->is_ready);
	if (!d->timed || !d->starts || !d->targets || !d->fired || !d->is_ready)
		return weft_err_set(err, -ENOMEM, "no memory for %u flows", run->work->flow_count);
	collect_flows(d);
	int rc = post_recvs(d);
	return rc ? weft_err_set(err, rc, "node %u: cannot post receives: %s", first, strerror(-rc)) : 0;
}

void bench_driver_start(struct bench_driver *d, weft_ns t0)
{
	d->t0 = t0;
}

void bench_driver_free(struct bench_driver *d)
{
	while (d->ctls) {
		struct bench_ctl_msg *m = d->ctls;
		d->ctls = m->next;
		free(m);
	}
	free(d->timed);
	free(d->starts);
	free(d->targets);
	free(d->fired);
	free(d->is_ready);
	*d = (struct bench_driver){0};
}
