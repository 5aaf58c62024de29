/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out ports and switches of a tree and wires them. Leaf l of a pod has uplink j to the pod's switch j; with three
 * tiers that one has uplink c to core j + c * (switches of a pod), so each core reaches every pod once. */
#include <errno.h>

#include "net_impl.h"
#include "topo_check.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

static uint32_t down_cables(const struct weft_topo *t, uint32_t tier)
{
	return t->tier[tier].radix_down * t->tier[tier].bundle;
}

/* Hosts below one switch of the tier. */
static uint32_t span_hosts(const struct weft_topo *t, uint32_t tier)
{
	if (tier == 0)
		return t->tier[0].radix_down;
	return tier + 1 < t->tiers ? t->pod_hosts : t->hosts;
}

/* Lowest host below switch `sw` of the tier. */
static uint32_t low_host(const struct weft_topo *t, uint32_t tier, uint32_t sw)
{
	if (tier == 0)
		return sw * t->tier[0].radix_down;
	return tier + 1 < t->tiers ? sw / t->tier[0].radix_up * t->pod_hosts : 0;
}

/* The switch above that uplink `link` leads to, and which of its links down comes back. */
static uint32_t parent_of(const struct weft_topo *t, uint32_t tier, uint32_t sw, uint32_t link, uint32_t *back)
{
	uint32_t per_pod = tier == 0 ? t->pod_hosts / t->tier[0].radix_down : t->tier[0].radix_up;
	uint32_t pod = sw / per_pod, place = sw % per_pod;

	if (tier == 0) {
		*back = place;
		return pod * t->tier[0].radix_up + link;
	}
	*back = pod;
	return place + t->tier[0].radix_up * link;
}

uint32_t net_cable_end(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up)
{
	uint32_t bundle = net->topo.tier[tier + 1].bundle, back;
	uint32_t parent = net->tier_first[tier + 1] + parent_of(&net->topo, tier, sw, up / bundle, &back);

	return net->switches[parent].first_down + back * bundle + up % bundle;
}

void port_set_bps(struct weft_net *net, struct net_port *p, uint64_t bps)
{
	bps = bps < TOPO_BPS_MIN ? TOPO_BPS_MIN : bps > TOPO_BPS_MAX ? TOPO_BPS_MAX : bps;
	uint64_t bdp = (uint64_t)((unsigned __int128)net->brtt_ps * bps / UINT64_C(8000000000000));
	uint64_t limit = net->conf.queue_bytes;

	if (limit == 0)
		limit = weft_trim_mode_trims(net->conf.trim) ? bdp : 5 * bdp;
	if (limit < net->conf.mtu_bytes)
		limit = net->conf.mtu_bytes;
	port_cold(net, p)->bps = bps;
	p->ps_per_byte = path_ps_per_byte(bps);
	p->limit_bytes = limit < INT32_MAX ? (uint32_t)limit : INT32_MAX;
	bdp = bdp < INT32_MAX ? bdp : INT32_MAX;
	p->red_min = (uint32_t)(bdp * net->conf.ecn_min_pct / 100);
	p->red_max = (uint32_t)(bdp * net->conf.ecn_max_pct / 100);
}

static void set_port(struct weft_net *net, uint32_t port, uint32_t tier, uint8_t flags, uint32_t peer,
		     weft_ns switch_latency_ns)
{
	const struct weft_topo_tier *links = &net->topo.tier[tier];
	struct net_port *p = &net->ports[port];

	p->flags = PORT_UP | flags;
	p->peer = peer;
	p->latency_ps = 1000 * (links->down_latency_ns + switch_latency_ns);
	port_set_bps(net, p, links->down_bps);
	port_cold(net, p)->nominal_bps = port_cold(net, p)->bps;
}

static void set_cable(struct weft_net *net, uint32_t near, uint32_t far)
{
	net->cold[near].reverse = far;
	net->cold[far].reverse = near;
}

static void wire_hosts(struct weft_net *net)
{
	const struct weft_topo *t = &net->topo;

	for (uint32_t h = 0; h < t->hosts; h++) {
		uint32_t leaf = h / t->tier[0].radix_down;
		uint32_t back = net->switches[leaf].first_down + h % t->tier[0].radix_down;
		set_port(net, h, 0, PORT_NIC, leaf, t->tier[0].switch_latency_ns);
		set_port(net, back, 0, PORT_LAST_HOP, h, 0);
		set_cable(net, h, back);
	}
}

/* Both directions of every cable between `tier` and the one above. */
static void wire_tier(struct weft_net *net, uint32_t tier)
{
	const struct weft_topo *t = &net->topo;
	uint32_t cables = weft_topo_uplinks(t, tier), back;

	for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++) {
		uint32_t self = net->tier_first[tier] + sw;
		for (uint32_t up = 0; up < cables; up++) {
			uint32_t above = parent_of(t, tier, sw, up / t->tier[tier + 1].bundle, &back);
			uint32_t near = net->switches[self].first_up + up, far = net_cable_end(net, tier, sw, up);
			set_port(net, near, tier + 1, 0, net->tier_first[tier + 1] + above,
				 t->tier[tier + 1].switch_latency_ns);
			set_port(net, far, tier + 1, 0, self, t->tier[tier].switch_latency_ns);
			set_cable(net, near, far);
		}
	}
}

/* Names the ports of a switch, or of a host. */
static void name_ports(struct weft_net *net, uint32_t first, uint32_t count, uint32_t tier, uint32_t sw,
		       enum weft_port_dir dir)
{
	for (uint32_t i = 0; i < count; i++)
		net->cold[first + i] =
			(struct net_port_cold){.sw = sw, .place = i, .tier = (uint8_t)tier, .dir = (uint8_t)dir};
}

static void name_all_ports(struct weft_net *net)
{
	const struct weft_topo *t = &net->topo;

	for (uint32_t h = 0; h < t->hosts; h++)
		name_ports(net, h, 1, 0, h, WEFT_PORT_NIC);
	for (uint32_t tier = 0; tier < t->tiers; tier++) {
		for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++) {
			const struct net_switch *s = &net->switches[net->tier_first[tier] + sw];
			name_ports(net, s->first_down, down_cables(t, tier), tier, sw,
				   tier ? WEFT_PORT_DOWN : WEFT_PORT_HOST);
			name_ports(net, s->first_up, s->up_cables, tier, sw, WEFT_PORT_UP);
		}
	}
}

/* Fills in the switches in order; returns the number of ports up to the last one. */
static uint32_t layout_switches(struct weft_net *net, struct rng *salts)
{
	const struct weft_topo *t = &net->topo;
	struct net_switch *s = net->switches;
	uint32_t port = t->hosts;

	for (uint32_t tier = 0; tier < t->tiers; tier++) {
		net->tier_first[tier] = (uint32_t)(s - net->switches);
		uint32_t child_hosts = span_hosts(t, tier) / t->tier[tier].radix_down;
		for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++, s++) {
			*s = (struct net_switch){.salt = rng_next(salts),
						 .child_recip = (UINT64_C(1) << 32) / child_hosts + 1,
						 .low = low_host(t, tier, sw),
						 .span = span_hosts(t, tier),
						 .first_down = port,
						 .first_up = port + down_cables(t, tier),
						 .bundle = t->tier[tier].bundle,
						 .up_cables = weft_topo_uplinks(t, tier)};
			port = s->first_up + s->up_cables;
		}
	}
	return port;
}

int net_build(struct weft_net *net)
{
	const struct weft_topo *t = &net->topo;
	struct rng salts = {net->conf.seed};

	for (uint32_t i = 0; i < t->tiers; i++) {
		net->switch_count += t->tier[i].switches;
		net->port_count += t->tier[i].switches * (down_cables(t, i) + weft_topo_uplinks(t, i));
	}
	net->stats.ports = net->port_count;
	net->port_count += t->hosts;
	net->ports = weft_mem_alloc(&libc_mem, net->port_count * sizeof *net->ports);
	net->cold = weft_mem_alloc(&libc_mem, net->port_count * sizeof *net->cold);
	net->switches = weft_mem_alloc(&libc_mem, net->switch_count * sizeof *net->switches);
	net->hosts = weft_mem_alloc(&libc_mem, (event_count(net) - event_wake(net, 0)) * sizeof *net->hosts);
	if (!net->ports || !net->cold || !net->switches || !net->hosts)
		return -ENOMEM;
	layout_switches(net, &salts);
	name_all_ports(net);
	wire_hosts(net);
	for (uint32_t i = 0; i + 1 < t->tiers; i++)
		wire_tier(net, i);
	return 0;
}
