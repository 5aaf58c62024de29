/* SPDX-License-Identifier: BSD-3-Clause */
/* The claims of a scenario file. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "config.h"
#include "yamldoc.h"

struct reader {
	struct yamldoc y;
	struct scenario *s;
	struct claims *claims;
	struct claim *claim;     /* being read */
	struct claim_pick *pick; /* being read */
	struct claim_key *key;   /* being read */
};

static int no_memory(const struct reader *r)
{
	return weft_err_set(r->y.err, -ENOMEM, "no memory");
}

static int keep(struct reader *r, const char *name, const yaml_node_t *node, const char **text)
{
	const char *raw;
	int rc = yamldoc_scalar(&r->y, node, name, &raw);
	if (rc)
		return rc;
	*text = scenario_keep(r->s, raw);
	return *text ? 0 : no_memory(r);
}

static int read_number(struct reader *r, const char *name, const yaml_node_t *node, double *number)
{
	const char *text;
	char *end;
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (rc)
		return rc;
	*number = strtod(text, &end);
	return *text && !*end && isfinite(*number) ? 0
						   : yamldoc_refuse(&r->y, node, name, "'%s' is not a number", text);
}

static int read_time(struct reader *r, const char *name, const yaml_node_t *node, weft_ns *time)
{
	const char *text;
	struct weft_err why = {""};
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (!rc && opt_duration(time, text, &why))
		rc = yamldoc_refuse(&r->y, node, name, "%s", why.msg);
	return rc;
}

/* "7" or "0-7". */
static int read_flows(struct reader *r, const char *name, const yaml_node_t *node)
{
	const char *text;
	char *end;
	struct claim_scope *scope = &r->claim->scope;
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (rc)
		return rc;
	unsigned long first = strtoul(text, &end, 10), last = first;
	bool fine = end != text;
	if (*end == '-') {
		const char *rest = end + 1;
		last = strtoul(rest, &end, 10);
		fine = fine && end != rest;
	}
	if (!fine || *end || last < first || last > UINT32_MAX)
		return yamldoc_refuse(&r->y, node, name, "'%s' is neither a flow's number nor FIRST-LAST", text);
	scope->first_flow = (uint32_t)first;
	scope->last_flow = (uint32_t)last;
	return 0;
}

static bool scenario_has(const struct scenario *s, const char *name, const char *value)
{
	bool found = false;
	for (uint32_t i = 0; i < s->case_count && !strcmp(name, "case"); i++)
		found |= !strcmp(s->cases[i].name, value);
	for (uint32_t i = 0; i < s->axis_count; i++) {
		const struct scenario_axis *a = &s->axes[i];
		for (uint32_t k = 0; k < a->count && !strcmp(a->name, name); k++)
			found |= claim_value_is(a->values[k], value);
	}
	return found;
}

static int read_value(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct claim_key *key = r->key;
	const char **grown = realloc(key->values, (key->count + 1) * sizeof *grown);
	if (!grown)
		return no_memory(r);
	key->values = grown;
	int rc = keep(r, key->name, node, &key->values[key->count]);
	if (rc)
		return rc;
	if (!scenario_has(r->s, key->name, key->values[key->count]))
		return yamldoc_refuse(&r->y, node, key->name, "no run has '%s'", key->values[key->count]);
	key->count++;
	return 0;
}

static int read_key(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	if (r->pick->count == SCENARIO_AXES_MAX + 1)
		return yamldoc_refuse(&r->y, node, name, "too many keys");
	r->key = &r->pick->keys[r->pick->count];
	*r->key = (struct claim_key){.name = scenario_keep(r->s, name), .line = yamldoc_line(node)};
	if (!r->key->name)
		return no_memory(r);
	r->pick->count++;
	if (node->type == YAML_SEQUENCE_NODE)
		return yamldoc_items(&r->y, node, name, read_value, r);
	return read_value(r, node);
}

static int read_pick(struct reader *r, const char *name, const yaml_node_t *node, struct claim_pick *pick)
{
	r->pick = pick;
	return yamldoc_pairs(&r->y, node, name, read_key, r);
}

static int read_measure(struct reader *r, const char *name, const yaml_node_t *node)
{
	const char *text;
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (rc)
		return rc;
	return measure_find(text, &r->claim->measure)
		       ? 0
		       : yamldoc_refuse(&r->y, node, name, "unknown '%s' (weft reproduce --measures)", text);
}

static int read_real(struct reader *r, const char *name, const yaml_node_t *node)
{
	const char *text;
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (!rc && strcmp(text, "lab") != 0)
		rc = yamldoc_refuse(&r->y, node, name, "'%s' is not lab: real time stands beside the lab", text);
	r->claim->real = true;
	return rc;
}

static int read_pair(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct claim *c = r->claim;
	const struct {
		const char *name;
		const char **text;
	} texts[] = {{"text", &c->text}, {"paper", &c->paper}, {"note", &c->note}, {"ports", &c->scope.ports}};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!strcmp(name, texts[i].name))
			return keep(r, name, node, texts[i].text);
	}
	if (!strcmp(name, "measure"))
		return read_measure(r, name, node);
	if (!strcmp(name, "flows"))
		return read_flows(r, name, node);
	if (!strcmp(name, "from"))
		return read_time(r, name, node, &c->scope.from_ns);
	if (!strcmp(name, "to"))
		return read_time(r, name, node, &c->scope.to_ns);
	if (!strcmp(name, "within"))
		return read_number(r, name, node, &c->scope.within);
	if (!strcmp(name, "at_most"))
		return read_number(r, name, node, &c->at_most);
	if (!strcmp(name, "at_least"))
		return read_number(r, name, node, &c->at_least);
	if (!strcmp(name, "of"))
		return read_pick(r, name, node, &c->of);
	if (!strcmp(name, "real"))
		return read_real(r, name, node);
	bool less = !strcmp(name, "less");
	if (!less && strcmp(name, "over") != 0)
		return yamldoc_refuse(&r->y, node, name, "unknown key of a claim");
	if (c->relative)
		return yamldoc_refuse(&r->y, node, name, "a claim has one of over and less");
	c->relative = true;
	c->difference = less;
	return read_pick(r, name, node, &c->over);
}

static int check(const struct reader *r, const yaml_node_t *node)
{
	const struct claim *c = r->claim;
	if (!*c->text)
		return yamldoc_refuse(&r->y, node, "text", "a claim says something");
	if (!c->measure.metric && !c->measure.file)
		return yamldoc_refuse(&r->y, node, "measure", "is missing (weft reproduce --measures lists them)");
	if (c->real && (c->relative || !c->measure.metric))
		return yamldoc_refuse(&r->y, node, "real", "takes a number of the result, and neither over nor less");
	if (c->real && !r->claims->bench.count)
		return yamldoc_refuse(&r->y, node, "real", "the scenario has no bench");
	if (!c->real && !claim_judges(c))
		return yamldoc_refuse(&r->y, node, "at_most", "a claim needs at_most or at_least");
	if (c->relative && !c->over.count)
		return yamldoc_refuse(&r->y, node, c->difference ? "less" : "over", "names nothing to compare with");
	return 0;
}

static int read_claim(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct claims *all = r->claims;
	struct claim *grown = realloc(all->all, (all->count + 1) * sizeof *grown);
	if (!grown)
		return no_memory(r);
	all->all = grown;
	r->claim = &grown[all->count++];
	*r->claim = (struct claim){.text = "",
				   .paper = "",
				   .note = "",
				   .scope = {.last_flow = UINT32_MAX, .to_ns = WEFT_NEVER, .within = 0.25},
				   .at_most = NAN,
				   .at_least = NAN,
				   .line = yamldoc_line(node)};
	int rc = yamldoc_pairs(&r->y, node, "claims", read_pair, r);
	return rc ? rc : check(r, node);
}

static int find_claims(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	return strcmp(name, "claims") ? 0 : yamldoc_items(&r->y, node, name, read_claim, r);
}

static int read_bench_pick(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct claim_bench *b = &r->claims->bench;
	struct claim_pick *grown = realloc(b->picks, (b->count + 1) * sizeof *grown);
	if (!grown)
		return no_memory(r);
	b->picks = grown;
	grown[b->count] = (struct claim_pick){0};
	return read_pick(r, "runs", node, &grown[b->count++]);
}

/* What `weft bench` makes of an option it will say itself. */
static int put_bench_option(void *arg, const char *name, const char *value, const yaml_node_t *at)
{
	struct reader *r = arg;
	struct scenario_item item = {scenario_keep(r->s, name), scenario_keep(r->s, value), yamldoc_line(at)};
	return item.name && item.value ? scenario_add(&r->claims->bench.options, item, r->y.err) : no_memory(r);
}

static int read_bench_pair(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	if (!strcmp(name, "runs"))
		return yamldoc_items(&r->y, node, name, read_bench_pick, r);
	return config_pair(&r->y, name, node, put_bench_option, r);
}

static int find_bench(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	int rc = strcmp(name, "bench") ? 0 : yamldoc_pairs(&r->y, node, name, read_bench_pair, r);
	if (!rc && !strcmp(name, "bench") && !r->claims->bench.count)
		rc = yamldoc_refuse(&r->y, node, name, "names no runs");
	return rc;
}

int claims_load(struct claims *c, struct scenario *s, struct weft_err *err)
{
	struct reader r = {.s = s, .claims = c};
	*c = (struct claims){.path = s->path};
	int rc = yamldoc_open(&r.y, s->path, err);
	if (rc)
		return rc;
	if (r.y.root)
		rc = yamldoc_pairs(&r.y, r.y.root, NULL, find_bench, &r);
	if (r.y.root && !rc)
		rc = yamldoc_pairs(&r.y, r.y.root, NULL, find_claims, &r);
	yamldoc_close(&r.y);
	return rc;
}

static void free_pick(struct claim_pick *pick)
{
	for (uint32_t i = 0; i < pick->count; i++)
		free(pick->keys[i].values);
}

void claims_free(struct claims *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		free_pick(&c->all[i].of);
		free_pick(&c->all[i].over);
	}
	for (uint32_t i = 0; i < c->bench.count; i++)
		free_pick(&c->bench.picks[i]);
	free(c->bench.picks);
	free(c->bench.options.items);
	free(c->all);
	*c = (struct claims){0};
}
