/* SPDX-License-Identifier: BSD-3-Clause */
/* A run back from its JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "result_int.h"

/* A member that may be missing. */
static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static uint64_t count(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void copy(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	snprintf(to, size, "%s", text ? text : "");
}

static struct run_times read_times(const json_t *t)
{
	return (struct run_times){number(t, "min"), number(t, "mean"), number(t, "p50"), number(t, "p99"),
				  number(t, "max")};
}

static void read_summary(const json_t *json, struct run_record *rec)
{
	const json_t *flows = json_object_get(json, "flows");
	rec->result.flow_count = (uint32_t)count(flows, "count");
	rec->summary = (struct run_summary){
		.completed = (uint32_t)count(flows, "completed"),
		.verified = (uint32_t)count(flows, "verified"),
		.fct_us = read_times(json_object_get(json, "fct_us")),
		.delivered_us = read_times(json_object_get(json, "delivered_us")),
		.slowdown = read_times(json_object_get(json, "slowdown")),
		.background = (uint32_t)count(json, "background"),
		.foreground_fct_us = read_times(json_object_get(json, "foreground_fct_us")),
		.background_fct_us = read_times(json_object_get(json, "background_fct_us")),
		.ideal_us = number(json, "ideal_us"),
		.inflation = number(json, "inflation"),
		.goodput_gbps = number(json, "goodput_gbps"),
		.jain = number(json, "jain"),
	};
	rec->summary.makespan_us = rec->summary.inflation * rec->summary.ideal_us;
	rec->summary.failed = rec->result.flow_count - rec->summary.verified;
}

static struct run_packets read_packets(const json_t *p)
{
	return (struct run_packets){
		.data = count(p, "data"),
		.retransmitted = count(p, "retransmitted"),
		.trimmed = count(p, "trimmed"),
		.dropped = count(p, "dropped"),
		.marked = count(p, "marked"),
		.acks = count(p, "acks"),
		.nacks = count(p, "nacks"),
		.credits = count(p, "credits"),
		.timeouts = count(p, "timeouts"),
	};
}

static struct run_drops read_drops(const json_t *d)
{
	return (struct run_drops){.data = count(d, "data"),
				  .control = count(d, "control"),
				  .down = count(d, "down"),
				  .error = count(d, "error"),
				  .route = count(d, "route")};
}

static struct run_reordering read_reordering(const json_t *o)
{
	const json_t *extent = json_object_get(o, "extent"), *flows = json_object_get(o, "flows");
	return (struct run_reordering){
		.known = json_is_object(o),
		.packets = count(o, "packets"),
		.reordered = count(o, "reordered"),
		.beyond = count(o, "beyond_gap"),
		.extent_p50 = (uint32_t)count(extent, "p50"),
		.extent_p99 = (uint32_t)count(extent, "p99"),
		.extent_max = (uint32_t)count(extent, "max"),
		.ooo_p50 = (uint32_t)count(o, "ooo_p50"),
		.ooo_p99 = (uint32_t)count(o, "ooo_p99"),
		.ooo_max = (uint32_t)count(o, "ooo_max"),
		.dup_acks_max = (uint32_t)count(o, "dup_acks_max"),
		.dup_ack_flows = number(flows, "dup_ack"),
		.dup_ack3_flows = number(flows, "dup_ack3"),
		.reorder_ack_flows = number(flows, "reorder_ack"),
		.reorder_ack3_flows = number(flows, "reorder_ack3"),
	};
}

static void read_result(const json_t *json, struct run_record *rec)
{
	const json_t *run = json_object_get(json, "run");
	const json_t *queues = json_object_get(json, "queues"), *digest = json_object_get(run, "digest");
	rec->result = (struct run_result){
		.mode = "sim",
		.cc = rec->cc,
		.lb = rec->lb,
		.seed = count(json, "seed"),
		.ideal = (weft_ps)(number(json, "ideal_us") * 1e6),
		.packets = read_packets(json_object_get(json, "packets")),
		.drops = read_drops(json_object_get(json, "drops")),
		.order = read_reordering(json_object_get(json, "reordering")),
		.queue_max_bytes = count(queues, "max_bytes"),
		.queue_mean_bytes = number(queues, "mean_bytes"),
		.elapsed = (weft_ps)(number(run, "virtual_us") * 1e6),
		.wall_s = number(run, "wall_s"),
		.events = count(run, "events"),
		.packet_hops = count(run, "packet_hops"),
		.max_rss_kib = count(run, "max_rss_kib"),
		.digest = json_is_string(digest) ? strtoull(json_string_value(digest), NULL, 16) : 0,
	};
}

int result_read_json(const char *path, struct run_record *rec, struct weft_err *err)
{
	size_t len;
	int rc = 0;
	json_error_t why;
	char *text = file_read(path, &len, &rc, err);
	if (!text)
		return rc;
	json_t *json = json_loadb(text, len, 0, &why);
	free(text);
	const char *schema = json_string_value(json_object_get(json, "schema"));
	if (!schema || strcmp(schema, "weft.run/1") != 0) {
		json_decref(json);
		return weft_err_set(err, -EINVAL, "%s: not a run's result (schema weft.run/1)", path);
	}
	copy(rec->cc, sizeof rec->cc, json, "cc");
	copy(rec->lb, sizeof rec->lb, json, "lb");
	copy(rec->identity, sizeof rec->identity, json, "identity");
	copy(rec->error, sizeof rec->error, json, "error");
	read_result(json, rec);
	result_read_hops(json, &rec->result);
	read_summary(json, rec);
	json_decref(json);
	return 0;
}
