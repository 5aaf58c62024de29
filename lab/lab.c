/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

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
	lab_net_conf(lab->conf, &conf);
	lab->slab = sim_slab_create(SLAB_PKTS_MAX);
	if (!lab->slab)
		return weft_err_set(err, -ENOMEM, "no memory for packets");
	conf.free_pkt = free_pkt;
	conf.free_arg = lab->slab;
	return weft_net_create(&conf, &lab->conf->topo, 0, &lab->net, err);
}

static void free_nothing(void *arg, struct weft_pkt *pkt)
{
	assert(false);
}

int lab_check_net(const struct lab_config *config, struct weft_err *err)
{
	struct weft_net_conf conf;
	struct weft_net *net;
	lab_net_conf(config, &conf);
	conf.free_pkt = free_nothing;
	int rc = weft_net_create(&conf, &config->topo, 0, &net, err);
	if (!rc)
		weft_net_destroy(net);
	return rc;
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
		int rc = lab_host_create(lab, lab->conf->tune.reverse_hosts ? n - 1 - i : i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int create_spread(struct lab *lab, struct weft_err *err)
{
	const struct lab_tune *f = &lab->conf->tune;
	struct weft_net_conf conf;
	lab->spread_at = f->queue_sample_ns ? f->queue_sample_from_ns * 1000 : WEFT_NEVER;
	lab->spread_end = f->queue_sample_to_ns ? f->queue_sample_to_ns * 1000 : WEFT_NEVER - 1;
	if (!f->queue_sample_ns)
		return 0;
	lab_net_conf(lab->conf, &conf);
	lab->spread = queue_spread_create(lab->net, conf.mtu_bytes);
	return lab->spread ? 0 : weft_err_set(err, -ENOMEM, "no memory for samples of queues");
}

int lab_create(const struct lab_config *config, struct lab **out, struct weft_err *err)
{
	struct lab *lab = calloc(1, sizeof *lab);
	if (!lab)
		return weft_err_set(err, -ENOMEM, "no memory");
	lab->conf = config;
	lab->sample_at = WEFT_NEVER;
	int rc = create_net(lab, err);
	if (!rc)
		rc = lab_flows_create(lab, err);
	if (!rc)
		rc = create_hosts(lab, err);
	if (!rc)
		rc = create_spread(lab, err);
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

/* Calls and flow starts at lab->now. The fabric has events of its own. */
static void run_external(struct lab *lab)
{
	lab_run_calls(lab);
	lab_start_timed(lab);
}

static bool is_over(const struct lab *lab)
{
	return (!lab->active && lab->next_timed == lab->timed_count) || lab->broken_rc;
}

/* Time of the next call or flow start, or NEVER. */
static weft_ps next_external(const struct lab *lab)
{
	weft_ps call = lab_next_call(lab), start = lab_next_start(lab);
	return call < start ? call : start;
}

/* Takes the sample that is due; all events before it have happened. Then sets the time of the next one: nothing changes
 * between two events, so only the first sample without news is taken. */
static void take_sample(struct lab *lab, weft_ps until)
{
	weft_ps interval = lab->sample_ps, next = weft_net_run(lab->net, lab->sample_at);
	struct weft_err why;
	bool active = false;
	assert(lab->taps && interval > 0 && lab->sample_at >= lab->now);
	int rc = lab->taps->sample(lab->taps_arg, lab->sample_at, &active, &why);
	if (rc)
		lab_break(lab, rc, "%s", why.msg);
	next = next < until ? next : until;
	if (!active && next > lab->sample_at)
		lab->sample_at += (next - 1 - lab->sample_at) / interval * interval;
	lab->taps->skip(lab->taps_arg, lab->sample_at);
	lab->sample_at += interval;
}

/* The same for samples of the queues: all samples up to the next event, or `until`, are equal. */
static void take_spread(struct lab *lab, weft_ps until)
{
	weft_ps interval = lab->conf->tune.queue_sample_ns * 1000, next = weft_net_run(lab->net, lab->spread_at);
	next = next < until ? next : until;
	next = next < lab->spread_end ? next : lab->spread_end;
	uint64_t times = next > lab->spread_at ? 1 + (next - 1 - lab->spread_at) / interval : 1;
	assert(lab->spread && interval > 0);
	queue_spread_sample(lab->spread, times);
	lab->spread_at += times * interval;
	if (lab->spread_at > lab->spread_end)
		lab->spread_at = WEFT_NEVER;
}

/* Takes the samples that are due before the fabric's next event, and runs that event. False: there is none up to
 * `until`. */
static bool step_fabric(struct lab *lab, weft_ps until)
{
	weft_ps at;
	assert(until >= lab->now);
	while ((at = lab->sample_at < lab->spread_at ? lab->sample_at : lab->spread_at) <= until && !lab->broken_rc) {
		if (weft_net_step(lab->net, at, &lab->now))
			return true;
		if (at == lab->spread_at)
			take_spread(lab, until);
		else
			take_sample(lab, until);
	}
	return weft_net_step(lab->net, until, &lab->now);
}

/* Runs the fabric's events up to `until`, at most PROGRESS_STEPS. False: none is left. */
static bool run_fabric(struct lab *lab, weft_ps until)
{
	for (uint32_t i = 0; i < PROGRESS_STEPS; i++) {
		if (!step_fabric(lab, until))
			return false;
		lab_poll_due(lab);
		if (is_over(lab))
			return true;
	}
	if (lab->progress)
		lab->progress(lab, lab->progress_arg);
	return true;
}

/* Advances to the next call or flow start. False: nothing is left to do before the end. */
static bool advance(struct lab *lab)
{
	weft_ps end = lab->conf->end_ns * 1000, external = next_external(lab);
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
	if (lab->broken_rc)
		return weft_err_set(err, lab->broken_rc, "%s", lab->broken.msg);
	if (lab->active || lab->next_timed < lab->timed_count)
		return weft_err_set(err, -ETIMEDOUT, "%u of %u flows had not ended at %.1f us",
				    lab->conf->workload.flow_count - lab->ended, lab->conf->workload.flow_count,
				    (double)lab->now / 1e6);
	return 0;
}

int lab_run(struct lab *lab, struct weft_err *err)
{
	while (!is_over(lab) && advance(lab))
		assert(!lab->due_count && lab->ended + lab->active <= lab->conf->workload.flow_count);
	return verdict(lab, err);
}

static void on_pkt(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct lab *lab = arg;
	struct weft_err why;
	int rc = lab->taps->pkt(lab->taps_arg, port, event, pkt, now, &why);
	if (rc)
		lab_break(lab, rc, "%s", why.msg);
}

void lab_tap(struct lab *lab, const struct lab_taps *taps, void *arg, weft_ns sample_ns)
{
	lab->taps = taps;
	lab->taps_arg = arg;
	lab->sample_ps = taps ? sample_ns * 1000 : 0;
	lab->sample_at = lab->sample_ps ? lab->now + lab->sample_ps : WEFT_NEVER;
	weft_net_tap(lab->net, taps ? on_pkt : NULL, lab);
}

void lab_progress(struct lab *lab, void (*fn)(struct lab *lab, void *arg), void *arg)
{
	lab->progress = fn;
	lab->progress_arg = arg;
}

const struct lab_config *lab_conf(const struct lab *lab)
{
	return lab->conf;
}

struct spread_result lab_queue_spread(const struct lab *lab, uint32_t dir)
{
	return lab->spread ? queue_spread_result(lab->spread, dir) : (struct spread_result){0};
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
	*sum = (struct weft_stats){0};
	for (uint32_t h = 0; h < lab->host_count; h++)
		weft_stats_add(sum, weft_engine_stats(lab->hosts[h].engine));
}

uint64_t lab_rx_dropped(const struct lab *lab)
{
	uint64_t sum = 0;
	for (uint32_t h = 0; h < lab->host_count; h++)
		sum += sim_port_rx_dropped(lab->hosts[h].nic);
	return sum;
}
