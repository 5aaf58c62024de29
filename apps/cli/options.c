/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options_int.h"

/* Options that act on the whole of struct options rather than on one field. */
static int opt_setting(void *o, const char *value, struct weft_err *err)
{
	const struct options *options = o;
	return options_add_setting(o, value, options->where ? options->where : "--set", err);
}

static int opt_mtu(void *o, const char *value, struct weft_err *err)
{
	char text[64];
	snprintf(text, sizeof text, "payload_bytes=%s", value);
	return options_add_setting(o, text, "--mtu", err);
}

static int opt_fault(void *o, const char *value, struct weft_err *err)
{
	return timeline_add(&((struct options *)o)->faults, value, err);
}

/* One more shell pattern, behind a comma. */
static int add_pattern(struct options *o, const char **list, const char *value, struct weft_err *err)
{
	char *joined = NULL;
	if (*list && asprintf(&joined, "%s,%s", *list, value) < 0)
		return weft_err_set(err, -ENOMEM, "no memory");
	const char *kept = options_keep(o, joined ? joined : value);
	free(joined);
	*list = kept ? kept : *list;
	return kept ? 0 : weft_err_set(err, -ENOMEM, "no memory");
}

static int opt_series_ports(void *o, const char *value, struct weft_err *err)
{
	return add_pattern(o, &((struct options *)o)->series_ports, value, err);
}

static int opt_pcap_port(void *o, const char *value, struct weft_err *err)
{
	return add_pattern(o, &((struct options *)o)->pcap_ports, value, err);
}

static int opt_reconverge(void *field, const char *value, struct weft_err *err)
{
	if (strcmp(value, "never") != 0)
		return opt_time(field, value, err);
	*(weft_ns *)field = WEFT_NEVER;
	return 0;
}

#define FIELD(name) offsetof(struct options, name)

static const struct opt_desc common[] = {
	{"topology", "FILE|PRESET", ".topo file, or one of the presets below", opt_string, FIELD(topology)},
	{"matrix", "FILE|PATTERN",
	 ".cm file, or one of the traffic patterns below; default: permutation:HOSTS:1MiB of all", opt_string,
	 FIELD(matrix)},
	{"background", "SHARE|PATTERN", "share of the flows (10%) or another pattern beside them", opt_string,
	 FIELD(background)},
	{"background-lb", "NAME", "who balances it; 'same': as --lb; default: ecmp", opt_string,
	 FIELD(background_lb_name)},
	{"cc", "NAME", "congestion control; default: smartt", opt_string, FIELD(cc_name)},
	{"lb", "NAME", "load balancing; default: reps", opt_string, FIELD(lb_name)},
	{"route", "NAME", "how switches choose among equal ports; default: what --cc needs, or ecmp", opt_string,
	 FIELD(route_name)},
	{"mtu", "BYTES", "payload of a full packet; default: 4096", opt_mtu, 0},
	{"link-gbps", "N", "rate of every link; default: the topology's, 50 for presets", opt_gbps, FIELD(link_bps)},
	{"seed", "N", "of everything random; same seed, same run; default: 1", opt_u64, FIELD(seed)},
	{"no-trim", NULL, "switches drop instead of trimming", opt_flag, FIELD(no_trim)},
	{"end", "TIME", "give up at this time of the run: 500us, 20ms, 1s", opt_duration, FIELD(end_ns)},
	{"set", "KEY=VALUE", "a parameter of engine, algorithm, fabric or faults (--help-params); repeatable",
	 opt_setting, 0},
	{"fault", "SPEC",
	 "TIME fail|degrade|renegotiate|ber|restore TARGET [VALUE] [until TIME], doc/guide/faults.md; repeatable",
	 opt_fault, 0},
	{"reconverge", "TIME|never", "routing avoids what failed after this time; default: never", opt_reconverge,
	 FIELD(reconverge_ns)},
	{"out", "DIR", "write the run's files into this directory", opt_string, FIELD(out)},
	{"series", "TIME", "sample ports and connections this often into DIR of --out", opt_duration, FIELD(series_ns)},
	{"series-ports", "PATTERN", "only these ports in the time series: 'leaf*:up*'; repeatable", opt_series_ports,
	 0},
	{"json", "FILE", "write the result as JSON; - is standard output", opt_string, FIELD(json)},
	{"pcap", "FILE", "capture packets as pcapng", opt_string, FIELD(pcap)},
	{"pcap-port", "PATTERN", "of these ports, 'leaf0:*'; repeatable; default: every host's NIC", opt_pcap_port, 0},
	{"help", NULL, "this text", opt_flag, FIELD(help)},
	{"help-params", NULL, "all parameters for --set, with defaults and ranges", opt_flag, FIELD(help_params)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_desc config_option = {"config", "FILE", "options from a YAML file, name: value", NULL, 0};

char *options_keep(struct options *o, const char *text)
{
	char **grown = realloc(o->kept, (o->kept_count + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	o->kept = grown;
	char *copy = strdup(text);
	if (copy)
		o->kept[o->kept_count++] = copy;
	return copy;
}

int options_add_setting(struct options *o, const char *text, const char *where, struct weft_err *err)
{
	const char *eq = strchr(text, '=');
	if (!eq || eq == text)
		return weft_err_set(err, -EINVAL, "'%s' is not KEY=VALUE", text);
	struct opt_setting *grown = realloc(o->settings, (o->setting_count + 1) * sizeof *grown);
	if (grown)
		o->settings = grown;
	struct opt_setting setting = {options_keep(o, text), options_keep(o, where)};
	if (!grown || !setting.text || !setting.where)
		return weft_err_set(err, -ENOMEM, "no memory");
	o->settings[o->setting_count++] = setting;
	return 0;
}

/* The option `name` and the struct it lives in. */
static const struct opt_desc *lookup(struct options *o, const struct opt_desc *extra, void *extra_base,
				     const char *name, size_t len, void **base)
{
	const struct opt_desc *d = opt_find(extra, name, len);
	*base = extra_base;
	if (!d) {
		d = opt_find(common, name, len);
		*base = o;
	}
	return d;
}

const struct opt_desc *options_find(const char *name)
{
	return opt_find(common, name, strlen(name));
}

/* Notes what was given. */
static int note(struct options *o, const struct opt_desc *d, const char *value, struct weft_err *err)
{
	struct opt_given *grown = realloc(o->given, (o->given_count + 1) * sizeof *grown);
	if (grown)
		o->given = grown;
	struct opt_given given = {d->name, value ? options_keep(o, value) : NULL};
	if (!grown || (value && !given.value))
		return weft_err_set(err, -ENOMEM, "no memory");
	o->given[o->given_count++] = given;
	return 0;
}

/* Options of other structs than `o` are not noted. */
static int apply(struct options *o, const struct opt_desc *d, void *base, const char *value, struct weft_err *err)
{
	int rc = opt_apply(d, base, value, err);
	return rc || base != o ? rc : note(o, d, value, err);
}

int options_set(struct options *o, const struct opt_desc *extra, void *extra_base, const char *name, const char *value,
		struct weft_err *err)
{
	void *base;
	const struct opt_desc *d = lookup(o, extra, extra_base, name, strlen(name), &base);
	if (!d)
		return weft_err_set(err, -ENOENT, "unknown option '%s'", name);
	return apply(o, d, base, value, err);
}

/* An argument without dashes: its option has no name. */
static int parse_bare(struct options *o, const char *value, const struct opt_desc *extra, void *extra_base,
		      struct weft_err *err)
{
	const struct opt_desc *d = opt_find(extra, "", 0);
	if (!d || o->scenario)
		return weft_err_set(err, -EINVAL, "unexpected argument '%s'", value);
	int rc = apply(o, d, extra_base, value, err);
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
		return parse_bare(o, name, extra, extra_base, err);
	name += 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	void *base = NULL;
	bool config = len == strlen(config_option.name) && !strncmp(name, config_option.name, len);
	const struct opt_desc *d = config ? &config_option : lookup(o, extra, extra_base, name, len, &base);
	if (!d)
		return weft_err_set(err, -ENOENT, "unknown option '%s' (see --help)", argv[0]);
	const char *value;
	int used = opt_value(d, argv, &value, err);
	if (used < 0)
		return used;
	int rc = config ? options_config(o, extra, extra_base, value, err) : apply(o, d, base, value, err);
	return rc ? rc : used;
}

void options_begin(struct options *o)
{
	*o = (struct options){.topology = "leafspine:4:4:4",
			      .cc_name = "smartt",
			      .lb_name = "reps",
			      .background_lb_name = "ecmp",
			      .route_name = weft_route_table[0]->name,
			      .seed = 1,
			      .end_ns = WEFT_S(100),
			      .reconverge_ns = WEFT_NEVER};
}

int options_parse(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  struct weft_err *err)
{
	options_begin(o);
	for (int i = 1; i < argc;) {
		int used = parse_one(o, argv + i, extra, extra_base, err);
		if (used < 0)
			return used;
		i += used;
	}
	return o->help || o->help_params || o->scenario ? 0 : options_resolve(o, err);
}

void options_free(struct options *o)
{
	weft_workload_free(&o->workload);
	timeline_free(&o->faults);
	free(o->cc_tune);
	free(o->lb_tune);
	free(o->rcc_tune);
	free(o->route_tune);
	free(o->settings);
	free(o->given);
	for (uint32_t i = 0; i < o->kept_count; i++)
		free(o->kept[i]);
	free(o->kept);
	*o = (struct options){0};
}

static void print_help(const char *name, const struct opt_desc *extra, const char *about)
{
	const struct opt_desc config[] = {config_option, {NULL, NULL, NULL, NULL, 0}};
	const struct opt_desc *bare = opt_find(extra, "", 0);
	printf("usage: weft %s [OPTION]...%s%s\n%s\n\n", name, bare ? " " : "", bare ? bare->arg : "", about);
	opt_print(stdout, extra, NULL);
	opt_print(stdout, common, extra);
	opt_print(stdout, config, NULL);
	printf("\ntopology presets (doc/guide/topologies.md):\n");
	for (unsigned i = 0; weft_topo_kinds[i].usage; i++)
		printf("  %-51s %s\n", weft_topo_kinds[i].usage, weft_topo_kinds[i].help);
	printf("\ntraffic patterns (sizes such as 64KiB or 2MB; doc/guide/workloads.md):\n");
	for (unsigned i = 0; weft_workload_kinds[i].usage; i++)
		printf("  %-40s %s\n", weft_workload_kinds[i].usage, weft_workload_kinds[i].help);
	printf("\ncongestion control:\n");
	for (unsigned i = 0; weft_cc_table[i]; i++)
		printf("  %-11s %s\n", weft_cc_table[i]->name, weft_cc_table[i]->help);
	printf("\nreceiver-driven congestion control, alone or as NAME+NAME with one of the above at the sender:\n");
	for (unsigned i = 0; weft_rcc_table[i]; i++)
		printf("  %-11s %s\n", weft_rcc_table[i]->name, weft_rcc_table[i]->help);
	printf("\nload balancing:\n  %-11s %s\n", "auto",
	       "the one that suits the fabric, and why (doc/guide/choosing-lb.md)");
	for (unsigned i = 0; weft_lb_table[i]; i++)
		printf("  %-11s %s\n", weft_lb_table[i]->name, weft_lb_table[i]->help);
	printf("\nswitches' choice among equal ports (doc/reference/routing.md):\n");
	for (unsigned i = 0; weft_route_table[i]; i++)
		printf("  %-11s %s\n", weft_route_table[i]->name, weft_route_table[i]->help);
}

static void complain(const struct options *o, const char *name, const struct weft_err *err)
{
	fprintf(stderr, "weft %s: %s%s\n", name, err->msg, o->unknown_param ? "; valid:" : "");
	if (o->unknown_param)
		options_print_keys(o, stderr);
}

bool options_main(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  const char *about, int *status)
{
	struct weft_err err = {""};
	int rc = options_parse(o, argc, argv, extra, extra_base, &err);
	if (!rc && !o->help && !o->help_params)
		return true;
	*status = rc ? 2 : 0;
	if (rc)
		complain(o, argv[0], &err);
	else if (o->help_params)
		options_print_params(stdout);
	else
		print_help(argv[0], extra, about);
	options_free(o);
	return false;
}
