/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "hash.h"
#include "sweep.h"

static uint64_t hash_text(uint64_t state, const char *text)
{
	return hash_bytes(text, strlen(text), state);
}

/* Contents of a file; what cannot be read counts as empty, and its use will complain. */
static uint64_t hash_file(uint64_t state, const char *path)
{
	size_t len = 0;
	int rc = 0;
	char *text = file_read(path, &len, &rc, NULL);
	state = hash_bytes(text ? text : "", len, state);
	free(text);
	return state;
}

static bool is_plain_file(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int by_text(const void *a, const void *b)
{
	const struct scenario_item *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->value, y->value);
}

/* What stands in the files a value names. */
static uint64_t hash_files(const struct scenario *s, const struct scenario_item *item, uint64_t state)
{
	char text[SCENARIO_PATH_MAX], part[SCENARIO_PATH_MAX];
	const char *p = scenario_locate(s, item, text);
	for (size_t len; *p; p += len + (p[len] != 0)) {
		len = strcspn(p, ":");
		snprintf(part, sizeof part, "%.*s", (int)len, p);
		if (is_plain_file(part))
			state = hash_file(state, part);
	}
	return state;
}

/* Options in any order. */
static uint64_t hash_list(const struct scenario *s, struct scenario_list *list, const char *label)
{
	uint64_t state = hash_text(1, label);
	if (list->count) /* otherwise there are no items */
		qsort(list->items, list->count, sizeof *list->items, by_text);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct scenario_item *item = &list->items[i];
		state = hash_text(hash_text(state, item->name), item->value);
		state = hash_files(s, item, state);
	}
	return state;
}

/* Bytes times links: what the lab's time goes with. */
static double weight_of(const struct options *o)
{
	double bytes = 1;
	for (uint32_t i = 0; i < o->lab.workload.flow_count; i++)
		bytes += (double)o->lab.workload.flows[i].bytes;
	return bytes * 2 * o->lab.topo.tiers;
}

static int plan_run(struct sweep *w, uint32_t id, uint64_t build, struct weft_err *err)
{
	struct sweep_run *r = &w->runs[id];
	struct options o;
	struct scenario_list list;
	r->pick = scenario_pick(w->scenario, id);
	scenario_label(w->scenario, &r->pick, r->label);
	int rc = scenario_options(w->scenario, &r->pick, &o, err);
	r->seed = o.lab.seed;
	r->weight = rc ? 0 : weight_of(&o);
	options_free(&o);
	if (rc)
		return rc;
	rc = scenario_combine(w->scenario, &r->pick, &list, err);
	if (!rc)
		snprintf(r->identity, sizeof r->identity, "%016" PRIx64 "-%016" PRIx64, build,
			 hash_list(w->scenario, &list, r->label));
	free(list.items);
	return rc;
}

int sweep_plan(struct sweep *w, struct scenario *s, struct weft_err *err)
{
	*w = (struct sweep){.scenario = s, .count = scenario_runs(s), .dir = s->out, .lock = -1};
	if (!w->count)
		return weft_err_set(err, -E2BIG, "%s: more than %d runs", s->path, SCENARIO_RUNS_MAX);
	w->runs = calloc(w->count, sizeof *w->runs);
	if (!w->runs)
		return weft_err_set(err, -ENOMEM, "no memory for %u runs", w->count);
	/* Another build may give other results, so they are not mixed. */
	uint64_t build = hash_file(2, "/proc/self/exe");
	int rc = 0;
	for (uint32_t i = 0; i < w->count && !rc; i++)
		rc = plan_run(w, i, build, err);
	return rc;
}

void sweep_free(struct sweep *w)
{
	free(w->runs);
	*w = (struct sweep){.lock = -1};
}

uint32_t sweep_count(const struct sweep *w, enum sweep_status status)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->count; i++)
		n += w->runs[i].status == status;
	return n;
}
