/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration is one YAML mapping of option names to scalars, or to lists of what is repeatable; `set` maps
 * parameters to values. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

/* One pair on its way to `put`. */
struct taker {
	struct yamldoc *y;
	config_put_fn put;
	void *arg;
	const char *key, *option; /* of a list: as the file has it, and as the command line */
};

static int put_parameter(void *arg, const char *name, const yaml_node_t *value)
{
	struct taker *t = arg;
	char text[160];
	const char *number;
	int rc = yamldoc_scalar(t->y, value, name, &number);
	if (rc)
		return rc;
	if ((size_t)snprintf(text, sizeof text, "%s=%s", name, number) >= sizeof text)
		return yamldoc_refuse(t->y, value, name, "longer than any parameter");
	return t->put(t->arg, "set", text, value);
}

static int put_entry(void *arg, const yaml_node_t *item)
{
	struct taker *t = arg;
	const char *text;
	int rc = yamldoc_scalar(t->y, item, t->key, &text);
	return rc ? rc : t->put(t->arg, t->option, text, item);
}

static bool is_repeatable(const char *name)
{
	const struct opt_desc *d = options_find(name);
	return d && d->repeatable;
}

int config_pair(struct yamldoc *y, const char *name, const yaml_node_t *value, config_put_fn put, void *arg)
{
	bool faults = !strcmp(name, "faults");
	struct taker t = {y, put, arg, name, faults ? "fault" : name};
	const char *text;
	if (!strcmp(name, "set"))
		return yamldoc_pairs(y, value, name, put_parameter, &t);
	if (faults || (value->type == YAML_SEQUENCE_NODE && is_repeatable(name)))
		return yamldoc_items(y, value, name, put_entry, &t);
	int rc = yamldoc_scalar(y, value, name, &text);
	return rc ? rc : put(arg, name, text, value);
}

struct config {
	struct yamldoc y;
	struct options *o;
	const struct opt_desc *extra;
	void *extra_base;
};

static int put(void *arg, const char *name, const char *value, const yaml_node_t *at)
{
	struct config *c = arg;
	struct weft_err why = {""};
	char where[160];
	snprintf(where, sizeof where, "%s:%u", c->y.path, yamldoc_line(at));
	c->o->where = where;
	const char *kept = options_keep(c->o, value);
	int rc = kept ? options_set(c->o, c->extra, c->extra_base, name, kept, &why) : -ENOMEM;
	c->o->where = NULL;
	return rc ? yamldoc_refuse(&c->y, at, NULL, "%s", why.msg[0] ? why.msg : "no memory") : 0;
}

/* Keys of scenarios, which say more than the options of a run. */
static bool is_of_scenario(const char *name)
{
	static const char *const names[] = {"title",   "about",  "cases", "sweep", "seeds",
					    "outputs", "claims", "bench", "figure"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static int pair(void *arg, const char *name, const yaml_node_t *value)
{
	struct config *c = arg;
	if (is_of_scenario(name))
		return yamldoc_refuse(
			&c->y, value, name,
			"is for a scenario, as weft sweep FILE.yaml runs it; --config takes options alone");
	return config_pair(&c->y, name, value, put, c);
}

int options_config(struct options *o, const struct opt_desc *extra, void *extra_base, const char *path,
		   struct weft_err *err)
{
	struct config c = {.o = o, .extra = extra, .extra_base = extra_base};
	int rc = yamldoc_open(&c.y, path, err);
	if (rc)
		return rc;
	if (c.y.root)
		rc = yamldoc_pairs(&c.y, c.y.root, NULL, pair, &c);
	yamldoc_close(&c.y);
	return rc;
}
