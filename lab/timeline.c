/* SPDX-License-Identifier: BSD-3-Clause */
#include "timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { PPM = 1000000, STEPS_PER_FAULT = 4 };

/* One of enum timeline_action, in a set of them. */
#define ONE(action) (1U << (action))

int timeline_add(struct timeline *t, const struct timeline_fault *f, struct weft_err *err)
{
	struct timeline_fault *grown = realloc(t->faults, (t->fault_count + 1) * sizeof *grown);
	if (grown)
		t->faults = grown;
	char *spec = grown ? strdup(f->spec) : NULL;
	if (!spec)
		return weft_err_set(err, -ENOMEM, "no memory");
	t->faults[t->fault_count] = *f;
	t->faults[t->fault_count++].spec = spec;
	return 0;
}

int timeline_refuse(const struct timeline_fault *f, int code, struct weft_err *err, const char *fmt, ...)
{
	char reason[160];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof reason, fmt, args);
	va_end(args);
	return weft_err_set(err, code, "'%.80s': %s", f->spec, reason);
}

void timeline_free(struct timeline *t)
{
	for (uint32_t i = 0; i < t->fault_count; i++) {
		free((char *)(uintptr_t)t->faults[i].spec);
		free(t->faults[i].target.cables);
	}
	free(t->faults);
	free(t->steps);
	*t = (struct timeline){0};
}

/* ---- against a topology ---- */

static int check_tier(const struct timeline_fault *f, const struct weft_topo *topo, struct weft_err *err)
{
	static const char *const tiers[] = {"leaf", "leaf and spine", "leaf, spine and core"};
	const struct timeline_target *t = &f->target;
	if (t->tier >= topo->tiers)
		return timeline_refuse(f, -EINVAL, err, "there are no %s switches here, only %s",
				       weft_topo_tier_name(t->tier), tiers[topo->tiers - 1]);
	if (t->kind != TIMELINE_SWITCH && weft_topo_uplinks(topo, t->tier) == 0)
		return timeline_refuse(f, -EINVAL, err, "%s switches are the top here and have no uplinks",
				       weft_topo_tier_name(t->tier));
	return 0;
}

static int check_number(const struct timeline_fault *f, const char *what, uint32_t number, uint32_t count,
			struct weft_err *err)
{
	if (number < count)
		return 0;
	return timeline_refuse(f, -EINVAL, err, "there is no %s %u: they are 0 to %u", what, number, count - 1);
}

/* All cables of the tier. */
static void list_cables(struct timeline_target *t, const struct weft_topo *topo)
{
	uint32_t n = 0;
	t->uplinks = weft_topo_uplinks(topo, t->tier);
	for (uint32_t sw = 0; sw < topo->tier[t->tier].switches; sw++) {
		uint32_t own = weft_topo_switch_uplinks(topo, t->tier, sw);
		for (uint32_t up = 0; up < own; up++)
			t->cables[n++] = sw * t->uplinks + up;
	}
}

/* Chooses a share of the tier's cables. The same cables for the same tier, seed and draw: a larger share contains a
 * smaller one, and a later restore finds what failed. */
static int draw_cables(struct timeline_fault *f, const struct weft_topo *topo, uint64_t seed, struct weft_err *err)
{
	struct timeline_target *t = &f->target;
	struct rng rng = {rng_mix(seed ^ rng_mix(UINT64_C(1) << 40 | (uint64_t)t->draw << 8 | t->tier))};
	uint32_t all = 0;
	for (uint32_t sw = 0; sw < topo->tier[t->tier].switches; sw++)
		all += weft_topo_switch_uplinks(topo, t->tier, sw);
	uint32_t count = (uint32_t)(((uint64_t)all * t->share_ppm + PPM / 2) / PPM);
	if (count == 0)
		return timeline_refuse(f, -EINVAL, err, "less than half of one of %u cables", all);
	free(t->cables);
	t->cable_count = 0;
	t->cables = calloc(all, sizeof *t->cables);
	if (!t->cables)
		return weft_err_set(err, -ENOMEM, "no memory for %u cables", all);
	list_cables(t, topo);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = i + rng_below(&rng, all - i), cable = t->cables[j];
		t->cables[j] = t->cables[i];
		t->cables[i] = cable;
	}
	t->cable_count = count;
	return 0;
}

static int resolve_target(struct timeline_fault *f, const struct weft_topo *topo, uint64_t seed, struct weft_err *err)
{
	const struct timeline_target *t = &f->target;
	if (t->kind == TIMELINE_HOST)
		return check_number(f, "host", t->host, topo->hosts, err);
	int rc = check_tier(f, topo, err);
	if (rc)
		return rc;
	if (t->kind == TIMELINE_RANDOM)
		return draw_cables(f, topo, seed, err);
	rc = check_number(f, weft_topo_tier_name(t->tier), t->sw, topo->tier[t->tier].switches, err);
	if (!rc && t->kind != TIMELINE_SWITCH)
		rc = check_number(f, "uplink", t->up, weft_topo_switch_uplinks(topo, t->tier, t->sw), err);
	return rc;
}

/* ---- in order ---- */

/* By time; at the same time ends come first, then in the order given. */
static int compare_steps(const void *a, const void *b)
{
	const struct timeline_step *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	if (x->fault != y->fault)
		return x->fault < y->fault ? -1 : 1;
	return x->learn - y->learn;
}

static void add_step(struct timeline *t, weft_ns at, uint32_t fault, bool end, bool learn)
{
	assert(t->step_count < t->fault_count * STEPS_PER_FAULT);
	t->steps[t->step_count++] = (struct timeline_step){.at_ns = at, .fault = fault, .end = end, .learn = learn};
}

/* Adds the change, and the time when routing learns of it. Routing does not learn of links that are slow without an
 * agreement, nor of links that damage packets. */
static void add_steps(struct timeline *t, weft_ns at, uint32_t fault, bool end, weft_ns reconverge)
{
	enum timeline_action action = t->faults[fault].action;
	add_step(t, at, fault, end, false);
	bool known = action == TIMELINE_FAIL || action == TIMELINE_RENEGOTIATE || action == TIMELINE_RESTORE;
	if (reconverge != WEFT_NEVER && known)
		add_step(t, at + reconverge, fault, end, true);
}

int timeline_resolve(struct timeline *t, const struct weft_topo *topo, uint64_t seed, weft_ns reconverge_ns,
		     struct weft_err *err)
{
	free(t->steps);
	t->step_count = 0;
	t->steps = calloc(t->fault_count + 1, STEPS_PER_FAULT * sizeof *t->steps);
	if (!t->steps)
		return weft_err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < t->fault_count; i++) {
		struct timeline_fault *f = &t->faults[i];
		int rc = resolve_target(f, topo, seed, err);
		if (rc)
			return rc;
		add_steps(t, f->at_ns, i, false, reconverge_ns);
		if (f->until_ns != WEFT_NEVER)
			add_steps(t, f->until_ns, i, true, reconverge_ns);
	}
	qsort(t->steps, t->step_count, sizeof *t->steps, compare_steps);
	return 0;
}

/* ---- on a fabric ---- */

/* A step, for the functions that apply it to links. */
struct change {
	const struct timeline *t;
	struct weft_net *net;
	const struct timeline_fault *f;
	bool end, learn;
};

/* The n-th link of a target, in the order in which faults change them. -ENOENT: it has no more. */
static int target_link(const struct weft_net *net, const struct timeline_target *t, uint32_t n, struct weft_link_id *id)
{
	uint32_t cable = t->kind == TIMELINE_RANDOM && n / 2 < t->cable_count ? t->cables[n / 2] : 0;
	switch (t->kind) {
	case TIMELINE_HOST:
		return n < 2 ? weft_net_host_link(net, t->host, n, id) : -ENOENT;
	case TIMELINE_SWITCH:
		return weft_net_switch_link(net, t->tier, t->sw, n, id);
	case TIMELINE_RANDOM:
		if (n / 2 >= t->cable_count)
			return -ENOENT;
		return weft_net_link_find(net, t->tier, cable / t->uplinks, cable % t->uplinks, n % 2, id);
	case TIMELINE_CABLE:
		return n < 2 ? weft_net_link_find(net, t->tier, t->sw, t->up, n, id) : -ENOENT;
	default:
		return n ? -ENOENT : weft_net_link_find(net, t->tier, t->sw, t->up, t->kind == TIMELINE_DOWNLINK, id);
	}
}

static bool has_link(const struct weft_net *net, const struct timeline_target *t, struct weft_link_id id)
{
	struct weft_link_id own;
	for (uint32_t n = 0; !target_link(net, t, n, &own); n++)
		if (own.index == id.index)
			return true;
	return false;
}

static bool same_switch(const struct timeline_target *a, const struct timeline_target *b)
{
	return a->kind == TIMELINE_SWITCH && b->kind == TIMELINE_SWITCH && a->tier == b->tier && a->sw == b->sw;
}

/* Whether a fault is also one of the link, or with NULL, of the switch that the step is about. A switch that fails
 * takes its links with it by itself. */
static bool is_at(const struct change *c, const struct timeline_fault *f, uint32_t actions,
		  const struct weft_link_id *link)
{
	if (!link)
		return same_switch(&f->target, &c->f->target);
	if (actions == ONE(TIMELINE_FAIL) && f->target.kind == TIMELINE_SWITCH)
		return false;
	return has_link(c->net, &f->target, *link);
}

/* What is left when the step's fault ends: the newest of `actions` that has begun and not ended, or NULL. Routing
 * learns of every fault and every end equally late: to it, too, only the order of the faults themselves matters. */
static const struct timeline_fault *newest(const struct change *c, uint32_t actions, const struct weft_link_id *link)
{
	const struct timeline_fault *found = NULL;
	weft_ns now = c->f->until_ns;
	for (uint32_t i = 0; i < c->t->fault_count; i++) {
		const struct timeline_fault *f = &c->t->faults[i];
		bool holds = f->at_ns < now && f->until_ns > now && (!found || f->at_ns >= found->at_ns);
		if (holds && (actions | ONE(TIMELINE_RESTORE)) & ONE(f->action) && is_at(c, f, actions, link))
			found = f;
	}
	return found && found->action != TIMELINE_RESTORE ? found : NULL;
}

/* Whether the step is about one of `actions`; then *now is the fault of that kind that there is from now on, or NULL.
 */
static bool changes(const struct change *c, uint32_t actions, const struct weft_link_id *link,
		    const struct timeline_fault **now)
{
	if (!((actions | ONE(TIMELINE_RESTORE)) & ONE(c->f->action)))
		return false;
	*now = c->end ? newest(c, actions, link) : c->f->action == TIMELINE_RESTORE ? NULL : c->f;
	return true;
}

static uint64_t rate_of(const struct change *c, struct weft_link_id id, const struct timeline_fault *slow)
{
	uint64_t own = weft_net_link_nominal_bps(c->net, id);
	if (!slow)
		return own;
	return slow->bps ? slow->bps : own / PPM * slow->rate_ppm;
}

static void learn_link(const struct change *c, struct weft_link_id id)
{
	const struct timeline_fault *now;
	if (c->f->target.kind != TIMELINE_SWITCH && changes(c, ONE(TIMELINE_FAIL), &id, &now))
		weft_net_avoid_link(c->net, id, now);
	if (changes(c, ONE(TIMELINE_RENEGOTIATE), &id, &now))
		weft_net_route_bps(c->net, id, rate_of(c, id, now));
}

static void change_link(const struct change *c, struct weft_link_id id)
{
	const struct timeline_fault *now;
	if (c->f->target.kind != TIMELINE_SWITCH && changes(c, ONE(TIMELINE_FAIL), &id, &now))
		weft_net_link_set_up(c->net, id, !now);
	if (changes(c, ONE(TIMELINE_DEGRADE) | ONE(TIMELINE_RENEGOTIATE), &id, &now))
		weft_net_link_set_bps(c->net, id, rate_of(c, id, now));
	if (changes(c, ONE(TIMELINE_BER), &id, &now))
		weft_net_link_set_ber(c->net, id, now ? now->ber_e18 : 0);
}

static void change_switch(const struct change *c)
{
	const struct timeline_target *t = &c->f->target;
	const struct timeline_fault *now;
	if (!changes(c, ONE(TIMELINE_FAIL), NULL, &now))
		return;
	if (c->learn)
		weft_net_avoid_switch(c->net, t->tier, t->sw, now);
	else
		weft_net_switch_set_up(c->net, t->tier, t->sw, !now);
}

static void apply_step(const struct timeline *t, const struct timeline_step *s, struct weft_net *net)
{
	struct change c = {t, net, &t->faults[s->fault], s->end, s->learn};
	struct weft_link_id id;
	if (c.f->target.kind == TIMELINE_SWITCH)
		change_switch(&c);
	for (uint32_t n = 0; !target_link(net, &c.f->target, n, &id); n++) {
		if (c.learn)
			learn_link(&c, id);
		else
			change_link(&c, id);
	}
}

weft_ns timeline_next_ns(const struct timeline *t, uint32_t next)
{
	return next < t->step_count ? t->steps[next].at_ns : WEFT_NEVER;
}

int timeline_apply(const struct timeline *t, uint32_t *next, weft_ns now, struct weft_net *net, struct weft_err *err)
{
	bool learned = false;
	for (; timeline_next_ns(t, *next) <= now; ++*next) {
		assert(*next == 0 || t->steps[*next - 1].at_ns <= t->steps[*next].at_ns);
		apply_step(t, &t->steps[*next], net);
		learned |= t->steps[*next].learn;
	}
	if (learned && weft_net_reroute(net))
		return weft_err_set(err, -ENOMEM, "no memory for routes around faults");
	return 0;
}
