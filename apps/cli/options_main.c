/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines with the vocabulary of a run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options_int.h"

static const struct opt_desc config_option = {"config", "FILE", "options from a YAML file, name: value", NULL, 0};

/* An argument without dashes: its option has no name. */
static int parse_positional(struct options *o, const char *value, const struct opt_desc *extra, void *extra_base,
			    struct weft_err *err)
{
	const struct opt_desc *d = opt_find(extra, "", 0);
	if (!d || o->scenario)
		return weft_err_set(err, -EINVAL, "unexpected argument '%s'", value);
	int rc = options_apply(o, d, extra_base, value, err);
	return rc ? rc : 1;
}

/* One argument, with its value in it or behind it. Returns the number of arguments used, or a negative errno. */
static int parse_one(struct options *o, char **argv, const struct opt_desc *extra, void *extra_base,
		     struct weft_err *err)
{
	const char *name = argv[0];
	if (!strcmp(name, "-h"))
		name = "--help";
	if (strncmp(name, "--", 2) != 0)
		return parse_positional(o, name, extra, extra_base, err);
	name += 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	void *base = NULL;
	bool config = len == strlen(config_option.name) && !strncmp(name, config_option.name, len);
	const struct opt_desc *d = config ? &config_option : options_lookup(o, extra, extra_base, name, len, &base);
	if (!d)
		return weft_err_set(err, -ENOENT, "unknown option '%s' (see --help)", argv[0]);
	const char *value;
	int used = opt_value(d, argv, &value, err);
	if (used < 0)
		return used;
	int rc = config ? options_config(o, extra, extra_base, value, err) : options_apply(o, d, base, value, err);
	return rc ? rc : used;
}

static int read_all(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		    struct weft_err *err)
{
	options_begin(o);
	for (int i = 1; i < argc;) {
		int used = parse_one(o, argv + i, extra, extra_base, err);
		if (used < 0)
			return used;
		i += used;
	}
	return 0;
}

static int resolve(struct options *o, struct weft_err *err)
{
	return o->help || o->help_params || o->scenario ? 0 : options_resolve(o, err);
}

int options_parse(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  struct weft_err *err)
{
	int rc = read_all(o, argc, argv, extra, extra_base, err);
	return rc ? rc : resolve(o, err);
}

static void print_algorithms(const struct weft_algos *algos)
{
	printf("\ncongestion control:\n  %-11s %s: %s\n", "auto", weft_cc_auto()->name, options_cc_auto_reason);
	for (unsigned i = 0; algos->cc[i]; i++)
		printf("  %-11s %s\n", algos->cc[i]->name, algos->cc[i]->help);
	printf("\nreceiver-driven congestion control, alone or as NAME+NAME with one of the above at the sender:\n");
	for (unsigned i = 0; algos->rcc[i]; i++)
		printf("  %-11s %s\n", algos->rcc[i]->name, algos->rcc[i]->help);
	printf("\nload balancing:\n  %-11s %s\n", "auto",
	       "the one that suits the fabric, and why (doc/guide/choosing-lb.md)");
	for (unsigned i = 0; algos->lb[i]; i++)
		printf("  %-11s %s\n", algos->lb[i]->name, algos->lb[i]->help);
	printf("\nswitches' choice among equal ports (doc/reference/routing.md):\n");
	for (unsigned i = 0; weft_route_table[i]; i++)
		printf("  %-11s %s\n", weft_route_table[i]->name, weft_route_table[i]->help);
}

static void print_help(const struct options *o, const char *name, const struct opt_desc *extra, const char *about)
{
	const struct opt_desc config[] = {config_option, {NULL, NULL, NULL, NULL, 0}};
	const struct opt_desc *positional = opt_find(extra, "", 0);
	printf("usage: weft %s [OPTION]...%s%s\n%s\n\n", name, positional ? " " : "", positional ? positional->arg : "",
	       about);
	opt_print(stdout, extra, NULL);
	opt_print(stdout, options_table, extra);
	opt_print(stdout, config, NULL);
	printf("\ntopology presets (doc/guide/topologies.md):\n");
	for (unsigned i = 0; weft_topo_kinds[i].usage; i++)
		printf("  %-51s %s\n", weft_topo_kinds[i].usage, weft_topo_kinds[i].help);
	printf("\ntraffic patterns (sizes such as 64KiB or 2MB; doc/guide/workloads.md):\n");
	for (unsigned i = 0; weft_workload_kinds[i].usage; i++)
		printf("  %-40s %s\n", weft_workload_kinds[i].usage, weft_workload_kinds[i].help);
	print_algorithms(&o->algos);
}

static void complain(const struct options *o, const char *name, const struct weft_err *err)
{
	fprintf(stderr, "weft %s: %s%s\n", name, err->msg, o->unknown_param ? "; valid:" : "");
	if (o->unknown_param)
		options_print_keys(o, stderr);
}

static bool refuse(struct options *o, const char *name, const struct weft_err *err, int *status)
{
	*status = 2;
	complain(o, name, err);
	options_free(o);
	return false;
}

bool options_main_read(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		       const char *about, int *status)
{
	struct weft_err err = {""};
	if (read_all(o, argc, argv, extra, extra_base, &err))
		return refuse(o, argv[0], &err, status);
	if (!o->help && !o->help_params)
		return true;
	*status = 0;
	if (o->help_params)
		options_print_params(o, stdout);
	else
		print_help(o, argv[0], extra, about);
	options_free(o);
	return false;
}

bool options_main_resolve(struct options *o, const char *name, int *status)
{
	struct weft_err err = {""};
	return !resolve(o, &err) || refuse(o, name, &err, status);
}

bool options_main(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  const char *about, int *status)
{
	return options_main_read(o, argc, argv, extra, extra_base, about, status) &&
	       options_main_resolve(o, argv[0], status);
}
