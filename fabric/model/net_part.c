/* SPDX-License-Identifier: BSD-3-Clause */
/* One switch of a fabric whose others are elsewhere. */
#include <errno.h>

#include "net_impl.h"

int weft_net_part(struct weft_net *net, uint32_t tier, uint32_t sw, weft_net_out_fn out, void *arg,
		  struct weft_err *err)
{
	const struct weft_route_ops *route = net->tree.choice.ops;

	if (tier >= net->tree.topo.tiers || sw >= net->tree.topo.tier[tier].switches)
		return weft_err_set(err, -ENOENT, "fabric: there is no switch %u in tier %u", sw, tier);
	if (net->pfc)
		return weft_err_set(err, -EINVAL, "fabric: PFC pauses what is in one fabric, not in several");
	if (route->one_fabric)
		return weft_err_set(err, -EINVAL, "fabric: %s needs all switches in one fabric", route->name);
	net->out = out;
	net->out_arg = arg;
	net->part = net->tree.tier_first[tier] + sw;
	net_note_special(net);
	return 0;
}

/* Processes hand over in bunches what left one by one. */
weft_ps weft_net_inject(struct weft_net *net, struct weft_link_id id, struct weft_pkt *pkt, weft_ps now)
{
	assert(net->out && id.index < net->tree.port_count);
	struct net_port *p = &net->tree.ports[id.index];
	weft_ps arrival = p->busy_until + port_serialize_ps(p, pkt->wire_bytes);

	p->busy_until = arrival > now ? arrival : now;
	link_propagate(net, p, pkt, p->busy_until);
	return p->busy_until;
}
