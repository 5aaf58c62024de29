/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "options_int.h"
#include "wire.h"

#define PARAM(key, help, def, min, max, field, type)                                                                   \
	{                                                                                                              \
		key, help, def, min, max, offsetof(struct fabric_tune, field), type                                    \
	}

const struct weft_param fabric_params[] = {
	PARAM("queue_bytes", "data queue of a switch port, bytes; 0: one BDP with trimming, five without", 0, 0,
	      1u << 30, queue_bytes, WEFT_PARAM_U32),
	PARAM("ecn_min_pct", "marking starts at this depth, % of one BDP; 0 with ecn_max_pct 0: no marking", 20, 0, 100,
	      ecn_min_pct, WEFT_PARAM_U32),
	PARAM("ecn_max_pct", "every packet is marked beyond this depth, % of one BDP", 80, 0, 1000, ecn_max_pct,
	      WEFT_PARAM_U32),
	PARAM("ecn_prob_pct", "share of packets that is marked just below ecn_max_pct, %; linear from ecn_min_pct on",
	      100, 1, 100, ecn_prob_pct, WEFT_PARAM_U32),
	PARAM("trim",
	      "full queues: 0 drop, 1 trim the arriving packet, 2 it or the queue's last, by coin, 3 as 2 but drop",
	      WEFT_TRIM_ARRIVING, WEFT_TRIM_OFF, WEFT_TRIM_OFF_COIN, trim, WEFT_PARAM_U32),
	PARAM("pfc", "lossless fabric: switches pause what is before them instead of dropping data", 0, 0, 1, pfc,
	      WEFT_PARAM_BOOL),
	PARAM("pfc_xoff_pct", "PFC: data of one incoming link that waits in a switch and pauses it, % of one BDP", 100,
	      1, 10000, pfc_xoff_pct, WEFT_PARAM_U32),
	PARAM("pfc_xon_pct", "PFC: a pause ends when so much of that is left, %", 80, 0, 100, pfc_xon_pct,
	      WEFT_PARAM_U32),
	PARAM("ordered_pct",
	      "background flows wait in a queue of their own that gets this share of a port, %; 100: strict priority; "
	      "0: "
	      "one queue for all data",
	      0, 0, 100, ordered_pct, WEFT_PARAM_U32),
	PARAM("credit_queue", "credits that may wait at a port, hosts' NICs included; 0: no queues for credits", 0, 0,
	      65535, credit_queue, WEFT_PARAM_U32),
	PARAM("credit_refresh", "credits after which a port takes its share of losses anew, which it marks with", 4, 1,
	      65535, credit_refresh, WEFT_PARAM_U32),
	PARAM("credit_data_bytes", "wire bytes of the data a credit stands for; 0: a full packet", 0, 0, 1000000,
	      credit_data_bytes, WEFT_PARAM_U32),
	PARAM("credit_ack_bytes",
	      "wire bytes of the acknowledgements of that data; 0: of one per ack_every packets, weft switch: one", 0,
	      0, 65535, credit_ack_bytes, WEFT_PARAM_U32),
	PARAM("nic_tx_entries", "lab: transmit ring of a host, packets of each class", 256, 4, 32768, nic_tx_entries,
	      WEFT_PARAM_U32),
	PARAM("nic_rx_entries", "lab: receive ring of a host, packets", 4096, 4, 32768, nic_rx_entries, WEFT_PARAM_U32),
	PARAM("poll_delay_ns", "lab: time from a packet's arrival to the poll that finds it", 0, 0, 1000000,
	      poll_delay_ns, WEFT_PARAM_U32),
	PARAM("queue_sample_ns", "lab: how evenly queues are filled is looked at so often; 0: never", 0, 0, 1000000000,
	      queue_sample_ns, WEFT_PARAM_U64),
	PARAM("queue_sample_from_ns", "... from here on", 0, 0, 1000000000000, queue_sample_from_ns, WEFT_PARAM_U64),
	PARAM("queue_sample_to_ns", "... and until here; 0: to the end of the run", 0, 0, 1000000000000,
	      queue_sample_to_ns, WEFT_PARAM_U64),
	PARAM("reverse_hosts", "lab: create hosts last to first; the result must not change", 0, 0, 1, reverse_hosts,
	      WEFT_PARAM_BOOL),
	{NULL, NULL, 0, 0, 0, 0, 0},
};

/* One group of parameters --set can reach. */
struct group {
	const struct weft_param *params;
	void *base; /* in the options */
};

enum { GROUPS = 7 };

static void groups_of(struct options *o, struct group g[GROUPS])
{
	g[0] = (struct group){weft_engine_tunes, &o->engine};
	g[1] = (struct group){o->cc->tunes, o->cc_tune};
	g[2] = (struct group){o->lb->tunes, o->lb_tune};
	g[3] = (struct group){fabric_params, &o->fabric};
	g[4] = (struct group){weft_fault_params, &o->fault};
	g[5] = (struct group){o->rcc ? o->rcc->tunes : NULL, o->rcc_tune};
	g[6] = (struct group){o->route->tunes, o->route_tune};
}

/* What the engine's and the fabric's parameters will be with --lb auto. Complaints come later, when all parameters are
 * known. */
static void peek_params(const struct options *o, struct weft_engine_tune *engine, struct fabric_tune *fabric)
{
	weft_param_defaults(weft_engine_tunes, engine);
	weft_param_defaults(fabric_params, fabric);
	engine->lb_all_acked = 1;
	for (uint32_t i = 0; i < o->setting_count; i++) {
		struct weft_err why;
		const char *text = o->settings[i].text, *eq = strchr(text, '=');
		char key[64];
		snprintf(key, sizeof key, "%.*s", (int)(eq - text), text);
		weft_param_set(weft_engine_tunes, engine, key, eq + 1, &why);
		weft_param_set(fabric_params, fabric, key, eq + 1, &why);
	}
}

static int choose_lb(struct options *o)
{
	if (o->route->per_flow) {
		o->lb_reason = "switches place flows: a flow keeps one entropy";
		o->lb = weft_lb_find("ecmp");
		return 0;
	}
	struct weft_engine_tune engine;
	struct fabric_tune fabric;
	peek_params(o, &engine, &fabric);
	struct weft_lb_offer offer = {
		.switches_choose = !o->route->by_entropy && !o->route->reads_digits,
		.digits = o->route->reads_digits,
		.ecn = fabric.ecn_max_pct > 0,
		.trimming = !o->no_trim && fabric.trim != WEFT_TRIM_OFF,
		.all_acked = engine.lb_all_acked,
		.ack_every = engine.ack_every,
	};
	o->lb_all_acked = engine.ack_every > 1;
	o->lb = weft_lb_auto(&offer, &o->lb_reason);
	return 0;
}

static int resolve_background_lb(struct options *o, struct weft_err *err)
{
	o->background_lb = o->lb;
	return strcmp(o->background_lb_name, "same") == 0
		       ? 0
		       : weft_lb_choose(o->background_lb_name, &o->background_lb, err);
}

static int resolve_algorithms(struct options *o, struct weft_err *err)
{
	o->step = "cc";
	struct weft_cc_choice choice;
	int rc = weft_cc_select(o->cc_name, &choice, err);
	o->cc = choice.cc;
	o->rcc = choice.rcc;
	if (rc)
		return rc;
	o->step = "route";
	rc = weft_route_find(options_credit_route(o), &o->route, err);
	if (rc)
		return rc;
	o->step = "lb";
	rc = strcmp(o->lb_name, "auto") == 0 ? choose_lb(o) : weft_lb_choose(o->lb_name, &o->lb, err);
	if (rc)
		return rc;
	o->step = "background-lb";
	rc = resolve_background_lb(o, err);
	if (rc)
		return rc;
	o->cc_tune = calloc(1, o->cc->tune_size + 1);
	o->lb_tune = calloc(1, o->lb->tune_size + 1);
	o->rcc_tune = calloc(1, o->rcc ? o->rcc->tune_size : 1);
	o->route_tune = calloc(1, o->route->tune_size + 1);
	return o->cc_tune && o->lb_tune && o->rcc_tune && o->route_tune ? 0 : weft_err_set(err, -ENOMEM, "no memory");
}

/* An algorithm, and what --set can change in it. */
struct owner {
	const char *title, *option, *name;
	const struct weft_param *params; /* NULL: nothing */
};

#define OWNERS(TABLE, TITLE, OPTION)                                                                                   \
	for (uint32_t n = 0; (TABLE)[n]; n++)                                                                          \
		if (!i--) {                                                                                            \
			*out = (struct owner){TITLE, OPTION, (TABLE)[n]->name, (TABLE)[n]->tunes};                     \
			return true;                                                                                   \
		}

/* The i-th of all algorithms; false: there are fewer. */
static bool owner_at(uint32_t i, struct owner *out)
{
	OWNERS(weft_cc_table, "Congestion control", "cc")
	OWNERS(weft_rcc_table, "Receiver-driven congestion control", "cc")
	OWNERS(weft_lb_table, "Load balancing", "lb")
	OWNERS(weft_route_table, "Switches' choice", "route")
	return false;
}

static bool has_param(const struct weft_param *params, const char *key)
{
	for (; params && params->key; params++)
		if (!strcmp(params->key, key))
			return true;
	return false;
}

/* Of no part of this run, but maybe of an algorithm that it does not use. */
static int refuse_key(struct options *o, const char *where, const char *key, struct weft_err *err)
{
	char owners[120] = "";
	size_t len = 0;
	struct owner owner;
	for (uint32_t i = 0; owner_at(i, &owner) && len < sizeof owners; i++)
		if (has_param(owner.params, key))
			len += (size_t)snprintf(owners + len, sizeof owners - len, "%s--%s %s", len ? ", " : "",
						owner.option, owner.name);
	o->unknown_param = !len;
	if (len)
		return weft_err_set(err, -ENOENT, "%s: '%s' is a parameter of %s, not of this run", where, key, owners);
	return weft_err_set(err, -ENOENT, "%s: unknown parameter '%s'", where, key);
}

/* Tries one setting in each group. */
static int apply_setting(struct options *o, const struct opt_setting *s, const struct group g[GROUPS],
			 struct weft_err *err)
{
	char key[64];
	const char *eq = strchr(s->text, '=');
	snprintf(key, sizeof key, "%.*s", (int)(eq - s->text), s->text);
	for (unsigned i = 0; i < GROUPS; i++) {
		struct weft_err why = {""};
		int rc = weft_param_set(g[i].params, g[i].base, key, eq + 1, &why);
		if (rc && rc != -ENOENT)
			return weft_err_set(err, rc, "%s: %.200s", s->where, why.msg);
		if (!rc)
			return 0;
	}
	return refuse_key(o, s->where, key, err);
}

static int resolve_params(struct options *o, struct weft_err *err)
{
	struct group g[GROUPS];
	groups_of(o, g);
	for (unsigned i = 0; i < GROUPS; i++)
		weft_param_defaults(g[i].params, g[i].base);
	o->engine.lb_all_acked |= o->lb_all_acked;
	weft_cc_select_defaults(o->cc_name, &(struct weft_cc_choice){o->cc, o->rcc}, o->cc_tune);
	for (uint32_t i = 0; i < o->setting_count; i++) {
		o->faulty |= !strncmp(o->settings[i].text, "fault_", 6);
		int rc = apply_setting(o, &o->settings[i], g, err);
		if (rc)
			return rc;
	}
	int rc = options_credit_fabric(o, err);
	if (rc)
		return rc;
	if (o->no_trim && weft_trim_mode_trims(o->fabric.trim))
		o->fabric.trim = WEFT_TRIM_OFF;
	o->engine.trimming = weft_trim_mode_trims(o->fabric.trim);
	if (o->fabric.ecn_min_pct > o->fabric.ecn_max_pct)
		return weft_err_set(err, -EINVAL, "ecn_min_pct %u is above ecn_max_pct %u", o->fabric.ecn_min_pct,
				    o->fabric.ecn_max_pct);
	return 0;
}

/* A name that looks like a path, or exists, is a file; everything else is a preset or pattern. */
bool options_is_file(const char *name)
{
	FILE *f = strchr(name, ':') && !strchr(name, '/') ? NULL : fopen(name, "r");
	if (f)
		fclose(f);
	return f || strchr(name, '/');
}

int options_topology(const char *spec, uint64_t link_bps, uint64_t preset_bps, struct weft_topo *topo,
		     struct weft_err *err)
{
	int rc = 0;
	if (options_is_file(spec)) {
		size_t len;
		char *text = file_read(spec, &len, &rc, err);
		if (text)
			rc = weft_topo_parse(text, len, spec, topo, err);
		free(text);
	} else {
		rc = weft_topo_preset(spec, link_bps ? link_bps : preset_bps, topo, err);
	}
	if (!rc && link_bps)
		weft_topo_set_bps(topo, link_bps);
	return rc;
}

int options_resolve(struct options *o, struct weft_err *err)
{
	int rc = resolve_algorithms(o, err);
	if (rc)
		return rc;
	o->step = "set";
	rc = resolve_params(o, err);
	if (rc)
		return rc;
	o->step = "lb";
	rc = options_refuse(o, err);
	if (rc)
		return rc;
	o->step = "topology";
	rc = options_topology(o->topology, o->link_bps, UINT64_C(50000000000), &o->topo, err);
	if (rc)
		return rc;
	o->step = "fault";
	rc = timeline_resolve(&o->faults, &o->topo, o->seed, o->reconverge_ns, err);
	if (rc)
		return rc;
	o->step = "matrix";
	return options_resolve_matrix(o, err);
}

void options_print_keys(const struct options *o, FILE *out)
{
	struct group g[GROUPS];
	groups_of((struct options *)o, g);
	for (unsigned i = 0; i < GROUPS; i++) {
		for (const struct weft_param *p = g[i].params; p && p->key; p++)
			fprintf(out, "  %-20s %s\n", p->key, p->help);
	}
}

static void print_params(FILE *out, const char *title, const struct weft_param *p)
{
	if (!p || !p->key)
		return;
	fprintf(out, "\n### %s\n\n| key | default | range | meaning |\n|---|---|---|---|\n", title);
	for (; p->key; p++)
		fprintf(out, "| `%s` | %" PRIu64 " | %" PRIu64 " .. %" PRIu64 " | %s |\n", p->key, p->def, p->min,
			p->max, p->help);
}

void options_print_params(FILE *out)
{
	struct owner o;
	print_params(out, "Engine", weft_engine_tunes);
	for (uint32_t i = 0; owner_at(i, &o); i++) {
		char title[64];
		snprintf(title, sizeof title, "%s `%s`", o.title, o.name);
		print_params(out, title, o.params);
	}
	print_params(out, "Fabric and lab", fabric_params);
	print_params(out, "Faults", weft_fault_params);
}

void options_fabric_conf(const struct fabric_tune *f, struct weft_net_conf *conf)
{
	conf->tune.queue_bytes = f->queue_bytes;
	conf->tune.ecn_min_pct = (uint16_t)f->ecn_min_pct;
	conf->tune.ecn_max_pct = (uint16_t)f->ecn_max_pct;
	conf->tune.ecn_prob_pct = (uint8_t)f->ecn_prob_pct;
	conf->tune.trim = (uint8_t)f->trim;
	conf->tune.pfc = f->pfc;
	conf->tune.ordered_pct = (uint8_t)f->ordered_pct;
	conf->tune.credit_queue = (uint16_t)f->credit_queue;
	conf->tune.credit_refresh = (uint16_t)f->credit_refresh;
	conf->tune.credit_data_bytes = f->credit_data_bytes;
	conf->tune.credit_ack_bytes = f->credit_ack_bytes;
	conf->tune.pfc_xoff_pct = (uint16_t)f->pfc_xoff_pct;
	conf->tune.pfc_xon_pct = (uint8_t)f->pfc_xon_pct;
}

void options_net_conf(const struct options *o, struct weft_net_conf *conf)
{
	*conf = (struct weft_net_conf){
		.seed = o->seed,
		.mtu_bytes = options_data_wire_bytes(o, o->engine.payload_bytes),
		.route = o->route,
		.route_tune = o->route_tune,
	};
	options_fabric_conf(&o->fabric, conf);
	if (!conf->tune.credit_ack_bytes)
		conf->tune.credit_ack_bytes =
			(options_ack_wire_bytes(o) + o->engine.ack_every - 1) / o->engine.ack_every;
}

/* Size on the link of a packet with these headers: the encoder knows. */
static uint32_t wire_bytes(const struct options *o, struct wire_pkt *p)
{
	uint8_t head[WEFT_PKT_HEAD_MAX];
	p->net.src = p->net.dst = weft_ip_v4(weft_net_host_ip(0));
	p->net.dst_port = WIRE_UDP_PORT;
	size_t bytes = wire_encode(p, head) + p->payload_bytes + (o->engine.crc ? 4 : 0) + WEFT_L1_OVERHEAD_BYTES;
	return bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : (uint32_t)bytes;
}

uint32_t options_data_wire_bytes(const struct options *o, uint32_t payload)
{
	struct wire_pkt p = {.pds = {.type = o->rcc ? WIRE_PDS_RUD_CC_REQ : WIRE_PDS_RUD_REQ, .next_hdr = WIRE_NH_STD},
			     .ses = {.opcode = WIRE_OP_TAGGED_SEND, .flags = WIRE_SES_SOM},
			     .payload_bytes = (uint16_t)payload};
	return wire_bytes(o, &p);
}

uint32_t options_ack_wire_bytes(const struct options *o)
{
	struct wire_pkt p = {.pds = {.type = WIRE_PDS_ACK_CC, .next_hdr = WIRE_NH_RSP},
			     .ses = {.opcode = WIRE_RSP_DEFAULT}};
	return wire_bytes(o, &p);
}
