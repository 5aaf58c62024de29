/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads by name. */
#include <errno.h>
#include <stdlib.h>

#include "lines.h"
#include "rng.h"
#include "topo.h"
#include "workload.h"

enum { PATTERN_FIELDS_MAX = 3, PATTERN_FLOWS_MAX = 1 << 24 };

/* A pattern's numbers. */
struct request {
	uint32_t n;        /* hosts, or senders */
	uint64_t bytes;    /* per flow */
	uint32_t parallel; /* flows of a node at a time */
	uint64_t seed;
};

struct pattern {
	const char *name, *usage;
	uint32_t n_min;
	uint32_t fields_min, fields_max;
	int (*build)(const struct request *q, struct weft_workload *w);
};

static int alloc_flows(struct weft_workload *w, uint32_t nodes, uint32_t flows, uint32_t triggers)
{
	w->nodes = nodes;
	w->flows = calloc(flows, sizeof *w->flows);
	w->triggers = triggers ? calloc(triggers, sizeof *w->triggers) : NULL;
	if (!w->flows || (triggers && !w->triggers))
		return -ENOMEM;
	w->trigger_count = triggers;
	return 0;
}

static struct weft_flow *add_flow(struct weft_workload *w, uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct weft_flow *f = &w->flows[w->flow_count++];

	*f = (struct weft_flow){.src = src,
				.dst = dst,
				.id = w->flow_count,
				.bytes = bytes,
				.start_trigger = -1,
				.send_done_trigger = -1,
				.recv_done_trigger = -1};
	return f;
}

/* Sattolo's algorithm: one cycle through all hosts, so nobody sends to itself. */
static int build_permutation(const struct request *q, struct weft_workload *w)
{
	struct rng rng = {q->seed};
	uint32_t *to = malloc(q->n * sizeof *to);

	if (!to || alloc_flows(w, q->n, q->n, 0)) {
		free(to);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < q->n; i++)
		to[i] = i;
	for (uint32_t i = q->n - 1; i > 0; i--) {
		uint32_t j = rng_below(&rng, i), t = to[i];
		to[i] = to[j];
		to[j] = t;
	}
	for (uint32_t i = 0; i < q->n; i++)
		add_flow(w, i, to[i], q->bytes);
	free(to);
	return 0;
}

static int build_incast(const struct request *q, struct weft_workload *w)
{
	if (alloc_flows(w, q->n + 1, q->n, 0))
		return -ENOMEM;
	for (uint32_t i = 1; i <= q->n; i++)
		add_flow(w, i, 0, q->bytes);
	return 0;
}

/* Writes the other hosts to `to` in random order, so that not everybody begins with the same receiver. */
static void shuffle_peers(uint32_t self, uint32_t n, struct rng *rng, uint32_t *to)
{
	for (uint32_t i = 0; i < n - 1; i++) {
		uint32_t j = rng_below(rng, i + 1);
		to[i] = to[j];
		to[j] = i < self ? i : i + 1;
	}
}

/* One node's flows: the first `parallel` start at once, each completion starts the next by the node's trigger. */
static int add_windowed(const struct request *q, struct weft_workload *w, uint32_t src, const uint32_t *to)
{
	uint32_t peers = q->n - 1;
	struct weft_trigger *t = &w->triggers[src];

	*t = (struct weft_trigger){.id = src + 1, .kind = WEFT_TRIGGER_MULTISHOT, .count = 1};
	t->targets = malloc(peers * sizeof *t->targets);
	if (!t->targets)
		return -ENOMEM;
	for (uint32_t i = 0; i < peers; i++) {
		struct weft_flow *f = add_flow(w, src, to[i], q->bytes);
		f->send_done_trigger = (int32_t)src;
		if (i < q->parallel)
			continue;
		f->start_ns = WEFT_NEVER;
		f->start_trigger = (int32_t)src;
		t->targets[t->target_count++] = w->flow_count - 1;
	}
	return 0;
}

static int build_alltoall(const struct request *q, struct weft_workload *w)
{
	struct rng rng = {q->seed};
	uint32_t peers = q->n - 1;
	bool windowed = q->parallel < peers;
	uint32_t *to = malloc(peers * sizeof *to);
	int rc = to ? alloc_flows(w, q->n, q->n * peers, windowed ? q->n : 0) : -ENOMEM;

	for (uint32_t src = 0; src < q->n && !rc; src++) {
		shuffle_peers(src, q->n, &rng, to);
		if (windowed)
			rc = add_windowed(q, w, src, to);
		else
			for (uint32_t i = 0; i < peers; i++)
				add_flow(w, src, to[i], q->bytes);
	}
	free(to);
	return rc;
}

static const struct pattern patterns[] = {
	{"permutation", "permutation:HOSTS:SIZE", 2, 2, 2, build_permutation},
	{"incast", "incast:SENDERS:SIZE", 1, 2, 2, build_incast},
	{"alltoall", "alltoall:HOSTS:SIZE[:PARALLEL]", 2, 2, 3, build_alltoall},
};

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

static const struct pattern *find_pattern(struct token name)
{
	for (int i = 0; i < PATTERNS; i++)
		if (token_is(name, patterns[i].name))
			return &patterns[i];
	return NULL;
}

static const struct {
	const char *suffix;
	uint64_t unit;
} size_units[] = {
	{"", 1},
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"KiB", UINT64_C(1) << 10},
	{"MiB", UINT64_C(1) << 20},
	{"GiB", UINT64_C(1) << 30},
};

static int read_size(const char *spec, struct token t, uint64_t *bytes, struct weft_err *err)
{
	struct token suffix;
	uint64_t v;

	if (!token_u64(t, &v, &suffix))
		return weft_err_set(err, -EINVAL, "%.80s: SIZE must be a number", spec);
	for (size_t i = 0; i < sizeof size_units / sizeof size_units[0]; i++) {
		if (!token_is(suffix, size_units[i].suffix))
			continue;
		if (__builtin_mul_overflow(v, size_units[i].unit, bytes) || v == 0 || *bytes >> 40)
			return weft_err_set(err, -EINVAL, "%.80s: SIZE must be above 0 and below 1024 GiB", spec);
		return 0;
	}
	return weft_err_set(err, -EINVAL, "%.80s: SIZE takes B, kB, MB, GB, KiB, MiB or GiB", spec);
}

static int read_request(const char *spec, const struct pattern *p, struct weft_err *err, struct request *q)
{
	struct token tok[PATTERN_FIELDS_MAX + 1];
	uint32_t fields = spec_split(spec, tok, PATTERN_FIELDS_MAX + 1) - 1;

	q->parallel = UINT32_MAX;
	if (fields < p->fields_min || fields > p->fields_max)
		return weft_err_set(err, -EINVAL, "'%.80s': the form is %s", spec, p->usage);
	int rc = spec_u32(spec, tok[1], "the number of hosts", p->n_min, WEFT_TOPO_HOSTS_MAX - 1, &q->n, err);
	if (!rc)
		rc = read_size(spec, tok[2], &q->bytes, err);
	if (!rc && fields == 3)
		rc = spec_u32(spec, tok[3], "PARALLEL", 1, UINT32_MAX - 1, &q->parallel, err);
	if (!rc && p->build == build_alltoall && (uint64_t)q->n * (q->n - 1) > PATTERN_FLOWS_MAX)
		rc = weft_err_set(err, -EINVAL, "%.80s: more than %d flows", spec, PATTERN_FLOWS_MAX);
	return rc;
}

int weft_workload_pattern(const char *spec, uint64_t seed, struct weft_workload *w, struct weft_err *err)
{
	struct token name;
	struct request q = {.seed = seed};

	*w = (struct weft_workload){0};
	spec_split(spec, &name, 1);
	const struct pattern *p = find_pattern(name);
	if (!p)
		return weft_err_set(err, -ENOENT, "'%.80s' is no traffic pattern; there are %s, %s and %s", spec,
				    patterns[0].usage, patterns[1].usage, patterns[2].usage);
	int rc = read_request(spec, p, err, &q);
	if (rc)
		return rc;
	rc = p->build(&q, w);
	if (rc) {
		weft_workload_free(w);
		weft_err_set(err, rc, "%.80s: out of memory", spec);
	}
	return rc;
}
