/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "file.h"
#include "result_int.h"
#include "route.h"
#include "stat.h"

/* Sorts `us`. Percentiles by nearest rank. */
static struct run_times times_of(double *us, uint32_t n)
{
	if (!n)
		return (struct run_times){0};
	stat_sort(us, n);
	return (struct run_times){
		.min = us[0],
		.mean = stat_mean(us, n).mean,
		.p50 = stat_percentile(us, n, 0.50),
		.p99 = stat_percentile(us, n, 0.99),
		.max = us[n - 1],
	};
}

static double us(weft_ps ps)
{
	return (double)ps / 1e6;
}

/* Sums that the summary's ratios are made of. */
struct sums {
	weft_ps first, last;
	uint64_t bytes;
	double rate, rate_squared;
};

static void count_flow(const struct run_flow *f, struct run_summary *s, struct sums *sums, double *fct)
{
	double rate = (double)f->bytes / us(f->acked - f->start);
	fct[s->completed++] = us(f->acked - f->start);
	sums->rate += rate;
	sums->rate_squared += rate * rate;
	sums->bytes += f->bytes;
	if (f->start < sums->first)
		sums->first = f->start;
	if (f->acked > sums->last)
		sums->last = f->acked;
}

/* The FCTs of the flows of one kind; `fct` has room for all. */
static struct run_times times_of_kind(const struct run_result *r, bool background, double *fct)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->flow_count; i++)
		if (r->flows[i].background == background && r->flows[i].acked != WEFT_NEVER)
			fct[n++] = us(r->flows[i].acked - r->flows[i].start);
	return times_of(fct, n);
}

/* Of the completed flows whose ideal is known; `ratio` has room for all. */
static struct run_times slowdown_of(const struct run_result *r, double *ratio)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->flow_count; i++)
		if (r->flows[i].ideal && r->flows[i].acked != WEFT_NEVER)
			ratio[n++] = (double)(r->flows[i].acked - r->flows[i].start) / (double)r->flows[i].ideal;
	return times_of(ratio, n);
}

int result_summarise(const struct run_result *r, struct run_summary *s)
{
	double *fct = calloc(2 * (size_t)r->flow_count + 1, sizeof *fct), *delivered = fct + r->flow_count;
	uint32_t delivered_count = 0;
	struct sums sums = {.first = WEFT_NEVER};
	if (!fct)
		return -ENOMEM;
	*s = (struct run_summary){.ideal_us = us(r->ideal)};
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct run_flow *f = &r->flows[i];
		if (f->acked != WEFT_NEVER)
			count_flow(f, s, &sums, fct);
		if (f->delivered != WEFT_NEVER)
			delivered[delivered_count++] = us(f->delivered - f->start);
		s->verified += f->verified;
		s->failed += f->err != 0;
		s->background += f->background;
	}
	s->fct_us = times_of(fct, s->completed);
	s->delivered_us = times_of(delivered, delivered_count);
	s->foreground_fct_us = times_of_kind(r, false, fct);
	s->background_fct_us = times_of_kind(r, true, fct);
	s->slowdown = slowdown_of(r, fct);
	free(fct);
	if (!s->completed)
		return 0;
	s->makespan_us = us(sums.last - sums.first);
	s->goodput_gbps = (double)sums.bytes * 8 / 1e3 / s->makespan_us;
	s->jain = sums.rate * sums.rate / (s->completed * sums.rate_squared);
	if (r->ideal && s->completed == r->flow_count)
		s->inflation = s->makespan_us / s->ideal_us;
	return 0;
}

void result_add_engine(struct run_packets *p, const struct weft_stats *stats)
{
	p->data += stats->tx_data;
	p->retransmitted += stats->tx_retx;
	p->acks += stats->tx_ack;
	p->nacks += stats->tx_nack;
	p->credits += stats->tx_credit;
	p->timeouts += stats->timeouts;
}

void result_set_fabric(struct run_result *r, const struct weft_net_stats *stats, weft_ps now)
{
	r->fabric = true;
	r->drops = (struct run_drops){stats->dropped_data, stats->dropped_control, stats->dropped_down,
				      stats->dropped_error, stats->dropped_route};
	result_set_hops(r, stats);
	r->packets.trimmed = stats->trimmed;
	r->packets.dropped = stats->dropped_data + stats->dropped_control + stats->dropped_down + stats->dropped_error +
			     stats->dropped_route;
	r->packets.marked = stats->marked;
	r->queue_max_bytes = stats->max_queue_bytes;
	if (now && stats->ports)
		r->queue_mean_bytes = (double)stats->queue_byte_ps * (1 << 20) / (double)now / (double)stats->ports;
	r->credits = stats->credits;
	r->pauses = stats->pauses;
	r->paused_us = (double)stats->paused_ns / 1e3;
	r->events = stats->events;
	r->packet_hops = stats->hops;
	r->digest = stats->digest;
}

void result_set_reordering(struct run_result *r, const struct reorder_sum *sum)
{
	struct run_reordering *o = &r->order;
	double share = r->flow_count ? 1.0 / r->flow_count : 0;
	*o = (struct run_reordering){
		.known = sum->packets > 0,
		.packets = sum->packets,
		.reordered = sum->reordered,
		.beyond = sum->beyond,
		.extent_p50 = reorder_percentile(sum, 0.50),
		.extent_p99 = reorder_percentile(sum, 0.99),
		.extent_max = sum->extent_max,
		.ooo_p50 = reorder_wait_percentile(sum, 0.50),
		.ooo_p99 = reorder_wait_percentile(sum, 0.99),
	};
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct reorder_counts *c = &r->flows[i].order;
		o->ooo_max = c->ooo_max > o->ooo_max ? c->ooo_max : o->ooo_max;
		o->dup_acks_max = c->dup_acks > o->dup_acks_max ? c->dup_acks : o->dup_acks_max;
		o->dup_ack_flows += c->dup_acks ? share : 0;
		o->dup_ack3_flows += c->dup_acks >= REORDER_THRESHOLD ? share : 0;
		o->reorder_ack_flows += c->reorder_dup_acks ? share : 0;
		o->reorder_ack3_flows += c->reorder_dup_acks >= REORDER_THRESHOLD ? share : 0;
	}
}

uint64_t result_max_rss_kib(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss;
}

int result_dump(const json_t *json, const char *path, struct weft_err *err)
{
	FILE *f = file_create(path, err);
	if (!f)
		return -EIO;
	json_dumpf(json, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
	fputc('\n', f);
	return file_finish(f, path, err);
}

static json_t *json_times(const struct run_times *t)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f}", "min", t->min, "mean", t->mean, "p50", t->p50, "p99", t->p99, "max",
			 t->max);
}

static json_t *json_packets(const struct run_packets *p)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "data", (json_int_t)p->data, "retransmitted",
			 (json_int_t)p->retransmitted, "trimmed", (json_int_t)p->trimmed, "dropped",
			 (json_int_t)p->dropped, "marked", (json_int_t)p->marked, "acks", (json_int_t)p->acks, "nacks",
			 (json_int_t)p->nacks, "credits", (json_int_t)p->credits, "timeouts", (json_int_t)p->timeouts);
}

static json_t *json_drops(const struct run_drops *d)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "data", (json_int_t)d->data, "control", (json_int_t)d->control,
			 "down", (json_int_t)d->down, "error", (json_int_t)d->error, "route", (json_int_t)d->route);
}

static json_t *json_credits(const struct weft_credit_counts *c)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "injected", (json_int_t)c->injected, "sent", (json_int_t)c->sent,
			 "dropped", (json_int_t)c->dropped, "marked", (json_int_t)c->marked);
}

static json_t *json_run(const struct run_result *r)
{
	char digest[17];
	snprintf(digest, sizeof digest, "%016" PRIx64, r->digest);
	return json_pack("{s:f,s:f,s:I,s:I,s:I,s:s}", "virtual_us", us(r->elapsed), "wall_s", r->wall_s, "events",
			 (json_int_t)r->events, "packet_hops", (json_int_t)r->packet_hops, "max_rss_kib",
			 (json_int_t)r->max_rss_kib, "digest", digest);
}

static json_t *json_of(const struct run_result *r, const struct run_summary *s)
{
	return json_pack(
		"{s:s,s:s,s:s,s:s,s:s*,s:s*,s:s*,s:I,s:{s:i,s:i,s:i},s:o,s:o,s:o*,s:f,s:f,s:f,s:f,s:o,s:o*,s:o*,s:{"
		"s:I,s:f,s:"
		"I,s:f},s:o}",
		"schema", "weft.run/1", "mode", r->mode, "cc", r->cc, "lb", r->lb, "lb_reason", r->lb_reason, "route",
		r->route, "warning", r->warning, "seed", (json_int_t)r->seed, "flows", "count", (int)r->flow_count,
		"completed", (int)s->completed, "verified", (int)s->verified, "fct_us", json_times(&s->fct_us),
		"delivered_us", json_times(&s->delivered_us), "slowdown",
		s->slowdown.max > 0 ? json_times(&s->slowdown) : NULL, "ideal_us", s->ideal_us, "inflation",
		s->inflation, "goodput_gbps", s->goodput_gbps, "jain", s->jain, "packets", json_packets(&r->packets),
		"drops", r->fabric ? json_drops(&r->drops) : NULL, "credit_queues",
		r->credits.injected ? json_credits(&r->credits) : NULL, "queues", "max_bytes",
		(json_int_t)r->queue_max_bytes, "mean_bytes", r->queue_mean_bytes, "pauses", (json_int_t)r->pauses,
		"paused_us", r->paused_us, "run", json_run(r));
}

static json_t *json_background(const struct run_summary *s)
{
	return json_pack("{s:i,s:o,s:o}", "background", (int)s->background, "foreground_fct_us",
			 json_times(&s->foreground_fct_us), "background_fct_us", json_times(&s->background_fct_us));
}

static json_t *json_reordering(const struct run_reordering *o)
{
	return json_pack("{s:{s:I,s:I,s:I,s:{s:i,s:i,s:i},s:i,s:i,s:i,s:i,s:{s:f,s:f,s:f,s:f}}}", "reordering",
			 "packets", (json_int_t)o->packets, "reordered", (json_int_t)o->reordered, "beyond_gap",
			 (json_int_t)o->beyond, "extent", "p50", (int)o->extent_p50, "p99", (int)o->extent_p99, "max",
			 (int)o->extent_max, "ooo_p50", (int)o->ooo_p50, "ooo_p99", (int)o->ooo_p99, "ooo_max",
			 (int)o->ooo_max, "dup_acks_max", (int)o->dup_acks_max, "flows", "dup_ack", o->dup_ack_flows,
			 "dup_ack3", o->dup_ack3_flows, "reorder_ack", o->reorder_ack_flows, "reorder_ack3",
			 o->reorder_ack3_flows);
}

int result_write_json(const struct run_result *r, const char *path, struct weft_err *err)
{
	struct run_summary s;
	json_t *json = result_summarise(r, &s) ? NULL : json_of(r, &s);
	if (json && s.background)
		json_object_update_new(json, json_background(&s));
	if (json && r->order.known)
		json_object_update_new(json, json_reordering(&r->order));
	if (json && (result_add_hops(json, r) || (r->origin && result_add_origin(json, r->origin)))) {
		json_decref(json);
		json = NULL;
	}
	if (!json)
		return weft_err_set(err, -ENOMEM, "no memory for the result");
	int rc = result_dump(json, path, err);
	json_decref(json);
	return rc;
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
