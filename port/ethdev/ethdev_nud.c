/* SPDX-License-Identifier: BSD-3-Clause */
/* What a DPDK port believes of its neighbours (after RFC 4861 sec. 7.3). Unknown ones are asked for by broadcast. Those
 * in use are asked again, themselves alone, when nothing was heard of their address for a while or when the transport
 * doubts them; who does not answer is asked for by broadcast, and packets go on to where it was. A claim to a known
 * neighbour's address counts only if that neighbour does not answer: a forged frame redirects nothing. Hosts of ours
 * announce themselves every second, so they are hardly ever asked.
 *
 * A switch port never asks: it remembers who spoke, and accepts whatever is sent to derived MAC addresses. */
#include <assert.h>
#include <errno.h>

#include <rte_hash.h>
#include <rte_ip.h>

#include "ethdev_frame.h"
#include "ethdev_neigh.h"
#include "ethdev_paths.h"
#include "ethdev_solicit.h"

#define ANNOUNCE_NS       WEFT_S(1)
#define ANNOUNCE_RETRY_NS WEFT_MS(20) /* the link is not up yet */
#define PROBE_INTERVAL_NS WEFT_MS(200)
#define LOST_INTERVAL_NS  WEFT_S(1)  /* between questions for a neighbour that has been lost */
#define FRESH_NS          WEFT_S(30) /* that long an answer is good for: RFC 4861's REACHABLE_TIME */
#define DOUBT_NS          WEFT_S(1)  /* a younger one is not doubted */

enum { PROBES_MAX = 5, UNICAST_PROBES_MAX = 3 };

struct rte_ether_addr mac_derive(uint32_t ip_low32)
{
	return (struct rte_ether_addr){{2, 0, (uint8_t)(ip_low32 >> 24), (uint8_t)(ip_low32 >> 16),
					(uint8_t)(ip_low32 >> 8), (uint8_t)ip_low32}};
}

/* Addresses of the IPv4 or IPv6 header at `ip`. */
static struct weft_ip ip_addr(const uint8_t *ip, unsigned v4_offset, unsigned v6_offset)
{
	struct weft_ip a;
	if (ip[0] >> 4 == 6)
		memcpy(a.b, ip + v6_offset, sizeof a.b);
	else
		a = weft_ip_v4((uint32_t)ip[v4_offset] << 24 | (uint32_t)ip[v4_offset + 1] << 16 |
			       (uint32_t)ip[v4_offset + 2] << 8 | ip[v4_offset + 3]);
	return a;
}

static struct weft_ip ip_src(const uint8_t *ip)
{
	return ip_addr(ip, 12, 8);
}

static struct weft_ip ip_dst(const uint8_t *ip)
{
	return ip_addr(ip, 16, 24);
}

/* ---- where packets go ---- */

static __attribute__((noinline)) bool mac_find(struct ethdev *d, const struct weft_ip *dst, struct rte_ether_addr *mac)
{
	struct weft_ip next_hop;
	struct neigh *n = paths_next_hop(d, dst, &next_hop) ? neigh_find(d->neigh, &next_hop) : NULL;
	if (n == NULL || n->trust == NEIGH_UNKNOWN) {
		*mac = mac_derive(weft_ip_low32(dst));
		return d->is_switch;
	}
	neigh_get(d, &next_hop, true);
	d->neigh->hops[weft_ip_low32(dst) % HOPS] = (struct hop){*dst, n};
	*mac = n->mac;
	return true;
}

bool neigh_mac(struct ethdev *d, const uint8_t *ip, struct rte_ether_addr *mac)
{
	struct weft_ip dst = ip_dst(ip);
	if (d->no_arp && !d->is_switch) {
		*mac = mac_derive(weft_ip_low32(&dst));
		return true;
	}
	const struct hop *h = &d->neigh->hops[weft_ip_low32(&dst) % HOPS];
	if (!weft_ip_eq(&h->dst, &dst))
		return mac_find(d, &dst, mac);
	*mac = h->n->mac;
	return true;
}

int neigh_reach(const struct ethdev *d, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	*next_hop = (struct weft_ip){{0}};
	if (d->is_switch || d->no_arp)
		return 0;
	if (!paths_next_hop(d, ip, next_hop))
		return -ENETUNREACH;
	const struct neigh *n = neigh_find(d->neigh, next_hop);
	if (n == NULL)
		return 0;
	if (n->lost)
		return -EHOSTUNREACH;
	return n->held != NULL ? -EINPROGRESS : 0;
}

/* ---- asking ---- */

static void ask_at(struct ethdev *d, struct neigh *n, weft_ns at)
{
	assert(!d->is_switch);
	if (n->probe_at == WEFT_NEVER)
		d->neigh->asking++;
	n->probe_at = at;
	d->periodic_at = RTE_MIN(d->periodic_at, at);
}

static void ask_no_more(struct ethdev *d, struct neigh *n)
{
	if (n->probe_at != WEFT_NEVER && d->neigh->asking > 0)
		d->neigh->asking--;
	n->probe_at = WEFT_NEVER;
	n->probes = 0;
}

static void probe(struct ethdev *d, struct neigh *n, weft_ns now)
{
	bool itself = n->trust != NEIGH_UNKNOWN && !n->lost;
	solicit_send(d, &n->ip, itself ? &n->mac : NULL);
	n->probes += n->probes < UINT8_MAX;
	ask_at(d, n, now + (n->lost && n->held == NULL ? LOST_INTERVAL_NS : PROBE_INTERVAL_NS));
}

static void probe_start(struct ethdev *d, struct neigh *n, weft_ns now)
{
	if (n->probe_at != WEFT_NEVER)
		return;
	n->probes = 0;
	probe(d, n, now);
}

/* The mbuf's metadata is the table's to link by, for the packet is the port's now. */
static void held_add(struct neigh *n, struct rte_mbuf *m)
{
	struct weft_pkt **end = &n->held;
	while (*end != NULL)
		end = &(*end)->next;
	*end = mbuf_pkt(m);
	(*end)->next = NULL;
	n->held_count++;
}

void neigh_queue(struct ethdev *d, struct rte_mbuf *m, const uint8_t *ip)
{
	struct weft_ip dst = ip_dst(ip), next_hop;
	bool routed = paths_next_hop(d, &dst, &next_hop);
	struct neigh *n = routed ? neigh_get(d, &next_hop, true) : NULL;
	if (n == NULL || n->held_count == ETHDEV_PENDING) {
		if (routed)
			d->stats.arp_pending_dropped++;
		else
			d->stats.tx_no_route++;
		rte_pktmbuf_free(m);
		return;
	}
	assert(n->held_count < ETHDEV_PENDING && n->trust == NEIGH_UNKNOWN);
	held_add(n, m);
	probe_start(d, n, weft_clock_ns());
}

void neigh_doubt(struct ethdev *d, const struct weft_ip *ip)
{
	struct weft_ip next_hop;
	weft_ns now = weft_clock_ns();
	if (d->is_switch || d->no_arp || !paths_next_hop(d, ip, &next_hop))
		return;
	struct neigh *n = neigh_find(d->neigh, &next_hop);
	if (n != NULL && n->trust != NEIGH_UNKNOWN && now - n->confirmed_ns >= DOUBT_NS)
		probe_start(d, n, now);
}

/* ---- being told ---- */

static void held_send(struct ethdev *d, struct neigh *n)
{
	assert(n->trust != NEIGH_UNKNOWN);
	while (n->held != NULL) {
		struct rte_mbuf *m = pkt_mbuf(n->held);
		n->held = n->held->next;
		rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = n->mac;
		d->stats.tx_ring_full += !frame_xmit(d, m);
	}
	n->held_count = 0;
}

static void neigh_update(struct ethdev *d, struct neigh *n, const struct rte_ether_addr *mac, enum neigh_trust trust)
{
	bool moved = n->trust != NEIGH_UNKNOWN && !rte_is_same_ether_addr(&n->mac, mac);
	d->stats.arp_moved += moved;
	n->mac = *mac;
	n->trust = trust;
	n->confirmed_ns = weft_clock_ns();
	n->lost = false;
	n->claimed = false;
	ask_no_more(d, n);
	held_send(d, n);
}

/* Whether a word for another MAC address than the known one is believed as it comes. */
static bool may_move(const struct ethdev *d, const struct neigh *n)
{
	return d->is_switch || n->trust <= NEIGH_LEARNED || n->lost;
}

/* The known one is asked first; what it does not deny is believed. */
static void claim_note(struct ethdev *d, struct neigh *n, const struct rte_ether_addr *mac)
{
	n->claim = *mac;
	n->claimed = true;
	probe_start(d, n, weft_clock_ns());
}

void neigh_confirm(struct ethdev *d, const struct weft_ip *ip, const struct rte_ether_addr *mac, enum neigh_word word,
		   bool make)
{
	if (!rte_is_unicast_ether_addr(mac) || rte_is_zero_ether_addr(mac) || weft_ip_eq(ip, &d->ip))
		return;
	struct neigh *n = make || d->is_switch ? neigh_get(d, ip, false) : neigh_find(d->neigh, ip);
	if (n == NULL)
		return;
	bool same = n->trust != NEIGH_UNKNOWN && rte_is_same_ether_addr(&n->mac, mac);
	if (!same && !may_move(d, n)) {
		claim_note(d, n, mac);
		return;
	}
	d->stats.arp_conflicts += same && n->claimed;
	bool answered = word == NEIGH_ANSWER && n->probe_at != WEFT_NEVER;
	neigh_update(d, n, mac, answered ? NEIGH_CONFIRMED : RTE_MAX(n->trust, (uint8_t)NEIGH_TOLD));
	if (d->on_neigh != NULL)
		d->on_neigh(d->on_neigh_arg, ip);
}

void neigh_learn_ip(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac)
{
	struct weft_ip src = ip_src(ip);
	struct hop *h = &d->neigh->hops[weft_ip_low32(&src) % HOPS];
	if (weft_ip_eq(&h->dst, &src) && rte_is_same_ether_addr(&h->n->mac, mac))
		return;
	struct neigh *n = neigh_get(d, &src, true);
	if (n == NULL)
		return;
	if (n->trust == NEIGH_UNKNOWN || !rte_is_same_ether_addr(&n->mac, mac))
		neigh_update(d, n, mac, NEIGH_LEARNED);
	*h = (struct hop){src, n};
}

/* Who comes from behind a router tells nothing about neighbours. */
static bool is_neighbour(const struct ethdev *d, const struct weft_ip *src)
{
	struct weft_ip next_hop;
	return !d->no_arp && weft_ip_is_v4(src) == weft_ip_is_v4(&d->ip) && !weft_ip_eq(src, &d->ip) &&
	       paths_next_hop(d, src, &next_hop) && weft_ip_eq(src, &next_hop);
}

void neigh_learn_sender(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac)
{
	struct weft_ip src = ip_src(ip);
	uint32_t low, slot = neigh_learned_slot(d, ip, &low);
	if (weft_ip_is_v4(&src) != weft_ip_is_v4(&d->ip) || !rte_is_valid_assigned_ether_addr(mac))
		return;
	d->learned[slot] = low;
	struct neigh *n = is_neighbour(d, &src) ? neigh_get(d, &src, false) : NULL;
	if (n != NULL && n->trust == NEIGH_UNKNOWN)
		neigh_update(d, n, mac, NEIGH_LEARNED);
}

/* ---- time ---- */

/* The last question of a round found no answer. Who has moved is believed now; others are lost, and packets for those
 * whose address was never known go. */
static void give_up(struct ethdev *d, struct neigh *n, weft_ns now)
{
	if (n->claimed) {
		struct rte_ether_addr mac = n->claim;
		neigh_update(d, n, &mac, NEIGH_TOLD);
		return;
	}
	d->stats.arp_failed += !n->lost;
	n->lost = true;
	if (n->trust == NEIGH_UNKNOWN) {
		neigh_held_drop(d, n);
		ask_no_more(d, n);
		return;
	}
	n->probes = 0;
	probe(d, n, now);
}

static void neigh_due(struct ethdev *d, struct neigh *n, weft_ns now)
{
	assert(now >= n->probe_at);
	if (n->lost && n->trust != NEIGH_UNKNOWN && !n->used && n->probes >= PROBES_MAX)
		ask_no_more(d, n);
	else if (n->trust == NEIGH_UNKNOWN ? n->probes >= PROBES_MAX : !n->lost && n->probes >= UNICAST_PROBES_MAX)
		give_up(d, n, now);
	else
		probe(d, n, now);
}

static void probes_due(struct ethdev *d, weft_ns now)
{
	for (unsigned i = 0; i < ETHDEV_NEIGHS && d->neigh->asking > 0; i++) {
		struct neigh *n = &d->neigh->n[i];
		if (!n->in_use || n->probe_at == WEFT_NEVER)
			continue;
		if (now >= n->probe_at)
			neigh_due(d, n, now);
		d->periodic_at = RTE_MIN(d->periodic_at, n->probe_at);
	}
}

/* Once per announcement: what was in use since then has its age checked. Destinations are forgotten, for they hide
 * uses. */
static void ages_check(struct ethdev *d, weft_ns now)
{
	neigh_hops_flush(d->neigh);
	for (unsigned i = 0; i < ETHDEV_NEIGHS; i++) {
		struct neigh *n = &d->neigh->n[i];
		if (!n->in_use || !n->needed || !n->used || n->trust == NEIGH_UNKNOWN)
			continue;
		n->used = false;
		if (now > n->confirmed_ns && now - n->confirmed_ns >= FRESH_NS)
			probe_start(d, n, now);
	}
}

static void every_second(struct ethdev *d, weft_ns now)
{
	d->announce_at = now + (solicit_send(d, &d->ip, NULL) ? ANNOUNCE_NS : ANNOUNCE_RETRY_NS);
	if (paths_periodic(d, now))
		neigh_hops_flush(d->neigh);
	ages_check(d, now);
}

void neigh_periodic(struct ethdev *d, weft_ns now)
{
	d->periodic_at = WEFT_NEVER;
	if (d->is_switch)
		return;
	if (now >= d->announce_at)
		every_second(d, now);
	d->periodic_at = RTE_MIN(d->periodic_at, d->announce_at);
	if (d->neigh->asking > 0)
		probes_due(d, now);
}
