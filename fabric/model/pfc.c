/* SPDX-License-Identifier: BSD-3-Clause */
/* Priority flow control (IEEE 802.1Qbb) of the data class. A switch has a buffer for every link into it. Once more than
 * XOFF of it waits, the port before the link is told to pause its data, and at XON to go on. Behind XOFF there is
 * headroom for all that may still arrive, so that nothing is ever dropped, whatever the rates are.
 *
 * The frames are not packets here: each is a change of state that comes into force after the packet in service on the
 * way back, the frame's own time there and the link's latency. At most one is under way to a port; the next is decided
 * on when it has arrived. */
#include <errno.h>

#include "net_impl.h"
#include "weft/mem.h"

enum {
	FRAME_BYTES = WEFT_WIRE_MIN_BYTES, /* of a PFC frame on the link */
	/* Full packets beside what the delay lets pass: the one that exceeds XOFF, the one being sent when the frame
	 * arrives, and the one of which only the end came after that moment. */
	HEADROOM_PKTS = 3,
};

static const struct weft_mem libc_mem;

static uint64_t bytes_in(weft_ps time, uint64_t bps)
{
	return (uint64_t)((unsigned __int128)time * bps / UINT64_C(8000000000000));
}

/* From the decision to the port's stop. */
static weft_ps frame_ps(const struct weft_net *net, const struct net_port *back)
{
	weft_ps now = net->evq.now, wait = back->busy_until > now ? back->busy_until - now : 0;

	return wait + port_serialize_ps(back, FRAME_BYTES) + back->latency_ps;
}

void pfc_resize(struct weft_net *net, uint32_t port)
{
	const struct net_port *p = &net->tree.ports[port], *back = &net->tree.ports[net->tree.cold[port].reverse];
	const struct net_port_cold *cold = &net->tree.cold[port];
	weft_ps delay = p->latency_ps + back->latency_ps + port_serialize_ps(back, net->conf.mtu_bytes + FRAME_BYTES);
	uint64_t bps = cold->bps > cold->nominal_bps ? cold->bps : cold->nominal_bps;
	uint64_t limit = net->pfc[port].xoff_bytes + bytes_in(delay, bps) + HEADROOM_PKTS * net->conf.mtu_bytes;

	/* What is under way already must still fit. */
	if (limit > net->pfc[port].limit_bytes)
		net->pfc[port].limit_bytes = limit;
}

int pfc_init(struct weft_net *net)
{
	net->pfc = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->pfc);
	if (!net->pfc)
		return -ENOMEM;
	for (uint32_t port = 0; port < net->tree.port_count; port++) {
		struct net_pfc *f = &net->pfc[port];
		f->xoff_bytes =
			bytes_in(net->brtt_ps, net->tree.cold[port].nominal_bps) * net->conf.tune.pfc_xoff_pct / 100;
		f->xon_bytes = f->xoff_bytes * net->conf.tune.pfc_xon_pct / 100;
		pfc_resize(net, port);
		assert(f->xon_bytes <= f->xoff_bytes && f->xoff_bytes < f->limit_bytes);
		if (!(net->tree.ports[port].flags & PORT_NIC))
			net->tree.ports[port].flags |= PORT_PFC;
	}
	return 0;
}

void pfc_update(struct weft_net *net, uint32_t from)
{
	struct net_pfc *f = &net->pfc[from];
	bool paused = net->tree.ports[from].flags & PORT_PAUSED;

	if (paused == (f->waiting_bytes > (paused ? f->xon_bytes : f->xoff_bytes)) ||
	    evq_pending(&net->evq, event_pfc(net, from)))
		return;
	f->pauses += !paused;
	evq_set(&net->evq, event_pfc(net, from),
		net->evq.now + frame_ps(net, &net->tree.ports[net->tree.cold[from].reverse]));
}

bool pfc_charge(struct weft_net *net, uint32_t from, const struct weft_pkt *pkt)
{
	struct net_pfc *f = &net->pfc[from];

	if (f->waiting_bytes + pkt->wire_bytes > f->limit_bytes)
		return false;
	f->waiting_bytes += pkt->wire_bytes;
	assert(f->waiting_bytes <= f->limit_bytes);
	pfc_update(net, from);
	return true;
}

void pfc_release(struct weft_net *net, const struct weft_pkt *pkt)
{
	uint32_t from = pkt->fabric_ingress;

	assert(from < net->tree.port_count && net->pfc[from].waiting_bytes >= pkt->wire_bytes);
	net->pfc[from].waiting_bytes -= pkt->wire_bytes;
	pfc_update(net, from);
}

bool pfc_arrive(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];
	struct net_pfc *f = &net->pfc[port];
	weft_ps now = net->evq.now;

	p->flags ^= PORT_PAUSED;
	if (p->flags & PORT_PAUSED) {
		f->paused_since = now;
		return false;
	}
	assert(f->paused_since <= now);
	f->paused_ps += now - f->paused_since;
	return true;
}

weft_ps pfc_paused_ps(const struct weft_net *net, uint32_t port)
{
	const struct net_pfc *f = &net->pfc[port];

	assert(port < net->tree.port_count);
	return f->paused_ps + (net->tree.ports[port].flags & PORT_PAUSED ? net->evq.now - f->paused_since : 0);
}
