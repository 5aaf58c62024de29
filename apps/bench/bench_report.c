/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "bench.h"
#include "result.h"

#define OTHER_CLOCKS                                                                                                   \
	"the ranks have different clocks: the times of each count from when it saw the start, and times of delivery "  \
	"are not known"

static weft_ps since(const struct bench_outcome *out, weft_ns at)
{
	return at ? (at - out->t0) * 1000 : WEFT_NEVER;
}

static struct run_flow flow_result(const struct bench_outcome *out, uint32_t i)
{
	const struct bench_flow *f = &out->run.flows[i];
	return (struct run_flow){
		.bytes = out->run.work->flows[i].bytes,
		.start = since(out, f->start_ns),
		.acked = since(out, f->sent_ns),
		.delivered = out->one_clock ? since(out, f->delivered_ns) : WEFT_NEVER,
		.err = f->send_err ? f->send_err : f->recv_err,
		.verified = f->verified,
	};
}

static const char *flow_trouble(const struct bench_flow *f)
{
	if (f->send_err)
		return fi_strerror(f->send_err);
	if (f->recv_err)
		return fi_strerror(f->recv_err);
	if (!f->start_ns)
		return "was never started";
	if (!f->sent_ns || !f->delivered_ns)
		return "not finished in time";
	return f->verified ? NULL : "wrong bytes arrived";
}

uint32_t bench_report_failed(const struct bench_outcome *out)
{
	enum { SHOWN_MAX = 5 };
	uint32_t bad = 0;
	for (uint32_t i = 0; i < out->run.work->flow_count; i++) {
		const struct weft_flow *flow = &out->run.work->flows[i];
		const char *trouble = flow_trouble(&out->run.flows[i]);
		if (trouble && bad++ < SHOWN_MAX)
			fprintf(stderr, "weft bench: flow %u (%u->%u): %s\n", i, flow->src, flow->dst, trouble);
	}
	if (bad > SHOWN_MAX)
		fprintf(stderr, "weft bench: ... %u flows in all\n", bad);
	return bad;
}

static weft_ps last_event(const struct run_flow *flows, uint32_t count)
{
	weft_ps last = 0;
	for (uint32_t i = 0; i < count; i++)
		if (flows[i].acked != WEFT_NEVER && flows[i].acked > last)
			last = flows[i].acked;
	return last;
}

int bench_report(const struct options *o, const struct bench_outcome *out, struct weft_err *err)
{
	uint32_t n = out->run.work->flow_count;
	struct run_flow *flows = calloc(n + 1, sizeof *flows);
	if (!flows)
		return weft_err_set(err, -ENOMEM, "no memory for the result");
	for (uint32_t i = 0; i < n; i++)
		flows[i] = flow_result(out, i);
	struct run_result r = {.mode = "bench",
			       .cc = o->lab.cc_name,
			       .lb = o->lab.lb->name,
			       .cc_reason = o->lab.cc_reason,
			       .lb_reason = o->lab.lb_reason,
			       .warning = out->one_clock ? NULL : OTHER_CLOCKS,
			       .seed = o->lab.seed,
			       .flows = flows,
			       .flow_count = n,
			       .ideal = out->ideal,
			       .elapsed = last_event(flows, n),
			       .max_rss_kib = result_max_rss_kib()};
	r.wall_s = (double)r.elapsed / 1e12;
	result_set_fabric(&r, &out->net, r.elapsed);
	r.digest = 0; /* real time does not repeat */
	result_add_engine(&r.packets, &out->stats);
	if (!out->net.ports) { /* the switch is another process; this is what its receivers saw */
		r.packets.trimmed = out->stats.rx_trimmed;
		r.packets.marked = out->stats.rx_ce;
	}
	const struct run_origin origin = {.given = o->given, .given_count = o->given_count};
	r.origin = &origin;
	int rc = result_print(&r, o->json && !strcmp(o->json, "-") ? stderr : stdout, err);
	if (!rc && o->files.dir)
		rc = result_write_dir(&r, out->run.work, o->files.dir, err);
	if (!rc && o->json)
		rc = result_write_json(&r, o->json, err);
	free(flows);
	return rc;
}
