/* SPDX-License-Identifier: BSD-3-Clause */
/* Triggers: which flows they start, and whether every flow is started by something. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload_impl.h"

int workload_link(struct weft_workload *w)
{
	for (uint32_t i = 0; i < w->flow_count; i++)
		if (w->flows[i].start_trigger >= 0)
			w->triggers[w->flows[i].start_trigger].target_count++;
	for (uint32_t i = 0; i < w->trigger_count; i++) {
		struct weft_trigger *t = &w->triggers[i];
		t->targets = t->target_count ? malloc(t->target_count * sizeof *t->targets) : NULL;
		if (t->target_count && !t->targets)
			return -ENOMEM;
		t->target_count = 0;
	}
	for (uint32_t i = 0; i < w->flow_count; i++) {
		if (w->flows[i].start_trigger < 0)
			continue;
		struct weft_trigger *t = &w->triggers[w->flows[i].start_trigger];
		t->targets[t->target_count++] = i;
	}
	return 0;
}

uint32_t weft_trigger_fire(const struct weft_trigger *t, uint32_t *fired, uint32_t *out)
{
	uint32_t before = (*fired)++;
	assert(t->targets || !t->target_count);

	if (t->kind == WEFT_TRIGGER_MULTISHOT) {
		if (before >= t->target_count)
			return 0;
		out[0] = t->targets[before];
		return 1;
	}
	if (before + 1 != t->count || t->target_count == 0)
		return 0;
	memcpy(out, t->targets, t->target_count * sizeof *out);
	return t->target_count;
}

/* Activates the trigger with index `t` if there is one; returns how many flows that starts. */
static uint32_t activate(const struct weft_workload *w, int32_t t, uint32_t *fired, uint32_t *out)
{
	return t < 0 ? 0 : weft_trigger_fire(&w->triggers[t], &fired[t], out);
}

/* Starts all flows that can start, as if each completed; `order` gets them, `fired` the triggers' activations. Returns
 * how many. */
static uint32_t start_all(const struct weft_workload *w, uint32_t *order, uint32_t *fired)
{
	uint32_t started = 0;

	for (uint32_t i = 0; i < w->flow_count; i++)
		if (w->flows[i].start_trigger < 0)
			order[started++] = i;
	for (uint32_t next = 0; next < started; next++) {
		const struct weft_flow *f = &w->flows[order[next]];
		started += activate(w, f->send_done_trigger, fired, order + started);
		started += activate(w, f->recv_done_trigger, fired, order + started);
	}
	return started;
}

/* The first flow that waits and has not been started by a trigger that counted its activations. */
static void find_stuck(const struct weft_workload *w, const uint32_t *fired, struct workload_stuck *stuck)
{
	for (uint32_t i = 0; i < w->flow_count; i++) {
		if (w->flows[i].start_trigger < 0)
			continue;
		const struct weft_trigger *t = &w->triggers[w->flows[i].start_trigger];
		uint32_t needed = t->count, activations = fired[w->flows[i].start_trigger];
		if (t->kind == WEFT_TRIGGER_MULTISHOT)
			for (needed = 1; t->targets[needed - 1] != i;)
				needed++;
		if (activations >= needed)
			continue;
		*stuck = (struct workload_stuck){.flow = i, .activations = activations, .needed = needed};
		return;
	}
}

int workload_all_start(const struct weft_workload *w, struct workload_stuck *stuck)
{
	if (!w->trigger_count)
		return 1;
	uint32_t *order = malloc(w->flow_count * sizeof *order);
	uint32_t *fired = calloc(w->trigger_count, sizeof *fired);
	int all = order && fired ? start_all(w, order, fired) == w->flow_count : -ENOMEM;
	if (!all)
		find_stuck(w, fired, stuck);
	free(order);
	free(fired);
	return all;
}
