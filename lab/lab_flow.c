/* SPDX-License-Identifier: BSD-3-Clause */
/* The workload: starts flows by the clock and by triggers, and watches them end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ideal.h"
#include "lab_int.h"

/* Flow indices are sorted through their flows, which qsort_r passes as context. */
static int by_start(const void *a, const void *b, void *flows)
{
	const struct weft_flow *x = (const struct weft_flow *)flows + *(const uint32_t *)a;
	const struct weft_flow *y = (const struct weft_flow *)flows + *(const uint32_t *)b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

int lab_flows_create(struct lab *lab, struct weft_err *err)
{
	const struct weft_workload *w = &lab->conf->workload;
	uint64_t longest = 1;
	lab->flows = calloc(w->flow_count + 1, sizeof *lab->flows);
	lab->arrivals = calloc(w->flow_count + 1, sizeof *lab->arrivals);
	lab->by_start = calloc(w->flow_count + 1, sizeof *lab->by_start);
	lab->host_ops = calloc(lab->conf->topo.hosts, sizeof *lab->host_ops);
	lab->fired = calloc(w->trigger_count + 1, sizeof *lab->fired);
	if (!lab->flows || !lab->arrivals || !lab->by_start || !lab->host_ops || !lab->fired)
		return weft_err_set(err, -ENOMEM, "no memory for %u flows", w->flow_count);
	for (uint32_t i = 0; i < w->flow_count; i++) {
		lab->flows[i] = (struct run_flow){.bytes = w->flows[i].bytes,
						  .background = w->flows[i].background,
						  .start = WEFT_NEVER,
						  .acked = WEFT_NEVER,
						  .delivered = WEFT_NEVER,
						  .ideal = ideal_flow_ps(lab->conf, lab->net, &w->flows[i])};
		lab->host_ops[w->flows[i].src]++;
		lab->host_ops[w->flows[i].dst]++;
		if (w->flows[i].bytes > longest)
			longest = w->flows[i].bytes;
		if (w->flows[i].start_ns != WEFT_NEVER)
			lab->by_start[lab->timed_count++] = i;
	}
	qsort_r(lab->by_start, lab->timed_count, sizeof *lab->by_start, by_start, w->flows);
	return pattern_create(&lab->pattern, longest, err);
}

void lab_flows_destroy(struct lab *lab)
{
	pattern_destroy(&lab->pattern);
	free(lab->flows);
	for (uint32_t i = 0; lab->arrivals && i < lab->conf->workload.flow_count; i++)
		reorder_free(&lab->arrivals[i].order);
	free(lab->arrivals);
	free(lab->by_start);
	free(lab->host_ops);
	free(lab->fired);
}

const struct run_flow *lab_flows(const struct lab *lab)
{
	return lab->flows;
}

const struct reorder_sum *lab_reordering(const struct lab *lab)
{
	return &lab->reordering;
}

uint32_t lab_flows_ended(const struct lab *lab)
{
	return lab->ended;
}

uint32_t lab_flow_count(const struct lab *lab)
{
	return lab->conf->workload.flow_count;
}

uint64_t lab_flow_arrived(const struct lab *lab, uint32_t flow)
{
	return lab->arrivals[flow].check.arrived;
}

uint32_t lab_host_operations(const struct lab *lab, uint32_t host)
{
	return lab->host_ops[host];
}

static void break_flow(struct lab *lab, uint32_t index, const char *what, int rc)
{
	lab_break(lab, -EPROTO, "flow %u: %s: %s", index, what, strerror(-rc));
}

/* The id of `peer` at `h`. */
static int peer_of(struct lab_host *h, uint32_t peer, uint32_t *id)
{
	struct weft_addr addr = {.ip = weft_ip_v4(weft_net_host_ip(peer)), .port = LAB_PORT};
	return weft_peer_add(h->engine, &addr, id);
}

static int submit(struct lab_host *h, struct weft_op *op, uint32_t peer)
{
	int rc = peer_of(h, peer, &op->peer);
	if (!rc)
		rc = weft_submit(h->ep, op);
	lab_host_due(h);
	return rc;
}

static void out_of_order(struct lab *lab, uint32_t index, uint32_t pkt, bool retx)
{
	const struct weft_flow *f = &lab->conf->workload.flows[index];
	struct lab_arrival *a = &lab->arrivals[index];
	uint32_t pkts = (uint32_t)((f->bytes + lab->conf->engine.payload_bytes - 1) / lab->conf->engine.payload_bytes);
	if (!reorder_take(&a->order, pkts, pkt, retx, &lab->flows[index].order, &lab->reordering))
		break_flow(lab, index, "order of arrival", -ENOMEM);
}

/* A weft_sink_fn: `arg` is the struct lab_arrival. */
static void arrived(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	struct lab_arrival *a = arg;
	struct lab *lab = a->lab;
	uint32_t payload = lab->conf->engine.payload_bytes;
	pattern_check_sink(&a->check, offset, data, len);
	/* A message that overtook the one before it arrives here in one piece. */
	for (uint64_t at = offset; at < offset + len; at += payload) {
		uint32_t pkt = (uint32_t)(at / payload);
		if (!reorder_take_next(&a->order, pkt, &lab->reordering))
			out_of_order(lab, (uint32_t)(a - lab->arrivals), pkt, retx);
	}
}

static uint16_t send_flags(const struct lab *lab, const struct weft_flow *f)
{
	return (uint16_t)((f->background ? WEFT_OP_BACKGROUND : 0) |
			  (lab->conf->tune.conn_per_flow ? WEFT_OP_APART : 0));
}

/* Posts the receive and the send of one flow in the same instant. */
static void start(struct lab *lab, uint32_t index)
{
	const struct weft_flow *f = &lab->conf->workload.flows[index];
	struct run_flow *run = &lab->flows[index];
	if (run->start != WEFT_NEVER)
		return;
	lab->arrivals[index].lab = lab;
	pattern_check_init(&lab->arrivals[index].check, &lab->pattern, index, f->bytes);
	run->start = lab->now;
	lab->active++;
	struct weft_op recv = {.kind = WEFT_OP_TRECV,
			       .len = f->bytes,
			       .tag = index,
			       .context = run,
			       .sink = arrived,
			       .sink_arg = &lab->arrivals[index]};
	/* The engine only reads what it sends. */
	struct weft_op send = {.kind = WEFT_OP_TSEND,
			       .flags = send_flags(lab, f),
			       .buf = (void *)(uintptr_t)pattern_of(&lab->pattern, index),
			       .len = f->bytes,
			       .tag = index,
			       .context = run};
	int rc = submit(&lab->hosts[f->dst], &recv, f->src);
	if (!rc)
		rc = submit(&lab->hosts[f->src], &send, f->dst);
	if (rc)
		break_flow(lab, index, "submission refused", rc);
}

weft_ps lab_next_start(const struct lab *lab)
{
	if (lab->next_timed == lab->timed_count)
		return WEFT_NEVER;
	return lab->conf->workload.flows[lab->by_start[lab->next_timed]].start_ns * 1000;
}

void lab_start_timed(struct lab *lab)
{
	assert(lab->next_timed <= lab->timed_count);
	while (lab_next_start(lab) <= lab->now)
		start(lab, lab->by_start[lab->next_timed++]);
}

static void fire(struct lab *lab, int32_t trigger)
{
	if (trigger < 0)
		return;
	const struct weft_trigger *t = &lab->conf->workload.triggers[trigger];
	uint32_t *targets = calloc(t->target_count + 1, sizeof *targets);
	uint32_t n = targets ? weft_trigger_fire(t, &lab->fired[trigger], targets) : 0;
	for (uint32_t i = 0; i < n; i++)
		start(lab, targets[i]);
	if (!targets)
		break_flow(lab, 0, "trigger", -ENOMEM);
	free(targets);
}

/* A flow has ended when sender and receiver are done, or when one of them has failed. */
static void note_end(struct lab *lab, const struct run_flow *run)
{
	if (run->err || (run->acked != WEFT_NEVER && run->delivered != WEFT_NEVER)) {
		assert(lab->active > 0);
		lab->active--;
		lab->ended++;
	}
}

static void complete(struct lab *lab, const struct weft_cqe *cqe)
{
	struct run_flow *run = cqe->context;
	uint32_t index = (uint32_t)(run - lab->flows);
	assert(index < lab->conf->workload.flow_count && run->start <= lab->now);
	const struct weft_flow *f = &lab->conf->workload.flows[index];
	if (run->err)
		return;
	if (cqe->err) {
		run->err = cqe->err;
	} else if (cqe->kind == WEFT_OP_TSEND) {
		run->acked = lab->now;
		fire(lab, f->send_done_trigger);
	} else {
		run->delivered = lab->now;
		run->verified = cqe->len == f->bytes && pattern_check_ok(&lab->arrivals[index].check);
		fire(lab, f->recv_done_trigger);
	}
	note_end(lab, run);
}

void lab_take_completions(struct lab_host *h)
{
	struct weft_cqe cqes[16];
	unsigned n;
	while ((n = weft_cq_take(h->ep, cqes, 16)) > 0) {
		for (unsigned i = 0; i < n; i++)
			complete(h->lab, &cqes[i]);
	}
}
