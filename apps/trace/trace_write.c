/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_write.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "weft/spi/cc.h"

enum { IP_TEXT_BYTES = INET6_ADDRSTRLEN };

static const char *ip_text(const struct weft_ip *ip, char *to)
{
	bool v4 = weft_ip_is_v4(ip);
	to[0] = 0;
	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ip->b + 12 : ip->b, to, IP_TEXT_BYTES);
}

static const char *peer_text(const struct weft_ip *peer, char *to)
{
	return peer ? ip_text(peer, to) : "";
}

const char *trace_detail_name(const struct weft_event *e)
{
	if (e->kind == WEFT_EVENT_LOST)
		return e->detail == WEFT_CC_LOSS_TRIM      ? "trim"
		       : e->detail == WEFT_CC_LOSS_GAP     ? "gap"
		       : e->detail == WEFT_CC_LOSS_TIMEOUT ? "timeout"
							   : NULL;
	if (e->kind == WEFT_EVENT_OPENED)
		return e->detail ? "by the peer" : "by us";
	if (e->kind == WEFT_EVENT_CLOSED)
		return e->detail ? strerrorname_np(e->detail) : "clean";
	return NULL;
}

/* ---- CSV ---- */

struct csv {
	FILE *to;
	const struct trace_file *file;
};

static void csv_event(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	const struct csv *c = arg;
	const char *detail = trace_detail_name(e);
	char ip[IP_TEXT_BYTES], number[8];
	snprintf(number, sizeof number, "%u", e->detail);
	fprintf(c->to,
		"%" PRIu32 ",\"%s\",%" PRIu64 ",%s,%u,%s,%" PRIu32 ",%u,%u,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%s\n",
		c->file->about.owner.pid, c->file->about.owner.device, e->time_ns, weft_event_name(e->kind), e->conn,
		peer_text(peer, ip), e->psn, e->ev, e->bytes, e->cwnd_bytes, e->inflight_bytes, e->rtt_ns,
		detail ? detail : number);
}

/* Names have neither quotes nor commas that matter: the reader ends them at what cannot be printed. */
static bool write_csv(FILE *to, const struct trace_files *all)
{
	fputs("pid,device,time_ns,event,conn,peer,psn,ev,bytes,cwnd_bytes,inflight_bytes,rtt_ns,detail\n", to);
	for (size_t i = 0; i < all->count; i++) {
		const struct trace_file *f = &all->files[i];
		struct weft_recording about;
		struct csv c = {to, f};
		weft_recorder_read(f->bytes, f->size, f->later, &about, csv_event, &c);
	}
	return !ferror(to);
}

/* ---- JSON ---- */

struct builder {
	json_t *events;
	const struct trace_file *file;
	uint64_t begin_ns; /* of all recordings */
};

static json_t *event_fields(const struct weft_event *e, const struct weft_ip *peer)
{
	char ip[IP_TEXT_BYTES];
	const char *detail = trace_detail_name(e);
	json_t *o = json_pack("{s:I, s:i, s:s, s:I, s:i, s:i, s:I, s:I, s:I}", "time_ns", (json_int_t)e->time_ns,
			      "conn", (int)e->conn, "peer", peer_text(peer, ip), "psn", (json_int_t)e->psn, "ev",
			      (int)e->ev, "bytes", (int)e->bytes, "cwnd_bytes", (json_int_t)e->cwnd_bytes,
			      "inflight_bytes", (json_int_t)e->inflight_bytes, "rtt_ns", (json_int_t)e->rtt_ns);
	json_object_set_new(o, "detail", detail ? json_string(detail) : json_integer(e->detail));
	return o;
}

static void json_event(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct builder *b = arg;
	json_t *o = event_fields(e, peer);
	json_object_set_new(o, "event", json_string(weft_event_name(e->kind)));
	json_array_append_new(b->events, o);
}

static json_t *recording(const struct trace_file *f)
{
	char ip[IP_TEXT_BYTES];
	struct weft_recording about;
	struct builder b = {.events = json_array(), .file = f};
	weft_recorder_read(f->bytes, f->size, f->later, &about, json_event, &b);
	return json_pack("{s:I, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:o}", "pid", (json_int_t)about.owner.pid,
			 "program", about.owner.program, "device", about.owner.device, "ip", ip_text(&about.ip, ip),
			 "runs", (int)f->runs, "utc_ns", (json_int_t)about.owner.utc_ns, "capacity",
			 (json_int_t)about.capacity, "events_so_far", (json_int_t)about.events, "events_lost",
			 (json_int_t)about.lost_events, "events", b.events);
}

static bool dump(FILE *to, json_t *root)
{
	bool ok = root && !json_dumpf(root, to, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	fputc('\n', to);
	return ok && !ferror(to);
}

static bool write_json(FILE *to, const struct trace_files *all)
{
	json_t *recordings = json_array();
	for (size_t i = 0; i < all->count; i++)
		json_array_append_new(recordings, recording(&all->files[i]));
	return dump(to, json_pack("{s:s, s:o}", "schema", "weft.trace/1", "recordings", recordings));
}

/* ---- Chrome's trace event format, which Perfetto reads as well ---- */

/* A connection is a thread of its process; times are microseconds since the first event. */
static json_t *chrome_base(const struct builder *b, const char *phase, const char *name, uint16_t conn,
			   uint64_t time_ns)
{
	double us = (double)(time_ns > b->begin_ns ? time_ns - b->begin_ns : 0) / 1e3;
	return json_pack("{s:s, s:s, s:f, s:I, s:i}", "ph", phase, "name", name, "ts", us, "pid",
			 (json_int_t)b->file->about.owner.pid, "tid", (int)conn);
}

static void chrome_add(struct builder *b, json_t *event, json_t *args)
{
	json_object_set_new(event, "args", args);
	json_array_append_new(b->events, event);
}

/* Windows are drawn as counters, one pair of lines for each connection. */
static void chrome_window(struct builder *b, const struct weft_event *e)
{
	char name[32];
	snprintf(name, sizeof name, "window %u", e->conn);
	chrome_add(
		b, chrome_base(b, "C", name, e->conn, e->time_ns),
		json_pack("{s:I, s:I}", "cwnd", (json_int_t)e->cwnd_bytes, "in flight", (json_int_t)e->inflight_bytes));
}

/* From the last transmission to the acknowledgement. */
static void chrome_round_trip(struct builder *b, const struct weft_event *e)
{
	char name[32], id[32];
	snprintf(name, sizeof name, "PSN %" PRIu32, e->psn);
	snprintf(id, sizeof id, "%u.%" PRIu32, e->conn, e->psn);
	const uint64_t times[] = {e->time_ns - e->rtt_ns, e->time_ns};
	for (int end = 0; end < 2; end++) {
		json_t *o = chrome_base(b, end ? "e" : "b", name, e->conn, times[end]);
		json_object_set_new(o, "cat", json_string("round trip"));
		json_object_set_new(o, "id", json_string(id));
		json_array_append_new(b->events, o);
	}
}

static void chrome_event(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct builder *b = arg;
	json_t *o = chrome_base(b, "i", weft_event_name(e->kind), e->conn, e->time_ns);
	json_object_set_new(o, "s", json_string("t"));
	chrome_add(b, o, event_fields(e, peer));
	if (e->kind == WEFT_EVENT_SENT || e->kind == WEFT_EVENT_SENT_AGAIN)
		chrome_window(b, e);
	if (e->rtt_ns && e->rtt_ns <= e->time_ns)
		chrome_round_trip(b, e);
}

static void earliest(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	uint64_t *begin_ns = arg;
	if (e->time_ns < *begin_ns)
		*begin_ns = e->time_ns;
}

static bool write_chrome(FILE *to, const struct trace_files *all)
{
	struct builder b = {.events = json_array(), .begin_ns = UINT64_MAX};
	struct weft_recording about;
	for (size_t i = 0; i < all->count; i++) {
		const struct trace_file *f = &all->files[i];
		weft_recorder_read(f->bytes, f->size, f->later, &about, earliest, &b.begin_ns);
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct trace_file *f = b.file = &all->files[i];
		weft_recorder_read(f->bytes, f->size, f->later, &about, chrome_event, &b);
		chrome_add(&b, chrome_base(&b, "M", "process_name", 0, 0),
			   json_pack("{s:o}", "name", json_sprintf("%s %s", about.owner.program, about.owner.device)));
	}
	return dump(to, json_pack("{s:o, s:s}", "traceEvents", b.events, "displayTimeUnit", "ns"));
}

trace_writer trace_writer_named(const char *name)
{
	static const struct {
		const char *name;
		trace_writer write;
	} formats[] = {{"csv", write_csv}, {"json", write_json}, {"chrome", write_chrome}};
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(formats[i].name, name))
			return formats[i].write;
	return NULL;
}
