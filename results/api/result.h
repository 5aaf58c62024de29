/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a run, and its forms: a table for people, JSON (schema weft.run/1) for programs. */
#ifndef WEFT_RESULT_H
#define WEFT_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lab.h"
#include "net.h"
#include "queue_spread.h"
#include "run_flow.h"
#include "weft/stats.h"
#include "weft/time.h"

struct run_packets {
	uint64_t data, retransmitted, trimmed, dropped, marked, acks, nacks, credits, timeouts;
};

/* One option of a run as it was given; later ones win. The strings belong to whoever gave it. */
struct run_option {
	const char *name;  /* without dashes */
	const char *value; /* NULL: a flag without value */
};

/* Where a run comes from, for its JSON. Strings are the caller's. */
struct run_origin {
	const struct run_option *given; /* options, so that the run can be repeated */
	uint32_t given_count;
	const char *error; /* why the run is no success; NULL or empty: it is one */
};

/* Why the fabric and its hosts dropped packets; together run_packets.dropped. */
struct run_drops {
	uint64_t data, control; /* full queues */
	uint64_t down;          /* failed links and switches */
	uint64_t error;         /* bit errors */
	uint64_t route;         /* no way to the host, or nobody there */
	uint64_t host;          /* a host's receive ring was full */
};

/* In what order packets arrived; shares are of all flows, 0 to 1. */
struct run_reordering {
	bool known;                                  /* in the lab, and something arrived */
	uint64_t packets;                            /* that arrived, each counted once */
	uint64_t reordered, beyond;                  /* see struct reorder_sum */
	uint32_t extent_p50, extent_p99, extent_max; /* over all packets: packets sent later that came first */
	uint32_t ooo_p50, ooo_p99;                   /* over all packets: packets waiting behind a gap at its arrival */
	uint32_t ooo_max, dup_acks_max;              /* see struct reorder_counts, of the worst flow */
	double dup_ack_flows, dup_ack3_flows;        /* flows with at least one, at least three dup_acks */
	double reorder_ack_flows, reorder_ack3_flows; /* the same of reorder_dup_acks */
};

/* Ports of one tier and direction. */
struct run_hop {
	uint64_t data;                    /* data packets sent */
	double wait_mean_us, wait_max_us; /* of them, before they were sent */
	uint64_t dropped, trimmed;        /* packets, control included */
};

struct run_result {
	const char *mode; /* "sim" or "bench" */
	const char *cc, *lb;
	const char *cc_reason, *lb_reason; /* why `auto` chose them; NULL: they were named */
	const char *route;                 /* of the switches; NULL: unknown */
	const char *warning;               /* what the fabric lacks for cc, what times mean; NULL: nothing known */
	uint64_t seed;
	const struct run_flow *flows;
	uint32_t flow_count;
	weft_ps ideal; /* 0: unknown */
	struct run_packets packets;
	bool fabric; /* result_set_fabric was called: drops are known */
	struct run_drops drops;
	struct run_reordering order;
	struct run_hop hops[WEFT_TOPO_TIERS_MAX][WEFT_PORT_DIRS]; /* see struct weft_net_stats */
	struct spread_result spread[SPREAD_DIRS];                 /* no samples: not asked for */
	uint64_t queue_max_bytes;
	double queue_mean_bytes;
	struct weft_credit_counts credits; /* in the fabric's credit queues; all 0 without them */
	uint64_t pauses;                   /* PFC frames that began a pause */
	double paused_us;                  /* summed over ports */
	weft_ps elapsed;                   /* virtual in the lab, real on a testbed */
	double wall_s;
	uint64_t events, packet_hops, max_rss_kib;
	uint64_t digest;                 /* 0: none (real time is not repeatable) */
	const struct run_origin *origin; /* NULL: unknown */
};

/* Statistics over some times, in microseconds, or over ratios of them. NaN: there are none. */
struct run_times {
	double min, mean, p50, p99, max;
};

/* Derived numbers. */
struct run_summary {
	uint32_t completed, verified, failed;
	uint32_t background; /* flows of --background; 0: the two times below are not written */
	struct run_times fct_us, delivered_us;
	struct run_times foreground_fct_us, background_fct_us;
	struct run_times slowdown; /* FCT over the flow's own ideal, no unit; NaN: no ideals are known */
	double ideal_us;
	/* First submission to last acknowledgement; equals fct_us.max when all start together. NaN: not all completed.
	 */
	double makespan_us;
	double inflation; /* makespan / ideal; NaN: one of them is unknown */
	/* Payload of completed flows over the time from the first submission to their last acknowledgement, all hosts
	 * together; NaN: none completed. */
	double goodput_gbps;
	double jain; /* fairness of the completed flows' payload rates, 1 is equal; NaN: none completed */
};

/* The result of a run in the lab, ended or not. `flows` and strings stay the lab's; wall_s and origin are left 0.
 * -ENOMEM with a message. */
int result_of_lab(struct lab *lab, struct run_result *r, struct weft_err *err);

/* -ENOMEM. */
int result_summarise(const struct run_result *r, struct run_summary *s);

/* Adds one engine's counters to the packet counts that engines know (all but trimmed, dropped and marked). */
void result_add_engine(struct run_packets *p, const struct weft_stats *stats);

/* Fills in what the fabric counted: trimmed, dropped, marked, queues, waiting, events, hops. The mean queue depth is
 * taken over the time from 0 to `now`. */
void result_set_fabric(struct run_result *r, const struct weft_net_stats *stats, weft_ps now);

/* Adds packets that hosts had no room to receive; after result_set_fabric. */
void result_add_host_drops(struct run_result *r, uint64_t pkts);

/* Fills in how packets arrived; the flows must be there already. */
void result_set_reordering(struct run_result *r, const struct reorder_sum *sum);

/* Peak resident memory of this process. */
uint64_t result_max_rss_kib(void);

/* Both return 0 or a negative errno with a message. "-" as path is standard output. */
int result_write_json(const struct run_result *r, const char *path, struct weft_err *err);
int result_print(const struct run_result *r, FILE *out, struct weft_err *err);

/* Writes flows.csv, table.txt and last run.json into a directory, which is made if it is not there. `w` has the flows
 * of `r`. An errno of the file system, with a message that names the file. */
int result_write_dir(const struct run_result *r, const struct weft_workload *w, const char *dir, struct weft_err *err);

/* What metrics are taken from. */
struct run_record {
	struct run_result result;
	struct run_summary summary;
};

#endif
