/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP (RFC 826) and neighbour discovery (RFC 4861) as they come in: what is asked of us is answered, what is told is
 * handed on. */
#include <assert.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_ip.h>

#include "ethdev_frame.h"
#include "ethdev_nd.h"
#include "ethdev_neigh.h"
#include "ethdev_paths.h"

static struct weft_ip ip_from_be32(rte_be32_t be)
{
	return weft_ip_v4(rte_be_to_cpu_32(be));
}

static bool is_behind(const struct ethdev *d, const struct weft_ip *ip)
{
	for (uint32_t i = 0; i < d->proxied_count; i++)
		if (weft_ip_eq(&d->proxied[i], ip))
			return true;
	return false;
}

/* Whether a question of `asker` for `target` is ours to answer. A switch answers for everybody who is not a known
 * neighbour of the asker; questions of nobody are checks for duplicate addresses and stay unanswered. */
static bool answers_for(const struct ethdev *d, const struct weft_ip *target, const struct weft_ip *asker,
			bool asker_known)
{
	if (!d->is_switch)
		return weft_ip_eq(target, &d->ip) || (is_behind(d, target) && !is_behind(d, asker));
	const struct neigh *n = neigh_find(d->neigh, target);
	return asker_known && !weft_ip_eq(target, asker) && (n == NULL || n->trust == NEIGH_UNKNOWN);
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
		d->stats.arp_unsent++;
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

/* A reply to us alone: everybody may announce himself with one, too. */
static bool is_answer(const struct ethdev *d, const struct rte_arp_hdr *arp, const struct weft_ip *target)
{
	return arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY) && weft_ip_eq(target, &d->ip);
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
		neigh_confirm(d, &sender, &arp->arp_data.arp_sha,
			      is_answer(d, arp, &target) ? NEIGH_ANSWER : NEIGH_CLAIM, answer);
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

static bool router_input(struct ethdev *d, const uint8_t *ip, size_t len)
{
	struct nd_router router;
	if (d->is_switch || !nd_parse_router(ip, len, &router))
		return false;
	if (paths_router_heard(d, &router, weft_clock_ns()))
		neigh_hops_flush(d->neigh);
	return true;
}

bool neigh_nd_input(struct ethdev *d, struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct nd_seen nd = {.mac = eth->src_addr};
	const uint8_t *ip = (const uint8_t *)(eth + 1);
	if (router_input(d, ip, m->data_len - sizeof *eth)) {
		rte_pktmbuf_free(m);
		return true;
	}
	if (!nd_parse(ip, m->data_len - sizeof *eth, &nd))
		return false;
	bool answer = nd.type == ND_SOLICIT && answers_for(d, &nd.target, &nd.source, nd.has_source);
	if (nd.type == ND_ADVERT)
		neigh_confirm(d, &nd.target, &nd.mac, nd.is_solicited ? NEIGH_ANSWER : NEIGH_CLAIM, false);
	else if (nd.has_source)
		neigh_confirm(d, &nd.source, &nd.mac, NEIGH_CLAIM, answer);
	if (answer)
		nd_answer(d, m, &nd);
	else
		rte_pktmbuf_free(m);
	return true;
}
