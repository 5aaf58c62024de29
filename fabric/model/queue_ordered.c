/* SPDX-License-Identifier: BSD-3-Clause */
/* A second data queue per port, for traffic that is not sprayed: weighted round robin by bytes between the two, or
 * strict priority (PRIME section IV-A2, mixed flows). */
#include <errno.h>

#include "net_impl.h"
#include "weft/mem.h"

static const struct weft_mem libc_mem;

int ordered_init(struct weft_net *net)
{
	net->ordered = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->ordered);
	net->tree.ordered_bytes = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->tree.ordered_bytes);
	if (!net->ordered || !net->tree.ordered_bytes)
		return -ENOMEM;
	for (uint32_t port = 0; port < net->tree.port_count; port++)
		net->ordered[port] = (struct net_ordered){.head = NULL};
	return 0;
}

static void depth_change(struct weft_net *net, uint32_t port, int32_t bytes)
{
	net_depth_change(net, bytes);
	net->tree.ordered_bytes[port] += (uint32_t)bytes;
}

void ordered_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_ordered *o = &net->ordered[port];

	assert(!o->head || !o->tail->next);
	pkt->next = NULL;
	pkt->fabric.queued_ps = net->evq.now;
	if (o->head)
		o->tail->next = pkt;
	else
		o->head = pkt;
	o->tail = pkt;
	depth_change(net, port, pkt->wire_bytes);
}

struct weft_pkt *ordered_dequeue(struct weft_net *net, uint32_t port)
{
	struct net_ordered *o = &net->ordered[port];
	struct weft_pkt *pkt = o->head;

	assert(pkt && net->tree.ordered_bytes[port] >= pkt->wire_bytes);
	o->head = pkt->next;
	depth_change(net, port, -pkt->wire_bytes);
	assert(!o->head == !net->tree.ordered_bytes[port]);
	return pkt;
}

bool ordered_is_next(const struct weft_net *net, uint32_t port)
{
	const struct net_ordered *o = &net->ordered[port];

	assert(o->head || net->tree.ports[port].data_head);
	if (!o->head || !net->tree.ports[port].data_head)
		return o->head;
	return net->conf.tune.ordered_pct == 100 || o->lead <= 0;
}

/* Nobody saves up while he has nothing to send: what one queue gets while the other is empty does not count. */
void ordered_account(struct weft_net *net, uint32_t port, const struct weft_pkt *pkt, bool ordered)
{
	struct net_ordered *o = &net->ordered[port];
	int64_t pct = net->conf.tune.ordered_pct;

	if (ordered ? !net->tree.ports[port].data_head : !o->head)
		o->lead = 0;
	else
		o->lead += ordered ? pkt->wire_bytes * (100 - pct) : -pkt->wire_bytes * pct;
}
