/* SPDX-License-Identifier: BSD-3-Clause */
/* The vocabulary `weft sim` and `weft bench` share: one table of options, readable from the command line and from YAML.
 * Options apply in the order given, later ones win. */
#ifndef WEFT_OPTIONS_H
#define WEFT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fault_port.h"
#include "net.h"
#include "opt_table.h"
#include "timeline.h"
#include "topo.h"
#include "weft/engine.h"
#include "workload.h"

/* The fabric's and the lab's numbers, set with --set like the engine's. */
struct fabric_tune {
	uint32_t queue_bytes; /* data queue per switch port; 0: one BDP with trimming, five without */
	uint32_t ecn_min_pct, ecn_max_pct, ecn_prob_pct;
	uint32_t trim; /* enum weft_trim_mode */
	uint32_t pfc_xoff_pct, pfc_xon_pct;
	uint32_t ordered_pct; /* of a port's rate, see struct weft_net_conf */
	uint32_t credit_queue, credit_refresh, credit_data_bytes, credit_ack_bytes; /* see struct weft_net_conf */
	uint32_t nic_tx_entries, nic_rx_entries;
	uint32_t poll_delay_ns;
	uint8_t reverse_hosts;
	uint64_t queue_sample_ns, queue_sample_from_ns, queue_sample_to_ns; /* see queue_spread.h */
	uint8_t pfc;
};
extern const struct weft_param fabric_params[];

/* One --set key=value that waits until the algorithms are known. */
struct opt_setting {
	char *text;  /* key=value */
	char *where; /* for messages: "--set" or FILE:LINE */
};

/* One option as it was given, later ones win; strings are the options'. */
struct opt_given {
	const char *name;  /* without dashes */
	const char *value; /* NULL: a flag without value */
};

struct options {
	/* as given */
	const char *topology, *matrix, *background, *cc_name, *lb_name, *route_name, *json, *pcap;
	const char *background_lb_name; /* or "same" */
	const char *out;                /* directory for a run's files; NULL: none are written */
	const char *scenario; /* file with one or more runs; options_parse then leaves everything unresolved */
	uint64_t seed;
	uint64_t link_bps; /* 0: the topology's own */
	weft_ns end_ns;    /* give up then */
	struct timeline faults;
	weft_ns reconverge_ns;    /* routing avoids what failed that long ago; WEFT_NEVER: it does not */
	weft_ns series_ns;        /* sampling interval of the time series in `out`; 0: none */
	const char *series_ports; /* shell patterns of the ports' names in it, with commas between; NULL: all */
	const char *pcap_ports;   /* ... in the capture; NULL: the hosts' NICs */
	bool no_trim, help, help_params;
	struct opt_setting *settings;
	uint32_t setting_count;
	char **kept; /* strings read from files */
	uint32_t kept_count;
	bool unknown_param;      /* why options_parse failed: some --set names no parameter of any part */
	struct opt_given *given; /* all that was set, in order */
	uint32_t given_count;
	const char *where; /* FILE:LINE that options_set speaks for; NULL: the command line */
	const char *step;  /* name of the option options_resolve is at or failed at */
	/* resolved by options_parse */
	struct weft_topo topo;
	struct weft_workload workload;
	const struct weft_cc_ops *cc;
	const struct weft_rcc_ops *rcc; /* receiver-driven congestion control beside cc; NULL: none */
	/* Hosts with an odd number send by this instead of cc, with these parameters (the caller's); NULL: all by cc.
	 * Not an option: the lab's duels set it between parsing and lab_create. */
	const struct weft_cc_ops *cc_odd;
	const void *cc_odd_tune;
	const struct weft_lb_ops *lb;
	const struct weft_lb_ops *background_lb; /* of the flows of --background; `lb` itself has its parameters, too */
	uint8_t lb_all_acked;                    /* default of the parameter: on with --lb auto and coalesced ACKs */
	const char *lb_reason;                   /* why --lb auto chose it; NULL: it was named. Constant */
	const struct weft_route_ops *route;      /* how switches choose */
	const char *warning;                     /* why cc will not do well in this fabric; NULL: it may. Constant */
	struct weft_engine_tune engine;
	void *cc_tune, *lb_tune, *rcc_tune; /* rcc_tune is there without rcc, too */
	void *route_tune;
	struct fabric_tune fabric;
	struct weft_fault_conf fault;
	bool faulty; /* some fault_ parameter was given, even if 0: hosts get fault ports */
};

/* Defaults of everything that is given; nothing is resolved. */
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

/* Sets one option by name, and notes it in `given`; `value` may be NULL for flags. -ENOENT: no such option; -EINVAL: no
 * such value; -ENOMEM. */
int options_set(struct options *o, const struct opt_desc *extra, void *extra_base, const char *name, const char *value,
		struct weft_err *err);

/* Reads `name: value` pairs from a YAML file; `set:` holds a mapping of parameters. Messages as file:line: reason. */
int options_config(struct options *o, const struct opt_desc *extra, void *extra_base, const char *path,
		   struct weft_err *err);

/* The description of a common option; NULL: no such option. */
const struct opt_desc *options_find(const char *name);

/* Turns names, files and settings into what they stand for; o->step says which option an error is about. Errors as
 * options_parse. */
int options_resolve(struct options *o, struct weft_err *err);

/* Remembers key=value for later. -EINVAL without '=', -ENOMEM. */
int options_add_setting(struct options *o, const char *text, const char *where, struct weft_err *err);

/* A copy that lives as long as `o`; NULL: no memory. */
char *options_keep(struct options *o, const char *text);

/* All parameters as Markdown tables, from the descriptions in the code (doc/reference/parameters.md is made of it). */
void options_print_params(FILE *out);

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

/* Queues, marking and pauses as a fabric takes them; the rest of `conf` stays. */
void options_fabric_conf(const struct fabric_tune *f, struct weft_net_conf *conf);

/* The fabric these options describe. Callers add free_pkt. */
void options_net_conf(const struct options *o, struct weft_net_conf *conf);

/* Wire bytes of a data packet with `payload` bytes, and of an ACK. */
uint32_t options_data_wire_bytes(const struct options *o, uint32_t payload);
uint32_t options_ack_wire_bytes(const struct options *o);

#endif
