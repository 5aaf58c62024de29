/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <errno.h>

#include "net_impl.h"
#include "weft/mem.h"

/* Fabrics of fewer ports fit the caches and look less far ahead. */
enum { LARGE_PORTS = 1024, LOOKAHEAD_LARGE = 32, LOOKAHEAD_SMALL = 4 };

static const struct weft_mem libc_mem;

/* How far ahead of now most events lie: the slowest link's full packet and the longest latency. */
static weft_ps common_span(const struct weft_net *net)
{
	weft_ps longest = 0;

	for (uint32_t i = 0; i < net->tree.port_count; i++) {
		const struct net_port *p = &net->tree.ports[i];
		weft_ps span = port_serialize_ps(p, net->conf.mtu_bytes) + p->latency_ps;
		longest = span > longest ? span : longest;
	}
	return longest;
}

/* Ports, their queues and the event queue. -ENOMEM. */
static int build_model(struct weft_net *net, weft_ps now)
{
	const struct weft_net_tune *tune = &net->conf.tune;
	int rc = net_build(net);

	if (!rc && tune->pfc)
		rc = pfc_init(net);
	if (!rc && tune->ordered_pct)
		rc = ordered_init(net);
	if (!rc && tune->credit_queue)
		rc = credit_init(net, now);
	if (rc)
		return rc;
	return evq_init(&net->evq, event_count(net), now, common_span(net),
			net->tree.port_count < LARGE_PORTS ? LOOKAHEAD_SMALL : LOOKAHEAD_LARGE);
}

static int build(struct weft_net *net, weft_ps now, struct weft_err *err)
{
	int rc = build_model(net, now);

	if (rc)
		return weft_err_set(err, rc, "fabric: out of memory for %u ports", net->tree.port_count);
	rc = route_build(&net->tree, net->conf.route, net->conf.route_tune, err);
	if (!rc)
		net_note_special(net);
	return rc;
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
				 .tree = {.topo = t, .seed = conf->seed},
				 .rng = {rng_mix(conf->seed + 1)},
				 .error_rng = {rng_mix(conf->seed + 2)},
				 .credit_rng = {rng_mix(conf->seed + 5)},
				 .brtt_ps = conf->brtt_ns ? conf->brtt_ns * 1000 : path_brtt_ps(&t, conf->mtu_bytes),
				 .depth_since = now};
	if (!net->conf.tune.ecn_prob_pct)
		net->conf.tune.ecn_prob_pct = 100;
	rc = build(net, now, err);
	if (rc)
		weft_net_destroy(net);
	else
		*out = net;
	return rc;
}

static void tree_free(struct net_tree *tree)
{
	weft_mem_free(&libc_mem, tree->ports);
	weft_mem_free(&libc_mem, tree->cold);
	weft_mem_free(&libc_mem, tree->switches);
	weft_mem_free(&libc_mem, tree->down_first);
	weft_mem_free(&libc_mem, tree->ordered_bytes);
}

void weft_net_destroy(struct weft_net *net)
{
	for (uint32_t i = 0; net->evq.nodes && i < net->tree.port_count; i++) {
		queue_flush(net, i);
		link_clear(net, i);
	}
	evq_fini(&net->evq);
	route_free(&net->tree);
	tree_free(&net->tree);
	weft_mem_free(&libc_mem, net->past);
	weft_mem_free(&libc_mem, net->pfc);
	weft_mem_free(&libc_mem, net->ordered);
	weft_mem_free(&libc_mem, net->credits);
	weft_mem_free(&libc_mem, net->hosts);
	weft_mem_free(&libc_mem, net);
}

uint32_t weft_net_hosts(const struct weft_net *net)
{
	return net->tree.topo.hosts;
}

void weft_net_attach(struct weft_net *net, uint32_t host, const struct weft_nic_ops *ops, void *arg)
{
	assert(host < net->tree.topo.hosts);
	net->hosts[host] = (struct net_host){ops, arg, WEFT_NEVER};
	evq_cancel(&net->evq, event_free(host));
	evq_cancel(&net->evq, event_wake(net, host));
}

/* The NIC's credits come to their queue when they are made, not when the link is free. */
static __attribute__((noinline)) void kick_credits(struct weft_net *net, uint32_t host, weft_ps now)
{
	const struct net_host *h = &net->hosts[host];
	weft_ps free_at = net->tree.ports[host].busy_until;

	if (!h->ops)
		return;
	for (struct weft_pkt *pkt; h->ops->pull_credit && (pkt = h->ops->pull_credit(h->arg));)
		credit_enqueue(net, host, pkt);
	net_advance(net, event_free(host), free_at > now ? free_at : now);
}

void weft_net_kick(struct weft_net *net, uint32_t host, weft_ps now)
{
	weft_ps free_at = net->tree.ports[host].busy_until;

	assert(host < net->tree.topo.hosts);
	if (net->credits)
		kick_credits(net, host, now);
	else if (net->hosts[host].ops && !evq_pending(&net->evq, event_free(host)))
		evq_set(&net->evq, event_free(host), free_at > now ? free_at : now);
}

void weft_net_wake(struct weft_net *net, uint32_t host, weft_ps at)
{
	uint32_t id = event_wake(net, host);

	assert(host < net->tree.topo.hosts);
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
	for (uint32_t port = 0; port < net->tree.port_count; port++) {
		const struct net_port_cold *cold = &net->tree.cold[port];
		stats->at[cold->tier][cold->dir].data += net->tree.ports[port].sent_pkts;
		stats->at[cold->tier][cold->dir].dropped += cold->dropped;
		stats->at[cold->tier][cold->dir].trimmed += cold->trimmed;
	}
	for (uint32_t port = 0; net->pfc && port < net->tree.port_count; port++) {
		stats->pauses += net->pfc[port].pauses;
		stats->paused_ns += pfc_paused_ps(net, port) / 1000;
	}
	for (uint32_t port = 0; net->credits && port < net->tree.port_count; port++)
		credit_counts(net, port, &stats->credits);
}

void weft_net_tap(struct weft_net *net, weft_net_tap_fn fn, void *arg)
{
	for (uint32_t i = 0; i < net->tree.port_count; i++)
		net->tree.ports[i].flags &= (uint8_t)~PORT_TAPPED;
	net->tap = fn;
	net->tap_arg = arg;
}

void weft_net_tap_port(struct weft_net *net, uint32_t port)
{
	assert(port < net->tree.port_count);
	net->tree.ports[port].flags |= net->tap ? PORT_TAPPED : 0;
}

int weft_net_turns(struct weft_net *net, uint32_t src, uint32_t dst, const struct weft_lb_turns **out)
{
	return route_turns(&net->tree, src, dst, out);
}
