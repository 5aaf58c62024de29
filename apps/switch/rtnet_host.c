/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a fabric in real time: what comes from them and what waits for them. */
#include <assert.h>

#include "rtnet_int.h"
#include "wire.h"

enum {
	BURST = 32,
	SHARE_BYTES = 16384, /* that a port may be ahead of who had least, with assigned addresses */
	CROWD_PCT = 50,      /* of a BDP: in the middle of the marking range */
};

/* So many packets wait for a port: its link holds the others back, in the queue where they are marked and trimmed. */
#define HOLD_PKTS 64
#define HOLD_PS   (WEFT_US(20) * RTNET_PS_PER_NS)

/* A port with assigned addresses that has taken nothing for so long, while packets waited, gets nothing kept for it:
 * what is kept are buffers of others. */
#define STUCK_PS (WEFT_MS(50) * RTNET_PS_PER_NS)

/* A port that has taken nothing for so long may have no link. */
#define LOOK_PS (WEFT_MS(1) * RTNET_PS_PER_NS)

/* The switch takes packets from another switch up to this long before the link's rate allows them; the rest stays in
 * the port. */
#define IN_AHEAD_PS (WEFT_US(100) * RTNET_PS_PER_NS)

static void fifo_init(struct fifo *f)
{
	*f = (struct fifo){.tail = &f->head};
}

static void fifo_push(struct fifo *f, struct weft_pkt *pkt)
{
	pkt->next = NULL;
	*f->tail = pkt;
	f->tail = &pkt->next;
	f->count++;
}

static struct weft_pkt *fifo_pop(struct fifo *f)
{
	struct weft_pkt *pkt = f->head;
	assert((pkt == NULL) == (f->count == 0));
	if (pkt == NULL)
		return NULL;
	f->head = pkt->next;
	if (f->head == NULL)
		f->tail = &f->head;
	f->count--;
	return pkt;
}

void host_pkt_free(struct host *h, struct weft_pkt *pkt)
{
	h->port->ops->free(h->port, &pkt, 1);
}

static void fifo_free(struct host *h, struct fifo *f)
{
	for (struct weft_pkt *pkt; (pkt = fifo_pop(f)) != NULL;)
		host_pkt_free(h, pkt);
}

/* Where it came from and where it goes is in scratch fields; see host_take. */
void host_released(struct rtnet *r, const struct weft_pkt *pkt)
{
	if (r->assigned == NULL || pkt->src != assigned_uplink(r->assigned))
		return;
	struct host *to = &r->hosts[pkt->dst - weft_net_host_ip(0)];
	assert(to->held > 0);
	to->held--;
}

/* Drops what waits for the port. */
static void down_free(struct host *h)
{
	for (const struct weft_pkt *pkt = h->down.head; pkt != NULL; pkt = pkt->next)
		host_released(h->net, pkt);
	fifo_free(h, &h->down);
}

static uint32_t number_of(const struct host *h)
{
	return (uint32_t)(h - h->net->hosts);
}

bool host_claim(struct host *h, const struct weft_ip *ip)
{
	struct rtnet *r = h->net;
	bool is_right = true;
	if (r->assigned != NULL)
		is_right = assigned_may_send(r->assigned, number_of(h), ip);
	else if (r->bindings != NULL)
		is_right = bindings_claim(r->bindings, number_of(h), weft_ip_low32(ip));
	h->stats.src_refused += !is_right;
	return is_right;
}

/* Counted otherwise. What another switch sends on was looked at where it came in. */
static bool source_is_right(struct host *h, const struct weft_pkt *pkt)
{
	const struct rtnet *r = h->net;
	bool is_right;
	if (r->assigned != NULL)
		is_right = assigned_may_send_pkt(r->assigned, number_of(h), pkt);
	else if (r->bindings != NULL)
		is_right = bindings_claim(r->bindings, number_of(h), pkt->src);
	else
		is_right = h->is_switch || pkt->src == weft_net_host_ip(h->index);
	h->stats.src_refused += !is_right;
	return is_right;
}

/* False: nobody has the packet's destination. */
static bool target_find(const struct host *h, const struct weft_pkt *pkt, uint32_t *index)
{
	const struct rtnet *r = h->net;
	if (r->assigned != NULL)
		*index = assigned_target(r->assigned, number_of(h), pkt);
	else
		*index = r->bindings != NULL ? bindings_find(r->bindings, pkt->dst) : pkt->dst - weft_net_host_ip(0);
	return *index < r->reach;
}

/* ---- hosts' links ---- */

static struct fifo *uplink_of(struct host *h, const struct weft_pkt *pkt)
{
	if (!(pkt->flags & WEFT_PKT_CONTROL))
		return &h->up_data;
	return pkt->flags & WEFT_PKT_CREDIT ? &h->up_credit : &h->up_ctrl;
}

/* Notes where the packet comes from, in place of its source. False: too many from there wait for `to`. */
static bool may_be_held(const struct host *from, struct host *to, struct weft_pkt *pkt)
{
	pkt->src = number_of(from);
	if (pkt->src != assigned_uplink(from->net->assigned))
		return true;
	if (to->held >= from->net->held_pkts) {
		to->stats.downlink_full++;
		return false;
	}
	to->held++;
	return true;
}

/* What comes from a port: routed by a scratch copy of the destination, the header stays as it is. */
static void host_take(struct host *h, struct weft_pkt *pkt, weft_ps at)
{
	uint32_t to;
	if (!wire_peek(pkt)) {
		h->stats.rx_foreign++;
		host_pkt_free(h, pkt);
		return;
	}
	if (!source_is_right(h, pkt)) {
		host_pkt_free(h, pkt);
		return;
	}
	if (!target_find(h, pkt, &to)) {
		h->stats.unknown_dst++;
		host_pkt_free(h, pkt);
		return;
	}
	pkt->dst = weft_net_host_ip(to);
	if (h->net->assigned != NULL && !may_be_held(h, &h->net->hosts[to], pkt)) {
		host_pkt_free(h, pkt);
		return;
	}
	if (h->is_switch)
		h->in_until = weft_net_inject(h->net->net, h->in, pkt, at);
	else
		fifo_push(uplink_of(h, pkt), pkt);
}

static uint32_t waiting(const struct host *h)
{
	return h->up_credit.count + h->up_ctrl.count + h->up_data.count;
}

/* A rest earns nothing. */
static void share_rejoin(struct host *h)
{
	if (waiting(h) > 0)
		return;
	if (h->share_bytes < h->net->least_share_bytes)
		h->share_bytes = h->net->least_share_bytes;
}

/* How many packets may be taken from the port. */
static uint32_t space_for(const struct host *h, weft_ps at)
{
	if (h->is_switch)
		return h->in_until > at + IN_AHEAD_PS ? 0 : BURST;
	return h->net->uplink_pkts > waiting(h) ? h->net->uplink_pkts - waiting(h) : 0;
}

void host_rx(struct host *h, weft_ps at)
{
	struct weft_pkt *pkts[BURST];
	uint32_t space = space_for(h, at);
	if (space == 0) {
		h->stats.uplink_full++;
		return;
	}
	uint16_t n = h->port->ops->rx(h->port, pkts, (uint16_t)(space < BURST ? space : BURST));
	if (n == 0)
		return;
	share_rejoin(h);
	for (uint16_t i = 0; i < n; i++)
		host_take(h, pkts[i], at);
	h->stats.rx_pkts += n;
	h->net->moved += n;
	if (!h->is_switch)
		weft_net_kick(h->net->net, h->index, at);
}

/* The first packets that wait for the port; *rest is the one behind them. */
static uint16_t down_peek(const struct host *h, struct weft_pkt *pkts[BURST], struct weft_pkt **rest)
{
	uint16_t n = 0;
	struct weft_pkt *p;
	for (p = h->down.head; p != NULL && n < BURST; p = p->next)
		pkts[n++] = p;
	*rest = p;
	return n;
}

/* What waits for a port that takes nothing are buffers of others: then one packet at a time finds out how it is. Nor
 * does a packet outlive the link of its port: another process may come, with the address, and take it for its own. */
static void give_up(struct host *h, weft_ps at)
{
	if (h->down.count == 0)
		return;
	bool gets_stuck = h->net->assigned != NULL && !h->is_stuck && at >= h->taken_at + STUCK_PS;
	bool is_down = at >= h->taken_at + LOOK_PS && !weft_ethdev_has_link(h->port);
	if (!gets_stuck && !is_down)
		return;
	h->stats.downlink_full += h->down.count;
	h->stats.stuck += gets_stuck;
	h->is_stuck |= gets_stuck;
	down_free(h);
}

/* A bit for each of the packets that came from the uplink: what was sent cannot be looked at any more. */
static uint32_t from_uplink(const struct rtnet *r, struct weft_pkt *const *pkts, uint16_t n)
{
	uint32_t bits = 0;
	if (r->assigned == NULL)
		return 0;
	for (uint16_t i = 0; i < n; i++)
		bits |= (uint32_t)(pkts[i]->src == assigned_uplink(r->assigned)) << i;
	return bits;
}

void host_flush(struct host *h, weft_ps at)
{
	struct weft_pkt *pkts[BURST], *rest;
	uint32_t outside;
	uint16_t n, sent;
	do {
		n = down_peek(h, pkts, &rest);
		outside = from_uplink(h->net, pkts, n);
		sent = n > 0 ? h->port->ops->tx(h->port, pkts, n) : 0;
		if (sent == 0) {
			give_up(h, at);
			return;
		}
		h->held -= (uint32_t)__builtin_popcount(outside & (uint32_t)((UINT64_C(1) << sent) - 1));
		h->taken_at = at;
		h->is_stuck = false;
		assert(sent <= n && h->down.count >= sent);
		h->down.head = sent < n ? pkts[sent] : rest;
		if (h->down.head == NULL)
			h->down.tail = &h->down.head;
		h->down.count -= sent;
		h->stats.tx_pkts += sent;
		h->net->moved += sent;
	} while (sent == n);
}

/* ---- shares ---- */

/* Where senders of a port's packets have to take turns, nobody is served before who had less: start-time fair queueing
 * (Goyal et al., 1996) without finish times, as what waits in a port's ring stays there. What is called a share is
 * bytes that left the host, moved on to the least one of the others when it comes back from a rest. */
void hosts_share(struct rtnet *r, weft_ps at)
{
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < r->host_count; i++) {
		struct host *h = &r->hosts[i];
		if (waiting(h) == 0)
			continue;
		least = h->share_bytes < least ? h->share_bytes : least;
		weft_net_kick(r->net, h->index, at);
	}
	if (least != UINT64_MAX)
		r->least_share_bytes = least;
}

/* How many bytes may wait for `to` before `h` has to. What a slow port other than the uplink does not take is trimmed
 * or dropped as in any switch, so that who sends to it can go on sending to others. */
static uint64_t room_at(const struct host *h, const struct host *to)
{
	const struct rtnet *r = h->net;
	if (h->share_bytes > r->least_share_bytes + SHARE_BYTES)
		return to->crowd_bytes;
	if (to != &r->hosts[assigned_uplink(r->assigned)] && to->down.count >= HOLD_PKTS)
		return UINT64_MAX;
	return to->crowd_bytes + to->crowd_bytes / 2;
}

/* Whether the first packet of the fifo may leave. */
static bool may_leave(const struct host *h, const struct fifo *f)
{
	const struct rtnet *r = h->net;
	struct weft_port_counts counts;
	if (r->assigned == NULL || f->head == NULL)
		return true;
	const struct host *to = &r->hosts[f->head->dst - weft_net_host_ip(0)];
	weft_net_port_counts(r->net, to->out.index, &counts);
	return counts.queue_bytes < room_at(h, to);
}

void host_set_bps(struct host *h, uint64_t bps, weft_ns brtt_ns)
{
	weft_net_link_set_bps(h->net->net, h->in, bps);
	weft_net_link_set_bps(h->net->net, h->out, bps);
	h->crowd_bytes = bps / 8 * brtt_ns / WEFT_S(1) * CROWD_PCT / 100;
}

/* ---- the fabric's side ---- */

/* The first packet, unless it has to wait; *waits says so. */
static struct weft_pkt *take_first(struct host *h, struct fifo *f, bool *waits)
{
	*waits = *waits || !may_leave(h, f);
	struct weft_pkt *pkt = *waits ? NULL : fifo_pop(f);
	if (pkt != NULL)
		h->share_bytes += pkt->wire_bytes;
	return pkt;
}

static struct weft_pkt *nic_pull_credit(void *arg)
{
	struct host *h = arg;
	return fifo_pop(&h->up_credit);
}

static struct weft_pkt *nic_pull_control(void *arg)
{
	struct host *h = arg;
	bool waits = false;
	struct weft_pkt *pkt = take_first(h, &h->up_credit, &waits);
	return pkt != NULL ? pkt : take_first(h, &h->up_ctrl, &waits);
}

static struct weft_pkt *nic_pull(void *arg)
{
	struct host *h = arg;
	bool waits = false;
	struct weft_pkt *pkt = take_first(h, &h->up_credit, &waits);
	if (pkt == NULL)
		pkt = take_first(h, &h->up_ctrl, &waits);
	return pkt != NULL ? pkt : take_first(h, &h->up_data, &waits);
}

void host_deliver(struct host *h, struct weft_pkt *pkt, weft_ps now)
{
	h->net->moved++;
	if (h->down.count == 0)
		h->taken_at = now;
	if (h->down.count >= HOLD_PKTS)
		host_flush(h, now);
	if (h->down.count >= HOLD_PKTS)
		weft_net_link_hold(h->net->net, h->out, now + HOLD_PS);
	if (h->down.count >= (h->is_stuck ? 1 : h->net->downlink_pkts)) {
		h->stats.downlink_full++;
		host_released(h->net, pkt);
		host_pkt_free(h, pkt);
		return;
	}
	fifo_push(&h->down, pkt);
}

static weft_ps earlier(weft_ps at, weft_ps by)
{
	return at > by ? at - by : 0;
}

void host_set_back(struct host *h, weft_ps by)
{
	h->in_until = earlier(h->in_until, by);
	h->taken_at = earlier(h->taken_at, by);
}

static void nic_deliver(void *arg, struct weft_pkt *pkt, weft_ps now)
{
	host_deliver(arg, pkt, now);
}

static void nic_wake(void *arg, weft_ps now)
{
}

const struct weft_nic_ops host_nic_ops = {
	.pull = nic_pull,
	.deliver = nic_deliver,
	.wake = nic_wake,
	.pull_control = nic_pull_control,
	.pull_credit = nic_pull_credit,
};

/* ---- life ---- */

void host_init(struct host *h, struct rtnet *r, struct weft_port *port)
{
	h->net = r;
	h->port = port;
	fifo_init(&h->up_credit);
	fifo_init(&h->up_ctrl);
	fifo_init(&h->up_data);
	fifo_init(&h->down);
}

void host_fini(struct host *h)
{
	fifo_free(h, &h->up_credit);
	fifo_free(h, &h->up_ctrl);
	fifo_free(h, &h->up_data);
	fifo_free(h, &h->down);
}
