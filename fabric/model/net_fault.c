/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and switches that fail, slow down and damage packets, and routing that learns of it. */
#include <errno.h>
#include <string.h>

#include "net_impl.h"
#include "topo_check.h"
#include "turns.h"
#include "weft/mem.h"

#define BER_ONE UINT64_C(1000000000000000000)

static const struct weft_mem libc_mem;

int weft_net_link_find(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up, bool down,
		       struct weft_link_id *id)
{
	const struct weft_topo *t = &net->topo;

	if (tier >= t->tiers - 1 || sw >= t->tier[tier].switches)
		return -ENOENT;
	const struct net_switch *s = &net->switches[net->tier_first[tier] + sw];
	if (up >= s->up_cables)
		return -ENOENT;
	id->index = down ? net->cold[s->first_up + up].reverse : s->first_up + up;
	return 0;
}

int weft_net_host_link(const struct weft_net *net, uint32_t host, bool down, struct weft_link_id *id)
{
	if (host >= net->topo.hosts)
		return -ENOENT;
	id->index = down ? net->cold[host].reverse : host;
	return 0;
}

/* What a reason is given to or taken from: the link itself, or what routing knows of it. */
typedef void (*reason_fn)(struct weft_net *net, uint32_t port, enum down_reason reason, bool down);

static void reason_set(uint8_t *reasons, enum down_reason reason, bool on)
{
	*reasons = (uint8_t)(on ? *reasons | reason : *reasons & ~reason);
}

static void port_down(struct weft_net *net, uint32_t port, enum down_reason reason, bool down)
{
	struct net_port *p = &net->ports[port];

	reason_set(&net->cold[port].down, reason, down);
	if (!net->cold[port].down) {
		p->flags |= PORT_UP;
		return;
	}
	p->flags &= (uint8_t)~PORT_UP;
	queue_flush(net, port);
}

static void port_avoid(struct weft_net *net, uint32_t port, enum down_reason reason, bool down)
{
	uint8_t *avoided = &net->cold[port].avoided;

	net->avoided_ports -= *avoided != 0;
	reason_set(avoided, reason, down);
	net->avoided_ports += *avoided != 0;
}

static void both_ends(struct weft_net *net, uint32_t port, bool down, reason_fn fn)
{
	fn(net, port, DOWN_SENDER, down);
	fn(net, net->cold[port].reverse, DOWN_PEER, down);
}

static struct net_switch *find_switch(const struct weft_net *net, uint32_t tier, uint32_t sw)
{
	if (tier >= net->topo.tiers || sw >= net->topo.tier[tier].switches)
		return NULL;
	return &net->switches[net->tier_first[tier] + sw];
}

/* The ports of a switch are neighbours, those up at the end. */
static uint32_t switch_ports_end(const struct net_switch *s)
{
	return s->first_up + s->up_cables;
}

int weft_net_switch_link(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t n, struct weft_link_id *id)
{
	const struct net_switch *s = find_switch(net, tier, sw);

	if (!s || n / 2 >= switch_ports_end(s) - s->first_down)
		return -ENOENT;
	id->index = n % 2 ? net->cold[s->first_down + n / 2].reverse : s->first_down + n / 2;
	return 0;
}

void weft_net_link_set_up(struct weft_net *net, struct weft_link_id id, bool up)
{
	port_down(net, id.index, DOWN_LINK, !up);
}

int weft_net_switch_set_up(struct weft_net *net, uint32_t tier, uint32_t sw, bool up)
{
	const struct net_switch *s = find_switch(net, tier, sw);

	if (!s)
		return -ENOENT;
	for (uint32_t port = s->first_down; port < switch_ports_end(s); port++) {
		both_ends(net, port, !up, port_down);
		if (!up)
			link_cut(net, net->cold[port].reverse);
	}
	return 0;
}

void weft_net_link_set_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps)
{
	uint32_t reverse = net->cold[id.index].reverse;

	port_set_bps(net, &net->ports[id.index], bps);
	if (net->pfc) {
		pfc_resize(net, id.index);
		pfc_resize(net, reverse);
	}
	if (net->credits) {
		credit_resize(net, id.index);
		credit_resize(net, reverse);
	}
}

uint64_t weft_net_link_nominal_bps(const struct weft_net *net, struct weft_link_id id)
{
	return net->cold[id.index].nominal_bps;
}

void weft_net_link_set_ber(struct weft_net *net, struct weft_link_id id, uint64_t rate_e18)
{
	struct net_port *p = &net->ports[id.index];
	uint64_t rate = rate_e18 < BER_ONE ? rate_e18 : BER_ONE;
	uint64_t survives = UINT64_MAX - (uint64_t)((unsigned __int128)rate * UINT64_MAX / BER_ONE);

	for (int i = 0; i < 3; i++) /* a bit, two, four, eight */
		survives = (uint64_t)((unsigned __int128)survives * survives >> 64);
	net->cold[id.index].byte_survives = survives;
	p->flags = (uint8_t)(rate ? p->flags | PORT_ERRORS : p->flags & ~PORT_ERRORS);
}

void weft_net_avoid_link(struct weft_net *net, struct weft_link_id id, bool avoid)
{
	port_avoid(net, id.index, DOWN_LINK, avoid);
}

void weft_net_route_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps)
{
	uint64_t *known = &net->known_bps[id.index], nominal = net->cold[id.index].nominal_bps;

	net->slow_ports -= *known != nominal;
	*known = bps < TOPO_BPS_MIN ? TOPO_BPS_MIN : bps > TOPO_BPS_MAX ? TOPO_BPS_MAX : bps;
	net->slow_ports += *known != nominal;
}

int weft_net_avoid_switch(struct weft_net *net, uint32_t tier, uint32_t sw, bool avoid)
{
	const struct net_switch *s = find_switch(net, tier, sw);

	if (!s)
		return -ENOENT;
	for (uint32_t port = s->first_down; port < switch_ports_end(s); port++)
		both_ends(net, port, avoid, port_avoid);
	return 0;
}

static uint64_t *reach_row(const struct weft_net *net, uint32_t sw)
{
	return &net->routes->reach[(size_t)(sw - net->topo.tier[0].switches) * net->routes->row_words];
}

static void row_join(const struct weft_net *net, uint64_t *to, uint32_t sw)
{
	const uint64_t *from = reach_row(net, sw);

	for (uint32_t i = 0; i < net->routes->row_words; i++)
		to[i] |= from[i];
}

/* Joins to a switch's row what is reached through its ports `first`..`end`-1. */
static void reach_over(const struct weft_net *net, uint32_t sw, uint32_t first, uint32_t end)
{
	uint64_t *row = reach_row(net, sw);

	for (uint32_t port = first; port < end; port++) {
		uint32_t peer = net->ports[port].peer;
		if (route_avoided(net, port))
			continue;
		if (peer < net->topo.tier[0].switches)
			row[peer / 64] |= UINT64_C(1) << peer % 64;
		else
			row_join(net, row, peer);
	}
}

/* Takes back from a switch's row all leaves below it that `down` does not have. */
static void only_down(const struct weft_net *net, uint32_t sw, const uint64_t *down)
{
	uint64_t *row = reach_row(net, sw);
	uint32_t low = net->switches[sw].low / net->topo.tier[0].radix_down;
	uint32_t end = low + net->switches[sw].span / net->topo.tier[0].radix_down;

	for (uint32_t leaf = low; leaf < end; leaf++)
		if (!(down[leaf / 64] >> leaf % 64 & 1))
			row[leaf / 64] &= ~(UINT64_C(1) << leaf % 64);
}

/* Downward first, from the bottom; then what second-tier switches reach over the core. They send what is for their own
 * pod down alone, while a core of a mesh may reach it over the pod's other switches. `down` is one row. */
static void compute_reach(const struct weft_net *net, uint64_t *down)
{
	uint32_t spines_end = net->topo.tiers < 3 ? net->switch_count : net->tier_first[2];

	for (uint32_t sw = net->topo.tier[0].switches; sw < net->switch_count; sw++)
		reach_over(net, sw, net->switches[sw].first_down, net->switches[sw].first_up);
	for (uint32_t sw = net->topo.tier[0].switches; sw < spines_end; sw++) {
		memcpy(down, reach_row(net, sw), net->routes->row_words * sizeof *down);
		reach_over(net, sw, net->switches[sw].first_up, switch_ports_end(&net->switches[sw]));
		only_down(net, sw, down);
	}
}

int weft_net_reroute(struct weft_net *net)
{
	uint32_t leaves = net->topo.tier[0].switches, words = (leaves + 63) / 64;
	struct net_routes *fresh = NULL;
	struct net_plan *plan;

	if (route_plan_build(net, &plan))
		return -ENOMEM;
	if (net->avoided_ports) {
		size_t rows = (size_t)(net->switch_count - leaves + 1) * words; /* one more for compute_reach */
		fresh = weft_mem_alloc(&libc_mem, sizeof *fresh + rows * sizeof *fresh->reach);
		if (!fresh) {
			route_plan_free(plan);
			return -ENOMEM;
		}
		fresh->row_words = words;
	}
	weft_mem_free(&libc_mem, net->routes);
	net->routes = fresh;
	route_plan_free(net->plan);
	net->plan = plan;
	turns_free(net->turns);
	net->turns = NULL;
	net->special = fresh || net->pfc || net->credits || net->choice.ops->choose || net->down_first;
	if (fresh)
		compute_reach(net, &fresh->reach[(size_t)(net->switch_count - leaves) * words]);
	return 0;
}
