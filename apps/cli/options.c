/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_int.h"
#include "timeline_parse.h"

/* Options that act on the whole of struct options rather than on one field. */
static int opt_setting(void *o, const char *value, struct weft_err *err)
{
	const struct options *options = o;
	return options_add_setting(o, value, options->where ? options->where : "--set", err);
}

static int opt_mtu(void *o, const char *value, struct weft_err *err)
{
	const struct options *options = o;
	char text[64];
	snprintf(text, sizeof text, "payload_bytes=%s", value);
	return options_add_setting(o, text, options->where ? options->where : "--mtu", err);
}

static int opt_fault(void *o, const char *value, struct weft_err *err)
{
	return timeline_parse(&((struct options *)o)->lab.faults, value, err);
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
	return add_pattern(o, &((struct options *)o)->files.series_ports, value, err);
}

static int opt_pcap_port(void *o, const char *value, struct weft_err *err)
{
	return add_pattern(o, &((struct options *)o)->files.pcap_ports, value, err);
}

/* A name alone is that of a file here, not of a library of the system. */
static int opt_plugin(void *o, const char *value, struct weft_err *err)
{
	char path[PATH_MAX];
	if (!strchr(value, '/') && (size_t)snprintf(path, sizeof path, "./%s", value) < sizeof path)
		value = path;
	return weft_plugin_load(&((struct options *)o)->algos, value, err);
}

static int opt_reconverge(void *field, const char *value, struct weft_err *err)
{
	if (strcmp(value, "never") != 0)
		return opt_time(field, value, err);
	*(weft_ns *)field = WEFT_NEVER;
	return 0;
}

#define FIELD(name) offsetof(struct options, name)

const struct opt_desc options_table[] = {
	{"topology", "FILE|PRESET", ".topo file, or one of the presets below", opt_string, FIELD(topology)},
	{"matrix", "FILE|PATTERN",
	 ".cm file, or one of the traffic patterns below; default: permutation:HOSTS:1MiB of all", opt_string,
	 FIELD(matrix)},
	{"background", "FILE|SHARE|PATTERN", "share of the flows (10%) or another pattern beside them", opt_string,
	 FIELD(background)},
	{"background-lb", "NAME", "who balances it; 'same': as --lb; 'auto'; default: ecmp", opt_string,
	 FIELD(background_lb_name)},
	{"cc", "NAME", "congestion control; default: auto", opt_string, FIELD(lab.cc_name)},
	{"lb", "NAME", "load balancing; default: auto", opt_string, FIELD(lb_name)},
	{"plugin", "FILE", "shared object with algorithms for --cc and --lb (examples/), before --help for their help",
	 opt_plugin, 0, true},
	{"route", "NAME", "how switches choose among equal ports; default: what --cc needs, or ecmp", opt_string,
	 FIELD(route_name)},
	{"mtu", "BYTES", "payload of a full packet; default: 4096", opt_mtu, 0},
	{"link-gbps", "N", "rate of every link; default: the topology's, 50 for presets", opt_gbps, FIELD(link_bps)},
	{"seed", "N", "of everything random; same seed, same run; default: 1", opt_seed, FIELD(lab.seed)},
	{"no-trim", NULL, "switches drop instead of trimming", opt_flag, FIELD(no_trim)},
	{"end", "TIME", "give up at this time of the run: 500us, 20ms, 1s", opt_duration, FIELD(lab.end_ns)},
	{"set", "KEY=VALUE", "a parameter of engine, algorithm, fabric or faults (--help-params)", opt_setting, 0,
	 true},
	{"fault", "SPEC", "TIME fail|degrade|renegotiate|ber|restore TARGET [VALUE] [until TIME], doc/guide/faults.md",
	 opt_fault, 0, true},
	{"reconverge", "TIME|never", "routing avoids what failed after this time; default: never", opt_reconverge,
	 FIELD(reconverge_ns)},
	{"out", "DIR", "write the run's files into this directory", opt_string, FIELD(files.dir)},
	{"series", "TIME", "sample ports and connections this often into DIR of --out", opt_duration,
	 FIELD(files.series_ns)},
	{"series-ports", "PATTERN", "only these ports in the time series: 'leaf*:up*'", opt_series_ports, 0, true},
	{"json", "FILE", "write the result as JSON; - is standard output", opt_string, FIELD(json)},
	{"pcap", "FILE", "capture packets as pcapng", opt_string, FIELD(files.pcap)},
	{"pcap-port", "PATTERN", "of these ports, 'leaf0:*'; default: every host's NIC", opt_pcap_port, 0, true},
	{"help", NULL, "this text", opt_flag, FIELD(help)},
	{"help-params", NULL, "all parameters for --set, with defaults and ranges", opt_flag, FIELD(help_params)},
	{NULL, NULL, NULL, NULL, 0},
};

const struct opt_desc *options_lookup(struct options *o, const struct opt_desc *extra, void *extra_base,
				      const char *name, size_t len, void **base)
{
	const struct opt_desc *d = opt_find(extra, name, len);
	*base = extra_base;
	if (!d) {
		d = opt_find(options_table, name, len);
		*base = o;
	}
	return d;
}

const struct opt_desc *options_find(const char *name)
{
	return opt_find(options_table, name, strlen(name));
}

/* Notes what was given. */
static int note(struct options *o, const struct opt_desc *d, const char *value, struct weft_err *err)
{
	struct run_option *grown = realloc(o->given, (o->given_count + 1) * sizeof *grown);
	if (grown)
		o->given = grown;
	struct run_option given = {d->name, value ? options_keep(o, value) : NULL};
	if (!grown || (value && !given.value))
		return weft_err_set(err, -ENOMEM, "no memory");
	o->given[o->given_count++] = given;
	return 0;
}

int options_apply(struct options *o, const struct opt_desc *d, void *base, const char *value, struct weft_err *err)
{
	int rc = opt_apply(d, base, value, err);
	return rc || base != o ? rc : note(o, d, value, err);
}

bool options_is_given(const struct options *o, const char *name)
{
	for (uint32_t i = 0; i < o->given_count; i++)
		if (!strcmp(o->given[i].name, name))
			return true;
	return false;
}

int options_set(struct options *o, const struct opt_desc *extra, void *extra_base, const char *name, const char *value,
		struct weft_err *err)
{
	void *base;
	const struct opt_desc *d = options_lookup(o, extra, extra_base, name, strlen(name), &base);
	if (!d)
		return weft_err_set(err, -ENOENT, "unknown option '%s'", name);
	return options_apply(o, d, base, value, err);
}

void options_begin(struct options *o)
{
	*o = (struct options){.topology = "leafspine:4:4:4",
			      .lb_name = "auto",
			      .background_lb_name = "ecmp",
			      .route_name = weft_route_table[0]->name,
			      .reconverge_ns = WEFT_NEVER};
	weft_algos_init(&o->algos);
	lab_config_begin(&o->lab);
	o->lab.cc_name = "auto";
	o->lab.cc = NULL; /* names decide, once all are known */
	o->lab.lb = o->lab.background_lb = NULL;
	o->lab.route = NULL;
}

void options_free(struct options *o)
{
	weft_workload_free(&o->lab.workload);
	timeline_free(&o->lab.faults);
	free(o->lab.cc_tune);
	free(o->lab.lb_tune);
	free(o->lab.rcc_tune);
	free(o->lab.route_tune);
	free(o->settings);
	free(o->given);
	for (uint32_t i = 0; i < o->kept_count; i++)
		free(o->kept[i]);
	free(o->kept);
	*o = (struct options){0};
}
