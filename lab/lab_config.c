/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_config.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct lab_tune, name)

const struct weft_param lab_tunes[] = {
	{.key = "nic_tx_entries",
	 .help = "lab: transmit ring of a host, packets of each class",
	 .def = 256,
	 .min = 4,
	 .max = 32768,
	 .offset = FIELD(nic_tx_entries),
	 .type = WEFT_PARAM_U32},
	{.key = "nic_rx_entries",
	 .help = "lab: receive ring of a host, packets",
	 .def = 4096,
	 .min = 4,
	 .max = 32768,
	 .offset = FIELD(nic_rx_entries),
	 .type = WEFT_PARAM_U32},
	{.key = "poll_delay_ns",
	 .help = "lab: time from a packet's arrival to the poll that finds it",
	 .max = 1000000,
	 .offset = FIELD(poll_delay_ns),
	 .type = WEFT_PARAM_U32},
	{.key = "queue_sample_ns",
	 .help = "lab: how evenly queues are filled is looked at so often; 0: never",
	 .max = 1000000000,
	 .offset = FIELD(queue_sample_ns),
	 .type = WEFT_PARAM_U64},
	{.key = "queue_sample_from_ns",
	 .help = "... from here on",
	 .max = 1000000000000,
	 .offset = FIELD(queue_sample_from_ns),
	 .type = WEFT_PARAM_U64},
	{.key = "queue_sample_to_ns",
	 .help = "... and until here; 0: to the end of the run",
	 .max = 1000000000000,
	 .offset = FIELD(queue_sample_to_ns),
	 .type = WEFT_PARAM_U64},
	{.key = "reverse_hosts",
	 .help = "lab: create hosts last to first; the result must not change",
	 .max = 1,
	 .offset = FIELD(reverse_hosts),
	 .type = WEFT_PARAM_BOOL},
	{.key = "conn_per_flow",
	 .help = "lab: every flow has a connection of its own; 0: those of two hosts share one, one after the other",
	 .max = 1,
	 .offset = FIELD(conn_per_flow),
	 .type = WEFT_PARAM_BOOL},
	{.key = NULL},
};

void lab_engine_auto(struct weft_engine_tune *tune)
{
	weft_engine_tune_auto(tune);
	tune->short_acks = 1;
}

/* As `auto` has it on the fabric of the defaults. */
void lab_config_begin(struct lab_config *c)
{
	const struct weft_lb_offer offer = {.ecn = 1, .trimming = 1, .all_acked = 1, .ack_every = 1};
	const char *reason;
	*c = (struct lab_config){
		.seed = 1,
		.end_ns = WEFT_S(100),
		.cc = weft_cc_auto(),
		.background_lb = weft_lb_find("ecmp"),
		.route = weft_route_table[0],
		.cc_name = weft_cc_auto()->name,
	};
	c->lb = weft_lb_auto(&offer, &reason);
	weft_param_defaults(weft_engine_tunes, &c->engine);
	lab_engine_auto(&c->engine);
	weft_param_defaults(weft_net_tunes, &c->fabric);
	weft_param_defaults(lab_tunes, &c->tune);
	weft_param_defaults(weft_fault_params, &c->fault);
	c->engine.trimming = weft_trim_mode_trims(c->fabric.trim);
}

void lab_net_conf(const struct lab_config *c, struct weft_net_conf *conf)
{
	*conf = (struct weft_net_conf){
		.seed = c->seed,
		.mtu_bytes = lab_data_wire_bytes(c, c->engine.payload_bytes),
		.tune = c->fabric,
		.route = c->route,
		.route_tune = c->route_tune,
	};
	if (!conf->tune.credit_ack_bytes)
		conf->tune.credit_ack_bytes = (lab_ack_wire_bytes(c) + c->engine.ack_every - 1) / c->engine.ack_every;
}
