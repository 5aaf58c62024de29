/* SPDX-License-Identifier: BSD-3-Clause */
/* A claim against the results of a sweep. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "file.h"
#include "stat.h"

/* What a claim is held against. */
struct trial {
	const struct claim *c;
	const struct sweep *w;
	struct weft_err *err;
	uint32_t seeds;
	double *of, *over; /* of the combinations at hand, a value per seed; owned */
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

/* Values of the combination that begins at run `first`, one for each seed, and their mean; NaN: a result is missing. */
static int measure_seeds(struct trial *t, uint32_t first, double *values, double *mean)
{
	for (uint32_t i = 0; i < t->seeds; i++) {
		const struct sweep_run *run = &t->w->runs[first + i];
		char name[32], dir[FILE_PATH_MAX];
		values[i] = NAN;
		if (!run->known)
			continue;
		snprintf(name, sizeof name, "runs/%04u", first + i);
		int rc = file_path(dir, t->w->dir, name, t->err);
		if (!rc)
			rc = measure_run(&t->c->measure, &t->c->scope, &run->record, dir, &values[i], t->err);
		if (rc)
			return rc;
	}
	*mean = stat_mean(values, t->seeds).mean;
	return 0;
}

/* Half of the values' interval. NaN: there is none, for one of them is infinite, which something over nothing is. */
static double half_of(const double *values, uint32_t n)
{
	uint32_t same = 0;
	while (same < n && values[same] == values[0])
		same++;
	return same == n && isfinite(values[0]) ? 0 : stat_mean(values, n).half;
}

/* How far inside the bounds; negative: outside. */
static double margin(const struct claim *c, double value)
{
	double below = isnan(c->at_most) ? INFINITY : c->at_most - value;
	double above = isnan(c->at_least) ? INFINITY : value - c->at_least;
	return below < above ? below : above;
}

/* A value as shown, with two figures of its interval when there are several seeds and an interval. */
static void show_value(char *text, size_t size, const struct trial *t, double value, double half)
{
	int len = snprintf(text, size, t->c->relative || t->c->real ? "%.3g" : "%.6g", value);
	if (t->seeds > 1 && !t->c->real && !isnan(half))
		snprintf(text + len, size - (size_t)len, half < 99.5 ? " ±%.2g" : " ±%.0f", half);
}

/* `fmt` tells which runs a value comes from. */
static void consider(struct trial *t, double value, double half, const char *fmt, const char *one, double a,
		     const char *other, double b)
{
	struct claim_verdict *v = t->v;
	char shown[64], runs[CLAIM_TEXT_MAX - sizeof shown];
	if (isnan(value)) {
		v->known = false;
		return;
	}
	if (t->any && margin(t->c, value) >= margin(t->c, v->value))
		return;
	t->any = true;
	v->value = value;
	v->half = half;
	show_value(shown, sizeof shown, t, value, half);
	snprintf(runs, sizeof runs, fmt, one, a, other, b);
	snprintf(v->ours, sizeof v->ours, "%s %s", shown, runs);
}

/* Nothing against nothing is the same; something against nothing is infinitely more. */
static double ratio(double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	return b != 0 ? a / b : a == 0 ? 1 : INFINITY;
}

/* One combination's value against another's. */
static double set_against(const struct claim *c, double value, double other)
{
	return c->difference ? value - other : ratio(value, other);
}

/* The means against each other; their interval is that of the pairs of runs with the same seed, whose traffic is the
 * same, so that what differs between seeds and not between combinations does not widen it. */
static int against(struct trial *t, uint32_t row, double value)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < t->w->count; i += t->seeds) {
		double other;
		if (i == row || !is_counterpart(t->w, &t->c->over, &t->w->runs[row].pick, &t->w->runs[i].pick))
			continue;
		int rc = measure_seeds(t, i, t->over, &other);
		if (rc)
			return rc;
		found++;
		for (uint32_t k = 0; k < t->seeds; k++)
			t->over[k] = set_against(t->c, t->of[k], t->over[k]);
		consider(t, set_against(t->c, value, other), half_of(t->over, t->seeds), "(%s: %.6g; %s: %.6g)",
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
		rc = measure_run(&t->c->measure, &t->c->scope, &record, dir, &real, t->err);
	if (!rc)
		consider(t, ratio(real, lab), 0, "(%s: in real time %.6g, in the lab%s %.6g)", t->w->runs[row].label,
			 real, "", lab);
	return rc;
}

/* Every combination that the claim is of, and all that it is set against. */
static int consider_all(struct trial *t)
{
	const struct claim *c = t->c;
	int rc = 0;
	for (uint32_t i = 0; i < t->w->count && !rc; i += t->seeds) {
		double value;
		if (!claim_picks(t->w, &c->of, &t->w->runs[i].pick))
			continue;
		rc = measure_seeds(t, i, t->of, &value);
		if (!rc && c->real)
			rc = beside_lab(t, i, value);
		else if (!rc && c->relative)
			rc = against(t, i, value);
		else if (!rc)
			consider(t, value, half_of(t->of, t->seeds), "(%s)", t->w->runs[i].label, 0, "", 0);
	}
	if (!rc && !t->any && t->v->known)
		rc = weft_err_set(t->err, -EINVAL, "%s:%u: of: no run is meant", t->w->scenario->path, c->line);
	return rc;
}

int claim_judge(const struct claim *c, const struct sweep *w, struct claim_verdict *v, struct weft_err *err)
{
	uint32_t seeds = w->scenario->seed_count ? w->scenario->seed_count : 1;
	double *values = calloc(seeds, 2 * sizeof *values);
	struct trial t = {.c = c, .w = w, .err = err, .seeds = seeds, .of = values, .v = v};
	*v = (struct claim_verdict){.known = true};
	if (!values)
		return weft_err_set(err, -ENOMEM, "no memory for the values of %u seeds", seeds);
	t.over = values + seeds;
	int rc = consider_all(&t);
	free(values);
	bool judged = v->known && t.any && claim_judges(c);
	v->holds = judged && margin(c, v->value) >= 0;
	v->unsure = judged && v->half > 0 && fabs(margin(c, v->value)) <= v->half;
	if (!v->known)
		snprintf(v->ours, sizeof v->ours, "a run it needs has no result, or flows without an end");
	return rc;
}
