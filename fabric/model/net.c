/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <errno.h>

#include "hash.h"
#include "net_impl.h"
#include "turns.h"
#include "weft/mem.h"

/* How many events ahead to fetch what; small fabrics fit the caches and look less far. */
enum {
	PREFETCH_PORT = 23,
	PREFETCH_PKT = 16,
	PREFETCH_HOST = 10,
	PREFETCH_EGRESS = 6,
	PREFETCH_LAST = 3,
	AHEAD_LARGE = 32,
	AHEAD_SMALL = 4,
	LARGE_PORTS = 1024
};

static const struct weft_mem libc_mem;

/* How far ahead of now most events lie: the slowest link's full packet and the longest latency. */
static weft_ps common_span(const struct weft_net *net)
{
	weft_ps longest = 0;

	for (uint32_t i = 0; i < net->port_count; i++) {
		const struct net_port *p = &net->ports[i];
		weft_ps span = port_serialize_ps(p, net->conf.mtu_bytes) + p->latency_ps;
		longest = span > longest ? span : longest;
	}
	return longest;
}

int weft_net_create(const struct weft_net_conf *conf, const struct weft_topo *topo, weft_ps now, struct weft_net **out,
		    struct weft_err *err)
{
	struct weft_net *net;
	struct weft_topo t = *topo;
	int rc = weft_net_conf_check(conf, err);

	if (!rc)
		rc = weft_topo_check(&t, err);
	if (rc)
		return rc;
	net = weft_mem_alloc(&libc_mem, sizeof *net);
	if (!net)
		return weft_err_set(err, -ENOMEM, "fabric: out of memory");
	*net = (struct weft_net){.conf = *conf,
				 .topo = t,
				 .rng = {rng_mix(conf->seed + 1)},
				 .error_rng = {rng_mix(conf->seed + 2)},
				 .credit_rng = {rng_mix(conf->seed + 5)},
				 .depth_since = now};
	if (!net->conf.tune.ecn_prob_pct)
		net->conf.tune.ecn_prob_pct = 100;
	net->brtt_ps = path_brtt_ps(&t, conf->mtu_bytes);
	rc = net_build(net);
	if (!rc && conf->tune.pfc)
		rc = pfc_init(net);
	if (!rc && conf->tune.ordered_pct)
		rc = ordered_init(net);
	if (!rc)
		rc = evq_init(&net->evq, event_count(net), now, common_span(net),
			      net->port_count < LARGE_PORTS ? AHEAD_SMALL : AHEAD_LARGE);
	if (rc)
		weft_err_set(err, rc, "fabric: out of memory for %u ports", net->port_count);
	else
		rc = route_build(net, err);
	if (!rc && conf->tune.credit_queue && credit_init(net))
		rc = weft_err_set(err, -ENOMEM, "fabric: out of memory for %u ports", net->port_count);
	if (rc) {
		weft_net_destroy(net);
		return rc;
	}
	*out = net;
	return 0;
}

void weft_net_destroy(struct weft_net *net)
{
	for (uint32_t i = 0; net->evq.nodes && i < net->port_count; i++) {
		queue_flush(net, i);
		link_clear(net, i);
	}
	evq_fini(&net->evq);
	route_free(net);
	weft_mem_free(&libc_mem, net->ports);
	weft_mem_free(&libc_mem, net->cold);
	weft_mem_free(&libc_mem, net->known_bps);
	weft_mem_free(&libc_mem, net->routes);
	turns_free(net->turns);
	weft_mem_free(&libc_mem, net->pfc);
	weft_mem_free(&libc_mem, net->ordered);
	weft_mem_free(&libc_mem, net->credits);
	weft_mem_free(&libc_mem, net->switches);
	weft_mem_free(&libc_mem, net->down_first);
	weft_mem_free(&libc_mem, net->hosts);
	weft_mem_free(&libc_mem, net);
}

uint32_t weft_net_hosts(const struct weft_net *net)
{
	return net->topo.hosts;
}

void weft_net_attach(struct weft_net *net, uint32_t host, const struct weft_nic_ops *ops, void *arg)
{
	net->hosts[host] = (struct net_host){ops, arg, WEFT_NEVER};
	evq_cancel(&net->evq, event_free(host));
	evq_cancel(&net->evq, event_wake(net, host));
}

/* The NIC's credits come to their queue when they are made, not when the link is free. */
static __attribute__((noinline)) void kick_credits(struct weft_net *net, uint32_t host, weft_ps now)
{
	const struct net_host *h = &net->hosts[host];
	weft_ps free_at = net->ports[host].busy_until;

	if (!h->ops)
		return;
	for (struct weft_pkt *pkt; h->ops->pull_credit && (pkt = h->ops->pull_credit(h->arg));)
		credit_push(net, host, pkt);
	net_advance(net, event_free(host), free_at > now ? free_at : now);
}

void weft_net_kick(struct weft_net *net, uint32_t host, weft_ps now)
{
	weft_ps free_at = net->ports[host].busy_until;

	if (net->credits)
		kick_credits(net, host, now);
	else if (net->hosts[host].ops && !evq_pending(&net->evq, event_free(host)))
		evq_set(&net->evq, event_free(host), free_at > now ? free_at : now);
}

void weft_net_wake(struct weft_net *net, uint32_t host, weft_ps at)
{
	uint32_t id = event_wake(net, host);

	if (!net->hosts[host].ops)
		return;
	net->hosts[host].wake_at = at;
	/* A deadline that moves later, as retransmission timers do with every ACK, leaves the event where it is. */
	if (evq_pending(&net->evq, id) && at != WEFT_NEVER && at >= evq_at(&net->evq, id))
		return;
	evq_cancel(&net->evq, id);
	if (at != WEFT_NEVER)
		evq_set(&net->evq, id, at);
}

static void host_wake(struct weft_net *net, uint32_t host)
{
	struct net_host *h = &net->hosts[host];
	weft_ps at = h->wake_at, now = net->evq.now;

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
	struct weft_pkt *pkt = net->ports[host].flags & PORT_PAUSED ? pull_control(h) : h->ops->pull(h->arg);

	if (!pkt)
		return;
	link_send(net, host, pkt);
	if (!evq_pending(&net->evq, event_free(host)))
		evq_set(&net->evq, event_free(host), net->ports[host].busy_until);
}

/* The same with a credit queue before the uplink. */
static __attribute__((noinline)) void host_pull_credit(struct weft_net *net, uint32_t host)
{
	struct net_host *h = &net->hosts[host];
	struct net_port *p = &net->ports[host];
	struct weft_pkt *pkt = NULL;
	weft_ps next;

	if (p->busy_until <= net->evq.now)
		pkt = credit_is_due(net, host) ? credit_pop(net, host) : h->ops->pull(h->arg);
	if (pkt)
		link_send(net, host, pkt);
	next = p->busy_until > net->evq.now ? p->busy_until : credit_queue_next(&net->credits[host].q);
	if (next != WEFT_NEVER)
		net_advance(net, event_free(host), next);
}

static void host_deliver(struct weft_net *net, uint32_t host, struct weft_pkt *pkt)
{
	struct net_host *h = &net->hosts[host];
	uint32_t bytes = pkt->head_len < WEFT_PKT_HEAD_MAX ? pkt->head_len : WEFT_PKT_HEAD_MAX;
	weft_ps now = net->evq.now;

	if (!h->ops) {
		net_drop(net, pkt, &net->stats.dropped_route);
		return;
	}
	net->stats.digest = hash_bytes(pkt->head, bytes, hash_word(hash_word(net->stats.digest, now), host));
	if (net->tap && net->ports[host].flags & PORT_TAPPED)
		net->tap(net->tap_arg, host, WEFT_TAP_DELIVERED, pkt, now);
	h->ops->deliver(h->arg, pkt, now);
}

/* With links to avoid, PFC, credit queues, a choice but ECMP's, or only one switch here. `from`: the port whose link
 * the packet came over. */
static __attribute__((noinline)) void forward_special(struct weft_net *net, uint32_t from, uint32_t host,
						      struct weft_pkt *pkt)
{
	if (net->out && net->ports[from].peer != net->part) {
		net->out(net->out_arg, from, pkt, net->evq.now);
		return;
	}
	uint32_t port = route_special(net, from, host, pkt);

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
	const struct net_port *p = &net->ports[port];
	struct weft_pkt *pkt = link_receive(net, port);
	uint32_t host;

	if (p->flags & PORT_LAST_HOP)
		host_deliver(net, p->peer, pkt);
	else if (!host_of(net, pkt, &host))
		net_drop(net, pkt, &net->stats.dropped_route);
	else if (net->special)
		forward_special(net, port, host, pkt);
	else
		queue_enqueue(net, route_port(&net->switches[p->peer], host, pkt), pkt);
}

/* The packets in flight of a large fabric do not fit any near cache: what the events ahead will touch is fetched while
 * others are served, first their ports, later the packets those point to, at last the ports these go to. Inlined, for
 * the compiler takes a call without visible effects to be useless. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void prefetch_port(const struct weft_net *net, uint32_t port)
{
	__builtin_prefetch(&net->ports[port].busy_until, 1);
	__builtin_prefetch(&net->ports[port].pipe_head, 1);
	evq_prefetch(&net->evq, event_free(port)); /* and of the arrival: nodes of a port share a line */
}

/* The host that the event concerns from outside the fabric, or EVQ_NONE: delivery to it, its uplink, its alarm. */
ALWAYS_INLINE uint32_t host_concerned(const struct weft_net *net, uint32_t id)
{
	uint32_t port = id / 2;

	if (port >= net->port_count)
		return id - 2 * net->port_count;
	if (!(id & 1))
		return port < net->topo.hosts ? port : EVQ_NONE;
	return net->ports[port].flags & PORT_LAST_HOP ? net->ports[port].peer : EVQ_NONE;
}

ALWAYS_INLINE void prefetch_pkt(const struct weft_net *net, uint32_t id)
{
	uint32_t host = host_concerned(net, id);

	if (host != EVQ_NONE)
		__builtin_prefetch(net->hosts[host].arg, 1);
	if (id / 2 >= net->port_count)
		return;
	const struct net_port *p = &net->ports[id / 2];
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

	if (host == EVQ_NONE || !net->hosts[host].ops || !net->hosts[host].ops->ahead)
		return;
	enum weft_nic_call call = WEFT_NIC_WAKE;
	if (id / 2 < net->port_count)
		call = id & 1 ? WEFT_NIC_DELIVER : WEFT_NIC_PULL;
	const struct weft_pkt *pkt = call == WEFT_NIC_DELIVER ? net->ports[id / 2].pipe_head : NULL;
	net->hosts[host].ops->ahead(net->hosts[host].arg, call, pkt, stage);
}

/* The digest and the host read all of them. */
ALWAYS_INLINE void prefetch_headers(const struct weft_net *net, uint32_t id)
{
	if (!(id & 1) || id / 2 >= net->port_count || !(net->ports[id / 2].flags & PORT_LAST_HOP))
		return;
	__builtin_prefetch(net->ports[id / 2].pipe_head->head);
	__builtin_prefetch(net->ports[id / 2].pipe_head->head + 64);
}

ALWAYS_INLINE void prefetch_egress(const struct weft_net *net, uint32_t id)
{
	uint32_t host;

	if (!(id & 1) || id / 2 >= net->port_count)
		return;
	const struct net_port *p = &net->ports[id / 2];
	if (!(p->flags & PORT_LAST_HOP) && host_of(net, p->pipe_head, &host))
		prefetch_port(net, route_port(&net->switches[p->peer], host, p->pipe_head));
}

ALWAYS_INLINE void prefetch_ahead(const struct weft_net *net)
{
	uint32_t port = evq_peek(&net->evq, PREFETCH_PORT), pkt = evq_peek(&net->evq, PREFETCH_PKT);
	uint32_t host = evq_peek(&net->evq, PREFETCH_HOST), egress = evq_peek(&net->evq, PREFETCH_EGRESS);
	uint32_t last = evq_peek(&net->evq, PREFETCH_LAST);

	if (port / 2 < net->port_count)
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

/* An event that belongs to no packet. */
ALWAYS_INLINE void alarm(struct weft_net *net, uint32_t id)
{
	if (id < event_wake(net, net->topo.hosts))
		host_wake(net, id - event_wake(net, 0));
	else
		pfc_arrive(net, id - event_pfc(net, 0));
}

/* A port is free that is a host's, or has PFC or a credit queue. */
ALWAYS_INLINE void serve_special(struct weft_net *net, uint32_t port)
{
	uint8_t flags = net->ports[port].flags;

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
	prefetch_ahead(net);
	net->stats.events++;
	if (port >= net->port_count)
		alarm(net, id);
	else if (id & 1)
		arrive(net, port);
	else if (net->ports[port].flags & (PORT_NIC | PORT_PFC | PORT_CREDIT))
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

void weft_net_get_stats(const struct weft_net *net, struct weft_net_stats *stats)
{
	*stats = net->stats;
	stats->queue_byte_ps = (uint64_t)(net->depth_integral >> 20);
	/* Data is all that ports sent without control: what is subtracted here is below, with the ports. */
	for (uint32_t hop = 0; hop < WEFT_TOPO_TIERS_MAX * WEFT_PORT_DIRS; hop++)
		stats->at[hop / WEFT_PORT_DIRS][hop % WEFT_PORT_DIRS] =
			(struct weft_hop_stats){.data = 0 - net->hops[hop].control,
						.wait_ps = net->hops[hop].wait_ps,
						.wait_max_ps = net->hops[hop].wait_max_ps};
	for (uint32_t port = 0; port < net->port_count; port++) {
		const struct net_port_cold *cold = &net->cold[port];
		stats->at[cold->tier][cold->dir].data += net->ports[port].sent_pkts;
		stats->at[cold->tier][cold->dir].dropped += cold->dropped;
		stats->at[cold->tier][cold->dir].trimmed += cold->trimmed;
	}
	for (uint32_t port = 0; net->pfc && port < net->port_count; port++) {
		stats->pauses += net->pfc[port].pauses;
		stats->paused_ns += pfc_paused_ps(net, port) / 1000;
	}
	for (uint32_t port = 0; net->credits && port < net->port_count; port++)
		credit_counts(net, port, &stats->credits);
}

void weft_net_tap(struct weft_net *net, weft_net_tap_fn fn, void *arg)
{
	for (uint32_t i = 0; i < net->port_count; i++)
		net->ports[i].flags &= (uint8_t)~PORT_TAPPED;
	net->tap = fn;
	net->tap_arg = arg;
}

void weft_net_tap_port(struct weft_net *net, uint32_t port)
{
	net->ports[port].flags |= net->tap ? PORT_TAPPED : 0;
}
