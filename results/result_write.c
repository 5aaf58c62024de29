/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as JSON, schema weft.run/1. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "result_int.h"
#include "result_json.h"

static double us(weft_ps ps)
{
	return (double)ps / 1e6;
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
