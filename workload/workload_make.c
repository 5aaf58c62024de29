/* SPDX-License-Identifier: BSD-3-Clause */
/* From a pattern's name and numbers to its flows: built once, or in rounds. */
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

/* The flows of one request. The caller frees `w` after an error, too. */
static int make_once(const struct request *q, request_build *build, struct weft_workload *w, struct weft_err *err)
{
	int rc = build(q, w, err);

	return rc ? rc : workload_link(w);
}

/* The flows of one round. Each but the first has a seed of its own, which no other run's round has either: seeds of
 * runs follow one another, so the sum of seed and round would not do. */
static int make_round(const struct request *q, uint32_t round, struct weft_workload *w, struct weft_err *err)
{
	struct weft_workload_site site = *q->site;
	struct cdf cdf;
	struct request inner = {.cdf = &cdf};
	request_build *build = NULL;

	site.seed = round ? rng_mix(rng_mix(q->seed) + round) : q->seed;
	int rc = request_read(q->inner, &site, &inner, &build, err);
	if (rc)
		return rc;
	if (!build)
		return weft_err_set(err, -EINVAL, "%.80s: rounds of rounds", q->spec);
	return make_once(&inner, build, w, err);
}

static int make_rounds(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	int rc = make_round(q, 0, w, err);

	if (!rc)
		rc = workload_check_count((uint64_t)q->rounds * w->flow_count, err);
	for (uint32_t round = 1; round < q->rounds && !rc; round++) {
		struct weft_workload more = {0};
		rc = make_round(q, round, &more, err);
		if (!rc)
			rc = workload_join(w, &more, round * q->duration_ns, false, err);
		weft_workload_free(&more);
	}
	return rc;
}

int weft_workload_pattern(const char *spec, const struct weft_workload_site *site, struct weft_workload *w,
			  struct weft_err *err)
{
	struct weft_err why = {""};
	struct cdf cdf;
	struct request q = {.cdf = &cdf};
	request_build *build = NULL;

	*w = (struct weft_workload){0};
	int rc = request_read(spec, site, &q, &build, err);
	if (rc)
		return rc;
	rc = build ? make_once(&q, build, w, &why) : make_rounds(&q, w, &why);
	if (rc) {
		weft_workload_free(w);
		weft_err_set(err, rc, "%s", why.msg[0] ? why.msg : "out of memory");
	}
	return rc;
}
