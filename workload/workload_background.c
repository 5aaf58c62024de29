/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic of others: a share of the flows, or another workload beside them. How workloads become one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload_impl.h"

/* Selection sampling (Knuth, The Art of Computer Programming 2, algorithm S): exactly so many, each set equally likely.
 */
void weft_workload_mark_background(struct weft_workload *w, uint64_t share, uint64_t seed)
{
	struct rng rng = {rng_mix(~seed)};
	uint64_t one = CDF_ONE, wanted = (w->flow_count * share + one / 2) / one;

	for (uint32_t i = 0; i < w->flow_count && wanted; i++) {
		w->flows[i].background = rng_below(&rng, w->flow_count - i) < wanted;
		wanted -= w->flows[i].background;
	}
}

static void shift(int32_t *trigger, uint32_t by)
{
	if (*trigger >= 0)
		*trigger += (int32_t)by;
}

static void append(struct weft_workload *w, const struct weft_workload *more, weft_ns later, bool background)
{
	for (uint32_t i = 0; i < more->flow_count; i++) {
		struct weft_flow *f = &w->flows[w->flow_count + i];
		*f = more->flows[i];
		f->id = 0; /* would be there twice */
		f->background = background;
		f->start_ns += f->start_ns == WEFT_NEVER ? 0 : later;
		shift(&f->start_trigger, w->trigger_count);
		shift(&f->send_done_trigger, w->trigger_count);
		shift(&f->recv_done_trigger, w->trigger_count);
	}
	for (uint32_t i = 0; i < more->trigger_count; i++) {
		struct weft_trigger *t = &w->triggers[w->trigger_count + i];
		*t = more->triggers[i];
		t->id = 0;
		for (uint32_t k = 0; k < t->target_count; k++)
			t->targets[k] += w->flow_count;
	}
	w->flow_count += more->flow_count;
	w->trigger_count += more->trigger_count;
	if (w->nodes < more->nodes)
		w->nodes = more->nodes;
}

int workload_check_count(uint64_t flows, struct weft_err *err)
{
	if (flows <= FLOWS_MAX)
		return 0;
	return weft_err_set(err, -EINVAL, "%llu flows together, at most %d are possible", (unsigned long long)flows,
			    FLOWS_MAX);
}

int workload_join(struct weft_workload *w, struct weft_workload *more, weft_ns later, bool background,
		  struct weft_err *err)
{
	uint64_t flows = (uint64_t)w->flow_count + more->flow_count;
	uint64_t triggers = (uint64_t)w->trigger_count + more->trigger_count;

	int rc = workload_check_count(flows > triggers ? flows : triggers, err);

	if (rc)
		return rc;
	struct weft_flow *f = realloc(w->flows, flows * sizeof *f);
	if (f)
		w->flows = f;
	struct weft_trigger *t = triggers ? realloc(w->triggers, triggers * sizeof *t) : NULL;
	if (t)
		w->triggers = t;
	if (!f || (triggers && !t))
		return weft_err_set(err, -ENOMEM, "no memory for %llu flows", (unsigned long long)flows);
	append(w, more, later, background);
	more->trigger_count = 0; /* the target lists have moved */
	weft_workload_free(more);
	return 0;
}

int weft_workload_add_background(struct weft_workload *w, struct weft_workload *more, struct weft_err *err)
{
	return workload_join(w, more, 0, true, err);
}
