/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours of a DPDK port: who has which MAC address. Everybody is on-link; there are no gateways.
 * A host's port probes (ARP, RFC 826; ND, RFC 4861) for those who have not spoken to it, and answers for its own
 * address. A switch port never probes: it remembers who spoke, answers for everybody else with a derived MAC address
 * and accepts whatever is sent there. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_hash.h>
#include <rte_ip.h>
#include <rte_malloc.h>

#include "ethdev_frame.h"
#include "ethdev_nd.h"
#include "ethdev_priv.h"

#define ANNOUNCE_NS       WEFT_S(1)
#define ANNOUNCE_RETRY_NS WEFT_MS(20) /* the link is not up yet */
#define PROBE_INTERVAL_NS WEFT_MS(200)

enum { PROBES_MAX = 5 };

struct neigh {
	struct weft_ip ip;
	struct rte_ether_addr mac;
	bool known;
	uint8_t probes; /* without an answer */
	uint8_t pending_count;
	weft_ns probe_at; /* not probed again before */
	struct rte_mbuf *pending[ETHDEV_PENDING];
};

struct neigh_table {
	struct rte_hash *hash; /* weft_ip -> index into n */
	struct neigh *last;    /* used last; most ports talk to few */
	uint32_t unresolved;   /* neighbours with pending packets */
	struct neigh n[ETHDEV_NEIGHS];
};

struct neigh_table *neigh_create(int node)
{
	static _Atomic uint32_t serial;
	char name[RTE_HASH_NAMESIZE];
	ethdev_unique_name(name, sizeof name, "weft_neigh", &serial);
	struct rte_hash_parameters params = {
		.name = name,
		.entries = ETHDEV_NEIGHS,
		.key_len = sizeof(struct weft_ip),
		.socket_id = node,
	};
	struct neigh_table *t = rte_zmalloc_socket("weft_neigh", sizeof *t, 0, node);
	if (t == NULL)
		return NULL;
	t->hash = rte_hash_create(&params);
	if (t->hash == NULL) {
		rte_free(t);
		return NULL;
	}
	return t;
}

void neigh_destroy(struct neigh_table *t)
{
	if (t == NULL)
		return;
	for (unsigned i = 0; i < ETHDEV_NEIGHS; i++)
		rte_pktmbuf_free_bulk(t->n[i].pending, t->n[i].pending_count);
	rte_hash_free(t->hash);
	rte_free(t);
}

struct rte_ether_addr mac_derive(uint32_t ip_low32)
{
	return (struct rte_ether_addr){{2, 0, (uint8_t)(ip_low32 >> 24), (uint8_t)(ip_low32 >> 16),
					(uint8_t)(ip_low32 >> 8), (uint8_t)ip_low32}};
}

static struct weft_ip ip_from_be32(rte_be32_t be)
{
	return weft_ip_v4(rte_be_to_cpu_32(be));
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

static struct neigh *neigh_find(struct neigh_table *t, const struct weft_ip *ip)
{
	if (t->last != NULL && weft_ip_eq(&t->last->ip, ip))
		return t->last;
	int i = rte_hash_lookup(t->hash, ip);
	if (i < 0)
		return NULL;
	assert(i < ETHDEV_NEIGHS && weft_ip_eq(&t->n[i].ip, ip));
	return t->last = &t->n[i];
}

/* Found or made; NULL: table full. */
static struct neigh *neigh_get(struct neigh_table *t, const struct weft_ip *ip)
{
	struct neigh *n = neigh_find(t, ip);
	if (n != NULL)
		return n;
	int i = rte_hash_add_key(t->hash, ip);
	if (i < 0 || i >= ETHDEV_NEIGHS)
		return NULL;
	n = &t->n[i];
	*n = (struct neigh){.ip = *ip};
	return t->last = n;
}

bool neigh_mac(struct ethdev *d, const uint8_t *ip, struct rte_ether_addr *mac)
{
	struct weft_ip dst = ip_dst(ip);
	if (!d->no_arp || d->is_switch) {
		const struct neigh *n = neigh_find(d->neigh, &dst);
		if (n != NULL && n->known) {
			*mac = n->mac;
			return true;
		}
		if (!d->is_switch)
			return false;
	}
	*mac = mac_derive(weft_ip_low32(&dst));
	return true;
}

static struct rte_mbuf *frame_new(struct ethdev *d, uint16_t bytes, const struct rte_ether_addr *dst, uint16_t type)
{
	struct rte_mbuf *m = d->pool != NULL ? rte_pktmbuf_alloc(d->pool) : NULL;
	if (m == NULL)
		return NULL;
	assert(RTE_ETHER_HDR_LEN + bytes <= rte_pktmbuf_tailroom(m));
	m->data_len = (uint16_t)(RTE_ETHER_HDR_LEN + bytes);
	m->pkt_len = m->data_len;
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	eth->dst_addr = *dst;
	eth->src_addr = d->mac;
	eth->ether_type = rte_cpu_to_be_16(type);
	return m;
}

/* Asks who has `target`; our own address: announces it. False: nothing was sent. */
static bool arp_request(struct ethdev *d, const struct weft_ip *target)
{
	static const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_mbuf *m = frame_new(d, sizeof(struct rte_arp_hdr), &everybody, RTE_ETHER_TYPE_ARP);
	if (m == NULL)
		return false;
	struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, RTE_ETHER_HDR_LEN);
	*arp = (struct rte_arp_hdr){
		.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
		.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = RTE_ETHER_ADDR_LEN,
		.arp_plen = sizeof(rte_be32_t),
		.arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REQUEST),
		.arp_data = {.arp_sha = d->mac,
			     .arp_sip = rte_cpu_to_be_32(weft_ip_low32(&d->ip)),
			     .arp_tip = rte_cpu_to_be_32(weft_ip_low32(target))},
	};
	return frame_xmit(d, m);
}

/* Sends a solicitation for `target` or, when it is our own address, an advertisement to all nodes. */
static bool nd_send(struct ethdev *d, const struct weft_ip *target)
{
	bool announce = weft_ip_eq(target, &d->ip);
	struct weft_ip to = announce ? nd_all_nodes() : nd_solicited_node(target);
	struct rte_ether_addr to_mac = nd_multicast_mac(&to);
	struct rte_mbuf *m = frame_new(d, ND_IP_BYTES, &to_mac, RTE_ETHER_TYPE_IPV6);
	if (m == NULL)
		return false;
	nd_fill(rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN), announce ? ND_ADVERT : ND_SOLICIT,
		announce ? ND_OVERRIDE : 0, &d->ip, &to, target, &d->mac);
	return frame_xmit(d, m);
}

static bool solicit_send(struct ethdev *d, const struct weft_ip *target)
{
	return weft_ip_is_v4(&d->ip) ? arp_request(d, target) : nd_send(d, target);
}

static void neigh_probe(struct ethdev *d, struct neigh *n, weft_ns now)
{
	assert(!d->is_switch && n->probes < UINT8_MAX);
	if (solicit_send(d, &n->ip))
		d->stats.arp_sent++;
	n->probes++;
	n->probe_at = now + PROBE_INTERVAL_NS;
}

void neigh_queue(struct ethdev *d, struct rte_mbuf *m, const uint8_t *ip)
{
	struct weft_ip dst = ip_dst(ip);
	struct neigh *n = neigh_get(d->neigh, &dst);
	weft_ns now = weft_clock_ns();

	if (n == NULL || n->pending_count == ETHDEV_PENDING) {
		d->stats.arp_pending_dropped++;
		rte_pktmbuf_free(m);
		return;
	}
	assert(n->pending_count < ETHDEV_PENDING && d->neigh->unresolved <= ETHDEV_NEIGHS);
	if (n->pending_count == 0)
		d->neigh->unresolved++;
	n->pending[n->pending_count++] = m;
	if (now >= n->probe_at)
		neigh_probe(d, n, now);
	d->periodic_at = RTE_MIN(d->periodic_at, n->probe_at);
}

static void pending_drop(struct ethdev *d, struct neigh *n)
{
	assert(n->pending_count > 0 && d->neigh->unresolved > 0);
	d->stats.arp_pending_dropped += n->pending_count;
	rte_pktmbuf_free_bulk(n->pending, n->pending_count);
	n->pending_count = 0;
	d->neigh->unresolved--;
}

static void pending_send(struct ethdev *d, struct neigh *n)
{
	assert(n->known && n->pending_count > 0 && d->neigh->unresolved > 0);
	for (unsigned i = 0; i < n->pending_count; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(n->pending[i], struct rte_ether_hdr *);
		eth->dst_addr = n->mac;
		d->stats.tx_full += !frame_xmit(d, n->pending[i]);
	}
	n->pending_count = 0;
	d->neigh->unresolved--;
}

static void neigh_update(struct ethdev *d, struct neigh *n, const struct rte_ether_addr *mac)
{
	n->mac = *mac;
	n->known = true;
	n->probes = 0;
	if (n->pending_count > 0)
		pending_send(d, n);
}

/* Somebody told his address. `make`: remember him even if we have nothing to do with him yet. */
static void neigh_confirm(struct ethdev *d, const struct weft_ip *ip, const struct rte_ether_addr *mac, bool make)
{
	struct neigh *n = make || d->is_switch ? neigh_get(d->neigh, ip) : neigh_find(d->neigh, ip);
	if (n == NULL || !rte_is_unicast_ether_addr(mac))
		return;
	neigh_update(d, n, mac);
	if (d->on_neigh != NULL)
		d->on_neigh(d->on_neigh_arg, ip);
}

void neigh_learn_ip(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac)
{
	struct weft_ip src = ip_src(ip);
	struct neigh *n = neigh_get(d->neigh, &src);
	if (n != NULL && (!n->known || !rte_is_same_ether_addr(&n->mac, mac)))
		neigh_update(d, n, mac);
}

/* Strangers may use up half of the table by speaking: the rest is for those we ask. */
static bool may_learn(const struct ethdev *d, const struct weft_ip *src)
{
	return !d->no_arp && !weft_ip_eq(src, &d->ip) && rte_hash_count(d->neigh->hash) < ETHDEV_NEIGHS / 2;
}

void neigh_learn_sender(struct ethdev *d, const uint8_t *ip, const struct rte_ether_addr *mac)
{
	struct weft_ip src = ip_src(ip);
	uint32_t low, slot = neigh_learned_slot(d, ip, &low);
	if (weft_ip_is_v4(&src) != weft_ip_is_v4(&d->ip) || !rte_is_valid_assigned_ether_addr(mac))
		return;
	d->learned[slot] = low;
	struct neigh *n = neigh_find(d->neigh, &src);
	if (n == NULL && may_learn(d, &src))
		n = neigh_get(d->neigh, &src);
	if (n != NULL && !n->known)
		neigh_update(d, n, mac);
}

/* Whether a question of `asker` for `target` is ours to answer. A switch answers for everybody who is not a known
 * neighbour of the asker; questions of nobody are checks for duplicate addresses and stay unanswered. */
static bool answers_for(const struct ethdev *d, const struct weft_ip *target, const struct weft_ip *asker,
			bool asker_known)
{
	if (!d->is_switch)
		return weft_ip_eq(target, &d->ip);
	const struct neigh *n = neigh_find(d->neigh, target);
	return asker_known && !weft_ip_eq(target, asker) && (n == NULL || !n->known);
}

static struct rte_ether_addr answer_mac(const struct ethdev *d, const struct weft_ip *target)
{
	return d->is_switch ? mac_derive(weft_ip_low32(target)) : d->mac;
}

/* Turns the frame around: from `mac` to `to`. */
static void frame_answer(struct ethdev *d, struct rte_mbuf *m, const struct rte_ether_addr *mac,
			 const struct rte_ether_addr *to)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	eth->dst_addr = *to;
	eth->src_addr = *mac;
	if (frame_xmit(d, m))
		d->stats.arp_answered++;
	else
		d->stats.tx_full++;
}

static void arp_answer(struct ethdev *d, struct rte_mbuf *m, struct rte_arp_ipv4 *data, const struct weft_ip *target)
{
	struct rte_arp_ipv4 asked = *data;
	struct rte_ether_addr mac = answer_mac(d, target);
	data->arp_tha = asked.arp_sha;
	data->arp_tip = asked.arp_sip;
	data->arp_sha = mac;
	data->arp_sip = asked.arp_tip;
	frame_answer(d, m, &mac, &asked.arp_sha);
}

void neigh_arp_input(struct ethdev *d, struct rte_mbuf *m)
{
	struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, RTE_ETHER_HDR_LEN);
	if (m->data_len < RTE_ETHER_HDR_LEN + sizeof *arp || arp->arp_hardware != RTE_BE16(RTE_ARP_HRD_ETHER) ||
	    arp->arp_protocol != RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		frame_drop(d, m);
		return;
	}
	struct weft_ip sender = ip_from_be32(arp->arp_data.arp_sip), target = ip_from_be32(arp->arp_data.arp_tip);
	bool known = arp->arp_data.arp_sip != 0;
	bool answer = arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST) && answers_for(d, &target, &sender, known);
	if (known)
		neigh_confirm(d, &sender, &arp->arp_data.arp_sha, answer);
	if (!answer) {
		rte_pktmbuf_free(m);
		return;
	}
	arp->arp_opcode = RTE_BE16(RTE_ARP_OP_REPLY);
	arp_answer(d, m, &arp->arp_data, &target);
}

static void nd_answer(struct ethdev *d, struct rte_mbuf *m, const struct nd_seen *nd)
{
	struct rte_ether_addr mac = answer_mac(d, &nd->target);
	uint16_t frame_bytes = RTE_ETHER_HDR_LEN + ND_IP_BYTES;

	if (m->data_len < frame_bytes && rte_pktmbuf_append(m, (uint16_t)(frame_bytes - m->data_len)) == NULL) {
		frame_drop(d, m);
		return;
	}
	m->data_len = frame_bytes;
	m->pkt_len = frame_bytes;
	/* A check for a duplicate address comes from nobody and is answered to everybody (RFC 4861 sec. 7.2.4). */
	struct weft_ip to = nd->has_source ? nd->source : nd_all_nodes();
	struct rte_ether_addr to_mac = nd->has_source ? nd->mac : nd_multicast_mac(&to);
	nd_fill(rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN), ND_ADVERT,
		ND_OVERRIDE | (nd->has_source ? ND_SOLICITED : 0), &nd->target, &to, &nd->target, &mac);
	frame_answer(d, m, &mac, &to_mac);
}

bool neigh_nd_input(struct ethdev *d, struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct nd_seen nd = {.mac = eth->src_addr};
	if (!nd_parse((const uint8_t *)(eth + 1), m->data_len - sizeof *eth, &nd))
		return false;
	bool answer = nd.type == ND_SOLICIT && answers_for(d, &nd.target, &nd.source, nd.has_source);
	if (nd.type == ND_ADVERT)
		neigh_confirm(d, &nd.target, &nd.mac, false);
	else if (nd.has_source)
		neigh_confirm(d, &nd.source, &nd.mac, answer);
	if (answer)
		nd_answer(d, m, &nd);
	else
		rte_pktmbuf_free(m);
	return true;
}

static void probe_unresolved(struct ethdev *d, weft_ns now)
{
	for (unsigned i = 0; i < ETHDEV_NEIGHS; i++) {
		struct neigh *n = &d->neigh->n[i];
		if (n->pending_count == 0)
			continue;
		if (now >= n->probe_at && n->probes >= PROBES_MAX) {
			pending_drop(d, n);
			n->probes = 0;
			continue;
		}
		if (now >= n->probe_at)
			neigh_probe(d, n, now);
		d->periodic_at = RTE_MIN(d->periodic_at, n->probe_at);
	}
}

void neigh_periodic(struct ethdev *d, weft_ns now)
{
	d->periodic_at = WEFT_NEVER;
	if (d->is_switch)
		return;
	if (now >= d->announce_at)
		d->announce_at = now + (solicit_send(d, &d->ip) ? ANNOUNCE_NS : ANNOUNCE_RETRY_NS);
	d->periodic_at = d->announce_at;
	if (d->neigh->unresolved > 0)
		probe_unresolved(d, now);
}
