/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and switches that fail, slow down and damage packets, and routing that learns of it. */
#include <errno.h>

#include "net_impl.h"

#define BER_ONE UINT64_C(1000000000000000000)

int weft_net_link_find(const struct weft_net *net, uint32_t tier, uint32_t sw, uint32_t up, bool down,
		       struct weft_link_id *id)
{
	const struct weft_topo *t = &net->tree.topo;

	if (tier >= t->tiers - 1 || sw >= t->tier[tier].switches)
		return -ENOENT;
	const struct net_switch *s = &net->tree.switches[net->tree.tier_first[tier] + sw];
	if (up >= s->up_cables)
		return -ENOENT;
	id->index = down ? net->tree.cold[s->first_up + up].reverse : s->first_up + up;
	return 0;
}

int weft_net_host_link(const struct weft_net *net, uint32_t host, bool down, struct weft_link_id *id)
{
	if (host >= net->tree.topo.hosts)
		return -ENOENT;
	id->index = down ? net->tree.cold[host].reverse : host;
	return 0;
}

/* What a reason is given to or taken from: the link itself, or what routing knows of it. */
typedef void (*reason_fn)(struct weft_net *net, uint32_t port, enum down_reason reason, bool down);

static void port_down(struct weft_net *net, uint32_t port, enum down_reason reason, bool down)
{
	assert(port < net->tree.port_count);
	struct net_port *p = &net->tree.ports[port];

	down_reason_set(&net->tree.cold[port].down, reason, down);
	if (!net->tree.cold[port].down) {
		p->flags |= PORT_UP;
		return;
	}
	p->flags &= (uint8_t)~PORT_UP;
	queue_flush(net, port);
	assert(!(p->flags & PORT_UP) == (net->tree.cold[port].down != 0));
}

static void port_avoid(struct weft_net *net, uint32_t port, enum down_reason reason, bool down)
{
	assert(port < net->tree.port_count);
	route_avoid(&net->tree, port, reason, down);
}

static void both_ends(struct weft_net *net, uint32_t port, bool down, reason_fn fn)
{
	assert(net->tree.cold[net->tree.cold[port].reverse].reverse == port);
	fn(net, port, DOWN_SENDER, down);
	fn(net, net->tree.cold[port].reverse, DOWN_PEER, down);
}

static struct net_switch *find_switch(const struct weft_net *net, uint32_t tier, uint32_t sw)
{
	if (tier >= net->tree.topo.tiers || sw >= net->tree.topo.tier[tier].switches)
		return NULL;
	return &net->tree.switches[net->tree.tier_first[tier] + sw];
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
	id->index = n % 2 ? net->tree.cold[s->first_down + n / 2].reverse : s->first_down + n / 2;
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
			link_cut(net, net->tree.cold[port].reverse);
	}
	return 0;
}

void weft_net_link_set_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps)
{
	assert(id.index < net->tree.port_count);
	uint32_t reverse = net->tree.cold[id.index].reverse;

	net->past[id.index].busy_ps = port_busy_ps(net, id.index);
	net->past[id.index].bytes = net->tree.ports[id.index].sent_bytes;
	port_set_bps(net, &net->tree.ports[id.index], bps);
	if (net->pfc) {
		pfc_resize(net, id.index);
		pfc_resize(net, reverse);
	}
	if (net->credits) {
		credit_resize(net, id.index, net->evq.now);
		credit_resize(net, reverse, net->evq.now);
	}
}

void weft_net_link_hold(struct weft_net *net, struct weft_link_id id, weft_ps until)
{
	struct net_port *p = &net->tree.ports[id.index];

	assert(id.index < net->tree.port_count && !(p->flags & PORT_NIC));
	if (until <= p->busy_until)
		return;
	p->busy_until = until;
	if (!evq_pending(&net->evq, event_free(id.index)))
		return;
	evq_cancel(&net->evq, event_free(id.index));
	evq_set(&net->evq, event_free(id.index), until);
}

uint64_t weft_net_link_nominal_bps(const struct weft_net *net, struct weft_link_id id)
{
	assert(id.index < net->tree.port_count);
	return net->tree.cold[id.index].nominal_bps;
}

void weft_net_link_set_ber(struct weft_net *net, struct weft_link_id id, uint64_t rate_e18)
{
	assert(id.index < net->tree.port_count);
	struct net_port *p = &net->tree.ports[id.index];
	uint64_t rate = rate_e18 < BER_ONE ? rate_e18 : BER_ONE;
	uint64_t survives = UINT64_MAX - (uint64_t)((unsigned __int128)rate * UINT64_MAX / BER_ONE);

	for (int i = 0; i < 3; i++) /* a bit, two, four, eight */
		survives = (uint64_t)((unsigned __int128)survives * survives >> 64);
	net->tree.cold[id.index].byte_survives = survives;
	p->flags = (uint8_t)(rate ? p->flags | PORT_ERRORS : p->flags & ~PORT_ERRORS);
}

void weft_net_avoid_link(struct weft_net *net, struct weft_link_id id, bool avoid)
{
	port_avoid(net, id.index, DOWN_LINK, avoid);
}

void weft_net_route_bps(struct weft_net *net, struct weft_link_id id, uint64_t bps)
{
	assert(id.index < net->tree.port_count);
	route_learn_bps(&net->tree, id.index, bps);
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

int weft_net_reroute(struct weft_net *net)
{
	int rc = route_update(&net->tree);

	if (!rc)
		net_note_special(net);
	return rc;
}
