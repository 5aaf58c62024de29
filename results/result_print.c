/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as a table for people. */
#include <inttypes.h>
#include <string.h>

#include "result_int.h"
#include "route.h"

static double us(weft_ps ps)
{
	return (double)ps / 1e6;
}

static void print_times(FILE *out, const char *name, const struct run_times *t)
{
	fprintf(out, "%-14s min %.1f  mean %.1f  p50 %.1f  p99 %.1f  max %.1f us\n", name, t->min, t->mean, t->p50,
		t->p99, t->max);
}

static void print_packets(FILE *out, const struct run_packets *p)
{
	fprintf(out,
		"packets        %" PRIu64 " data, %" PRIu64 " retransmitted, %" PRIu64 " trimmed, %" PRIu64
		" dropped, %" PRIu64 " marked\n",
		p->data, p->retransmitted, p->trimmed, p->dropped, p->marked);
	fprintf(out, "control        %" PRIu64 " ACKs, %" PRIu64 " NACKs, %" PRIu64 " credits, %" PRIu64 " timeouts\n",
		p->acks, p->nacks, p->credits, p->timeouts);
}

static void print_drops(FILE *out, const struct run_drops *d)
{
	fprintf(out,
		"drops          %" PRIu64 " data and %" PRIu64 " control in full queues, %" PRIu64
		" by failed links, %" PRIu64 " by bit errors, %" PRIu64 " without a route\n",
		d->data, d->control, d->down, d->error, d->route);
}

static void print_reordering(FILE *out, const struct run_reordering *o)
{
	fprintf(out,
		"order          %" PRIu64 " of %" PRIu64
		" packets late, by p99 %u, max %u packets; flows with duplicate ACKs %.2f %%, three %.2f %%\n",
		o->reordered, o->packets, o->extent_p99, o->extent_max, 100 * o->dup_ack_flows,
		100 * o->dup_ack3_flows);
}

int result_print(const struct run_result *r, FILE *out, struct weft_err *err)
{
	struct run_summary s;
	int rc = result_summarise(r, &s);
	if (rc)
		return weft_err_set(err, rc, "no memory for the result");
	bool routed = r->route && strcmp(r->route, weft_route_table[0]->name) != 0;
	fprintf(out, "%-14s %s + %s%s%s, seed %" PRIu64 "\n", r->mode, r->cc, r->lb, routed ? ", switches " : "",
		routed ? r->route : "", r->seed);
	if (r->lb_reason)
		fprintf(out, "%-14s %s\n", r->lb, r->lb_reason);
	if (r->warning)
		fprintf(out, "warning        %s\n", r->warning);
	fprintf(out, "flows          %u, %u completed, %u verified, %u failed\n", r->flow_count, s.completed,
		s.verified, s.failed);
	print_times(out, "FCT", &s.fct_us);
	print_times(out, "delivery", &s.delivered_us);
	if (s.background) {
		print_times(out, "foreground", &s.foreground_fct_us);
		print_times(out, "background", &s.background_fct_us);
	}
	if (s.slowdown.max > 0)
		fprintf(out,
			"slowdown       min %.3f  mean %.3f  p50 %.3f  p99 %.3f  max %.3f, each flow over its ideal "
			"alone\n",
			s.slowdown.min, s.slowdown.mean, s.slowdown.p50, s.slowdown.p99, s.slowdown.max);
	fprintf(out, "makespan       %.1f us, ideal %.1f us, inflation %.3f\n", s.makespan_us, s.ideal_us, s.inflation);
	fprintf(out, "goodput        %.1f Gb/s in all, Jain %.4f\n", s.goodput_gbps, s.jain);
	print_packets(out, &r->packets);
	if (r->order.known)
		print_reordering(out, &r->order);
	if (r->fabric && r->packets.dropped)
		print_drops(out, &r->drops);
	fprintf(out, "queues         max %" PRIu64 " bytes, mean %.0f bytes\n", r->queue_max_bytes,
		r->queue_mean_bytes);
	result_print_hops(r, out);
	if (r->credits.injected)
		fprintf(out,
			"credit queues  %" PRIu64 " credits, %" PRIu64 " dropped, %" PRIu64
			" marked, at all ports together\n",
			r->credits.injected, r->credits.dropped, r->credits.marked);
	if (r->pauses)
		fprintf(out, "pauses         %" PRIu64 ", %.1f us in all ports together\n", r->pauses, r->paused_us);
	fprintf(out, "run            %.1f us in %.2f s, %" PRIu64 " events, %" PRIu64 " hops", us(r->elapsed),
		r->wall_s, r->events, r->packet_hops);
	if (r->wall_s > 0)
		fprintf(out, " (%.2f M events/s, %.2f M hops/s)", (double)r->events / 1e6 / r->wall_s,
			(double)r->packet_hops / 1e6 / r->wall_s);
	fprintf(out, ", %" PRIu64 " KiB\n", r->max_rss_kib);
	if (r->digest)
		fprintf(out, "digest         %016" PRIx64 "\n", r->digest);
	return 0;
}
