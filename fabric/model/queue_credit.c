/* SPDX-License-Identifier: BSD-3-Clause */
/* A credit queue per port, hosts' NICs included (SprayPass sec. III-B-1). Credits never wait for data, nor data for
 * them: a credit that is due goes first, and the next is due when what it triggers has had its time.
 *
 * How often that is: with full data packets of D bytes, credits of C and acknowledgements of K bytes per data packet, c
 * credits per second over a port bring c D bytes of data over the cable's other direction, and c K of acknowledgements
 * after them over the port's own. With both directions at c, each carries data for the other's credits, its own credits
 * and the acknowledgements of the other's data:
 *
 *	c D + c C + c K <= rate,  so c = rate / (D + C + K)
 *
 * which is the paper's 84 / (1538 + 84) of the link for K = 0. A credit is D + C + K bytes' time behind the one before
 * it, on the slower of the two directions; then no link is asked to carry more than its rate, however many of them are
 * loaded in both directions. */
#include <errno.h>

#include "net_impl.h"
#include "weft/mem.h"
#include "wire_peek.h"

#define PS_PER_S UINT64_C(1000000000000)

static const struct weft_mem libc_mem;

static uint32_t cycle_bytes(const struct weft_net_conf *c)
{
	uint32_t data = c->tune.credit_data_bytes ? c->tune.credit_data_bytes : c->mtu_bytes;
	uint32_t ack = c->tune.credit_ack_bytes ? c->tune.credit_ack_bytes : NET_ACK_BYTES;

	return data + WEFT_WIRE_MIN_BYTES + ack;
}

void credit_resize(struct weft_net *net, uint32_t port, weft_ps now)
{
	uint64_t there = net->tree.cold[port].bps, back = net->tree.cold[net->tree.cold[port].reverse].bps;
	uint64_t interval = credit_queue_interval(cycle_bytes(&net->conf), there < back ? there : back, PS_PER_S);

	assert(interval > 0);
	credit_queue_set_interval(&net->credits[port].q, interval, now);
}

int credit_init(struct weft_net *net, weft_ps now)
{
	uint32_t refresh = net->conf.tune.credit_refresh ? net->conf.tune.credit_refresh : CREDIT_QUEUE_REFRESH_DEFAULT;

	net->credits = weft_mem_alloc(&libc_mem, net->tree.port_count * sizeof *net->credits);
	if (!net->credits)
		return -ENOMEM;
	for (uint32_t port = 0; port < net->tree.port_count; port++) {
		net->credits[port] = (struct net_credits){.head = NULL};
		credit_queue_init(&net->credits[port].q, net->conf.tune.credit_queue, refresh);
		credit_resize(net, port, now);
		net->tree.ports[port].flags |= PORT_CREDIT;
	}
	return 0;
}

bool credit_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_credits *c = &net->credits[port];

	assert(pkt->flags & WEFT_PKT_CREDIT);
	assert(!c->head == !c->q.waiting);
	if (!credit_queue_push(&c->q)) {
		if (net->tree.ports[port].flags & PORT_TAPPED)
			net->tap(net->tap_arg, port, WEFT_TAP_DROPPED, pkt, net->evq.now);
		net->conf.free_pkt(net->conf.free_arg, pkt);
		return false;
	}
	pkt->next = NULL;
	if (c->head)
		c->tail->next = pkt;
	else
		c->head = pkt;
	c->tail = pkt;
	return true;
}

static struct weft_pkt *list_dequeue(struct net_credits *c)
{
	struct weft_pkt *pkt = c->head;

	assert(pkt);
	c->head = pkt->next;
	return pkt;
}

struct weft_pkt *credit_dequeue(struct weft_net *net, uint32_t port)
{
	struct net_credits *c = &net->credits[port];
	assert(credit_is_due(net, port));
	struct weft_pkt *pkt = list_dequeue(c);

	if (credit_queue_pop(&c->q, net->evq.now, (uint32_t)(rng_next(&net->credit_rng) >> 32)) &&
	    pkt->ecn != WEFT_ECN_NOT)
		wire_mark_ce(pkt);
	assert(!c->head == !c->q.waiting);
	return pkt;
}

void credit_flush(struct weft_net *net, uint32_t port)
{
	struct net_credits *c = &net->credits[port];

	c->flushed += c->q.waiting;
	credit_queue_clear(&c->q);
	while (c->head)
		port_drop(net, &net->tree.ports[port], list_dequeue(c), &net->stats.dropped_down);
}

void credit_counts(const struct weft_net *net, uint32_t port, struct weft_credit_counts *counts)
{
	const struct net_credits *c = &net->credits[port];

	counts->injected += c->q.injected;
	counts->sent += c->q.sent;
	counts->dropped += c->q.dropped - c->flushed;
	counts->marked += c->q.marked;
	counts->waiting += c->q.waiting;
}
