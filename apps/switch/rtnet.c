/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtnet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "binding.h"
#include "weft/ethdev.h"
#include "wire.h"

enum {
	BURST = 32,
	UPLINK_PKTS = 128,
	DOWNLINK_PKTS = 1024,
	PS_PER_NS = 1000,
};

/* So many packets wait for a port: its link holds the others back, in the queue where they are marked and trimmed. */
#define HOLD_PKTS 64
#define HOLD_PS   (WEFT_US(20) * PS_PER_NS)

/* The switch takes packets from another switch up to this long before the link's rate allows them; the rest stays in
 * the port. */
#define IN_AHEAD_PS (WEFT_US(100) * PS_PER_NS)

/* Sleep policy: what an idle switch costs against how late it notices a packet. Two processors often carry the switch
 * and all its hosts, so yielding starts early. SLEEP_MAX_NS: when every port wakes us; a packet that slips in just
 * before is late by that much. */
#define SPIN_NS      WEFT_US(1)
#define YIELD_NS     WEFT_US(200)
#define NAP_MIN_NS   WEFT_US(20)
#define NAP_MAX_NS   WEFT_MS(1)
#define NAP_DIVISOR  16 /* a nap lasts this share of the idle time so far */
#define SLEEP_MAX_NS WEFT_MS(20)

struct fifo {
	struct weft_pkt *head, **tail;
	uint32_t count;
};

/* What is behind a port: a host or, where the fabric is one switch, another switch. */
struct host {
	struct rtnet *net;
	struct weft_port *port;
	uint32_t index; /* of a host */
	bool is_switch;
	weft_ps in_until;            /* of a switch: when the last packet from there has come over its link */
	struct weft_link_id in, out; /* the fabric's links from here and to here */
	struct fifo up_credit, up_ctrl, up_data; /* for the uplink; in that order where credits have no queue there */
	struct fifo down;
	struct rtnet_stats stats;
};

struct rtnet {
	struct weft_net *net;
	struct bindings *bindings; /* NULL: only one switch is here, addresses are where the topology says */
	uint64_t moved;            /* packets received, delivered or sent so far */
	uint32_t uplink_pkts, downlink_pkts;
	uint32_t reach; /* hosts that have an address unless another one was learned */
	bool wakes;     /* every port has interrupts */
	struct weft_yield yield;
	struct weft_port **ports; /* of the hosts, as weft_ethdev_sleep wants them */
	uint32_t host_count;
	struct host hosts[];
};

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

static void pkt_free(struct host *h, struct weft_pkt *pkt)
{
	h->port->ops->free(h->port, &pkt, 1);
}

static void fifo_free(struct host *h, struct fifo *f)
{
	for (struct weft_pkt *pkt; (pkt = fifo_pop(f)) != NULL;)
		pkt_free(h, pkt);
}

/* False: the address is another port's. What another switch sends on was looked at where it came in. */
static bool source_is_right(const struct host *h, uint32_t addr)
{
	if (h->net->bindings != NULL)
		return bindings_claim(h->net->bindings, (uint32_t)(h - h->net->hosts), addr);
	return h->is_switch || addr == weft_net_host_ip(h->index);
}

void rtnet_learn(struct rtnet *r, uint32_t port, const struct weft_ip *ip)
{
	struct host *h = &r->hosts[port];
	if (r->bindings != NULL && !source_is_right(h, weft_ip_low32(ip)))
		h->stats.src_refused++;
}

/* False: nobody has that address. */
static bool host_at(const struct rtnet *r, uint32_t addr, uint32_t *index)
{
	*index = r->bindings != NULL ? bindings_find(r->bindings, addr) : addr - weft_net_host_ip(0);
	return *index < r->reach;
}

/* ---- hosts' links ---- */

static struct fifo *uplink_of(struct host *h, const struct weft_pkt *pkt)
{
	if (!(pkt->flags & WEFT_PKT_CONTROL))
		return &h->up_data;
	return pkt->flags & WEFT_PKT_CREDIT ? &h->up_credit : &h->up_ctrl;
}

/* What comes from a port: routed by a scratch copy of the destination, the header stays as it is. */
static void host_take(struct host *h, struct weft_pkt *pkt, weft_ps at)
{
	uint32_t to;
	if (!wire_peek(pkt)) {
		h->stats.rx_foreign++;
		pkt_free(h, pkt);
		return;
	}
	if (!source_is_right(h, pkt->src)) {
		h->stats.src_refused++;
		pkt_free(h, pkt);
		return;
	}
	if (!host_at(h->net, pkt->dst, &to)) {
		h->stats.unknown_dst++;
		pkt_free(h, pkt);
		return;
	}
	pkt->dst = weft_net_host_ip(to);
	if (h->is_switch)
		h->in_until = weft_net_inject(h->net->net, h->in, pkt, at);
	else
		fifo_push(uplink_of(h, pkt), pkt);
}

/* How many packets may be taken from the port. */
static uint32_t space_for(const struct host *h, weft_ps at)
{
	uint32_t waiting = h->up_credit.count + h->up_ctrl.count + h->up_data.count;
	if (h->is_switch)
		return h->in_until > at + IN_AHEAD_PS ? 0 : BURST;
	return h->net->uplink_pkts > waiting ? h->net->uplink_pkts - waiting : 0;
}

static void host_rx(struct host *h, weft_ps at)
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

static void host_flush(struct host *h)
{
	struct weft_pkt *pkts[BURST], *rest;
	uint16_t n, sent;
	do {
		n = down_peek(h, pkts, &rest);
		sent = n > 0 ? h->port->ops->tx(h->port, pkts, n) : 0;
		if (sent == 0)
			return;
		assert(sent <= n && h->down.count >= sent);
		h->down.head = sent < n ? pkts[sent] : rest;
		if (h->down.head == NULL)
			h->down.tail = &h->down.head;
		h->down.count -= sent;
		h->stats.tx_pkts += sent;
		h->net->moved += sent;
	} while (sent == n);
}

static struct weft_pkt *nic_pull_credit(void *arg)
{
	struct host *h = arg;
	return fifo_pop(&h->up_credit);
}

static struct weft_pkt *nic_pull_control(void *arg)
{
	struct host *h = arg;
	struct weft_pkt *pkt = fifo_pop(&h->up_credit);
	return pkt != NULL ? pkt : fifo_pop(&h->up_ctrl);
}

static struct weft_pkt *nic_pull(void *arg)
{
	struct host *h = arg;
	struct weft_pkt *pkt = nic_pull_control(h);
	return pkt != NULL ? pkt : fifo_pop(&h->up_data);
}

static void nic_deliver(void *arg, struct weft_pkt *pkt, weft_ps now)
{
	struct host *h = arg;
	h->net->moved++;
	if (h->down.count >= HOLD_PKTS)
		host_flush(h);
	if (h->down.count >= HOLD_PKTS)
		weft_net_link_hold(h->net->net, h->out, now + HOLD_PS);
	if (h->down.count >= h->net->downlink_pkts) {
		h->stats.downlink_full++;
		pkt_free(h, pkt);
		return;
	}
	fifo_push(&h->down, pkt);
}

static void nic_wake(void *arg, weft_ps now)
{
}

static const struct weft_nic_ops nic_ops = {
	.pull = nic_pull,
	.deliver = nic_deliver,
	.wake = nic_wake,
	.pull_control = nic_pull_control,
	.pull_credit = nic_pull_credit,
};

/* The links that lead out are neighbours, as the ports are. */
static void switch_deliver(void *arg, uint32_t port, struct weft_pkt *pkt, weft_ps now)
{
	struct rtnet *r = arg;
	assert(port - r->hosts[0].out.index < r->host_count);
	nic_deliver(&r->hosts[port - r->hosts[0].out.index], pkt, now);
}

static void free_dropped(void *arg, struct weft_pkt *pkt)
{
	struct rtnet *r = arg;
	pkt_free(&r->hosts[0], pkt);
}

/* ---- life ---- */

static void host_init(struct rtnet *r, uint32_t index, struct weft_port *port)
{
	struct host *h = &r->hosts[index];
	h->net = r;
	h->port = port;
	fifo_init(&h->up_credit);
	fifo_init(&h->up_ctrl);
	fifo_init(&h->up_data);
	fifo_init(&h->down);
	r->ports[index] = port;
	r->wakes &= weft_ethdev_rx_fd(port) >= 0;
}

static void rtnet_free(struct rtnet *r)
{
	bindings_destroy(r->bindings);
	free(r->ports);
	free(r);
}

/* NULL: no memory. */
static struct rtnet *rtnet_alloc(const struct rtnet_conf *conf)
{
	struct rtnet *r = calloc(1, sizeof *r + conf->port_count * sizeof r->hosts[0]);
	if (r == NULL)
		return NULL;
	r->ports = calloc(conf->port_count, sizeof r->ports[0]);
	if (conf->part == NULL)
		r->bindings = bindings_create(conf->ports, conf->port_count);
	if (r->ports == NULL || (conf->part == NULL && r->bindings == NULL)) {
		rtnet_free(r);
		return NULL;
	}
	r->uplink_pkts = conf->uplink_pkts != 0 ? conf->uplink_pkts : UPLINK_PKTS;
	r->downlink_pkts = conf->downlink_pkts != 0 ? conf->downlink_pkts : DOWNLINK_PKTS;
	r->wakes = true;
	r->host_count = conf->port_count;
	r->reach = conf->part != NULL ? conf->topo->hosts : conf->port_count;
	for (uint32_t i = 0; i < conf->port_count; i++)
		host_init(r, i, conf->ports[i]);
	return r;
}

/* Puts every port at its host of the whole fabric. */
static void attach_hosts(struct rtnet *r)
{
	for (uint32_t i = 0; i < r->host_count; i++) {
		struct host *h = &r->hosts[i];
		h->index = i;
		weft_net_host_link(r->net, i, false, &h->in);
		weft_net_host_link(r->net, i, true, &h->out);
		weft_net_attach(r->net, i, &nic_ops, h);
	}
}

/* Puts every port at its cable of the one switch. -EINVAL: there are more, or fewer. */
static int attach_cables(struct rtnet *r, const struct rtnet_part *part, struct weft_err *err)
{
	uint32_t cables = 0;
	struct weft_link_id out, in;
	for (; weft_net_switch_link(r->net, part->tier, part->sw, 2 * cables, &out) == 0; cables++) {
		struct weft_port_info info;
		weft_net_switch_link(r->net, part->tier, part->sw, 2 * cables + 1, &in);
		if (cables >= r->host_count)
			continue;
		struct host *h = &r->hosts[cables];
		weft_net_port_info(r->net, in.index, &info);
		h->in = in;
		h->out = out;
		h->is_switch = info.dir != WEFT_PORT_NIC;
		h->index = info.sw;
		if (!h->is_switch)
			weft_net_attach(r->net, h->index, &nic_ops, h);
	}
	if (cables != r->host_count)
		return weft_err_set(err, -EINVAL, "%u ports, but %s%u has %u cables", r->host_count,
				    weft_topo_tier_name(part->tier), part->sw, cables);
	return 0;
}

static int attach(struct rtnet *r, const struct rtnet_conf *conf, struct weft_err *err)
{
	if (conf->part == NULL) {
		attach_hosts(r);
		return 0;
	}
	int rc = weft_net_part(r->net, conf->part->tier, conf->part->sw, switch_deliver, r, err);
	return rc == 0 ? attach_cables(r, conf->part, err) : rc;
}

int rtnet_create(const struct rtnet_conf *conf, weft_ns now, struct rtnet **out, struct weft_err *err)
{
	if (conf->port_count == 0 || (conf->part == NULL && conf->port_count > conf->topo->hosts))
		return weft_err_set(err, -EINVAL, "%u ports, but the topology has %u hosts", conf->port_count,
				    conf->topo->hosts);
	struct rtnet *r = rtnet_alloc(conf);
	if (r == NULL)
		return weft_err_set(err, -ENOMEM, "no memory for %u ports", conf->port_count);
	struct weft_net_conf net_conf = conf->net;
	net_conf.free_pkt = free_dropped;
	net_conf.free_arg = r;
	int rc = weft_net_create(&net_conf, conf->topo, now * PS_PER_NS, &r->net, err);
	if (rc != 0) {
		rtnet_free(r);
		return rc;
	}
	rc = attach(r, conf, err);
	if (rc != 0) {
		rtnet_destroy(r);
		return rc;
	}
	*out = r;
	return 0;
}

void rtnet_destroy(struct rtnet *r)
{
	weft_net_destroy(r->net);
	for (uint32_t i = 0; i < r->host_count; i++) {
		struct host *h = &r->hosts[i];
		fifo_free(h, &h->up_credit);
		fifo_free(h, &h->up_ctrl);
		fifo_free(h, &h->up_data);
		fifo_free(h, &h->down);
	}
	rtnet_free(r);
}

/* ---- running ---- */

weft_ns rtnet_poll(struct rtnet *r, weft_ns now)
{
	weft_ps at = now * PS_PER_NS;
	uint64_t moved = r->moved;

	for (uint32_t i = 0; i < r->host_count; i++)
		host_rx(&r->hosts[i], at);
	weft_ps next = weft_net_run(r->net, at);
	for (uint32_t i = 0; i < r->host_count; i++)
		host_flush(&r->hosts[i]);
	if (r->moved != moved)
		return now;
	return next == WEFT_NEVER ? WEFT_NEVER : (next + PS_PER_NS - 1) / PS_PER_NS;
}

static weft_ns min_ns(weft_ns a, weft_ns b)
{
	return a < b ? a : b;
}

/* How long to sleep after `idle` of nothing to do. Without interrupts naps grow with the idle time, so that the first
 * packet is late by a share of the time it was not there. */
static weft_ns nap_length(const struct rtnet *r, weft_ns idle)
{
	weft_ns nap = min_ns(idle / NAP_DIVISOR, NAP_MAX_NS);
	if (r->wakes)
		return SLEEP_MAX_NS;
	return nap > NAP_MIN_NS ? nap : NAP_MIN_NS;
}

/* One step of doing nothing since `idle_since`, with an event at `next`. */
static void idle_step(struct rtnet *r, weft_ns now, weft_ns idle_since, weft_ns next)
{
	weft_ns idle = now - idle_since;
	if (idle < SPIN_NS)
		return;
	if (weft_yield_pays(&r->yield, now) && (idle < YIELD_NS || next - now < NAP_MIN_NS))
		weft_yield(&r->yield, now);
	else if (next - now >= NAP_MIN_NS)
		weft_ethdev_sleep(r->ports, r->host_count, min_ns(nap_length(r, idle), next - now));
}

void rtnet_run(struct rtnet *r, const atomic_bool *stop, weft_ns tick_ns, void (*tick)(void *arg), void *arg)
{
	weft_ns active = weft_clock_ns(), ticked = active;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		weft_ns now = weft_clock_ns(), next = rtnet_poll(r, now);
		if (next == now)
			active = now;
		else
			idle_step(r, now, active, next);
		if (tick == NULL || now - ticked < tick_ns)
			continue;
		ticked = now;
		tick(arg);
	}
}

static void stats_add(struct rtnet_stats *a, const struct rtnet_stats *b)
{
	a->rx_pkts += b->rx_pkts;
	a->tx_pkts += b->tx_pkts;
	a->rx_foreign += b->rx_foreign;
	a->uplink_full += b->uplink_full;
	a->src_refused += b->src_refused;
	a->unknown_dst += b->unknown_dst;
	a->downlink_full += b->downlink_full;
}

void rtnet_get_stats(const struct rtnet *r, uint32_t port, struct rtnet_stats *stats)
{
	*stats = (struct rtnet_stats){0};
	for (uint32_t i = 0; i < r->host_count; i++)
		if (port == i || port == UINT32_MAX)
			stats_add(stats, &r->hosts[i].stats);
}

struct weft_link_id rtnet_link(const struct rtnet *r, uint32_t port)
{
	return r->hosts[port].out;
}

struct weft_net *rtnet_net(struct rtnet *r)
{
	return r->net;
}
