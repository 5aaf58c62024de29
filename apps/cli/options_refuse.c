/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations without meaning: each part works, and together one of them does not do what it is there for. The one
 * place where they are listed, with the reason. */
#include <errno.h>
#include <string.h>

#include "options_int.h"

bool options_paths_countable(const struct options *o)
{
	struct weft_lb_digits digits;
	weft_topo_digits(&o->lab.topo, &digits);
	return digits.bits[0] + digits.bits[1] + digits.bits[2] <= WEFT_LB_COUNTED_BITS;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names;
}

/* An entropy of its own for every packet. */
static bool sprays(const struct options *o)
{
	static const char *const names[] = {"reps", "reps2",  "prime",  "prime2", "co-prime",
					    "ops",  "bitmap", "mprdma", "mptcp",  NULL};
	return is_one_of(o->lab.lb->name, names);
}

/* One entropy for a burst of packets, so that they stay in order. */
static bool keeps_bursts(const struct options *o)
{
	static const char *const names[] = {"presto", "flowlet", NULL};
	return is_one_of(o->lab.lb->name, names);
}

/* Switches that look at no entropy and keep nothing together. */
static bool by_packet(const struct options *o)
{
	return !o->lab.route->by_entropy && !o->lab.route->reads_digits && !o->lab.route->per_flow;
}

static bool counts_unseen_paths(const struct options *o)
{
	return o->lab.lb->counts_paths && !o->lab.route->by_entropy && !o->lab.route->reads_digits;
}

/* Uplinks that no packet would take. */
static bool counts_some_paths(const struct options *o)
{
	return o->lab.lb->counts_paths && o->lab.route->reads_digits && !options_paths_countable(o);
}

static bool bursts_by_packet(const struct options *o)
{
	return keeps_bursts(o) && by_packet(o);
}

static bool sprayed_flows(const struct options *o)
{
	return sprays(o) && o->lab.route->per_flow;
}

static bool sprayed_order(const struct options *o)
{
	return o->lab.engine.go_back_n && sprays(o);
}

static bool order_by_packet(const struct options *o)
{
	return o->lab.engine.go_back_n && by_packet(o);
}

static bool counts_nothing(const struct options *o)
{
	return o->lab.engine.go_back_n && o->lab.engine.dup_ack_threshold;
}

static bool holds_nothing(const struct options *o)
{
	return o->lab.engine.go_back_n && o->lab.engine.reorder_shim_ns;
}

_Static_assert(1 << WEFT_LB_COUNTED_BITS == 4096, "in a text below");
static const struct option_refusal refusals[] = {
	{counts_unseen_paths, "it counts through paths by entropies, which these switches do not look at: --route "
			      "digits or one that hashes, or another lb"},
	{counts_some_paths,
	 "it counts through 4,096 paths, and the digits of this tree's uplinks have more: another lb, or "
	 "another route"},
	{bursts_by_packet, "switches choose for each packet, so nothing keeps the packets of a burst together"},
	{sprayed_flows, "switches choose for each flow, and with an entropy for each packet every packet is one"},
	{sprayed_order, "go_back_n drops what is out of order, which an entropy for each packet makes the rule"},
	{order_by_packet,
	 "go_back_n drops what is out of order, which switches that choose for each packet make the rule"},
	{counts_nothing, "dup_ack_threshold counts what arrives beyond a gap: with go_back_n nothing does"},
	{holds_nothing, "reorder_shim_ns holds back what arrives beyond a gap: with go_back_n nothing does"},
	{NULL, NULL},
};

const struct option_refusal *options_refusals(void)
{
	return refusals;
}

int options_refuse(const struct options *o, struct weft_err *err)
{
	for (const struct option_refusal *r = refusals; r->applies; r++) {
		if (r->applies(o))
			return weft_err_set(err, -EINVAL, "lb %s with route %s: %s", o->lab.lb->name,
					    o->lab.route->name, r->why);
	}
	return 0;
}
