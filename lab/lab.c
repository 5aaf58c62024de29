/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <errno.h>
#include <stdlib.h>

#include "ideal.h"
#include "lab_int.h"

enum {
	SLAB_PKTS_MAX = 1 << 22, /* all packets of a run; blocks come as they are needed */
	PROGRESS_STEPS = 1 << 16,
};

static void free_pkt(void *arg, struct weft_pkt *pkt)
{
	sim_slab_put(arg, pkt);
}

static int create_net(struct lab *lab, struct weft_err *err)
{
	struct weft_net_conf conf;
	options_net_conf(lab->o, &conf);
	lab->slab = sim_slab_create(SLAB_PKTS_MAX);
	if (!lab->slab)
		return weft_err_set(err, -ENOMEM, "no memory for packets");
	conf.free_pkt = free_pkt;
	conf.free_arg = lab->slab;
	return weft_net_create(&conf, &lab->o->topo, 0, &lab->net, err);
}

static int create_hosts(struct lab *lab, struct weft_err *err)
{
	uint32_t n = weft_net_hosts(lab->net);
	lab->hosts = calloc(n, sizeof *lab->hosts);
	lab->due = calloc(n, sizeof *lab->due);
	if (!lab->hosts || !lab->due)
		return weft_err_set(err, -ENOMEM, "no memory for %u hosts", n);
	lab->host_count = n;
	for (uint32_t i = 0; i < n; i++) {
		int rc = lab_host_create(lab, lab->o->fabric.reverse_hosts ? n - 1 - i : i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int create_series(struct lab *lab, struct weft_err *err)
{
	const struct options *o = lab->o;
	lab->sample_at = o->series_ns ? o->series_ns * 1000 : WEFT_NEVER;
	if (o->series_ns && !o->out)
		return weft_err_set(err, -EINVAL, "series: needs a directory to write to, --out DIR");
	return o->out ? series_open(lab, o, &lab->series, err) : 0;
}

static int create_spread(struct lab *lab, struct weft_err *err)
{
	const struct fabric_tune *f = &lab->o->fabric;
	struct weft_net_conf conf;
	lab->spread_at = f->queue_sample_ns ? f->queue_sample_from_ns * 1000 : WEFT_NEVER;
	lab->spread_end = f->queue_sample_to_ns ? f->queue_sample_to_ns * 1000 : WEFT_NEVER - 1;
	if (!f->queue_sample_ns)
		return 0;
	options_net_conf(lab->o, &conf);
	lab->spread = queue_spread_create(lab->net, conf.mtu_bytes);
	return lab->spread ? 0 : weft_err_set(err, -ENOMEM, "no memory for samples of queues");
}

int lab_create(struct options *o, struct lab **out, struct weft_err *err)
{
	struct lab *lab = calloc(1, sizeof *lab);
	if (!lab)
		return weft_err_set(err, -ENOMEM, "no memory");
	lab->o = o;
	int rc = create_net(lab, err);
	if (!rc)
		rc = lab_flows_create(lab, err);
	if (!rc)
		rc = create_hosts(lab, err);
	if (!rc)
		rc = create_series(lab, err);
	if (!rc)
		rc = create_spread(lab, err);
	if (!rc)
		rc = lab_capture_start(lab, err);
	if (!rc)
		rc = lab_faults_start(lab);
	if (rc) {
		lab_destroy(lab);
		return rc;
	}
	*out = lab;
	return 0;
}

uint32_t lab_destroy(struct lab *lab)
{
	if (!lab)
		return 0;
	uint32_t left = 0;
	lab_capture_stop(lab, NULL);
	series_close(lab->series, 0, false, NULL);
	for (uint32_t i = 0; i < lab->host_count; i++)
		lab_host_destroy(&lab->hosts[i]);
	if (lab->net)
		weft_net_destroy(lab->net);
	queue_spread_free(lab->spread);
	lab_flows_destroy(lab);
	if (lab->slab) {
		left = sim_slab_used(lab->slab);
		sim_slab_destroy(lab->slab);
	}
	free(lab->hosts);
	free(lab->due);
	free(lab);
	return left;
}

int lab_at(struct lab *lab, weft_ns at, void (*fn)(struct lab *lab, void *arg), void *arg)
{
	if (lab->call_count == LAB_CALLS_MAX)
		return -ENOSPC;
	lab->calls[lab->call_count++] = (struct lab_call){at * 1000, fn, arg};
	return 0;
}

/* The call that comes first, the earlier registered one of two at the same time; NULL: none. */
static struct lab_call *next_call(struct lab *lab)
{
	struct lab_call *first = NULL;
	for (uint32_t i = 0; i < lab->call_count; i++) {
		if (!first || lab->calls[i].at < first->at)
			first = &lab->calls[i];
	}
	return first;
}

/* What happens at lab->now besides the fabric's events. */
static void run_external(struct lab *lab)
{
	struct lab_call *next;
	while ((next = next_call(lab)) && next->at <= lab->now) {
		struct lab_call call = *next;
		for (struct lab_call *c = next; c + 1 < lab->calls + lab->call_count; c++)
			c[0] = c[1];
		lab->call_count--;
		call.fn(lab, call.arg);
	}
	lab_start_timed(lab);
}

static bool over(const struct lab *lab)
{
	return (!lab->active && lab->next_timed == lab->timed_count) || lab->broken.msg[0];
}

/* When something besides the fabric's events happens, or NEVER. */
static weft_ps next_external(struct lab *lab)
{
	const struct lab_call *call = next_call(lab);
	weft_ps start = lab_next_start(lab);
	return call && call->at < start ? call->at : start;
}

/* Takes the sample that is due, everything before having happened, and sets the time of the next: between two events
 * nothing changes, so only the first sample without news is taken. */
static void take_sample(struct lab *lab, weft_ps until)
{
	weft_ps interval = lab->o->series_ns * 1000, next = weft_net_run(lab->net, lab->sample_at);
	bool active;
	lab->broken_rc = series_sample(lab->series, lab->sample_at, &active, &lab->broken);
	next = next < until ? next : until;
	if (!active && next > lab->sample_at)
		lab->sample_at += (next - 1 - lab->sample_at) / interval * interval;
	series_skip(lab->series, lab->sample_at);
	lab->sample_at += interval;
}

/* The same for samples of queues: those up to the next event, or `until`, are all alike. */
static void take_spread(struct lab *lab, weft_ps until)
{
	weft_ps interval = lab->o->fabric.queue_sample_ns * 1000, next = weft_net_run(lab->net, lab->spread_at);
	next = next < until ? next : until;
	next = next < lab->spread_end ? next : lab->spread_end;
	uint64_t times = next > lab->spread_at ? 1 + (next - 1 - lab->spread_at) / interval : 1;
	queue_spread_sample(lab->spread, times);
	lab->spread_at += times * interval;
	if (lab->spread_at > lab->spread_end)
		lab->spread_at = WEFT_NEVER;
}

/* The fabric's next event up to `until`, and the samples before it. */
static bool step_fabric(struct lab *lab, weft_ps until)
{
	weft_ps at;
	while ((at = lab->sample_at < lab->spread_at ? lab->sample_at : lab->spread_at) <= until &&
	       !lab->broken.msg[0]) {
		if (weft_net_step(lab->net, at, &lab->now))
			return true;
		if (at == lab->spread_at)
			take_spread(lab, until);
		else
			take_sample(lab, until);
	}
	return weft_net_step(lab->net, until, &lab->now);
}

/* The fabric's events up to `until`, but not endlessly many. False: none is left. */
static bool run_fabric(struct lab *lab, weft_ps until)
{
	for (uint32_t i = 0; i < PROGRESS_STEPS; i++) {
		if (!step_fabric(lab, until))
			return false;
		lab_poll_due(lab);
		if (over(lab))
			return true;
	}
	if (lab->progress)
		lab->progress(lab, lab->progress_arg);
	return true;
}

/* A stretch of time. False: nothing is left to happen before the end. */
static bool advance(struct lab *lab)
{
	weft_ps end = lab->o->end_ns * 1000, external = next_external(lab);
	if (external > lab->now && run_fabric(lab, external - 1 < end ? external - 1 : end))
		return true;
	if (external > end)
		return false;
	if (external > lab->now)
		lab->now = external;
	run_external(lab);
	lab_poll_due(lab);
	return true;
}

static int verdict(struct lab *lab, struct weft_err *err)
{
	if (lab->broken.msg[0])
		return weft_err_set(err, lab->broken_rc ? lab->broken_rc : -EPROTO, "%s", lab->broken.msg);
	if (lab->active || lab->next_timed < lab->timed_count)
		return weft_err_set(err, -ETIMEDOUT, "%u of %u flows had not ended at %.1f us",
				    lab->o->workload.flow_count - lab->ended, lab->o->workload.flow_count,
				    (double)lab->now / 1e6);
	return 0;
}

int lab_run(struct lab *lab, struct weft_err *err)
{
	while (!over(lab) && advance(lab))
		;
	int rc = verdict(lab, err);
	int written = lab_capture_stop(lab, rc ? NULL : err);
	int sampled = series_close(lab->series, lab->now, !lab->broken.msg[0], rc || written ? NULL : err);
	lab->series = NULL;
	return rc ? rc : written ? written : sampled;
}

void lab_progress(struct lab *lab, void (*fn)(struct lab *lab, void *arg), void *arg)
{
	lab->progress = fn;
	lab->progress_arg = arg;
}

int lab_result(const struct lab *lab, struct run_result *r, struct weft_err *err)
{
	struct weft_net_stats net;
	struct weft_stats sum;
	*r = (struct run_result){
		.mode = "sim",
		.cc = lab->o->cc_name,
		.lb = lab->o->lb->name,
		.lb_reason = lab->o->lb_reason,
		.route = lab->o->route->name,
		.warning = lab->o->warning,
		.seed = lab->o->seed,
		.flows = lab->flows,
		.flow_count = lab->o->workload.flow_count,
		.elapsed = lab->now,
		.max_rss_kib = result_max_rss_kib(),
	};
	weft_net_get_stats(lab->net, &net);
	result_set_fabric(r, &net, lab->now);
	for (uint32_t dir = 0; lab->spread && dir < SPREAD_DIRS; dir++)
		r->spread[dir] = queue_spread_result(lab->spread, dir);
	lab_stats(lab, &sum);
	result_add_engine(&r->packets, &sum);
	result_set_reordering(r, &lab->reordering);
	r->ideal = ideal_ps(lab->o, lab->net, err);
	return r->ideal ? 0 : -ENOMEM;
}

weft_ps lab_now(const struct lab *lab)
{
	return lab->now;
}

struct weft_net *lab_net(struct lab *lab)
{
	return lab->net;
}

struct weft_engine *lab_engine(struct lab *lab, uint32_t host)
{
	return lab->hosts[host].engine;
}

struct weft_port *lab_fault_port(struct lab *lab, uint32_t host)
{
	return lab->hosts[host].faulty ? lab->hosts[host].port : NULL;
}

void lab_stats(const struct lab *lab, struct weft_stats *sum)
{
	uint64_t *to = (uint64_t *)sum;
	*sum = (struct weft_stats){0};
	for (uint32_t h = 0; h < lab->host_count; h++) {
		const uint64_t *from = (const uint64_t *)weft_engine_stats(lab->hosts[h].engine);
		for (unsigned i = 0; i < WEFT_COUNTER_COUNT; i++)
			to[i] += from[i];
	}
}

uint32_t lab_flows_ended(const struct lab *lab)
{
	return lab->ended;
}
