/* SPDX-License-Identifier: BSD-3-Clause */
/* The vocabulary `weft sim` and `weft bench` share: one table of options, readable from the command line and from YAML.
 * Options apply in the order given, later ones win. */
#ifndef WEFT_OPTIONS_H
#define WEFT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lab_config.h"
#include "opt_table.h"
#include "outputs.h"
#include "result.h"
#include "weft/algos.h"

/* One --set key=value that waits until the algorithms are known. */
struct opt_setting {
	char *text;  /* key=value */
	char *where; /* for messages: "--set" or FILE:LINE */
};

struct options {
	/* as given */
	const char *topology, *matrix, *background, *lb_name, *route_name, *json;
	const char *background_lb_name; /* or "same" */
	const char *scenario;  /* file with one or more runs; options_parse then leaves everything unresolved */
	uint64_t link_bps;     /* 0: the topology's own */
	weft_ns reconverge_ns; /* routing avoids what failed that long ago; WEFT_NEVER: it does not */
	bool no_trim, help, help_params;
	struct weft_algos algos; /* to choose from: the built-in ones and those of --plugin */
	struct opt_setting *settings;
	uint32_t setting_count;
	char **kept; /* strings read from files */
	uint32_t kept_count;
	bool unknown_param;       /* why options_parse failed: some --set names no parameter of any part, nor nearly */
	struct run_option *given; /* all that was set, in order; strings are ours */
	uint32_t given_count;
	const char *where;         /* FILE:LINE that options_set speaks for; NULL: the command line */
	const char *step;          /* name of the option options_resolve is at or failed at */
	uint8_t lb_all_acked;      /* default of the parameter: on with --lb auto and coalesced ACKs */
	bool cc_auto;              /* --cc auto: other defaults, see lab_engine_auto */
	struct outputs_conf files; /* what a run writes */
	/* The run. Options with a value of their own are stored here at once; options_resolve fills the rest. Owned. */
	struct lab_config lab;
};

/* Sets the defaults of all options; nothing is resolved yet. */
void options_begin(struct options *o);

/* Parses argv[1..] and resolves files, patterns and names. `extra` describes further options of a command, in the
 * struct at `extra_base`; may be NULL. -EINVAL, -ENOENT, -ENOMEM or an errno of reading a file, with a message. With
 * o->help or o->help_params set nothing else is resolved. Always ends in a state options_free takes. */
int options_parse(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  struct weft_err *err);
void options_free(struct options *o);

/* Runs options_parse for a command: prints help or errors. True: go on. False: leave with *status; nothing to free. */
bool options_main(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		  const char *about, int *status);

/* Its two halves, for a command whose defaults depend on what was given: in between it sets, by options_set, what is
 * not in o->given. */
bool options_main_read(struct options *o, int argc, char **argv, const struct opt_desc *extra, void *extra_base,
		       const char *about, int *status);
bool options_main_resolve(struct options *o, const char *name, int *status);

/* Whether an option was given, here or in a file of --config. */
bool options_is_given(const struct options *o, const char *name);

/* Sets one option by name, and notes it in `given`; `value` may be NULL for flags. -ENOENT: no such option; -EINVAL: no
 * such value; -ENOMEM. */
int options_set(struct options *o, const struct opt_desc *extra, void *extra_base, const char *name, const char *value,
		struct weft_err *err);

/* Reads `name: value` pairs from a YAML file; `set:` holds a mapping of parameters. Messages as file:line: reason. */
int options_config(struct options *o, const struct opt_desc *extra, void *extra_base, const char *path,
		   struct weft_err *err);

/* The description of a common option; NULL: no such option. */
const struct opt_desc *options_find(const char *name);

/* Finds what names stand for, reads files and applies settings. o->step is the option that an error is about. Errors as
 * options_parse. */
int options_resolve(struct options *o, struct weft_err *err);

/* Remembers key=value for later. -EINVAL without '=', -ENOMEM. */
int options_add_setting(struct options *o, const char *text, const char *where, struct weft_err *err);

/* A copy that lives as long as `o`; NULL: no memory. */
char *options_keep(struct options *o, const char *text);

/* All parameters as Markdown tables, from the descriptions in the code (doc/reference/parameters.md is made of it), and
 * those of plug-ins. */
void options_print_params(const struct options *o, FILE *out);

/* Calls fn with each parameter of the parts of this run, which is resolved. */
void options_each_param(const struct options *o, void (*fn)(void *arg, const char *key, uint64_t value), void *arg);

/* The value of a parameter in the struct that its table describes. */
uint64_t options_param_value(const struct weft_param *p, const void *base);

/* A topology from a .topo file or a preset. `link_bps` overrides every link's rate when not 0; presets take
 * `preset_bps` otherwise. Errors of reading and of weft_topo_parse and weft_topo_preset. */
int options_topology(const char *spec, uint64_t link_bps, uint64_t preset_bps, struct weft_topo *topo,
		     struct weft_err *err);

/* A combination that is refused, and why. */
struct option_refusal {
	bool (*applies)(const struct options *o);
	const char *why;
};

/* All of them; the last has no `applies`. */
const struct option_refusal *options_refusals(void);

#endif
