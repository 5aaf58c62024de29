/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtnet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "plural.h"
#include "rtnet_int.h"

/* With assigned addresses the fabric may be so far ahead of the clock: a short packet passes within one poll. */
#define LEAD_PS (WEFT_US(1) * RTNET_PS_PER_NS)

/* Half of what a weft_ps counts, which ends 213 days after the fabric's time began. */
#define SET_BACK_PS (UINT64_C(1) << 63)

enum { UPLINK_PKTS = 128, DOWNLINK_PKTS = 1024 };

/* Sleep policy: what an idle switch costs against how late it notices a packet. Two processors often carry the switch
 * and all its hosts, so yielding starts early. SLEEP_MAX_NS: when every port wakes us; a packet that slips in just
 * before is late by that much. */
#define SPIN_NS      WEFT_US(1)
#define YIELD_NS     WEFT_US(200)
#define NAP_MIN_NS   WEFT_US(20)
#define NAP_MAX_NS   WEFT_MS(1)
#define NAP_DIVISOR  16 /* a nap lasts this share of the idle time so far */
#define SLEEP_MAX_NS WEFT_MS(20)

/* The links that lead out are neighbours, as the ports are. */
static void switch_deliver(void *arg, uint32_t port, struct weft_pkt *pkt, weft_ps now)
{
	struct rtnet *r = arg;
	assert(port - r->hosts[0].out.index < r->host_count);
	host_deliver(&r->hosts[port - r->hosts[0].out.index], pkt, now);
}

static void free_dropped(void *arg, struct weft_pkt *pkt)
{
	struct rtnet *r = arg;
	host_released(r, pkt);
	host_pkt_free(&r->hosts[0], pkt);
}

void rtnet_learn(struct rtnet *r, uint32_t port, const struct weft_ip *ip)
{
	host_claim(&r->hosts[port], ip);
}

/* ---- life ---- */

static void rtnet_free(struct rtnet *r)
{
	bindings_destroy(r->bindings);
	assigned_destroy(r->assigned);
	free(r->ports);
	free(r);
}

/* NULL: no memory. */
static struct rtnet *rtnet_alloc(const struct rtnet_conf *conf, weft_ns now)
{
	struct rtnet *r = calloc(1, sizeof *r + conf->port_count * sizeof r->hosts[0]);
	if (r == NULL)
		return NULL;
	r->ports = calloc(conf->port_count, sizeof r->ports[0]);
	if (conf->assigned != NULL)
		r->assigned = assigned_create(conf->assigned, conf->port_count);
	else if (conf->part == NULL)
		r->bindings = bindings_create(conf->ports, conf->port_count);
	if (r->ports == NULL || (conf->part == NULL && r->bindings == NULL && r->assigned == NULL)) {
		rtnet_free(r);
		return NULL;
	}
	r->uplink_pkts = conf->uplink_pkts != 0 ? conf->uplink_pkts : UPLINK_PKTS;
	r->downlink_pkts = conf->downlink_pkts != 0 ? conf->downlink_pkts : DOWNLINK_PKTS;
	r->held_pkts = conf->held_pkts != 0 ? conf->held_pkts : UINT32_MAX;
	r->lead = conf->assigned != NULL ? LEAD_PS : 0;
	r->origin = now;
	r->host_count = conf->port_count;
	r->reach = conf->part != NULL ? conf->topo->hosts : conf->port_count;
	for (uint32_t i = 0; i < conf->port_count; i++) {
		host_init(&r->hosts[i], r, conf->ports[i]);
		r->ports[i] = conf->ports[i];
	}
	return r;
}

void rtnet_set_bps(struct rtnet *r, uint32_t port, uint64_t bps)
{
	host_set_bps(&r->hosts[port], bps, r->brtt_ns);
}

/* Puts every port at its host of the whole fabric. */
static void attach_hosts(struct rtnet *r)
{
	for (uint32_t i = 0; i < r->host_count; i++) {
		struct host *h = &r->hosts[i];
		h->index = i;
		weft_net_host_link(r->net, i, false, &h->in);
		weft_net_host_link(r->net, i, true, &h->out);
		weft_net_attach(r->net, i, &host_nic_ops, h);
		if (r->assigned != NULL)
			rtnet_set_bps(r, i, weft_net_link_nominal_bps(r->net, h->out));
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
			weft_net_attach(r->net, h->index, &host_nic_ops, h);
	}
	if (cables != r->host_count)
		return weft_err_set(err, -EINVAL, "%u port%s, but %s%u has %u cable%s", r->host_count,
				    plural_s(r->host_count), weft_topo_tier_name(part->tier), part->sw, cables,
				    plural_s(cables));
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
		return weft_err_set(err, -EINVAL, "%u port%s, but the topology has %u host%s", conf->port_count,
				    plural_s(conf->port_count), conf->topo->hosts, plural_s(conf->topo->hosts));
	struct rtnet *r = rtnet_alloc(conf, now);
	if (r == NULL)
		return weft_err_set(err, -ENOMEM, "no memory for %u ports", conf->port_count);
	struct weft_net_conf net_conf = conf->net;
	net_conf.free_pkt = free_dropped;
	net_conf.free_arg = r;
	int rc = weft_net_create(&net_conf, conf->topo, 0, &r->net, err);
	if (rc != 0) {
		rtnet_free(r);
		return rc;
	}
	r->brtt_ns = net_conf.brtt_ns != 0 ? net_conf.brtt_ns : weft_net_brtt_ns(r->net);
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
	for (uint32_t i = 0; i < r->host_count; i++)
		host_fini(&r->hosts[i]);
	rtnet_free(r);
}

/* ---- running ---- */

/* The fabric's time is counted from a later moment on; what is in it goes on as before. */
static __attribute__((noinline)) void set_back(struct rtnet *r)
{
	weft_ps by = weft_net_set_back(r->net, r->ran_until, RTNET_PS_PER_NS);
	r->origin += by / RTNET_PS_PER_NS;
	r->ran_until -= by;
	for (uint32_t i = 0; i < r->host_count; i++)
		host_set_back(&r->hosts[i], by);
}

weft_ns rtnet_poll(struct rtnet *r, weft_ns now)
{
	weft_ps real = (now - r->origin) * RTNET_PS_PER_NS, at = r->ran_until > real ? r->ran_until : real;
	uint64_t moved = r->moved;

	for (uint32_t i = 0; i < r->host_count; i++)
		host_rx(&r->hosts[i], at);
	if (r->assigned != NULL)
		hosts_share(r, at);
	r->ran_until = r->ran_until > real ? at : at + r->lead;
	weft_ps next = weft_net_run(r->net, r->ran_until);
	for (uint32_t i = 0; i < r->host_count; i++)
		host_flush(&r->hosts[i], at);
	weft_ns next_ns = r->origin + (next - 1) / RTNET_PS_PER_NS + 1;
	if (r->ran_until >= SET_BACK_PS)
		set_back(r);
	if (r->moved != moved)
		return now;
	return next == WEFT_NEVER ? WEFT_NEVER : next_ns;
}

static weft_ns min_ns(weft_ns a, weft_ns b)
{
	return a < b ? a : b;
}

/* Ports lose their interrupts, when they do not come, and get them back. */
static bool every_port_wakes(const struct rtnet *r)
{
	bool wakes = true;
	for (uint32_t i = 0; i < r->host_count; i++)
		wakes &= weft_ethdev_rx_fd(r->ports[i]) >= 0;
	return wakes;
}

/* How long to sleep after `idle` of nothing to do. Without interrupts naps grow with the idle time, so that the first
 * packet is late by a share of the time it was not there. */
static weft_ns nap_length(const struct rtnet *r, weft_ns idle)
{
	weft_ns nap = min_ns(idle / NAP_DIVISOR, NAP_MAX_NS);
	if (every_port_wakes(r))
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
	a->port_dropped += b->port_dropped;
	a->rx_foreign += b->rx_foreign;
	a->uplink_full += b->uplink_full;
	a->src_refused += b->src_refused;
	a->unknown_dst += b->unknown_dst;
	a->downlink_full += b->downlink_full;
	a->stuck += b->stuck;
}

/* What waits in the port for its neighbour's address is sent until it is dropped. */
static struct rtnet_stats host_stats(const struct host *h)
{
	struct rtnet_stats s = h->stats;
	struct weft_ethdev_stats e;
	weft_ethdev_stats(h->port, &e);
	s.port_dropped = e.tx_link_down + e.tx_oversize + e.tx_no_route + e.arp_pending_dropped;
	s.tx_pkts -= s.port_dropped;
	return s;
}

void rtnet_get_stats(const struct rtnet *r, uint32_t port, struct rtnet_stats *stats)
{
	*stats = (struct rtnet_stats){0};
	for (uint32_t i = 0; i < r->host_count; i++) {
		if (port != i && port != UINT32_MAX)
			continue;
		struct rtnet_stats s = host_stats(&r->hosts[i]);
		stats_add(stats, &s);
	}
}

struct weft_link_id rtnet_link(const struct rtnet *r, uint32_t port)
{
	return r->hosts[port].out;
}

struct weft_net *rtnet_net(struct rtnet *r)
{
	return r->net;
}
