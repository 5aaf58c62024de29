/* SPDX-License-Identifier: BSD-3-Clause */
#include "ideal.h"

#include <errno.h>
#include <stdlib.h>

/* One cut: everything that must pass it, and one flow that does. */
struct cut {
	uint64_t wire_bytes;
	uint32_t flow; /* the one with the longest path among the last */
};

/* Wire bytes of a whole flow, and of its last packet. */
static uint64_t flow_wire_bytes(const struct lab_config *c, uint64_t bytes, uint32_t *last)
{
	uint32_t payload = c->engine.payload_bytes;
	uint32_t rest = (uint32_t)(bytes % payload);
	uint64_t full = bytes / payload - (rest ? 0 : 1);
	*last = lab_data_wire_bytes(c, rest ? rest : payload);
	return full * lab_data_wire_bytes(c, payload) + *last;
}

/* Hosts below one switch of `tier`. */
static uint32_t hosts_below(const struct weft_topo *t, uint32_t tier)
{
	return tier == 0 ? t->tier[0].radix_down : t->pod_hosts;
}

static bool crosses(const struct weft_topo *t, const struct weft_flow *f, uint32_t tier)
{
	return f->src / hosts_below(t, tier) != f->dst / hosts_below(t, tier);
}

static void add(struct cut *cut, uint32_t flow, uint64_t wire_bytes, bool longest)
{
	if (!cut->wire_bytes || longest)
		cut->flow = flow;
	cut->wire_bytes += wire_bytes;
}

/* Some parallel links of one tier. */
struct links {
	uint64_t together_bps, tier_bps; /* of all of them, and of one as the tier has it */
	uint32_t tier;                   /* of the switches above them */
};

/* Time for all bytes to pass the cut, plus the rest of the last packet's path. What else is slow on that path need not
 * slow down the others. */
static weft_ps cut_ps(const struct lab_config *c, const struct weft_net *net, const struct cut *cut, struct links links)
{
	const struct weft_flow *f = &c->workload.flows[cut->flow];
	uint32_t last, ack = lab_ack_wire_bytes(c);
	flow_wire_bytes(c, f->bytes, &last);
	struct weft_net_cut one = {links.tier, links.tier_bps};
	if (links.together_bps == links.tier_bps)
		return weft_net_ideal_cut_ps(net, f->src, f->dst, cut->wire_bytes, last, ack, &one);
	weft_ps idle = weft_net_ideal_ps(net, f->src, f->dst, last, last, ack);
	uint64_t share = (uint64_t)((unsigned __int128)cut->wire_bytes * links.tier_bps / links.together_bps);
	return share > last ? idle + (weft_ps)((double)(share - last) * 8e12 / (double)links.tier_bps) : idle;
}

/* The longest time of `n` cuts, the second half for the other direction of those that are at `links` of them. */
static weft_ps busiest(const struct lab_config *c, const struct weft_net *net, const struct cut *cuts, uint32_t n,
		       struct links (*links)(const struct weft_topo *t, uint32_t tier, uint32_t group), uint32_t tier)
{
	weft_ps worst = 0;
	for (uint32_t i = 0; i < n; i++) {
		weft_ps t = cuts[i].wire_bytes ? cut_ps(c, net, &cuts[i], links(&c->topo, tier, i % (n / 2))) : 0;
		worst = t > worst ? t : worst;
	}
	return worst;
}

/* The link of one host. */
static struct links host_links(const struct weft_topo *t, uint32_t tier, uint32_t group)
{
	return (struct links){t->tier[0].down_bps, t->tier[0].down_bps, 0};
}

/* All links that leave a group: a leaf's uplinks, or those of all of a pod's second-tier switches. */
static struct links group_links(const struct weft_topo *t, uint32_t tier, uint32_t group)
{
	return (struct links){weft_topo_group_up_bps(t, tier, group), t->tier[tier + 1].down_bps, tier + 1};
}

static weft_ps ideal_of_groups(const struct lab_config *c, const struct weft_net *net, struct cut *cuts, uint32_t tier)
{
	const struct weft_topo *t = &c->topo;
	uint32_t below = hosts_below(t, tier), groups = t->hosts / below;
	for (uint32_t g = 0; g < 2 * groups; g++)
		cuts[g] = (struct cut){0};
	for (uint32_t i = 0; i < c->workload.flow_count; i++) {
		const struct weft_flow *f = &c->workload.flows[i];
		uint32_t last;
		if (!crosses(t, f, tier))
			continue;
		uint64_t bytes = flow_wire_bytes(c, f->bytes, &last);
		add(&cuts[f->src / below], i, bytes, false);
		add(&cuts[groups + f->dst / below], i, bytes, false);
	}
	return busiest(c, net, cuts, 2 * groups, group_links, tier);
}

static weft_ps ideal_of_hosts(const struct lab_config *c, const struct weft_net *net, struct cut *cuts)
{
	uint32_t hosts = c->topo.hosts;
	for (uint32_t i = 0; i < c->workload.flow_count; i++) {
		const struct weft_flow *f = &c->workload.flows[i];
		uint32_t last;
		uint64_t bytes = flow_wire_bytes(c, f->bytes, &last);
		bool longest = crosses(&c->topo, f, 0) && (c->topo.tiers < 3 || crosses(&c->topo, f, 1));
		add(&cuts[f->src], i, bytes, longest);
		add(&cuts[hosts + f->dst], i, bytes, longest);
	}
	return busiest(c, net, cuts, 2 * hosts, host_links, 0);
}

weft_ps ideal_flow_ps(const struct lab_config *c, const struct weft_net *net, const struct weft_flow *f)
{
	uint32_t last;
	uint64_t bytes = flow_wire_bytes(c, f->bytes, &last);
	return weft_net_ideal_ps(net, f->src, f->dst, bytes, last, lab_ack_wire_bytes(c));
}

weft_ps ideal_ps(const struct lab_config *c, const struct weft_net *net, struct weft_err *err)
{
	struct cut *cuts = calloc(2 * (size_t)c->topo.hosts, sizeof *cuts);
	if (!cuts) {
		weft_err_set(err, -ENOMEM, "no memory");
		return 0;
	}
	weft_ps worst = ideal_of_hosts(c, net, cuts);
	for (uint32_t tier = 0; tier + 1 < c->topo.tiers; tier++) {
		weft_ps t = ideal_of_groups(c, net, cuts, tier);
		worst = t > worst ? t : worst;
	}
	free(cuts);
	return worst;
}
