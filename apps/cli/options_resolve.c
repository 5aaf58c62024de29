/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options_int.h"

/* What the engine's and the fabric's parameters will be with --lb auto. Complaints come later, when all parameters are
 * known. */
static void peek_params(const struct options *o, struct weft_engine_tune *engine, struct weft_net_tune *fabric)
{
	weft_param_defaults(weft_engine_tunes, engine);
	weft_param_defaults(weft_net_tunes, fabric);
	engine->lb_all_acked = 1;
	for (uint32_t i = 0; i < o->setting_count; i++) {
		struct weft_err why;
		const char *text = o->settings[i].text, *eq = strchr(text, '=');
		char key[64];
		snprintf(key, sizeof key, "%.*s", (int)(eq - text), text);
		weft_param_set(weft_engine_tunes, engine, key, eq + 1, &why);
		weft_param_set(weft_net_tunes, fabric, key, eq + 1, &why);
	}
}

const char options_cc_auto_reason[] =
	"best in most of what was measured; asks for ACKs where windows are small, looks for paths after timeouts";

static void choose_cc(struct options *o)
{
	o->cc_auto = strcmp(o->lab.cc_name, "auto") == 0;
	if (!o->cc_auto)
		return;
	o->lab.cc_name = weft_cc_auto()->name;
	o->lab.cc_reason = options_cc_auto_reason;
}

static const struct weft_lb_ops *auto_lb(const struct options *o, const struct weft_engine_tune *engine,
					 const struct weft_net_tune *fabric, const char **reason)
{
	if (o->lab.route->per_flow) {
		*reason = "switches place flows: a flow keeps one entropy";
		return weft_lb_find("ecmp");
	}
	struct weft_lb_offer offer = {
		.switches_choose = !o->lab.route->by_entropy && !o->lab.route->reads_digits,
		.digits = o->lab.route->reads_digits && options_paths_countable(o),
		.ecn = fabric->ecn_max_pct > 0,
		.trimming = !o->no_trim && fabric->trim != WEFT_TRIM_OFF,
		.all_acked = engine->lb_all_acked,
		.ack_every = engine->ack_every,
	};
	const struct weft_lb_ops *lb = weft_lb_auto(&offer, reason);
	if (options_credits_scheduled(o))
		*reason = "data takes the paths of its credits; this is for packets without credits";
	return lb;
}

/* Coalesced ACKs tell the load balancer of all packets that they cover. */
static void choose_lb(struct options *o)
{
	struct weft_engine_tune engine;
	struct weft_net_tune fabric;
	peek_params(o, &engine, &fabric);
	o->lb_all_acked = !o->lab.route->per_flow && engine.ack_every > 1;
	o->lab.lb = auto_lb(o, &engine, &fabric, &o->lab.lb_reason);
}

static int resolve_lb(struct options *o, struct weft_err *err)
{
	if (strcmp(o->lb_name, "auto") != 0)
		return weft_lb_choose_from(o->algos.lb, "auto", o->lb_name, &o->lab.lb, err);
	choose_lb(o);
	return 0;
}

static int resolve_background_lb(struct options *o, struct weft_err *err)
{
	const char *reason, *name = o->background_lb_name;
	struct weft_engine_tune engine;
	struct weft_net_tune fabric;

	o->lab.background_lb = o->lab.lb;
	if (strcmp(name, "same") == 0)
		return 0;
	if (strcmp(name, "auto") != 0)
		return weft_lb_choose_from(o->algos.lb, "same, auto", name, &o->lab.background_lb, err);
	peek_params(o, &engine, &fabric);
	o->lab.background_lb = auto_lb(o, &engine, &fabric, &reason);
	return 0;
}

static int resolve_algorithms(struct options *o, struct weft_err *err)
{
	o->step = "cc";
	choose_cc(o);
	struct weft_cc_choice choice;
	const struct weft_cc_tables tables = {o->algos.cc, o->algos.rcc, "auto"};
	int rc = weft_cc_select_from(&tables, o->lab.cc_name, &choice, err);
	o->lab.cc = choice.cc;
	o->lab.rcc = choice.rcc;
	if (rc)
		return rc;
	o->step = "route";
	rc = weft_route_find(options_credit_route(o), &o->lab.route, err);
	if (rc)
		return rc;
	o->step = "lb";
	rc = resolve_lb(o, err);
	if (rc)
		return rc;
	o->step = "background-lb";
	rc = resolve_background_lb(o, err);
	if (rc)
		return rc;
	o->lab.cc_tune = calloc(1, o->lab.cc->tune_size + 1);
	o->lab.lb_tune = calloc(1, o->lab.lb->tune_size + 1);
	o->lab.rcc_tune = calloc(1, o->lab.rcc ? o->lab.rcc->tune_size : 1);
	o->lab.route_tune = calloc(1, o->lab.route->tune_size + 1);
	return o->lab.cc_tune && o->lab.lb_tune && o->lab.rcc_tune && o->lab.route_tune
		       ? 0
		       : weft_err_set(err, -ENOMEM, "no memory");
}

static int resolve_params(struct options *o, struct weft_err *err)
{
	options_default_params(o);
	o->lab.engine.lb_all_acked |= o->lb_all_acked;
	if (o->cc_auto)
		lab_engine_auto(&o->lab.engine);
	weft_cc_select_defaults(o->lab.cc_name, &(struct weft_cc_choice){o->lab.cc, o->lab.rcc}, o->lab.cc_tune);
	for (uint32_t i = 0; i < o->setting_count; i++) {
		o->lab.faulty |= !strncmp(o->settings[i].text, "fault_", 6);
		int rc = options_set_param(o, &o->settings[i], err);
		if (rc)
			return rc;
	}
	int rc = options_credit_fabric(o, err);
	if (rc)
		return rc;
	if (o->no_trim && weft_trim_mode_trims(o->lab.fabric.trim)) {
		if (options_is_set(o, "trim="))
			return weft_err_set(err, -EINVAL, "trim=%u trims, and --no-trim forbids it",
					    o->lab.fabric.trim);
		o->lab.fabric.trim = WEFT_TRIM_OFF;
	}
	o->lab.engine.trimming = weft_trim_mode_trims(o->lab.fabric.trim);
	if (o->lab.fabric.ecn_min_pct > o->lab.fabric.ecn_max_pct)
		return weft_err_set(err, -EINVAL, "ecn_min_pct %u is above ecn_max_pct %u", o->lab.fabric.ecn_min_pct,
				    o->lab.fabric.ecn_max_pct);
	return 0;
}

int options_resolve(struct options *o, struct weft_err *err)
{
	o->step = "topology"; /* algorithms are chosen by it */
	int rc = options_topology(o->topology, o->link_bps, UINT64_C(50000000000), &o->lab.topo, err);
	if (rc)
		return rc;
	rc = resolve_algorithms(o, err);
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
	o->step = "fault";
	rc = timeline_resolve(&o->lab.faults, &o->lab.topo, o->lab.seed, o->reconverge_ns, err);
	if (rc)
		return rc;
	o->step = "matrix";
	return options_resolve_matrix(o, err);
}
