/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop: what happens when a port is free, a packet arrives, a host's alarm is due. */
#include "hash.h"
#include "net_impl.h"

/* How many events ahead to fetch what; small fabrics fit the caches and look less far. */
enum { PREFETCH_PORT = 23, PREFETCH_PKT = 16, PREFETCH_HOST = 10, PREFETCH_EGRESS = 6, PREFETCH_LAST = 3 };

static void host_wake(struct weft_net *net, uint32_t host)
{
	struct net_host *h = &net->hosts[host];
	weft_ps at = h->wake_at, now = net->evq.now;

	assert(h->ops);
	if (at > now) {
		evq_set(&net->evq, event_wake(net, host), at);
		return;
	}
	h->wake_at = WEFT_NEVER;
	h->ops->wake(h->arg, now);
}

static __attribute__((noinline)) struct weft_pkt *pull_control(const struct net_host *h)
{
	return h->ops->pull_control ? h->ops->pull_control(h->arg) : NULL;
}

/* The host's uplink is free: the NIC's next packet, if it has one. */
static void host_pull(struct weft_net *net, uint32_t host)
{
	struct net_host *h = &net->hosts[host];
	struct weft_pkt *pkt = net->tree.ports[host].flags & PORT_PAUSED ? pull_control(h) : h->ops->pull(h->arg);

	if (!pkt)
		return;
	assert(net->tree.ports[host].flags & PORT_NIC);
	link_xmit(net, host, pkt);
	if (!evq_pending(&net->evq, event_free(host)))
		evq_set(&net->evq, event_free(host), net->tree.ports[host].busy_until);
}

/* The same with a credit queue before the uplink. */
static __attribute__((noinline)) void host_pull_credit(struct weft_net *net, uint32_t host)
{
	struct net_host *h = &net->hosts[host];
	struct net_port *p = &net->tree.ports[host];
	struct weft_pkt *pkt = NULL;
	weft_ps next;

	assert(net->credits && h->ops);
	if (p->busy_until <= net->evq.now)
		pkt = credit_is_due(net, host) ? credit_dequeue(net, host) : h->ops->pull(h->arg);
	if (pkt)
		link_xmit(net, host, pkt);
	next = p->busy_until > net->evq.now ? p->busy_until : credit_queue_next(&net->credits[host].q);
	if (next != WEFT_NEVER)
		net_advance(net, event_free(host), next);
}

static void host_deliver(struct weft_net *net, uint32_t host, struct weft_pkt *pkt)
{
	struct net_host *h = &net->hosts[host];
	uint32_t bytes = pkt->head_len < WEFT_PKT_HEAD_MAX ? pkt->head_len : WEFT_PKT_HEAD_MAX;
	weft_ps now = net->evq.now;

	assert(host < net->tree.topo.hosts);
	if (!h->ops) {
		net_drop(net, pkt, &net->stats.dropped_route);
		return;
	}
	net->stats.digest = hash_bytes(pkt->head, bytes, hash_word(hash_word(net->stats.digest, now), host));
	if (net->tap && net->tree.ports[host].flags & PORT_TAPPED)
		net->tap(net->tap_arg, host, WEFT_TAP_DELIVERED, pkt, now);
	h->ops->deliver(h->arg, pkt, now);
}

/* With links to avoid, PFC, credit queues, a choice but ECMP's, or only one switch here. `from`: the port whose link
 * the packet came over. */
static __attribute__((noinline)) void forward_special(struct weft_net *net, uint32_t from, uint32_t host,
						      struct weft_pkt *pkt)
{
	if (net->out && net->tree.ports[from].peer != net->part) {
		net->out(net->out_arg, from, pkt, net->evq.now);
		return;
	}
	uint32_t port = route_forward(&net->tree, from, host, pkt, net->evq.now);

	assert(port == PORT_NONE || (port < net->tree.port_count && !(net->tree.ports[port].flags & PORT_NIC)));
	if (port == PORT_NONE)
		net_drop(net, pkt, &net->stats.dropped_route);
	else if (net->pfc)
		queue_enqueue_pfc(net, port, pkt, from);
	else if (net->credits)
		queue_enqueue_credit(net, port, pkt);
	else
		queue_enqueue(net, port, pkt);
}

static void arrive(struct weft_net *net, uint32_t port)
{
	const struct net_port *p = &net->tree.ports[port];
	struct weft_pkt *pkt = link_receive(net, port);
	uint32_t host;

	if (p->flags & PORT_LAST_HOP)
		host_deliver(net, p->peer, pkt);
	else if (!tree_host_of(&net->tree, pkt, &host))
		net_drop(net, pkt, &net->stats.dropped_route);
	else if (net->special)
		forward_special(net, port, host, pkt);
	else
		queue_enqueue(net, route_port(&net->tree.switches[p->peer], host, pkt), pkt);
}

/* The packets in flight of a large fabric do not fit any near cache: what the events ahead will touch is fetched while
 * others are served, first their ports, later the packets those point to, at last the ports these go to. Inlined, for
 * the compiler takes a call without visible effects to be useless. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void prefetch_port(const struct weft_net *net, uint32_t port)
{
	__builtin_prefetch(&net->tree.ports[port].busy_until, 1);
	__builtin_prefetch(&net->tree.ports[port].pipe_head, 1);
	evq_prefetch(&net->evq, event_free(port)); /* and of the arrival: nodes of a port share a line */
}

/* The host that the event concerns from outside the fabric, or EVQ_NONE: delivery to it, its uplink, its alarm. */
ALWAYS_INLINE uint32_t host_concerned(const struct weft_net *net, uint32_t id)
{
	uint32_t port = id / 2;

	if (port >= net->tree.port_count)
		return id - 2 * net->tree.port_count;
	if (!(id & 1))
		return port < net->tree.topo.hosts ? port : EVQ_NONE;
	return net->tree.ports[port].flags & PORT_LAST_HOP ? net->tree.ports[port].peer : EVQ_NONE;
}

ALWAYS_INLINE void prefetch_pkt(const struct weft_net *net, uint32_t id)
{
	uint32_t host = host_concerned(net, id);

	if (host != EVQ_NONE)
		__builtin_prefetch(net->hosts[host].arg, 1);
	if (id / 2 >= net->tree.port_count)
		return;
	const struct net_port *p = &net->tree.ports[id / 2];
	if (id & 1) {
		__builtin_prefetch(p->pipe_head, 1);
		return;
	}
	__builtin_prefetch(p->ctl_head ? p->ctl_head : p->data_head, 1);
	__builtin_prefetch(p->pipe_tail, 1);
}

ALWAYS_INLINE void prefetch_host(const struct weft_net *net, uint32_t id, uint32_t stage)
{
	uint32_t host = host_concerned(net, id);

	if (host == EVQ_NONE || !net->hosts[host].ops || !net->hosts[host].ops->prefetch)
		return;
	enum weft_nic_call call = WEFT_NIC_WAKE;
	if (id / 2 < net->tree.port_count)
		call = id & 1 ? WEFT_NIC_DELIVER : WEFT_NIC_PULL;
	const struct weft_pkt *pkt = call == WEFT_NIC_DELIVER ? net->tree.ports[id / 2].pipe_head : NULL;
	net->hosts[host].ops->prefetch(net->hosts[host].arg, call, pkt, stage);
}

/* The digest and the host read all of them. */
ALWAYS_INLINE void prefetch_headers(const struct weft_net *net, uint32_t id)
{
	if (!(id & 1) || id / 2 >= net->tree.port_count || !(net->tree.ports[id / 2].flags & PORT_LAST_HOP))
		return;
	__builtin_prefetch(net->tree.ports[id / 2].pipe_head->head);
	__builtin_prefetch(net->tree.ports[id / 2].pipe_head->head + 64);
}

ALWAYS_INLINE void prefetch_egress(const struct weft_net *net, uint32_t id)
{
	uint32_t host;

	if (!(id & 1) || id / 2 >= net->tree.port_count)
		return;
	const struct net_port *p = &net->tree.ports[id / 2];
	if (!(p->flags & PORT_LAST_HOP) && tree_host_of(&net->tree, p->pipe_head, &host))
		prefetch_port(net, route_port(&net->tree.switches[p->peer], host, p->pipe_head));
}

ALWAYS_INLINE void prefetch_ahead(const struct weft_net *net)
{
	uint32_t port = evq_peek(&net->evq, PREFETCH_PORT), pkt = evq_peek(&net->evq, PREFETCH_PKT);
	uint32_t host = evq_peek(&net->evq, PREFETCH_HOST), egress = evq_peek(&net->evq, PREFETCH_EGRESS);
	uint32_t last = evq_peek(&net->evq, PREFETCH_LAST);

	if (port / 2 < net->tree.port_count)
		prefetch_port(net, port / 2);
	if (pkt != EVQ_NONE)
		prefetch_pkt(net, pkt);
	if (host != EVQ_NONE) {
		prefetch_headers(net, host);
		prefetch_host(net, host, 0);
	}
	if (egress != EVQ_NONE) {
		prefetch_egress(net, egress);
		prefetch_host(net, egress, 1);
	}
	if (last != EVQ_NONE)
		prefetch_host(net, last, 2);
}

/* A PFC frame arrives at `port`. What the port sends when it resumes counts for what it is told next. */
static __attribute__((noinline)) void pfc_frame(struct weft_net *net, uint32_t port)
{
	assert(net->pfc && port < net->tree.port_count);
	if (pfc_arrive(net, port)) {
		if (net->tree.ports[port].flags & PORT_NIC)
			weft_net_kick(net, port, net->evq.now);
		else
			queue_service_pfc(net, port);
	}
	pfc_update(net, port);
}

/* An event that belongs to no packet. */
ALWAYS_INLINE void alarm(struct weft_net *net, uint32_t id)
{
	if (id < event_wake(net, net->tree.topo.hosts))
		host_wake(net, id - event_wake(net, 0));
	else
		pfc_frame(net, id - event_pfc(net, 0));
}

/* A port is free that is a host's, or has PFC or a credit queue. */
ALWAYS_INLINE void serve_special(struct weft_net *net, uint32_t port)
{
	assert(net->tree.ports[port].flags & (PORT_NIC | PORT_PFC | PORT_CREDIT));
	uint8_t flags = net->tree.ports[port].flags;

	if (flags & PORT_CREDIT && flags & PORT_NIC)
		host_pull_credit(net, port);
	else if (flags & PORT_CREDIT)
		queue_service_credit(net, port);
	else if (flags & PORT_NIC)
		host_pull(net, port);
	else
		queue_service_pfc(net, port);
}

ALWAYS_INLINE bool step(struct weft_net *net, weft_ps until)
{
	uint32_t id = evq_pop(&net->evq, until), port = id / 2;

	if (id == EVQ_NONE)
		return false;
	assert(id < event_count(net));
	prefetch_ahead(net);
	net->stats.events++;
	if (port >= net->tree.port_count)
		alarm(net, id);
	else if (id & 1)
		arrive(net, port);
	else if (net->tree.ports[port].flags & (PORT_NIC | PORT_PFC | PORT_CREDIT))
		serve_special(net, port);
	else
		queue_service(net, port);
	return true;
}

bool weft_net_step(struct weft_net *net, weft_ps until, weft_ps *now)
{
	if (!step(net, until))
		return false;
	*now = net->evq.now;
	return true;
}

weft_ps weft_net_run(struct weft_net *net, weft_ps until)
{
	while (step(net, until))
		;
	return evq_next(&net->evq);
}
