/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection matrices in the .cm format. Flows name triggers by id; ids become indices once everything is read. */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "workload_impl.h"

enum { FLOW_BYTES_MAX_LOG2 = 40, COUNT_MAX = 1 << 26 };

/* The trigger ids in a flow's line, before they are resolved; 0: none. */
struct flow_refs {
	uint32_t line;
	uint32_t start, send_done, recv_done;
};

/* For finding duplicates and resolving ids. */
struct id_ref {
	uint32_t id, index;
};

struct reader {
	struct lines l;
	struct weft_workload *w;
	struct flow_refs *refs;                 /* one per flow */
	uint32_t *trigger_lines;                /* one per trigger */
	uint32_t flow_cap, trigger_cap;         /* allocated elements */
	uint32_t connections, connections_line; /* as the header says; line 0: it says nothing */
	uint32_t triggers, triggers_line;
	bool has_nodes;
};

static int no_memory(const struct reader *r)
{
	return weft_err_set(r->l.err, -ENOMEM, "%s: out of memory", r->l.name);
}

/* Doubles an array when it is full. False: no memory. */
static bool grow(void **array, uint32_t used, uint32_t cap, size_t elem_bytes)
{
	if (used < cap)
		return true;
	void *p = realloc(*array, (cap ? 2 * (size_t)cap : 64) * elem_bytes);
	if (p)
		*array = p;
	return p != NULL;
}

static int add_flow(struct reader *r, const struct weft_flow *flow, const struct flow_refs *refs)
{
	struct weft_workload *w = r->w;

	if (w->flow_count == COUNT_MAX)
		return lines_error(&r->l, "more than %d connections", COUNT_MAX);
	if (!grow((void **)&w->flows, w->flow_count, r->flow_cap, sizeof *w->flows) ||
	    !grow((void **)&r->refs, w->flow_count, r->flow_cap, sizeof *r->refs))
		return no_memory(r);
	if (w->flow_count == r->flow_cap)
		r->flow_cap = r->flow_cap ? 2 * r->flow_cap : 64;
	w->flows[w->flow_count] = *flow;
	r->refs[w->flow_count++] = *refs;
	return 0;
}

static int add_trigger(struct reader *r, const struct weft_trigger *trigger)
{
	struct weft_workload *w = r->w;

	if (!grow((void **)&w->triggers, w->trigger_count, r->trigger_cap, sizeof *w->triggers) ||
	    !grow((void **)&r->trigger_lines, w->trigger_count, r->trigger_cap, sizeof *r->trigger_lines))
		return no_memory(r);
	if (w->trigger_count == r->trigger_cap)
		r->trigger_cap = r->trigger_cap ? 2 * r->trigger_cap : 64;
	w->triggers[w->trigger_count] = *trigger;
	r->trigger_lines[w->trigger_count++] = r->l.line;
	return 0;
}

static int read_host(const struct reader *r, struct token t, const char *what, uint32_t *host)
{
	uint64_t v;

	if (!token_u64(t, &v, NULL))
		return lines_error(&r->l, "the %s of SOURCE->DESTINATION is not a number", what);
	if (v >= r->w->nodes)
		return lines_error(&r->l, "%s %llu is not one of the nodes 0..%u", what, (unsigned long long)v,
				   r->w->nodes - 1);
	*host = (uint32_t)v;
	return 0;
}

/* The "S->D" word. */
static int read_endpoints(const struct reader *r, struct weft_flow *f)
{
	struct token t = r->l.tok[0];
	const char *arrow = memmem(t.s, t.len, "->", 2);
	struct token src = {t.s, (size_t)(arrow - t.s)};
	struct token dst = {arrow + 2, t.len - src.len - 2};

	if (!r->has_nodes)
		return lines_error(&r->l, "a connection before the line 'Nodes N'");
	int rc = read_host(r, src, "source", &f->src);
	if (!rc)
		rc = read_host(r, dst, "destination", &f->dst);
	if (!rc && f->src == f->dst)
		rc = lines_error(&r->l, "node %u sends to itself", f->src);
	return rc;
}

/* "msg" and "prio" mean nothing here; the number after "msg" may be left out. */
static bool skip_ignored(const struct lines *l, uint32_t *i)
{
	uint64_t v;
	bool msg = lines_is(l, *i, "msg");

	if (!msg && !lines_is(l, *i, "prio"))
		return false;
	if (*i + 1 < l->count && token_u64(l->tok[*i + 1], &v, NULL))
		(*i)++;
	return true;
}

/* The word at *i with its number; *i moves to the number. */
static int read_attribute(const struct reader *r, uint32_t *i, struct weft_flow *f, struct flow_refs *refs)
{
	const struct lines *l = &r->l;
	uint64_t start_us;

	if (skip_ignored(l, i))
		return 0;
	uint32_t word = (*i)++;
	if (lines_is(l, word, "id"))
		return lines_u32(l, *i, "id", 1, UINT32_MAX, &f->id);
	if (lines_is(l, word, "size"))
		return lines_u64(l, *i, "size", 1, UINT64_C(1) << FLOW_BYTES_MAX_LOG2, &f->bytes);
	if (lines_is(l, word, "trigger"))
		return lines_u32(l, *i, "trigger", 1, UINT32_MAX, &refs->start);
	if (lines_is(l, word, "send_done_trigger"))
		return lines_u32(l, *i, "send_done_trigger", 1, UINT32_MAX, &refs->send_done);
	if (lines_is(l, word, "recv_done_trigger"))
		return lines_u32(l, *i, "recv_done_trigger", 1, UINT32_MAX, &refs->recv_done);
	if (!lines_is(l, word, "start"))
		return lines_error(
			l, "'%.*s' is none of: id start trigger size prio msg send_done_trigger recv_done_trigger",
			(int)(l->tok[word].len < 40 ? l->tok[word].len : 40), l->tok[word].s);
	int rc = lines_u64(l, *i, "start (whole microseconds)", 0, UINT64_C(1) << 40, &start_us);
	if (!rc)
		f->start_ns = WEFT_US(start_us);
	return rc;
}

static int read_flow(struct reader *r)
{
	struct weft_flow f = {
		.start_ns = WEFT_NEVER, .start_trigger = -1, .send_done_trigger = -1, .recv_done_trigger = -1};
	struct flow_refs refs = {.line = r->l.line};
	int rc = read_endpoints(r, &f);

	for (uint32_t i = 1; i < r->l.count && !rc; i++)
		rc = read_attribute(r, &i, &f, &refs);
	if (rc)
		return rc;
	if (f.bytes == 0)
		return lines_error(&r->l, "size is missing");
	if (refs.start && !f.id)
		return lines_error(&r->l, "a connection that waits for a trigger needs an id");
	if ((f.start_ns == WEFT_NEVER) == !refs.start)
		return lines_error(&r->l, "one of start and trigger must be given");
	return add_flow(r, &f, &refs);
}

static int read_trigger(struct reader *r)
{
	static const char *const kinds[] = {"oneshot", "multishot", "barrier"};
	const struct lines *l = &r->l;
	struct weft_trigger t = {.count = 1};
	int rc = lines_is(l, 1, "id") ? lines_u32(l, 2, "id", 1, UINT32_MAX, &t.id) : lines_error(l, "'id' is missing");

	if (rc)
		return rc;
	while (t.kind <= WEFT_TRIGGER_BARRIER && !lines_is(l, 3, kinds[t.kind]))
		t.kind++;
	if (t.kind > WEFT_TRIGGER_BARRIER)
		return lines_error(l, "the kind of a trigger is one of: oneshot multishot barrier");
	if (lines_is(l, 4, "count"))
		rc = lines_u32(l, 5, "count", 1, UINT32_MAX, &t.count);
	else if (t.kind == WEFT_TRIGGER_BARRIER)
		rc = lines_error(l, "a barrier needs 'count N'");
	else if (l->count > 4)
		rc = lines_error(l, "only 'count N' may follow the kind of a trigger");
	if (t.kind == WEFT_TRIGGER_ONESHOT)
		t.count = 1;
	return rc ? rc : add_trigger(r, &t);
}

static int read_failures(const struct reader *r)
{
	uint32_t n = 0;

	if (lines_is(&r->l, 0, "Failures") && lines_u32(&r->l, 1, "Failures", 0, UINT32_MAX, &n))
		return -EINVAL;
	if (lines_is(&r->l, 0, "Failures") && n == 0)
		return 0;
	return lines_error(&r->l, "failures are not part of a matrix here; only 'Failures 0' is read");
}

/* Twice, the second could be less than a host that a connection has named. */
static int read_nodes(struct reader *r)
{
	if (r->has_nodes)
		return lines_error(&r->l, "a second line 'Nodes N'");
	r->has_nodes = true;
	return lines_u32(&r->l, 1, "Nodes", 1, WEFT_TOPO_HOSTS_MAX, &r->w->nodes);
}

static int read_line(struct reader *r)
{
	const struct lines *l = &r->l;

	if (memmem(l->tok[0].s, l->tok[0].len, "->", 2))
		return read_flow(r);
	if (lines_is(l, 0, "trigger"))
		return read_trigger(r);
	if (lines_is(l, 0, "Nodes"))
		return read_nodes(r);
	if (lines_is(l, 0, "Connections")) {
		r->connections_line = l->line;
		return lines_u32(l, 1, "Connections", 1, COUNT_MAX, &r->connections);
	}
	if (lines_is(l, 0, "Triggers")) {
		r->triggers_line = l->line;
		return lines_u32(l, 1, "Triggers", 0, COUNT_MAX, &r->triggers);
	}
	if (lines_is(l, 0, "Failures") || lines_is(l, 0, "failure"))
		return read_failures(r);
	return lines_error(l,
			   "a line is one of: Nodes N, Connections N, Triggers N, Failures 0, S->D ..., trigger ...");
}

static int check_counts(const struct reader *r)
{
	if (!r->connections_line)
		return lines_error(&r->l, "the line 'Connections N' is missing");
	if (r->connections != r->w->flow_count)
		return lines_error_at(&r->l, r->connections_line, "Connections %u, but there are %u", r->connections,
				      r->w->flow_count);
	if (r->triggers != r->w->trigger_count)
		return lines_error_at(&r->l, r->triggers_line ? r->triggers_line : r->trigger_lines[0],
				      "Triggers %u, but there are %u", r->triggers, r->w->trigger_count);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct id_ref *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* The second of two equal ids other than 0 in a sorted array, or NULL. */
static const struct id_ref *find_twice(const struct id_ref *ids, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (ids[i].id && ids[i].id == ids[i - 1].id)
			return &ids[i];
	return NULL;
}

static int check_flow_ids(const struct reader *r, struct id_ref *ids)
{
	uint32_t n = r->w->flow_count;

	for (uint32_t i = 0; i < n; i++)
		ids[i] = (struct id_ref){r->w->flows[i].id, i};
	qsort(ids, n, sizeof *ids, compare_ids);
	const struct id_ref *twice = find_twice(ids, n);
	if (twice)
		return lines_error_at(&r->l, r->refs[twice->index].line, "connection id %u is used twice", twice->id);
	return 0;
}

/* Replaces a trigger's id by its index; id 0 is "none". */
static int resolve(const struct reader *r, const struct id_ref *ids, uint32_t id, uint32_t line, int32_t *index)
{
	struct id_ref key = {id, 0};
	uint32_t lo = 0, hi = r->w->trigger_count;

	if (id == 0)
		return 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (ids[mid].id < key.id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == r->w->trigger_count || ids[lo].id != id)
		return lines_error_at(&r->l, line, "there is no trigger with id %u", id);
	*index = (int32_t)ids[lo].index;
	return 0;
}

static int resolve_flows(const struct reader *r, struct id_ref *ids)
{
	uint32_t n = r->w->trigger_count;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++)
		ids[i] = (struct id_ref){r->w->triggers[i].id, i};
	qsort(ids, n, sizeof *ids, compare_ids);
	const struct id_ref *twice = find_twice(ids, n);
	if (twice)
		return lines_error_at(&r->l, r->trigger_lines[twice->index], "trigger id %u is used twice", twice->id);
	for (uint32_t i = 0; i < r->w->flow_count && !rc; i++) {
		const struct flow_refs *refs = &r->refs[i];
		struct weft_flow *f = &r->w->flows[i];
		rc = resolve(r, ids, refs->start, refs->line, &f->start_trigger);
		if (!rc)
			rc = resolve(r, ids, refs->send_done, refs->line, &f->send_done_trigger);
		if (!rc)
			rc = resolve(r, ids, refs->recv_done, refs->line, &f->recv_done_trigger);
	}
	return rc;
}

static int check_starts(const struct reader *r)
{
	struct workload_stuck stuck;
	int rc = workload_all_start(r->w, &stuck);

	if (rc < 0)
		return no_memory(r);
	if (rc > 0)
		return 0;
	const struct weft_flow *f = &r->w->flows[stuck.flow];
	return lines_error_at(
		&r->l, r->refs[stuck.flow].line,
		"connection id %u (%u->%u) never starts: trigger id %u is activated %u times, it needs %u", f->id,
		f->src, f->dst, r->w->triggers[f->start_trigger].id, stuck.activations, stuck.needed);
}

static int resolve_all(struct reader *r)
{
	uint32_t n = r->w->flow_count > r->w->trigger_count ? r->w->flow_count : r->w->trigger_count;
	struct id_ref *ids = malloc(n * sizeof *ids);
	if (!ids)
		return no_memory(r);
	int rc = check_flow_ids(r, ids);
	if (!rc)
		rc = resolve_flows(r, ids);
	free(ids);
	if (!rc && workload_link(r->w))
		rc = no_memory(r);
	return rc ? rc : check_starts(r);
}

static int read_all(struct reader *r)
{
	int rc;

	while ((rc = lines_next(&r->l)) > 0) {
		rc = read_line(r);
		if (rc)
			return rc;
	}
	if (!rc)
		rc = check_counts(r);
	return rc ? rc : resolve_all(r);
}

int weft_workload_parse(const char *text, size_t len, const char *name, struct weft_workload *w, struct weft_err *err)
{
	struct reader r = {.w = w};

	*w = (struct weft_workload){0};
	lines_init(&r.l, text, len, name, err);
	int rc = read_all(&r);
	free(r.refs);
	free(r.trigger_lines);
	if (rc)
		weft_workload_free(w);
	return rc;
}

void weft_workload_free(struct weft_workload *w)
{
	for (uint32_t i = 0; i < w->trigger_count; i++)
		free(w->triggers[i].targets);
	free(w->triggers);
	free(w->flows);
	*w = (struct weft_workload){0};
}
