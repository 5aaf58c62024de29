/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes per port, three with ordered data: control goes first, data is marked, trimmed or dropped. The packet in
 * service counts for the data queue's limit until its last bit has left, and no longer for marking. */
#include "net_impl.h"
#include "wire_peek.h"

/* Data nobody called for may only fill gaps: it finds the queue full when so many full packets are there (SprayPass
 * sec. V-A, the selective dropping of Aeolus). */
enum { UNSCHEDULED_PKTS = 4 };

static void depth_change(struct weft_net *net, struct net_port *p, int32_t bytes)
{
	net_depth_change(net, bytes);
	p->data_bytes += (uint32_t)bytes;
}

static void data_enqueue(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt)
{
	assert(!(pkt->flags & WEFT_PKT_CONTROL));
	assert(!p->data_head || !p->data_tail->next);
	pkt->next = NULL;
	pkt->fabric.queued_ps = net->evq.now;
	if (p->data_head)
		p->data_tail->next = pkt;
	else
		p->data_head = pkt;
	p->data_prev = p->data_tail;
	p->data_tail = pkt;
	depth_change(net, p, pkt->wire_bytes);
}

static struct weft_pkt *data_dequeue(struct weft_net *net, struct net_port *p)
{
	struct weft_pkt *pkt = p->data_head;

	assert(pkt && p->data_bytes >= pkt->wire_bytes);
	p->data_head = pkt->next;
	depth_change(net, p, -pkt->wire_bytes);
	assert(!p->data_head == !p->data_bytes);
	return pkt;
}

/* Puts `pkt` in the tail's place and returns the old tail. */
static struct weft_pkt *data_swap_tail(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt)
{
	struct weft_pkt *old = p->data_tail;

	assert(p->data_head && !old->next && pkt->wire_bytes <= old->wire_bytes);
	assert(p->data_head == old || p->data_prev->next == old);
	pkt->next = NULL;
	pkt->fabric.queued_ps = net->evq.now;
	if (p->data_head == old)
		p->data_head = pkt;
	else
		p->data_prev->next = pkt;
	p->data_tail = pkt;
	depth_change(net, p, pkt->wire_bytes - old->wire_bytes);
	return old;
}

static void ctl_enqueue(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt)
{
	assert(pkt->flags & WEFT_PKT_CONTROL);
	assert(!p->ctl_head == !p->ctl_bytes);
	if (p->ctl_bytes + pkt->wire_bytes > 2 * (uint64_t)p->limit_bytes) {
		port_drop(net, p, pkt, &net->stats.dropped_control);
		return;
	}
	pkt->next = NULL;
	if (p->ctl_head)
		p->ctl_tail->next = pkt;
	else
		p->ctl_head = pkt;
	p->ctl_tail = pkt;
	p->ctl_bytes += pkt->wire_bytes;
}

static struct weft_pkt *ctl_dequeue(struct net_port *p)
{
	struct weft_pkt *pkt = p->ctl_head;

	assert(pkt && p->ctl_bytes >= pkt->wire_bytes);
	p->ctl_head = pkt->next;
	p->ctl_bytes -= pkt->wire_bytes;
	assert(!p->ctl_head == !p->ctl_bytes);
	return pkt;
}

static bool is_waiting(const struct weft_net *net, const struct net_port *p)
{
	return p->data_head || p->ctl_head || (net->ordered && net->ordered[p - net->tree.ports].head);
}

static bool is_ordered(const struct weft_net *net, const struct weft_pkt *pkt)
{
	return net->ordered && pkt->dscp == WIRE_DSCP_ORDERED;
}

static bool trimmable(const struct weft_pkt *pkt)
{
	return (pkt->dscp == WIRE_DSCP_TRIMMABLE || pkt->dscp == WIRE_DSCP_ORDERED ||
		pkt->dscp == WIRE_DSCP_UNSCHEDULED) &&
	       pkt->ecn != WEFT_ECN_NOT;
}

/* The data queue is full. Swapping with the tail must not overfill it. */
static void overflow(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt)
{
	struct weft_pkt *tail = p->data_head && !is_ordered(net, pkt) ? p->data_tail : NULL;

	bool coin = net->conf.tune.trim == WEFT_TRIM_COIN || net->conf.tune.trim == WEFT_TRIM_OFF_COIN;

	if (coin && tail && !(p->flags & PORT_PFC) && trimmable(tail) && pkt->wire_bytes <= tail->wire_bytes &&
	    rng_below(&net->rng, 2))
		pkt = data_swap_tail(net, p, pkt);
	if (!weft_trim_mode_trims(net->conf.tune.trim) || !trimmable(pkt)) {
		port_drop(net, p, pkt, &net->stats.dropped_data);
		return;
	}
	wire_trim(pkt, p->flags & PORT_LAST_HOP);
	assert(pkt->flags & WEFT_PKT_TRIMMED);
	net->stats.trimmed++;
	port_cold(&net->tree, p)->trimmed++;
	ctl_enqueue(net, p, pkt);
}

/* In each of its callers: a call costs the ports without credit queues more than it saves. */
static inline __attribute__((always_inline)) void admit_data(struct weft_net *net, struct net_port *p,
							     struct weft_pkt *pkt)
{
	bool ordered = is_ordered(net, pkt);
	uint32_t port = (uint32_t)(p - net->tree.ports);
	uint64_t depth = (uint64_t)(ordered ? net->tree.ordered_bytes[port] : p->data_bytes) + pkt->wire_bytes;

	if (net->evq.now < p->busy_until)
		depth += p->service_data_bytes;
	if (depth > p->limit_bytes ||
	    (pkt->dscp == WIRE_DSCP_UNSCHEDULED && depth > UNSCHEDULED_PKTS * net->conf.mtu_bytes)) {
		overflow(net, p, pkt);
		return;
	}
	if (depth > net->stats.max_queue_bytes)
		net->stats.max_queue_bytes = depth;
	if (ordered)
		ordered_enqueue(net, port, pkt);
	else
		data_enqueue(net, p, pkt);
}

void queue_enqueue(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_port *p = &net->tree.ports[port];
	bool waiting = is_waiting(net, p);

	assert(!(p->flags & (PORT_NIC | PORT_PFC | PORT_CREDIT)));
	assert(waiting == evq_pending(&net->evq, event_free(port)));
	if (!waiting && p->busy_until <= net->evq.now) {
		link_xmit(net, port, pkt);
		return;
	}
	if (pkt->flags & WEFT_PKT_CONTROL)
		ctl_enqueue(net, p, pkt);
	else
		admit_data(net, p, pkt);
	if (!waiting && is_waiting(net, p))
		evq_set(&net->evq, event_free(port), p->busy_until);
}

/* RED on what is left behind: never below the lower threshold, always above the upper, linear between, from 0 to
 * ecn_prob_pct. */
static bool draw_mark(struct weft_net *net, const struct net_port *p, uint32_t bytes)
{
	assert(p->red_min <= p->red_max);
	if (bytes <= p->red_min)
		return false;
	return bytes >= p->red_max || rng_below(&net->rng, p->red_max - p->red_min) <
					      (uint64_t)(bytes - p->red_min) * net->conf.tune.ecn_prob_pct / 100;
}

/* `left`: bytes of data behind `pkt`. */
static void mark_red(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt, uint32_t left)
{
	if (!p->red_max || pkt->ecn == WEFT_ECN_NOT || pkt->ecn == WEFT_ECN_CE || !draw_mark(net, p, left))
		return;
	wire_mark_ce(pkt);
	net->stats.marked++;
	port_cold(&net->tree, p)->marked++;
}

static void account_wait(struct weft_net *net, const struct net_port *p, const struct weft_pkt *pkt)
{
	struct net_hop *hop = &net->hops[p->hop];
	weft_ps wait = net->evq.now - pkt->fabric.queued_ps;

	assert(pkt->fabric.queued_ps <= net->evq.now);
	hop->wait_ps += wait;
	if (wait > hop->wait_max_ps)
		hop->wait_max_ps = wait;
}

/* The next data packet, ordered or other; marked if there is too much behind it. */
static struct weft_pkt *dequeue_data(struct weft_net *net, struct net_port *p)
{
	uint32_t port = (uint32_t)(p - net->tree.ports);
	bool ordered = net->ordered && ordered_is_next(net, port);
	struct weft_pkt *pkt = ordered ? ordered_dequeue(net, port) : data_dequeue(net, p);

	if (net->ordered)
		ordered_account(net, port, pkt, ordered);
	mark_red(net, p, pkt, ordered ? net->tree.ordered_bytes[port] : p->data_bytes);
	account_wait(net, p, pkt);
	return pkt;
}

void queue_service(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];

	assert(is_waiting(net, p));
	link_xmit(net, port, p->ctl_head ? ctl_dequeue(p) : dequeue_data(net, p));
	if (is_waiting(net, p))
		evq_set(&net->evq, event_free(port), p->busy_until);
}

static bool can_send(const struct net_port *p)
{
	return p->ctl_head || (p->data_head && !(p->flags & PORT_PAUSED));
}

static void admit_pfc(struct weft_net *net, struct net_port *p, struct weft_pkt *pkt, uint32_t from)
{
	if (!pfc_charge(net, from, pkt)) {
		overflow(net, p, pkt);
		return;
	}
	data_enqueue(net, p, pkt);
	/* `fabric_ingress` shares a union with the sender's trailer, which must not be there any more. */
	assert(!(pkt->flags & WEFT_PKT_TRAILER));
	pkt->fabric_ingress = from;
	uint64_t depth = (uint64_t)p->data_bytes + (net->evq.now < p->busy_until ? p->service_data_bytes : 0);
	if (depth > net->stats.max_queue_bytes)
		net->stats.max_queue_bytes = depth;
}

static void send_when_free(struct weft_net *net, uint32_t port)
{
	if (can_send(&net->tree.ports[port]) && !evq_pending(&net->evq, event_free(port)))
		evq_set(&net->evq, event_free(port), net->tree.ports[port].busy_until);
}

void queue_enqueue_pfc(struct weft_net *net, uint32_t port, struct weft_pkt *pkt, uint32_t from)
{
	struct net_port *p = &net->tree.ports[port];
	bool control = pkt->flags & WEFT_PKT_CONTROL;

	assert(p->flags & PORT_PFC && from < net->tree.port_count);
	if (!can_send(p) && p->busy_until <= net->evq.now && (control || !(p->flags & PORT_PAUSED))) {
		link_xmit(net, port, pkt);
		return;
	}
	if (control)
		ctl_enqueue(net, p, pkt);
	else
		admit_pfc(net, p, pkt, from);
	send_when_free(net, port);
}

void queue_service_pfc(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];
	struct weft_pkt *pkt;

	if (p->busy_until > net->evq.now || !can_send(p)) {
		send_when_free(net, port);
		return;
	}
	if (p->ctl_head) {
		pkt = ctl_dequeue(p);
	} else {
		pkt = dequeue_data(net, p);
		pfc_release(net, pkt);
	}
	link_xmit(net, port, pkt);
	send_when_free(net, port);
}

/* When the port can send next: once it is free what waits, or else the first credit when that is due. WEFT_NEVER. */
static weft_ps credit_turn(const struct weft_net *net, uint32_t port)
{
	const struct net_port *p = &net->tree.ports[port];
	weft_ps due = is_waiting(net, p) ? 0 : credit_queue_next(&net->credits[port].q);

	return due > p->busy_until ? due : p->busy_until;
}

static void credit_wait(struct weft_net *net, uint32_t port)
{
	weft_ps turn = credit_turn(net, port);

	if (turn != WEFT_NEVER)
		net_advance(net, event_free(port), turn);
}

void queue_enqueue_credit(struct weft_net *net, uint32_t port, struct weft_pkt *pkt)
{
	struct net_port *p = &net->tree.ports[port];
	bool credit = pkt->flags & WEFT_PKT_CREDIT;
	bool idle = !is_waiting(net, p) && p->busy_until <= net->evq.now;

	assert(p->flags & PORT_CREDIT);
	if (credit && !credit_enqueue(net, port, pkt))
		return;
	if (idle && credit && credit_is_due(net, port))
		link_xmit(net, port, credit_dequeue(net, port));
	else if (idle && !credit)
		link_xmit(net, port, pkt);
	else if (!credit && pkt->flags & WEFT_PKT_CONTROL)
		ctl_enqueue(net, p, pkt);
	else if (!credit)
		admit_data(net, p, pkt);
	credit_wait(net, port);
}

void queue_service_credit(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];

	if (p->busy_until <= net->evq.now) {
		if (credit_is_due(net, port))
			link_xmit(net, port, credit_dequeue(net, port));
		else if (is_waiting(net, p))
			link_xmit(net, port, p->ctl_head ? ctl_dequeue(p) : dequeue_data(net, p));
	}
	credit_wait(net, port);
}

void queue_flush(struct weft_net *net, uint32_t port)
{
	struct net_port *p = &net->tree.ports[port];

	if (net->credits)
		credit_flush(net, port);
	while (p->ctl_head)
		port_drop(net, p, ctl_dequeue(p), &net->stats.dropped_down);
	while (net->ordered && net->ordered[port].head)
		port_drop(net, p, ordered_dequeue(net, port), &net->stats.dropped_down);
	while (p->data_head) {
		struct weft_pkt *pkt = data_dequeue(net, p);
		if (p->flags & PORT_PFC)
			pfc_release(net, pkt);
		port_drop(net, p, pkt, &net->stats.dropped_down);
	}
	assert(!p->ctl_bytes && !port_data_bytes(&net->tree, port));
	if (!(p->flags & PORT_NIC))
		evq_cancel(&net->evq, event_free(port));
}
