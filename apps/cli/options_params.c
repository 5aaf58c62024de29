/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters that --set reaches: those of this run's parts, and of all there are. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "name_match.h"
#include "options_int.h"

/* One group of parameters --set can reach. */
struct group {
	const struct weft_param *params;
	void *base; /* in the options */
};

enum { GROUPS = 8 };

static void groups_of(struct options *o, struct group g[GROUPS])
{
	g[0] = (struct group){weft_engine_tunes, &o->lab.engine};
	g[1] = (struct group){o->lab.cc->tunes, o->lab.cc_tune};
	g[2] = (struct group){o->lab.lb->tunes, o->lab.lb_tune};
	g[3] = (struct group){weft_net_tunes, &o->lab.fabric};
	g[4] = (struct group){lab_tunes, &o->lab.tune};
	g[5] = (struct group){weft_fault_params, &o->lab.fault};
	g[6] = (struct group){o->lab.rcc ? o->lab.rcc->tunes : NULL, o->lab.rcc_tune};
	g[7] = (struct group){o->lab.route->tunes, o->lab.route_tune};
}

/* An algorithm, and what --set can change in it. */
struct owner {
	const char *title, *option, *name;
	const struct weft_param *params; /* NULL: nothing */
};

typedef void owner_fn(void *arg, const struct owner *owner);

/* Calls fn for all algorithms there are. */
static void each_owner(const struct weft_algos *algos, owner_fn *fn, void *arg)
{
	for (uint32_t i = 0; algos->cc[i]; i++)
		fn(arg, &(struct owner){"Congestion control", "cc", algos->cc[i]->name, algos->cc[i]->tunes});
	for (uint32_t i = 0; algos->rcc[i]; i++)
		fn(arg, &(struct owner){"Receiver-driven congestion control", "cc", algos->rcc[i]->name,
					algos->rcc[i]->tunes});
	for (uint32_t i = 0; algos->lb[i]; i++)
		fn(arg, &(struct owner){"Load balancing", "lb", algos->lb[i]->name, algos->lb[i]->tunes});
	for (uint32_t i = 0; weft_route_table[i]; i++)
		fn(arg,
		   &(struct owner){"Switches' choice", "route", weft_route_table[i]->name, weft_route_table[i]->tunes});
}

static bool has_param(const struct weft_param *params, const char *key)
{
	for (; params && params->key; params++)
		if (!strcmp(params->key, key))
			return true;
	return false;
}

/* The owners of a parameter, for a message. */
struct owners {
	const char *key;
	char text[120];
	size_t len;
};

static void add_owner(void *arg, const struct owner *owner)
{
	struct owners *o = arg;
	if (o->len < sizeof o->text && has_param(owner->params, o->key))
		o->len += (size_t)snprintf(o->text + o->len, sizeof o->text - o->len, "%s--%s %s", o->len ? ", " : "",
					   owner->option, owner->name);
}

/* The parameter of this run that was meant, if it was misspelt; or NULL. */
static const char *nearest_param(struct options *o, const char *key)
{
	struct group g[GROUPS];
	struct name_guess guess = {.typed = key, .letters = NAME_FAR};
	groups_of(o, g);
	for (unsigned i = 0; i < GROUPS; i++)
		name_guess_param(&guess, g[i].params);
	return guess.nearest;
}

/* Of no part of this run, but maybe of an algorithm that it does not use. */
static int refuse_key(struct options *o, const char *where, const char *key, struct weft_err *err)
{
	struct owners owners = {.key = key};
	each_owner(&o->algos, add_owner, &owners);
	o->unknown_param = false;
	if (owners.len)
		return weft_err_set(err, -ENOENT, "%s: '%s' is a parameter of %s, not of this run", where, key,
				    owners.text);
	const char *nearest = nearest_param(o, key);
	if (nearest)
		return weft_err_set(err, -ENOENT, "%s: unknown parameter '%s'; was '%s' meant?", where, key, nearest);
	o->unknown_param = true;
	return weft_err_set(err, -ENOENT, "%s: unknown parameter '%s'", where, key);
}

void options_default_params(struct options *o)
{
	struct group g[GROUPS];
	groups_of(o, g);
	for (unsigned i = 0; i < GROUPS; i++)
		weft_param_defaults(g[i].params, g[i].base);
}

/* A plug-in's parameter may have the name of another part's. */
static bool is_shared(const struct group g[GROUPS], const char *key)
{
	unsigned count = 0;
	for (unsigned i = 0; i < GROUPS; i++)
		count += has_param(g[i].params, key);
	return count > 1;
}

int options_set_param(struct options *o, const struct opt_setting *s, struct weft_err *err)
{
	struct group g[GROUPS];
	char key[64];
	groups_of(o, g);
	const char *eq = strchr(s->text, '=');
	snprintf(key, sizeof key, "%.*s", (int)(eq - s->text), s->text);
	if (is_shared(g, key))
		return weft_err_set(err, -EEXIST,
				    "%s: two parts of this run have a parameter '%s': rename the plug-in's", s->where,
				    key);
	for (unsigned i = 0; i < GROUPS; i++) {
		struct weft_err why = {""};
		int rc = weft_param_set(g[i].params, g[i].base, key, eq + 1, &why);
		if (rc && rc != -ENOENT)
			return weft_err_set(err, rc, "%s: %.200s", s->where, why.msg);
		if (!rc)
			return 0;
	}
	return refuse_key(o, s->where, key, err);
}

void options_print_keys(const struct options *o, FILE *out)
{
	struct group g[GROUPS];
	groups_of((struct options *)o, g);
	for (unsigned i = 0; i < GROUPS; i++) {
		for (const struct weft_param *p = g[i].params; p && p->key; p++)
			fprintf(out, "  %-20s %s\n", p->key, p->help);
	}
}

uint64_t options_param_value(const struct weft_param *p, const void *base)
{
	const char *field = (const char *)base + p->offset;
	if (p->type == WEFT_PARAM_U64)
		return *(const uint64_t *)field;
	return p->type == WEFT_PARAM_U32 ? *(const uint32_t *)field : *(const uint8_t *)field;
}

void options_each_param(const struct options *o, void (*fn)(void *arg, const char *key, uint64_t value), void *arg)
{
	struct group g[GROUPS];
	groups_of((struct options *)o, g);
	for (unsigned i = 0; i < GROUPS; i++) {
		for (const struct weft_param *p = g[i].params; p && p->key; p++)
			fn(arg, p->key, options_param_value(p, g[i].base));
	}
}

static void print_params_title(FILE *out, const char *title)
{
	fprintf(out, "\n### %s\n\n| key | default | range | meaning |\n|---|---|---|---|\n", title);
}

static void print_rows(FILE *out, const struct weft_param *p)
{
	for (; p->key; p++)
		fprintf(out, "| `%s` | %" PRIu64 " | %" PRIu64 " .. %" PRIu64 " | %s |\n", p->key, p->def, p->min,
			p->max, p->help);
}

static void print_params(FILE *out, const char *title, const struct weft_param *p)
{
	if (!p || !p->key)
		return;
	print_params_title(out, title);
	print_rows(out, p);
}

static void print_owner(void *arg, const struct owner *o)
{
	char title[64];
	snprintf(title, sizeof title, "%s `%s`", o->title, o->name);
	print_params(arg, title, o->params);
}

void options_print_params(const struct options *o, FILE *out)
{
	print_params(out, "Engine", weft_engine_tunes);
	each_owner(&o->algos, print_owner, out);
	print_params_title(out, "Fabric and lab");
	print_rows(out, weft_net_tunes);
	print_rows(out, lab_tunes);
	print_params(out, "Faults", weft_fault_params);
}
