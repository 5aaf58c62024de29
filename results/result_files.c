/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's directory: run.json with its origin, flows.csv; and back. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "result_int.h"

json_t *result_text(const char *text)
{
	json_t *json = json_string(text);
	char *plain = json ? NULL : strdup(text);
	if (!plain)
		return json;
	for (char *c = plain; *c; c++)
		*c = (unsigned char)*c < 0x80 ? *c : '?';
	json = json_string(plain);
	free(plain);
	return json;
}

json_t *result_value(const char *text)
{
	char *end;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (*text && !*end && !errno)
		return json_integer(whole);
	double real = strtod(text, &end);
	return *text && !*end && isfinite(real) ? json_real(real) : result_text(text);
}

/* Options that do not change what happens. */
static bool about_output(const char *name)
{
	static const char *const names[] = {"json", "out", "pcap", "pcap-port", "series", "series-ports"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* KEY=VALUE into the mapping `set`. */
static int add_setting(json_t *options, const char *text)
{
	json_t *set = json_object_get(options, "set");
	if (!set && json_object_set_new(options, "set", set = json_object()))
		return -ENOMEM;
	size_t len = strcspn(text, "=");
	char key[64];
	snprintf(key, sizeof key, "%.*s", (int)len, text);
	return json_object_set_new(set, key, result_value(text[len] ? text + len + 1 : "")) ? -ENOMEM : 0;
}

static int add_fault(json_t *options, const char *spec)
{
	json_t *faults = json_object_get(options, "faults");
	if (!faults && json_object_set_new(options, "faults", faults = json_array()))
		return -ENOMEM;
	return json_array_append_new(faults, result_text(spec)) ? -ENOMEM : 0;
}

/* The options as a scenario would give them. */
static json_t *json_options(const struct run_origin *origin)
{
	json_t *options = json_object();
	int rc = options ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < origin->given_count && !rc; i++) {
		const struct opt_given *g = &origin->given[i];
		if (about_output(g->name))
			continue;
		if (!strcmp(g->name, "set"))
			rc = add_setting(options, g->value);
		else if (!strcmp(g->name, "fault"))
			rc = add_fault(options, g->value);
		else
			rc = json_object_set_new(options, g->name, g->value ? result_value(g->value) : json_true());
	}
	if (!rc)
		return options;
	json_decref(options);
	return NULL;
}

static json_t *json_values(const struct run_origin *origin)
{
	json_t *values = json_object();
	for (uint32_t i = 0; i < origin->axis_count && values; i++) {
		if (!json_object_set_new(values, origin->axes[i], result_value(origin->values[i])))
			continue;
		json_decref(values);
		return NULL;
	}
	return values;
}

int result_add_origin(json_t *json, const struct run_origin *o)
{
	json_t *options = json_options(o);
	if (json_object_set_new(json, "options", options))
		return -ENOMEM;
	if (!o->scenario)
		return 0;
	json_t *more = json_pack("{s:o,s:o,s:s,s:o?,s:s,s:o}", "scenario", result_text(o->scenario), "label",
				 result_text(o->label), "case", o->case_name, "values", json_values(o), "identity",
				 o->identity, "error", result_text(o->error));
	int rc = more ? json_object_update(json, more) : -1;
	json_decref(more);
	return rc ? -ENOMEM : 0;
}

/* A time in microseconds, or nothing where it has not come. */
static void put_us(FILE *out, weft_ps from, weft_ps to)
{
	if (from == WEFT_NEVER || to == WEFT_NEVER)
		fputc(',', out);
	else
		fprintf(out, ",%.6f", (double)(to - from) / 1e6);
}

static int write_flows(const struct run_result *r, const struct weft_workload *w, const char *path,
		       struct weft_err *err)
{
	FILE *out = file_create(path, err);
	if (!out)
		return -EIO;
	fputs("flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background,reordered,dup_acks,reorder_"
	      "dup_acks,ooo_max\n",
	      out);
	for (uint32_t i = 0; i < r->flow_count; i++) {
		const struct run_flow *f = &r->flows[i];
		fprintf(out, "%u,%u,%u,%" PRIu64, i, w->flows[i].src, w->flows[i].dst, f->bytes);
		put_us(out, 0, f->start);
		put_us(out, f->start, f->acked);
		put_us(out, f->start, f->delivered);
		put_us(out, 0, f->ideal ? f->ideal : WEFT_NEVER);
		fprintf(out, ",%d,%d,%u,%u,%u,%u\n", f->verified, f->background, f->order.reordered, f->order.dup_acks,
			f->order.reorder_dup_acks, f->order.ooo_max);
	}
	return file_finish(out, path, err);
}

static int write_table(const struct run_result *r, const char *path, struct weft_err *err)
{
	FILE *out = file_create(path, err);
	int rc = out ? result_print(r, out, err) : -EIO;
	int closed = out ? file_finish(out, path, rc ? NULL : err) : 0;
	return rc ? rc : closed;
}

int result_write_dir(const struct run_result *r, const struct weft_workload *w, const char *dir, struct weft_err *err)
{
	char path[FILE_PATH_MAX];
	int rc = file_make_dir(dir, err);
	if (!rc)
		rc = file_path(path, dir, "flows.csv", err);
	if (!rc)
		rc = write_flows(r, w, path, err);
	if (!rc)
		rc = file_path(path, dir, "table.txt", err);
	if (!rc)
		rc = write_table(r, path, err);
	if (!rc)
		rc = file_path(path, dir, "run.json", err);
	return rc ? rc : result_write_json(r, path, err);
}

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
