/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads by name: the table of patterns and the reading of their numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "workload_impl.h"

enum { PATTERN_FIELDS_MAX = 7, DURATION_MAX_S = 100 };

/* What a number between two colons is. From LEAST_OPTIONAL on it may be left out, with all that follow. */
enum field {
	FIELD_NONE,
	FIELD_HOSTS, /* at least 2 */
	FIELD_SENDERS,
	FIELD_FAN_OUT,
	FIELD_FLOWS,
	FIELD_ROUNDS,
	FIELD_STRIDE,
	FIELD_PERCENT,
	FIELD_SIZE,
	FIELD_CDF,
	FIELD_LOAD,
	FIELD_DURATION,
	FIELD_PATTERN, /* another pattern, to the end */
	FIELD_LEAST_OPTIONAL,
	FIELD_PARALLEL = FIELD_LEAST_OPTIONAL,
	FIELD_INCASTS,
	FIELD_SOME_HOSTS,   /* default: all of the topology */
	FIELD_SPREAD,       /* the word "spread" */
	FIELD_RECEIVERS,    /* the word "off-leaf" or "one-receiver" */
	FIELD_SHIFTED,      /* the word "shifted" */
	FIELD_SOME_SENDERS, /* default: all hosts */
};

struct pattern {
	uint8_t fields[PATTERN_FIELDS_MAX]; /* enum field; FIELD_NONE ends them */
	bool needs_topo;
	request_build *build; /* NULL: the last field is a pattern to repeat */
};

const struct weft_workload_kind weft_workload_kinds[] = {
	{"permutation:HOSTS:SIZE", "everybody sends to one other host and receives from one"},
	{"crosscore:HOSTS:SIZE", "a permutation whose flows all cross the top tier"},
	{"tornado:HOSTS:SIZE", "everybody sends to its twin in the other half"},
	{"stride:HOSTS:DISTANCE:SIZE", "everybody to the host so many further on"},
	{"random:FLOWS:SIZE[:HOSTS]", "random pairs; default: of all hosts"},
	{"incast:SENDERS:SIZE[:INCASTS]", "senders converge on one host; several incasts at a time"},
	{"requests:PERCENT:SIZE[:HOSTS]", "some hosts fetch SIZE from so many of the others each, all at once"},
	{"outcast-incast:SENDERS:FANOUT:SIZE", "an incast most of whose senders also send elsewhere"},
	{"alltoall:HOSTS:SIZE[:PARALLEL[:shifted]]", "everybody to everybody; so many flows of a host at a time"},
	{"allreduce-ring:HOSTS:SIZE[:spread]", "2(N-1) steps of SIZE/N to the neighbour"},
	{"allreduce-butterfly:HOSTS:SIZE[:spread]", "log2 N exchanges of SIZE: recursive doubling"},
	{"allreduce-halving:HOSTS:SIZE[:spread]", "2 log2 N exchanges of SIZE/2, SIZE/4, ... and back"},
	{"poisson:CDF:LOAD:TIME[:HOSTS[:off-leaf|one-receiver[:SENDERS]]]",
	 "flows of random sizes at random times, at a load of the hosts' links"},
	{"repeat:ROUNDS:TIME:PATTERN", "another pattern every TIME, each round drawn anew"},
	{NULL, NULL},
};

/* In the same order. */
static const struct pattern patterns[] = {
	{{FIELD_HOSTS, FIELD_SIZE}, false, build_permutation},
	{{FIELD_HOSTS, FIELD_SIZE}, true, build_crosscore},
	{{FIELD_HOSTS, FIELD_SIZE}, false, build_tornado},
	{{FIELD_HOSTS, FIELD_STRIDE, FIELD_SIZE}, false, build_stride},
	{{FIELD_FLOWS, FIELD_SIZE, FIELD_SOME_HOSTS}, false, build_random},
	{{FIELD_SENDERS, FIELD_SIZE, FIELD_INCASTS}, false, build_incast},
	{{FIELD_PERCENT, FIELD_SIZE, FIELD_SOME_HOSTS}, false, build_requests},
	{{FIELD_SENDERS, FIELD_FAN_OUT, FIELD_SIZE}, false, build_outcast_incast},
	{{FIELD_HOSTS, FIELD_SIZE, FIELD_PARALLEL, FIELD_SHIFTED}, false, build_alltoall},
	{{FIELD_HOSTS, FIELD_SIZE, FIELD_SPREAD}, false, build_ring},
	{{FIELD_HOSTS, FIELD_SIZE, FIELD_SPREAD}, false, build_butterfly},
	{{FIELD_HOSTS, FIELD_SIZE, FIELD_SPREAD}, false, build_halving},
	{{FIELD_CDF, FIELD_LOAD, FIELD_DURATION, FIELD_SOME_HOSTS, FIELD_RECEIVERS, FIELD_SOME_SENDERS},
	 true,
	 build_poisson},
	{{FIELD_ROUNDS, FIELD_DURATION, FIELD_PATTERN}, false, NULL},
};

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };
_Static_assert(sizeof weft_workload_kinds / sizeof weft_workload_kinds[0] == PATTERNS + 1, "a usage for each pattern");

static int find_pattern(const char *spec)
{
	size_t len = strcspn(spec, ":");

	for (int i = 0; i < PATTERNS; i++) {
		const char *usage = weft_workload_kinds[i].usage;
		if (strcspn(usage, ":") == len && !strncasecmp(usage, spec, len))
			return i;
	}
	return -1;
}

static int unknown_pattern(const char *spec, struct weft_err *err)
{
	char names[240] = "";
	size_t used = 0;

	for (int i = 0; i < PATTERNS; i++) {
		const char *usage = weft_workload_kinds[i].usage;
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", i ? ", " : "",
					 (int)strcspn(usage, ":"), usage);
	}
	return weft_err_set(err, -ENOENT, "'%.40s' is neither a file nor a pattern; patterns are %s", spec, names);
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

static int read_duration(const char *spec, struct token t, weft_ns *ns, struct weft_err *err)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	struct token suffix;
	uint64_t nano;

	for (size_t i = 0; token_nano(t, &nano, &suffix) && i < sizeof units / sizeof units[0]; i++) {
		if (!token_is(suffix, units[i].suffix))
			continue;
		*ns = (weft_ns)((unsigned __int128)nano * units[i].ns / 1000000000);
		if (*ns && *ns <= WEFT_S(DURATION_MAX_S))
			return 0;
	}
	return weft_err_set(err, -EINVAL, "%.80s: TIME is such as 500us, 2.5ms or 1s, at most %d s", spec,
			    DURATION_MAX_S);
}

static int read_load(const char *spec, struct token t, uint64_t *nano, struct weft_err *err)
{
	if (token_nano(t, nano, NULL) && *nano > 0 && *nano <= 1500000000)
		return 0;
	return weft_err_set(err, -EINVAL, "%.80s: LOAD must be above 0 and at most 1.5 of the hosts' links", spec);
}

static int unknown_cdf(const char *spec, struct weft_err *err)
{
	char names[160] = "";
	size_t used = 0;

	for (const struct cdf_text *c = cdf_texts; c->name && used < sizeof names; c++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", c->name);
	return weft_err_set(err, -ENOENT, "%.60s: CDF is one of %sor a file (with a '/')", spec, names);
}

static bool is_path(struct token t)
{
	return memchr(t.s, '/', t.len) != NULL;
}

static int read_cdf(const char *spec, struct token t, const struct weft_workload_site *site, struct cdf *cdf,
		    struct weft_err *err)
{
	if (is_path(t)) {
		char name[128];
		snprintf(name, sizeof name, "%.*s", (int)t.len, t.s);
		if (!site->cdf)
			return weft_err_set(err, -EINVAL, "%.80s: nobody read %.80s", spec, name);
		return cdf_parse(site->cdf, site->cdf_bytes, name, cdf, err);
	}
	for (const struct cdf_text *c = cdf_texts; c->name; c++)
		if (token_is(t, c->name))
			return cdf_parse(c->text, strlen(c->text), c->name, cdf, err);
	return unknown_cdf(spec, err);
}

static int read_word(const char *spec, struct token t, const char *word, bool *there, struct weft_err *err)
{
	*there = token_is(t, word);
	return *there ? 0 : weft_err_set(err, -EINVAL, "%.80s: '%s' is expected, or nothing", spec, word);
}

static int read_receivers(struct token t, struct request *q, struct weft_err *err)
{
	q->off_leaf = token_is(t, "off-leaf");
	q->one_receiver = token_is(t, "one-receiver");
	if (q->off_leaf || q->one_receiver)
		return 0;
	return weft_err_set(err, -EINVAL, "%.80s: 'off-leaf' or 'one-receiver' is expected, or nothing", q->spec);
}

static int read_number(const char *spec, enum field field, struct token t, struct request *q, struct weft_err *err)
{
	const uint32_t hosts_max = WEFT_TOPO_HOSTS_MAX - 1;

	switch (field) {
	case FIELD_SENDERS:
	case FIELD_SOME_SENDERS:
		return spec_u32(spec, t, "the number of senders", 1, hosts_max, &q->senders, err);
	case FIELD_FAN_OUT:
		return spec_u32(spec, t, "FANOUT", 1, hosts_max, &q->fan_out, err);
	case FIELD_FLOWS:
		return spec_u32(spec, t, "the number of flows", 1, FLOWS_MAX, &q->flows, err);
	case FIELD_ROUNDS:
		return spec_u32(spec, t, "the number of rounds", 1, FLOWS_MAX, &q->rounds, err);
	case FIELD_STRIDE:
		return spec_u32(spec, t, "DISTANCE", 1, hosts_max, &q->stride, err);
	case FIELD_PERCENT:
		return spec_u32(spec, t, "PERCENT", 1, 100, &q->percent, err);
	case FIELD_PARALLEL:
		return spec_u32(spec, t, "PARALLEL", 1, UINT32_MAX - 1, &q->parallel, err);
	case FIELD_INCASTS:
		return spec_u32(spec, t, "the number of incasts", 1, hosts_max, &q->incasts, err);
	default:
		return spec_u32(spec, t, "the number of hosts", 2, hosts_max, &q->hosts, err);
	}
}

static int read_field(const struct weft_workload_site *site, enum field field, struct token t, struct request *q,
		      struct weft_err *err)
{
	switch (field) {
	case FIELD_SIZE:
		return read_size(q->spec, t, &q->bytes, err);
	case FIELD_CDF:
		return read_cdf(q->spec, t, site, q->cdf, err);
	case FIELD_LOAD:
		return read_load(q->spec, t, &q->load, err);
	case FIELD_DURATION:
		return read_duration(q->spec, t, &q->duration_ns, err);
	case FIELD_PATTERN:
		q->inner = t.s;
		return 0;
	case FIELD_SPREAD:
		return read_word(q->spec, t, "spread", &q->spread, err);
	case FIELD_SHIFTED:
		return read_word(q->spec, t, "shifted", &q->shifted, err);
	case FIELD_RECEIVERS:
		return read_receivers(t, q, err);
	default:
		return read_number(q->spec, field, t, q, err);
	}
}

/* Numbers that were left out, and what cannot be built without a topology. */
static int complete(const struct pattern *p, struct request *q, struct weft_err *err)
{
	bool all_hosts = false;

	for (uint32_t i = 0; i < PATTERN_FIELDS_MAX; i++)
		all_hosts |= p->fields[i] == FIELD_SOME_HOSTS && !q->hosts;
	if ((p->needs_topo || q->spread || all_hosts) && !q->topo)
		return weft_err_set(err, -EINVAL, "%.80s: this pattern depends on a topology", q->spec);
	if (all_hosts)
		q->hosts = q->topo->hosts;
	if (all_hosts && q->hosts < 2)
		return weft_err_set(err, -EINVAL, "%.80s: the topology has one host", q->spec);
	return 0;
}

static int read_request(const struct weft_workload_site *site, int pattern, struct request *q, struct weft_err *err)
{
	const struct pattern *p = &patterns[pattern];
	struct token tok[PATTERN_FIELDS_MAX + 1];
	uint32_t given = spec_split(q->spec, tok, PATTERN_FIELDS_MAX + 1) - 1, least = 0, most = 0;
	int rc = 0;

	for (; p->fields[most]; most++)
		least += p->fields[most] < FIELD_LEAST_OPTIONAL;
	if (most && p->fields[most - 1] == FIELD_PATTERN && given > most)
		given = most;
	if (given < least || given > most)
		return weft_err_set(err, -EINVAL, "'%.80s': the form is %s", q->spec,
				    weft_workload_kinds[pattern].usage);
	for (uint32_t i = 0; i < given && !rc; i++)
		rc = read_field(site, p->fields[i], tok[i + 1], q, err);
	return rc ? rc : complete(p, q, err);
}

bool weft_workload_is_pattern(const char *spec)
{
	return find_pattern(spec) >= 0 && strchr(spec, ':');
}

bool weft_workload_cdf_file(const char *spec, char *path, size_t size)
{
	int pattern = find_pattern(spec);
	struct token tok[PATTERN_FIELDS_MAX + 1];
	uint32_t given = spec_split(spec, tok, PATTERN_FIELDS_MAX + 1) - 1;

	for (uint32_t i = 0; pattern >= 0 && i < given && i < PATTERN_FIELDS_MAX; i++) {
		enum field field = patterns[pattern].fields[i];
		struct token t = tok[i + 1];
		if (field == FIELD_PATTERN)
			return weft_workload_cdf_file(t.s, path, size);
		if (field != FIELD_CDF || !is_path(t))
			continue;
		snprintf(path, size, "%.*s", (int)t.len, t.s);
		return true;
	}
	return false;
}

int request_read(const char *spec, const struct weft_workload_site *site, struct request *q, request_build **build,
		 struct weft_err *err)
{
	struct cdf *cdf = q->cdf;
	int pattern = find_pattern(spec);

	*q = (struct request){.spec = spec,
			      .site = site,
			      .topo = site->topo,
			      .seed = site->seed,
			      .incasts = 1,
			      .parallel = UINT32_MAX,
			      .cdf = cdf};
	if (pattern < 0)
		return unknown_pattern(spec, err);
	*build = patterns[pattern].build;
	return read_request(site, pattern, q, err);
}
