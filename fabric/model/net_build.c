/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out ports and switches of a tree and wires them. Leaf l of a pod has uplink j to the pod's switch j; with three
 * tiers that one has uplink c to core j + c * (switches of a pod), so each core reaches every pod once. */
#include <errno.h>

#include "net_impl.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

/* Cables of the link `up` of switch `sw` of `tier`. */
static uint32_t link_cables(const struct weft_topo *t, uint32_t tier, uint32_t sw, uint32_t up)
{
	const struct weft_topo_link *l = weft_topo_link_find(t, tier, sw, up);

	assert(tier + 1 < t->tiers && sw < t->tier[tier].switches && up < t->tier[tier].radix_up);
	return l && l->cables ? l->cables : t->tier[tier + 1].bundle;
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
	assert(tier + 1 < t->tiers && sw < t->tier[tier].switches && link < t->tier[tier].radix_up);
	uint32_t per_pod = tier == 0 ? t->pod_hosts / t->tier[0].radix_down : t->tier[0].radix_up;
	uint32_t pod = sw / per_pod, place = sw % per_pod;

	if (tier == 0) {
		*back = place;
		return pod * t->tier[0].radix_up + link;
	}
	*back = t->mesh ? sw : pod;
	if (t->mesh)
		return link;
	return place + t->tier[0].radix_up * link;
}

/* The switch below whose link `down` of switch `sw` of `tier` it is, and which of its links up. */
static uint32_t child_of(const struct weft_topo *t, uint32_t tier, uint32_t sw, uint32_t down, uint32_t *up)
{
	assert(tier > 0 && tier < t->tiers && down < t->tier[tier].radix_down);
	uint32_t per_pod = t->tier[0].radix_up;

	if (tier == 1) {
		*up = sw % per_pod;
		return sw / per_pod * t->tier[1].radix_down + down;
	}
	*up = t->mesh ? sw : sw / per_pod;
	return t->mesh ? down : down * per_pod + sw % per_pod;
}

/* A data queue holds a packet. Unless its size is given, it has room for the data of all credits that can wait on a
 * path, also where the link is so slow that this is more than its BDP. */
static uint64_t least_queue(const struct weft_net *net)
{
	uint32_t credits = net->conf.tune.queue_bytes ? 0 : 2 * net->tree.topo.tiers * net->conf.tune.credit_queue;

	return (uint64_t)net->conf.mtu_bytes * (credits ? credits : 1);
}

void port_set_bps(struct weft_net *net, struct net_port *p, uint64_t bps)
{
	bps = weft_topo_clamp_bps(bps);
	uint64_t bdp = (uint64_t)((unsigned __int128)net->brtt_ps * bps / UINT64_C(8000000000000));
	uint64_t limit = net->conf.tune.queue_bytes;

	if (limit == 0)
		limit = weft_trim_mode_trims(net->conf.tune.trim) ? bdp : 5 * bdp;
	if (limit < least_queue(net))
		limit = least_queue(net);
	port_cold(&net->tree, p)->bps = bps;
	p->ps_per_byte = path_ps_per_byte(bps);
	p->limit_bytes = limit < INT32_MAX ? (uint32_t)limit : INT32_MAX;
	bdp = bdp < INT32_MAX ? bdp : INT32_MAX;
	p->red_min = (uint32_t)(bdp * net->conf.tune.ecn_min_pct / 100);
	p->red_max = (uint32_t)(bdp * net->conf.tune.ecn_max_pct / 100);
	assert(p->ps_per_byte > 0 && p->limit_bytes >= net->conf.mtu_bytes);
}

static void set_port(struct weft_net *net, uint32_t port, uint32_t tier, uint8_t flags, uint32_t peer,
		     weft_ns switch_latency_ns)
{
	assert(port < net->tree.port_count);
	const struct weft_topo_tier *links = &net->tree.topo.tier[tier];
	struct net_port *p = &net->tree.ports[port];

	p->flags = PORT_UP | flags;
	p->peer = peer;
	p->latency_ps = 1000 * (links->down_latency_ns + switch_latency_ns);
	port_set_bps(net, p, links->down_bps);
	port_cold(&net->tree, p)->nominal_bps = port_cold(&net->tree, p)->bps;
}

static void set_rate(struct weft_net *net, uint32_t port, uint64_t bps)
{
	port_set_bps(net, &net->tree.ports[port], bps);
	net->tree.cold[port].nominal_bps = net->tree.cold[port].bps;
}

static void set_cable(struct weft_net *net, uint32_t near, uint32_t far)
{
	assert(near != far && near < net->tree.port_count && far < net->tree.port_count);
	net->tree.cold[near].reverse = far;
	net->tree.cold[far].reverse = near;
}

static void wire_hosts(struct weft_net *net)
{
	const struct weft_topo *t = &net->tree.topo;

	for (uint32_t h = 0; h < t->hosts; h++) {
		uint32_t leaf = h / t->tier[0].radix_down;
		uint32_t back = net->tree.switches[leaf].first_down + h % t->tier[0].radix_down;
		set_port(net, h, 0, PORT_NIC, leaf, t->tier[0].switch_latency_ns);
		set_port(net, back, 0, PORT_LAST_HOP, h, 0);
		set_cable(net, h, back);
	}
}

/* Where the cables of link `up` of switch `sw` of `tier` end: the first port there that leads back. */
static uint32_t link_end(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up)
{
	const struct weft_topo *t = &net->tree.topo;
	uint32_t back, above = parent_of(t, tier, sw, up, &back);
	const struct net_switch *s = &net->tree.switches[net->tree.tier_first[tier + 1] + above];

	if (!net->tree.down_first)
		return s->first_down + back * t->tier[tier + 1].bundle;
	/* In a mesh a child is a pod, with a link to each of its switches. */
	uint32_t per_child = t->tier[tier + 1].radix_down / s->children, ignored;
	uint32_t port = switch_child(&net->tree, s, back / per_child, &ignored);
	for (uint32_t i = back - back % per_child; i < back; i++) {
		uint32_t below = child_of(t, tier + 1, above, i, &ignored);
		port += link_cables(t, tier, below, ignored);
	}
	return port;
}

/* Both directions of the cables of one link. */
static void wire_link(struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up, uint32_t near)
{
	const struct weft_topo *t = &net->tree.topo;
	const struct weft_topo_link *unlike = weft_topo_link_find(t, tier, sw, up);
	uint32_t far = link_end(net, tier, sw, up), ignored, self = net->tree.tier_first[tier] + sw;
	uint32_t above = net->tree.tier_first[tier + 1] + parent_of(t, tier, sw, up, &ignored);

	assert(above < net->tree.switch_count);
	for (uint32_t i = 0; i < link_cables(t, tier, sw, up); i++) {
		set_port(net, near + i, tier + 1, 0, above, t->tier[tier + 1].switch_latency_ns);
		set_port(net, far + i, tier + 1, 0, self, t->tier[tier].switch_latency_ns);
		set_cable(net, near + i, far + i);
		if (unlike && unlike->bps) {
			set_rate(net, near + i, unlike->bps);
			set_rate(net, far + i, unlike->bps);
		}
	}
}

static void wire_tier(struct weft_net *net, uint32_t tier)
{
	const struct weft_topo *t = &net->tree.topo;

	for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++) {
		uint32_t near = net->tree.switches[net->tree.tier_first[tier] + sw].first_up;
		for (uint32_t up = 0; up < t->tier[tier].radix_up; up++) {
			wire_link(net, tier, sw, up, near);
			near += link_cables(t, tier, sw, up);
		}
	}
}

/* Names the ports of a switch, or of a host. */
static void name_ports(struct weft_net *net, uint32_t first, uint32_t count, uint32_t tier, uint32_t sw,
		       enum weft_port_dir dir)
{
	assert(first + count <= net->tree.port_count);
	for (uint32_t i = 0; i < count; i++) {
		net->tree.cold[first + i] =
			(struct net_port_cold){.sw = sw, .place = i, .tier = (uint8_t)tier, .dir = (uint8_t)dir};
		net->tree.ports[first + i].hop = hop_of(tier, dir);
	}
}

static void name_all_ports(struct weft_net *net)
{
	const struct weft_topo *t = &net->tree.topo;

	for (uint32_t h = 0; h < t->hosts; h++)
		name_ports(net, h, 1, 0, h, WEFT_PORT_NIC);
	for (uint32_t tier = 0; tier < t->tiers; tier++) {
		for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++) {
			const struct net_switch *s = &net->tree.switches[net->tree.tier_first[tier] + sw];
			name_ports(net, s->first_down, s->first_up - s->first_down, tier, sw,
				   tier ? WEFT_PORT_DOWN : WEFT_PORT_HOST);
			name_ports(net, s->first_up, s->up_cables, tier, sw, WEFT_PORT_UP);
		}
	}
}

/* Ports down of a switch, one after the other by child; with unlike links notes where each child's begin. */
static uint32_t layout_down(struct weft_net *net, struct net_switch *s, uint32_t tier, uint32_t sw, uint32_t *at)
{
	const struct weft_topo *t = &net->tree.topo;
	uint32_t links = t->tier[tier].radix_down, per_child = links / s->children, port = s->first_down, up;

	if (!net->tree.down_first)
		return port + links * t->tier[tier].bundle;
	s->down_at = *at;
	for (uint32_t i = 0; i < links; i++) {
		if (i % per_child == 0)
			net->tree.down_first[(*at)++] = port;
		uint32_t below = tier ? child_of(t, tier, sw, i, &up) : 0;
		port += tier ? link_cables(t, tier - 1, below, up) : 1;
	}
	net->tree.down_first[(*at)++] = port;
	return port;
}

/* Fills in the switches in order. */
static void layout_switches(struct weft_net *net, struct rng *salts)
{
	const struct weft_topo *t = &net->tree.topo;
	struct net_switch *s = net->tree.switches;
	uint32_t port = t->hosts, at = 0;

	for (uint32_t tier = 0; tier < t->tiers; tier++) {
		net->tree.tier_first[tier] = (uint32_t)(s - net->tree.switches);
		uint32_t children = weft_topo_groups_down(t, tier), child_hosts = span_hosts(t, tier) / children;
		uint32_t bundle = t->tier[tier].radix_down / children * t->tier[tier].bundle;
		for (uint32_t sw = 0; sw < t->tier[tier].switches; sw++, s++) {
			*s = (struct net_switch){.salt = rng_next(salts),
						 .child_recip = (UINT64_C(1) << 32) / child_hosts + 1,
						 .low = low_host(t, tier, sw),
						 .span = span_hosts(t, tier),
						 .first_down = port,
						 .bundle = t->link_count ? 1 : bundle,
						 .up_cables = weft_topo_switch_uplinks(t, tier, sw),
						 .children = children};
			s->first_up = layout_down(net, s, tier, sw, &at);
			port = s->first_up + s->up_cables;
		}
	}
	assert(port == net->tree.port_count && s == net->tree.switches + net->tree.switch_count);
}

/* Counts switches and ports. Returns how many children all switches have together, with an end for each switch. */
static uint32_t count_all(struct weft_net *net)
{
	const struct weft_topo *t = &net->tree.topo;
	uint32_t children = 0;

	for (uint32_t i = 0; i < t->tiers; i++) {
		const struct weft_topo_tier *tier = &t->tier[i];
		net->tree.switch_count += tier->switches;
		net->tree.port_count += tier->switches * tier->radix_down * tier->bundle;
		children += tier->switches * (weft_topo_groups_down(t, i) + 1);
		for (uint32_t sw = 0; i + 1 < t->tiers && sw < tier->switches; sw++)
			net->tree.port_count += weft_topo_switch_uplinks(t, i, sw);
	}
	/* The other direction of what the unlike links have more, or less, than others. */
	for (uint32_t i = 0; i < t->link_count; i++)
		if (t->link[i].cables)
			net->tree.port_count += t->link[i].cables - t->tier[t->link[i].tier + 1].bundle;
	net->stats.ports = net->tree.port_count;
	net->tree.port_count += t->hosts;
	return children;
}

int net_build(struct weft_net *net)
{
	const struct weft_topo *t = &net->tree.topo;
	struct rng salts = {net->conf.seed};
	uint32_t children = count_all(net);

	net->tree.ports = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->tree.ports);
	net->tree.cold = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->tree.cold);
	net->tree.switches = weft_mem_alloc(&libc_mem, net->tree.switch_count * sizeof *net->tree.switches);
	net->hosts = weft_mem_alloc(&libc_mem, (event_count(net) - event_wake(net, 0)) * sizeof *net->hosts);
	net->past = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->past);
	if (t->link_count)
		net->tree.down_first = weft_mem_alloc(&libc_mem, children * sizeof *net->tree.down_first);
	if (!net->tree.ports || !net->tree.cold || !net->tree.switches || !net->hosts || !net->past ||
	    (t->link_count && !net->tree.down_first))
		return -ENOMEM;
	layout_switches(net, &salts);
	name_all_ports(net);
	wire_hosts(net);
	for (uint32_t i = 0; i + 1 < t->tiers; i++)
		wire_tier(net, i);
	return 0;
}
