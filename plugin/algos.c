/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of algorithms to choose from, and plug-ins that lengthen them. */
#include "weft/algos.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "weft/spi/plugin.h"

/* A plug-in that is being loaded. `algos` is what the caller's tables become if nothing is wrong with it. */
struct loading {
	const char *file;
	struct weft_algos algos;
	unsigned cc_count, rcc_count, lb_count; /* entries of its tables */
	struct weft_err *err;
};

static void count_algos(struct loading *l)
{
	while (l->algos.cc[l->cc_count])
		l->cc_count++;
	while (l->algos.rcc[l->rcc_count])
		l->rcc_count++;
	while (l->algos.lb[l->lb_count])
		l->lb_count++;
}

void weft_algos_init(struct weft_algos *algos)
{
	*algos = (struct weft_algos){{NULL}, {NULL}, {NULL}};
	for (unsigned i = 0; weft_cc_table[i]; i++)
		algos->cc[i] = weft_cc_table[i];
	for (unsigned i = 0; weft_rcc_table[i]; i++)
		algos->rcc[i] = weft_rcc_table[i];
	for (unsigned i = 0; weft_lb_table[i]; i++)
		algos->lb[i] = weft_lb_table[i];
}

/* What every kind of algorithm must have: a name without blanks or '+', a line of help and a free place. */
static int check(const struct loading *l, const char *kind, const char *name, const char *help, unsigned count)
{
	if (!name || !*name || strpbrk(name, " +,/"))
		return weft_err_set(l->err, -EINVAL, "%.120s: a %s without a valid name", l->file, kind);
	if (!help)
		return weft_err_set(l->err, -EINVAL, "%.120s: %s %.40s: no help", l->file, kind, name);
	if (count == WEFT_ALGOS_MAX)
		return weft_err_set(l->err, -ENOSPC, "%.120s: %s %.40s: more than %d", l->file, kind, name,
				    WEFT_ALGOS_MAX);
	return 0;
}

/* Bytes of a value in the struct of parameters. */
static size_t param_bytes(const struct weft_param *p)
{
	return p->type == WEFT_PARAM_U64 ? sizeof(uint64_t) : p->type == WEFT_PARAM_U32 ? sizeof(uint32_t) : 1;
}

/* Callers have `size` bytes for the values and write every default. */
static int check_tunes(const struct loading *l, const char *name, const struct weft_param *tunes, size_t size)
{
	for (const struct weft_param *p = tunes; p && p->key; p++) {
		if (p->type > WEFT_PARAM_BOOL || p->offset + param_bytes(p) > size)
			return weft_err_set(l->err, -EINVAL,
					    "%.120s: %.40s: parameter %.40s lies outside its %zu bytes", l->file, name,
					    p->key, size);
		for (const struct weft_param *q = tunes; q < p; q++)
			if (!strcmp(q->key, p->key))
				return weft_err_set(l->err, -EINVAL, "%.120s: %.40s: two parameters are called %.40s",
						    l->file, name, p->key);
		if (!p->help || p->def < p->min || p->def > p->max)
			return weft_err_set(
				l->err, -EINVAL,
				"%.120s: %.40s: parameter %.40s has no help, or a default outside its range", l->file,
				name, p->key);
	}
	return 0;
}

static int refuse_incomplete(const struct loading *l, const char *kind, const char *name)
{
	return weft_err_set(l->err, -EINVAL, "%.120s: %s %.40s: a function is missing, or its state is too large",
			    l->file, kind, name);
}

static int refuse_taken(const struct loading *l, const char *kind, const char *name)
{
	return weft_err_set(l->err, -EEXIST, "%.120s: there is a %s %.40s already", l->file, kind, name);
}

/* A plug-in that is loaded again brings what is there. */
static bool is_known(const void *const *table, const void *ops)
{
	while (*table && *table != ops)
		table++;
	return *table;
}

static bool has_sender(const struct weft_algos *algos, const char *name)
{
	for (unsigned i = 0; algos->cc[i]; i++) {
		if (!strcmp(algos->cc[i]->name, name))
			return true;
	}
	return false;
}

/* Senders' and receivers' algorithms are named in one place, --cc. */
static bool cc_taken(const struct weft_algos *algos, const char *name)
{
	if (has_sender(algos, name))
		return true;
	for (unsigned i = 0; algos->rcc[i]; i++) {
		if (!strcmp(algos->rcc[i]->name, name))
			return true;
	}
	return !strcmp(name, "auto");
}

static bool lb_taken(const struct weft_algos *algos, const char *name)
{
	for (unsigned i = 0; algos->lb[i]; i++) {
		if (!strcmp(algos->lb[i]->name, name))
			return true;
	}
	return !strcmp(name, "auto") || !strcmp(name, "same");
}

static int add_cc(struct loading *l, const struct weft_cc_ops *ops)
{
	int rc = check(l, "congestion control", ops->name, ops->help, l->cc_count);
	rc = rc ? rc : check_tunes(l, ops->name, ops->tunes, ops->tune_size);
	if (rc)
		return rc;
	if (!ops->init || !ops->on_ack || !ops->on_loss || ops->state_size > WEFT_CC_STATE_MAX)
		return refuse_incomplete(l, "congestion control", ops->name);
	if (is_known((const void *const *)l->algos.cc, ops))
		return 0;
	if (cc_taken(&l->algos, ops->name))
		return refuse_taken(l, "congestion control", ops->name);
	l->algos.cc[l->cc_count++] = ops;
	return 0;
}

/* After all senders' algorithms: a receiver's names the one that runs beside it. */
static int add_rcc(struct loading *l, const struct weft_rcc_ops *ops)
{
	int rc = check(l, "congestion control", ops->name, ops->help, l->rcc_count);
	rc = rc ? rc : check_tunes(l, ops->name, ops->tunes, ops->tune_size);
	if (rc)
		return rc;
	bool grants = ops->next_credit || (ops->schedule && ops->on_stop);
	if (!ops->limits || !ops->init || !ops->on_demand || !grants || !ops->sender ||
	    ops->state_size > WEFT_RCC_STATE_MAX)
		return refuse_incomplete(l, "congestion control", ops->name);
	if (!has_sender(&l->algos, ops->sender))
		return weft_err_set(l->err, -ENOENT,
				    "%.120s: %.40s: there is no congestion control %.40s for its senders", l->file,
				    ops->name, ops->sender);
	if (is_known((const void *const *)l->algos.rcc, ops))
		return 0;
	if (cc_taken(&l->algos, ops->name))
		return refuse_taken(l, "congestion control", ops->name);
	l->algos.rcc[l->rcc_count++] = ops;
	return 0;
}

static int add_lb(struct loading *l, const struct weft_lb_ops *ops)
{
	int rc = check(l, "load balancer", ops->name, ops->help, l->lb_count);
	rc = rc ? rc : check_tunes(l, ops->name, ops->tunes, ops->tune_size);
	if (rc)
		return rc;
	if (!ops->init || !ops->pick || !ops->feedback || ops->state_size % 8)
		return refuse_incomplete(l, "load balancer", ops->name);
	if (is_known((const void *const *)l->algos.lb, ops))
		return 0;
	if (lb_taken(&l->algos, ops->name))
		return refuse_taken(l, "load balancer", ops->name);
	l->algos.lb[l->lb_count++] = ops;
	return 0;
}

static int add_all(struct loading *l, const struct weft_plugin *plugin)
{
	int rc = 0;
	for (unsigned i = 0; !rc && plugin->cc && plugin->cc[i]; i++)
		rc = add_cc(l, plugin->cc[i]);
	for (unsigned i = 0; !rc && plugin->rcc && plugin->rcc[i]; i++)
		rc = add_rcc(l, plugin->rcc[i]);
	for (unsigned i = 0; !rc && plugin->lb && plugin->lb[i]; i++)
		rc = add_lb(l, plugin->lb[i]);
	return rc;
}

static int add_plugin(struct weft_algos *algos, struct loading *l, const struct weft_plugin *plugin)
{
	if (!plugin)
		return weft_err_set(l->err, -EINVAL, "%.120s: no symbol weft_plugin", l->file);
	if (plugin->abi != WEFT_PLUGIN_ABI)
		return weft_err_set(l->err, -EINVAL, "%.120s: made for plug-in ABI %u, this is %d", l->file,
				    plugin->abi, WEFT_PLUGIN_ABI);
	count_algos(l);
	int rc = add_all(l, plugin);
	if (!rc)
		*algos = l->algos;
	return rc;
}

int weft_plugin_load(struct weft_algos *algos, const char *file, struct weft_err *err)
{
	struct loading l = {.file = file, .algos = *algos, .err = err};
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle) /* the linker's message begins with the file's name */
		return weft_err_set(err, -ENOENT, "%.240s", dlerror());
	int rc = add_plugin(algos, &l, dlsym(handle, "weft_plugin"));
	if (rc)
		dlclose(handle);
	return rc;
}
