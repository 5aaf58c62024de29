/* SPDX-License-Identifier: BSD-3-Clause */
/* A claim against the results of a sweep. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "claim.h"
#include "file.h"

/* What a claim is held against. */
struct trial {
	const struct claim *c;
	const struct sweep *w;
	struct weft_err *err;
	uint32_t seeds;
	struct claim_verdict *v;
	bool any;
};

/* What a combination has under a name; NULL: the scenario has no such axis. */
static const char *value_of(const struct sweep *w, const struct scenario_pick *pick, const char *name)
{
	const struct scenario *s = w->scenario;
	if (!strcmp(name, "case"))
		return s->cases[pick->case_index].name;
	for (uint32_t i = 0; i < s->axis_count; i++) {
		if (!strcmp(s->axes[i].name, name))
			return s->axes[i].values[pick->values[i]];
	}
	return NULL;
}

bool claim_value_is(const char *have, const char *wanted)
{
	size_t len = strlen(have), tail = strlen(wanted);
	return !strcmp(have, wanted) ||
	       (len > tail && have[len - tail - 1] == '/' && !strcmp(have + len - tail, wanted));
}

static const struct claim_key *key_named(const struct claim_pick *pick, const char *name)
{
	for (uint32_t i = 0; i < pick->count; i++) {
		if (!strcmp(pick->keys[i].name, name))
			return &pick->keys[i];
	}
	return NULL;
}

static bool key_takes(const struct claim_key *key, const char *have)
{
	for (uint32_t i = 0; i < key->count; i++) {
		if (claim_value_is(have, key->values[i]))
			return true;
	}
	return false;
}

bool claim_picks(const struct sweep *w, const struct claim_pick *pick, const struct scenario_pick *row)
{
	for (uint32_t i = 0; i < pick->count; i++) {
		const char *have = value_of(w, row, pick->keys[i].name);
		if (!have || !key_takes(&pick->keys[i], have))
			return false;
	}
	return true;
}

/* Whether `other` is `row` but for the keys of `over`, which have the values asked for. */
static bool is_counterpart(const struct sweep *w, const struct claim_pick *over, const struct scenario_pick *row,
			   const struct scenario_pick *other)
{
	const struct scenario *s = w->scenario;
	if (!claim_picks(w, over, other))
		return false;
	if (!key_named(over, "case") && row->case_index != other->case_index)
		return false;
	for (uint32_t i = 0; i < s->axis_count; i++) {
		if (!key_named(over, s->axes[i].name) && row->values[i] != other->values[i])
			return false;
	}
	return true;
}

/* Mean over the seeds of the combination that begins at run `first`; NaN: a result is missing. */
static int mean(struct trial *t, uint32_t first, double *value)
{
	double sum = 0;
	for (uint32_t i = first; i < first + t->seeds; i++) {
		char name[32], dir[FILE_PATH_MAX];
		double one;
		if (!t->w->runs[i].known) {
			*value = NAN;
			return 0;
		}
		snprintf(name, sizeof name, "runs/%04u", i);
		int rc = file_path(dir, t->w->dir, name, t->err);
		if (!rc)
			rc = measure_run(t->c->measure, &t->c->scope, &t->w->runs[i].record, dir, &one, t->err);
		if (rc)
			return rc;
		sum += one;
	}
	*value = sum / t->seeds;
	return 0;
}

/* How far inside the bounds; negative: outside. */
static double margin(const struct claim *c, double value)
{
	double below = isnan(c->at_most) ? INFINITY : c->at_most - value;
	double above = isnan(c->at_least) ? INFINITY : value - c->at_least;
	return below < above ? below : above;
}

static void consider(struct trial *t, double value, const char *fmt, const char *one, double a, const char *other,
		     double b)
{
	struct claim_verdict *v = t->v;
	if (isnan(value)) {
		v->known = false;
		return;
	}
	if (t->any && margin(t->c, value) >= margin(t->c, v->value))
		return;
	t->any = true;
	v->value = value;
	snprintf(v->ours, sizeof v->ours, fmt, value, one, a, other, b);
}

/* Nothing against nothing is the same; something against nothing is infinitely more. */
static double ratio(double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	return b != 0 ? a / b : a == 0 ? 1 : INFINITY;
}

static int against(struct trial *t, uint32_t row, double value)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < t->w->count; i += t->seeds) {
		double other;
		if (i == row || !is_counterpart(t->w, &t->c->over, &t->w->runs[row].pick, &t->w->runs[i].pick))
			continue;
		int rc = mean(t, i, &other);
		if (rc)
			return rc;
		found++;
		consider(t, t->c->difference ? value - other : ratio(value, other), "%.3g (%s: %.6g; %s: %.6g)",
			 t->w->runs[row].label, value, t->w->runs[i].label, other);
	}
	return found ? 0
		     : weft_err_set(t->err, -EINVAL, "%s:%u: over: nothing stands beside %s", t->w->scenario->path,
				    t->c->line, t->w->runs[row].label);
}

bool claim_judges(const struct claim *c)
{
	return !isnan(c->at_most) || !isnan(c->at_least);
}

int claim_real_dir(const struct sweep *w, uint32_t id, char path[FILE_PATH_MAX], struct weft_err *err)
{
	char name[32];
	snprintf(name, sizeof name, "real/%04u", id);
	return file_path(path, w->dir, name, err);
}

/* The run at `row` in real time over what it is in the lab; a missing result is not known. */
static int beside_lab(struct trial *t, uint32_t row, double lab)
{
	char dir[FILE_PATH_MAX], path[FILE_PATH_MAX];
	struct run_record record;
	double real = NAN;
	int rc = claim_real_dir(t->w, row, dir, t->err);
	if (!rc)
		rc = file_path(path, dir, "run.json", t->err);
	if (!rc && !result_read_json(path, &record, NULL))
		rc = measure_run(t->c->measure, &t->c->scope, &record, dir, &real, t->err);
	if (!rc)
		consider(t, ratio(real, lab), "%.3g (%s: in real time %.6g, in the lab%s %.6g)", t->w->runs[row].label,
			 real, "", lab);
	return rc;
}

int claim_judge(const struct claim *c, const struct sweep *w, struct claim_verdict *v, struct weft_err *err)
{
	struct trial t = {
		.c = c, .w = w, .err = err, .v = v, .seeds = w->scenario->seed_count ? w->scenario->seed_count : 1};
	*v = (struct claim_verdict){.known = true};
	int rc = 0;
	for (uint32_t i = 0; i < w->count && !rc; i += t.seeds) {
		double value;
		if (!claim_picks(w, &c->of, &w->runs[i].pick))
			continue;
		rc = mean(&t, i, &value);
		if (!rc && c->real)
			rc = beside_lab(&t, i, value);
		else if (!rc && c->relative)
			rc = against(&t, i, value);
		else if (!rc)
			consider(&t, value, "%.6g (%s)", w->runs[i].label, 0, "", 0);
	}
	if (!rc && !t.any && v->known)
		rc = weft_err_set(err, -EINVAL, "%s:%u: of: no run is meant", w->scenario->path, c->line);
	v->holds = v->known && t.any && claim_judges(c) && margin(c, v->value) >= 0;
	if (!v->known)
		snprintf(v->ours, sizeof v->ours, "a run it needs has no result, or flows without an end");
	return rc;
}
