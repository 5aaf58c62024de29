/* SPDX-License-Identifier: BSD-3-Clause */
/* From YAML to struct scenario. Everything is checked here that can be without putting a run together. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "scenario.h"

/* The file being read, and where options go. */
struct reader {
	struct yamldoc y;
	struct scenario *s;
	struct scenario_list *list;  /* options of the mapping being read */
	struct scenario_case *kase;  /* the case being read */
	struct scenario_axis *axis;  /* the axis being read */
	const yaml_node_t *seed_at;  /* option `seed` of the whole file */
	const yaml_node_t *seeds_at; /* key `seeds` */
};

static int no_memory(const struct reader *r)
{
	return weft_err_set(r->y.err, -ENOMEM, "no memory");
}

/* Checks an option alone and keeps it in *item. */
static int check_option(struct reader *r, const char *name, const char *value, const yaml_node_t *at,
			struct scenario_item *item)
{
	struct weft_err why = {""};
	const struct opt_desc *d = options_find(name);
	if (!d)
		return yamldoc_refuse(&r->y, at, name, "unknown key");
	if (!scenario_takes(name))
		return yamldoc_refuse(&r->y, at, name, "is for the command line only");
	const char *kept = scenario_keep(r->s, value);
	if (!kept)
		return no_memory(r);
	int rc = options_set(&r->s->checks, NULL, NULL, name, kept, &why);
	*item = (struct scenario_item){d->name, kept, yamldoc_line(at)};
	return rc ? yamldoc_refuse(&r->y, at, NULL, "%s", why.msg) : 0;
}

static int put_option(void *arg, const char *name, const char *value, const yaml_node_t *at)
{
	struct reader *r = arg;
	struct scenario_item item = {0};
	int rc = check_option(r, name, value, at, &item);
	if (!rc && !strcmp(name, "seed") && r->list == &r->s->base)
		r->seed_at = at;
	return rc ? rc : scenario_add(r->list, item, r->y.err);
}

static int keep_text(struct reader *r, const char *key, const yaml_node_t *node, const char **text)
{
	const char *raw;
	int rc = yamldoc_scalar(&r->y, node, key, &raw);
	if (rc)
		return rc;
	*text = scenario_keep(r->s, raw);
	return *text ? 0 : no_memory(r);
}

static int case_pair(void *arg, const char *name, const yaml_node_t *value)
{
	struct reader *r = arg;
	if (strcmp(name, "name") != 0)
		return config_pair(&r->y, name, value, put_option, r);
	return keep_text(r, name, value, &r->kase->name);
}

static int read_case(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct scenario *s = r->s;
	struct scenario_case *grown = realloc(s->cases, (s->case_count + 1) * sizeof *grown);
	if (!grown)
		return no_memory(r);
	s->cases = grown;
	r->kase = &grown[s->case_count++];
	*r->kase = (struct scenario_case){.line = yamldoc_line(node)};
	r->list = &r->kase->list;
	int rc = yamldoc_pairs(&r->y, node, "cases", case_pair, r);
	if (rc)
		return rc;
	if (!r->kase->name || !*r->kase->name)
		return yamldoc_refuse(&r->y, node, "cases", "a case needs a name");
	for (struct scenario_case *c = s->cases; c < r->kase; c++) {
		if (!strcmp(c->name, r->kase->name))
			return yamldoc_refuse(&r->y, node, "cases", "two are named '%s', first in line %u", c->name,
					      c->line);
	}
	return 0;
}

static int read_cases(struct reader *r, const char *name, const yaml_node_t *node)
{
	int rc = yamldoc_items(&r->y, node, name, read_case, r);
	if (!rc && !r->s->case_count)
		rc = yamldoc_refuse(&r->y, node, name, "there must be at least one, or leave the key out");
	return rc;
}

/* One value of an axis, tried as the option it is for. */
static int axis_value(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct scenario_axis *a = r->axis;
	struct scenario_item item = {0};
	const char *text, **grown = realloc(a->values, (a->count + 1) * sizeof *grown);
	char setting[2 * SCENARIO_TEXT_MAX];
	if (!grown)
		return no_memory(r);
	a->values = grown;
	int rc = yamldoc_scalar(&r->y, node, a->name, &text);
	if (rc)
		return rc;
	if (strlen(text) >= SCENARIO_TEXT_MAX)
		return yamldoc_refuse(&r->y, node, a->name, "a value this long can be no axis");
	snprintf(setting, sizeof setting, "%s=%s", a->name, text);
	rc = check_option(r, a->param ? "set" : a->name, a->param ? setting : text, node, &item);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < a->count; i++) {
		if (!strcmp(a->values[i], text))
			return yamldoc_refuse(&r->y, node, a->name, "'%s' is there twice", text);
	}
	a->values[a->count] = a->param ? scenario_keep(r->s, text) : item.value;
	return a->values[a->count++] ? 0 : no_memory(r);
}

static int read_axis(void *arg, const char *name, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct scenario *s = r->s;
	if (s->axis_count == SCENARIO_AXES_MAX)
		return yamldoc_refuse(&r->y, node, name, "more than %d axes", SCENARIO_AXES_MAX);
	r->axis = &s->axes[s->axis_count++];
	bool param = !strncmp(name, "set.", 4);
	*r->axis = (struct scenario_axis){
		.name = scenario_keep(s, param ? name + 4 : name), .param = param, .line = yamldoc_line(node)};
	if (!r->axis->name)
		return no_memory(r);
	if (!param && !options_find(name))
		return yamldoc_refuse(&r->y, node, name, "is no option of weft sim (set.%s if it is a parameter)",
				      name);
	int rc = yamldoc_items(&r->y, node, name, axis_value, r);
	return rc ? rc : r->axis->count ? 0 : yamldoc_refuse(&r->y, node, name, "an axis needs a value");
}

static int read_seed(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	struct scenario *s = r->s;
	const char *text;
	struct weft_err why;
	uint64_t *grown = realloc(s->seeds, (s->seed_count + 1) * sizeof *grown);
	if (!grown)
		return no_memory(r);
	s->seeds = grown;
	int rc = yamldoc_scalar(&r->y, node, "seeds", &text);
	if (rc)
		return rc;
	if (s->seed_count == SCENARIO_SEEDS_MAX)
		return yamldoc_refuse(&r->y, node, "seeds", "more than %d", SCENARIO_SEEDS_MAX);
	if (opt_u64(&grown[s->seed_count], text, &why))
		return yamldoc_refuse(&r->y, node, "seeds", "%s", why.msg);
	for (uint32_t i = 0; i < s->seed_count; i++) {
		if (s->seeds[i] == grown[s->seed_count])
			return yamldoc_refuse(&r->y, node, "seeds", "%s is there twice", text);
	}
	s->seed_count++;
	return 0;
}

/* A number N stands for the seeds 1 to N. */
static int count_seeds(struct reader *r, const char *name, const yaml_node_t *node)
{
	uint64_t n;
	const char *text;
	int rc = yamldoc_scalar(&r->y, node, name, &text);
	if (rc)
		return rc;
	if (opt_u64(&n, text, NULL) || n < 1 || n > SCENARIO_SEEDS_MAX)
		return yamldoc_refuse(&r->y, node, name, "'%s' is neither a list nor a number from 1 to %d", text,
				      SCENARIO_SEEDS_MAX);
	r->s->seeds = calloc(n, sizeof *r->s->seeds);
	if (!r->s->seeds)
		return no_memory(r);
	for (r->s->seed_count = 0; r->s->seed_count < n; r->s->seed_count++)
		r->s->seeds[r->s->seed_count] = r->s->seed_count + 1;
	return 0;
}

static int read_seeds(struct reader *r, const char *name, const yaml_node_t *node)
{
	r->seeds_at = node;
	if (node->type != YAML_SEQUENCE_NODE)
		return count_seeds(r, name, node);
	int rc = yamldoc_items(&r->y, node, name, read_seed, r);
	return rc ? rc : r->s->seed_count ? 0 : yamldoc_refuse(&r->y, node, name, "an empty list");
}

static int read_output(void *arg, const char *name, const yaml_node_t *value)
{
	struct reader *r = arg;
	if (!strcmp(name, "dir"))
		return keep_text(r, name, value, &r->s->out);
	if (strcmp(name, "series") != 0)
		return yamldoc_refuse(&r->y, value, name, "unknown key; outputs has dir and series");
	r->list = &r->s->base;
	return config_pair(&r->y, name, value, put_option, r);
}

static int read_claim(void *arg, const yaml_node_t *node)
{
	struct reader *r = arg;
	r->s->claim_count++;
	return node->type == YAML_MAPPING_NODE ? 0
					       : yamldoc_refuse(&r->y, node, "claims", "a mapping is expected here");
}

static int read_pair(void *arg, const char *name, const yaml_node_t *value)
{
	struct reader *r = arg;
	if (!strcmp(name, "title"))
		return keep_text(r, name, value, &r->s->title);
	if (!strcmp(name, "about"))
		return keep_text(r, name, value, &r->s->about);
	if (!strcmp(name, "cases"))
		return read_cases(r, name, value);
	if (!strcmp(name, "sweep"))
		return yamldoc_pairs(&r->y, value, name, read_axis, r);
	if (!strcmp(name, "seeds"))
		return read_seeds(r, name, value);
	if (!strcmp(name, "outputs"))
		return yamldoc_pairs(&r->y, value, name, read_output, r);
	if (!strcmp(name, "claims"))
		return yamldoc_items(&r->y, value, name, read_claim, r);
	if (!strcmp(name, "bench"))
		return value->type == YAML_MAPPING_NODE
			       ? 0
			       : yamldoc_refuse(&r->y, value, name, "a mapping is expected here");
	r->list = &r->s->base;
	return config_pair(&r->y, name, value, put_option, r);
}

/* Two ways to say the same would leave one without effect. */
static int check_seeds(struct reader *r)
{
	if (!r->seeds_at)
		return 0;
	if (r->seed_at)
		return yamldoc_refuse(&r->y, r->seed_at, "seed", "there is a key seeds, too");
	for (uint32_t i = 0; i < r->s->axis_count; i++) {
		if (!strcmp(r->s->axes[i].name, "seed"))
			return yamldoc_refuse(&r->y, r->seeds_at, "seeds", "seed is an axis, too");
	}
	return 0;
}

/* File name without directory and ending. */
static const char *stem(struct scenario *s)
{
	const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path, *dot = strrchr(name, '.');
	char text[SCENARIO_TEXT_MAX];
	snprintf(text, sizeof text, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
	return scenario_keep(s, text);
}

/* What a file need not say. */
static int fill_in(struct scenario *s)
{
	const char *name = stem(s);
	char dir[SCENARIO_TEXT_MAX + 16];
	if (!name)
		return -ENOMEM;
	snprintf(dir, sizeof dir, "weft-out/%s", name);
	s->title = s->title ? s->title : name;
	s->about = s->about ? s->about : "";
	s->out = s->out ? s->out : scenario_keep(s, dir);
	if (!s->case_count) {
		s->cases = calloc(1, sizeof *s->cases);
		s->case_count = s->cases ? 1 : 0;
		if (s->cases)
			s->cases->name = "";
	}
	return s->cases && s->out ? 0 : -ENOMEM;
}

int scenario_load(struct scenario *s, const char *path, struct weft_err *err)
{
	struct reader r = {.s = s};
	*s = (struct scenario){0};
	options_begin(&s->checks);
	s->path = scenario_keep(s, path);
	if (!s->path)
		return weft_err_set(err, -ENOMEM, "no memory");
	int rc = yamldoc_open(&r.y, s->path, err);
	if (rc)
		return rc;
	if (r.y.root)
		rc = yamldoc_pairs(&r.y, r.y.root, NULL, read_pair, &r);
	else
		rc = weft_err_set(err, -EINVAL, "%s: empty; a scenario says at least one option", path);
	if (!rc)
		rc = check_seeds(&r);
	yamldoc_close(&r.y);
	if (!rc && fill_in(s))
		rc = weft_err_set(err, -ENOMEM, "no memory");
	return rc;
}
