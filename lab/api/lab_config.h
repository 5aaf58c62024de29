/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in the lab, as a program describes it: topology, workload, algorithms and parameters. No text is parsed here:
 * the command line fills this struct, and any other program can do the same. */
#ifndef WEFT_LAB_CONFIG_H
#define WEFT_LAB_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"
#include "timeline.h"
#include "topo.h"
#include "weft/engine.h"
#include "weft/fault.h"
#include "workload.h"

/* Numbers of the lab itself; lab_tunes describes them. */
struct lab_tune {
	uint32_t nic_tx_entries, nic_rx_entries; /* rings of a host's NIC, packets */
	uint32_t poll_delay_ns;                  /* from a packet's arrival to the poll that finds it */
	uint8_t reverse_hosts;                   /* create hosts last to first; the result must not change */
	uint8_t conn_per_flow;                   /* WEFT_OP_APART for every flow */
	/* How often queue_spread.h samples, from when, and until when (0: to the end); 0: never. */
	uint64_t queue_sample_ns, queue_sample_from_ns, queue_sample_to_ns;
};
extern const struct weft_param lab_tunes[];

/* The filler owns everything this points to. The lab only reads it, and needs it until lab_destroy. */
struct lab_config {
	struct weft_topo topo;
	struct weft_workload workload;
	struct timeline faults; /* resolved for the topology; all zero: none */
	uint64_t seed;          /* of everything random; same seed, same run */
	weft_ns end_ns;         /* give up at this time of the run */

	const struct weft_cc_ops *cc;
	const struct weft_rcc_ops *rcc; /* receiver-driven congestion control beside cc; NULL: none */
	const struct weft_lb_ops *lb;
	const struct weft_lb_ops *background_lb; /* of background flows; `lb` itself has its parameters, too */
	const struct weft_route_ops *route;      /* how switches choose */
	void *cc_tune, *lb_tune, *rcc_tune;      /* the algorithms' parameters, only read; NULL: defaults */
	void *route_tune;
	/* Hosts with an odd number send by this instead of cc, with these parameters; NULL: all by cc. */
	const struct weft_cc_ops *cc_odd;
	const void *cc_odd_tune;

	/* Its `trimming` follows `fabric.trim`: lab_config_begin and the parameter trim set it. */
	struct weft_engine_tune engine;
	struct weft_net_tune fabric;
	struct lab_tune tune;
	struct weft_fault_conf fault;
	bool faulty; /* every host's port gets a fault port around it, with the numbers of `fault` */

	/* Constant strings that results show. */
	const char *cc_name;               /* the user's name for the pair of cc and rcc */
	const char *cc_reason, *lb_reason; /* why cc and lb were chosen; NULL: they were named */
	const char *warning;               /* why cc will not do well in this fabric; NULL: it may */
};

/* Sets what goes with `auto`: weft_engine_tune_auto, and short ACKs, as all are Wefts here. What else is set stays. */
void lab_engine_auto(struct weft_engine_tune *tune);

/* What `auto` stands for, over ECMP switches that trim, all other numbers at their defaults, seed 1, an end after 100
 * s; no topology and no workload yet. Nothing is allocated. */
void lab_config_begin(struct lab_config *c);

/* The fabric these describe. Callers add free_pkt. */
void lab_net_conf(const struct lab_config *c, struct weft_net_conf *conf);

/* Bytes on the link of a data packet with `payload` bytes, and of an ACK. */
uint32_t lab_data_wire_bytes(const struct lab_config *c, uint32_t payload);
uint32_t lab_ack_wire_bytes(const struct lab_config *c);

#endif
