/* SPDX-License-Identifier: BSD-3-Clause */
/* --matrix and --background: from a file or a pattern to flows. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "options_int.h"
#include "rng.h"

/* Any number does, as long as it stays the same: "backgrnd" in ASCII. */
#define BACKGROUND_SEED 0x6261636b67726e64u

/* What cannot be carried out. */
static int check_flows(const struct options *o, const char *spec, const struct weft_workload *w, struct weft_err *err)
{
	if (w->nodes > o->lab.topo.hosts)
		return weft_err_set(err, -EINVAL, "%.80s has %u nodes, topology %.80s only %u hosts", spec, w->nodes,
				    o->topology, o->lab.topo.hosts);
	for (uint32_t i = 0; i < w->flow_count; i++) {
		const struct weft_flow *f = &w->flows[i];
		if (f->src >= w->nodes || f->dst >= w->nodes)
			return weft_err_set(err, -EINVAL, "%.80s: flow %u, %u->%u, is not between nodes 0..%u", spec, i,
					    f->src, f->dst, w->nodes - 1);
		if (f->bytes > WEFT_MSG_BYTES_MAX)
			return weft_err_set(err, -EINVAL,
					    "%.80s: flow %u has %" PRIu64 " bytes, a message at most %" PRIu64, spec, i,
					    f->bytes, WEFT_MSG_BYTES_MAX);
	}
	return 0;
}

static int read_matrix(const char *path, struct weft_workload *w, struct weft_err *err)
{
	size_t len;
	int rc = 0;
	char *text = file_read(path, &len, &rc, err);
	if (text)
		rc = weft_workload_parse(text, len, path, w, err);
	free(text);
	return rc;
}

static int make_pattern(const struct options *o, const char *spec, uint64_t seed, struct weft_workload *w,
			struct weft_err *err)
{
	struct weft_workload_site site = {.topo = &o->lab.topo, .seed = seed};
	char path[256];
	int rc = 0;
	char *text = NULL;
	if (weft_workload_cdf_file(spec, path, sizeof path)) {
		text = file_read(path, &site.cdf_bytes, &rc, err);
		if (!text)
			return rc;
		site.cdf = text;
	}
	rc = weft_workload_pattern(spec, &site, w, err);
	free(text);
	return rc;
}

static int make(const struct options *o, const char *spec, uint64_t seed, struct weft_workload *w, struct weft_err *err)
{
	int rc;
	if (!weft_workload_is_pattern(spec) && options_is_file(spec))
		rc = read_matrix(spec, w, err);
	else
		rc = make_pattern(o, spec, seed, w, err);
	return rc ? rc : check_flows(o, spec, w, err);
}

/* "10%" and "2.5%" in 10^-9; false: not a share. */
static bool read_share(const char *text, uint64_t *share)
{
	char *end;
	double percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
		return false;
	*share = (uint64_t)(percent * 1e7 + 0.5);
	return true;
}

static int resolve_background(struct options *o, struct weft_err *err)
{
	uint64_t share;
	o->step = "background";
	if (read_share(o->background, &share)) {
		weft_workload_mark_background(&o->lab.workload, share, o->lab.seed);
		return 0;
	}
	if (!weft_workload_is_pattern(o->background) && !options_is_file(o->background))
		return weft_err_set(err, -EINVAL,
				    "background: '%.80s' is neither a share (0%% to 100%%) nor a pattern or matrix",
				    o->background);
	struct weft_workload more = {0};
	/* Another seed: the same pattern would otherwise repeat the foreground's pairs, of this run or of another. */
	int rc = make(o, o->background, rng_mix(o->lab.seed ^ BACKGROUND_SEED), &more, err);
	if (!rc)
		rc = weft_workload_add_background(&o->lab.workload, &more, err);
	weft_workload_free(&more);
	return rc;
}

int options_resolve_matrix(struct options *o, struct weft_err *err)
{
	char spec[64];
	if (!o->matrix) {
		snprintf(spec, sizeof spec, "permutation:%u:1MiB", o->lab.topo.hosts);
		o->matrix = options_keep(o, spec);
		if (!o->matrix)
			return weft_err_set(err, -ENOMEM, "no memory");
	}
	int rc = make(o, o->matrix, o->lab.seed, &o->lab.workload, err);
	return rc || !o->background ? rc : resolve_background(o, err);
}
