/* SPDX-License-Identifier: BSD-3-Clause */
/* Triggers: which flows they start, and whether every flow is started by something. */
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

uint32_t weft_trigger_fire(struct weft_trigger *t, uint32_t *out)
{
	uint32_t fired = t->fired++;

	if (t->kind == WEFT_TRIGGER_MULTISHOT) {
		if (fired >= t->target_count)
			return 0;
		out[0] = t->targets[fired];
		return 1;
	}
	if (fired + 1 != t->count || t->target_count == 0)
		return 0;
	memcpy(out, t->targets, t->target_count * sizeof *out);
	return t->target_count;
}

/* Starts all flows that can start, as if each completed; `order` gets them. Returns how many. */
static uint32_t start_all(struct weft_workload *w, uint32_t *order)
{
	uint32_t started = 0;

	for (uint32_t i = 0; i < w->flow_count; i++)
		if (w->flows[i].start_trigger < 0)
			order[started++] = i;
	for (uint32_t next = 0; next < started; next++) {
		const struct weft_flow *f = &w->flows[order[next]];
		if (f->send_done_trigger >= 0)
			started += weft_trigger_fire(&w->triggers[f->send_done_trigger], order + started);
		if (f->recv_done_trigger >= 0)
			started += weft_trigger_fire(&w->triggers[f->recv_done_trigger], order + started);
	}
	return started;
}

/* The first flow that waits and has not been started by a trigger that counted its activations. */
static void find_stuck(const struct weft_workload *w, struct workload_stuck *stuck)
{
	for (uint32_t i = 0; i < w->flow_count; i++) {
		if (w->flows[i].start_trigger < 0)
			continue;
		const struct weft_trigger *t = &w->triggers[w->flows[i].start_trigger];
		uint32_t needed = t->count;
		if (t->kind == WEFT_TRIGGER_MULTISHOT)
			for (needed = 1; t->targets[needed - 1] != i;)
				needed++;
		if (t->fired >= needed)
			continue;
		*stuck = (struct workload_stuck){i, t->fired, needed};
		return;
	}
}

int workload_all_start(struct weft_workload *w, struct workload_stuck *stuck)
{
	if (!w->trigger_count)
		return 1;
	uint32_t *order = malloc(w->flow_count * sizeof *order);
	if (!order)
		return -ENOMEM;
	bool all = start_all(w, order) == w->flow_count;
	free(order);
	if (!all)
		find_stuck(w, stuck);
	for (uint32_t i = 0; i < w->trigger_count; i++)
		w->triggers[i].fired = 0;
	return all;
}
