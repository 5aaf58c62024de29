/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_edge.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>

#include "ethdev_dscp.h"

enum {
	TAG_BYTES = sizeof(struct rte_vlan_hdr),
	MACS_BYTES = 2 * RTE_ETHER_ADDR_LEN,
	VID_MAX = 4094,
	VID_MASK = 0xfff,
	PCP_MAX = 7,
	PCP_SHIFT = 13,
};

struct edge {
	bool has_dscps;
	uint16_t tci; /* of the tag, host order; 0: none */
	uint8_t out[DSCPS], in[DSCPS];
};

/* Code points that mean nothing to us stay, unless the network means a class of ours by them. */
static void dscps_fill(struct edge *e, const struct weft_dscp *dscp)
{
	enum { OTHER = 0 };
	uint8_t theirs[DSCP_CLASSES];
	memcpy(theirs, dscp, sizeof theirs);
	for (unsigned i = 0; i < DSCPS; i++)
		e->out[i] = e->in[i] = (uint8_t)i;
	for (int i = 0; i < DSCP_CLASSES; i++)
		e->in[dscp_ours[i]] = OTHER;
	for (int i = 0; i < DSCP_CLASSES; i++) {
		e->out[dscp_ours[i]] = theirs[i];
		e->in[theirs[i]] = dscp_ours[i];
	}
}

int edge_create(const char *dev, const struct weft_ethdev_net *net, struct edge **edge, struct weft_err *err)
{
	static const struct weft_dscp none;
	bool has_dscps = memcmp(&net->dscp, &none, sizeof none) != 0;
	*edge = NULL;
	if (net->vlan > VID_MAX || net->vlan_pcp > PCP_MAX)
		return weft_err_set(err, -EINVAL, "%s: VLAN %u with priority %u: there are 1 to %d, and 0 to %d", dev,
				    net->vlan, net->vlan_pcp, VID_MAX, PCP_MAX);
	int rc = has_dscps ? dscp_check(dev, &net->dscp, err) : 0;
	if (rc != 0 || (!has_dscps && net->vlan == 0))
		return rc;
	*edge = calloc(1, sizeof **edge);
	if (*edge == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", dev);
	(*edge)->has_dscps = has_dscps;
	if (net->vlan != 0)
		(*edge)->tci = (uint16_t)(net->vlan | net->vlan_pcp << PCP_SHIFT);
	dscps_fill(*edge, &net->dscp);
	return 0;
}

void edge_destroy(struct edge *edge)
{
	free(edge);
}

/* Filters stay with the device: other ports on it may want them, too. */
int edge_admit(const struct ethdev *d, uint16_t vlan, const struct rte_eth_dev_info *info, struct weft_err *err)
{
	if (vlan == 0 || !(info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER))
		return 0;
	int chosen = rte_eth_dev_get_vlan_offload(d->id);
	int rc = chosen < 0 ? chosen : 0;
	if (rc == 0 && !(chosen & RTE_ETH_VLAN_FILTER_OFFLOAD))
		rc = rte_eth_dev_set_vlan_offload(d->id, chosen | RTE_ETH_VLAN_FILTER_OFFLOAD);
	if (rc == 0)
		rc = rte_eth_dev_vlan_filter(d->id, vlan, 1);
	return rc == 0 ? 0 : weft_err_set(err, rc, "%s: does not admit VLAN %u: %s", d->name, vlan, strerror(-rc));
}

/* The IPv4 header's checksum follows; IPv6 has none. CRCs of the transport leave the field out. */
static void dscp_translate(struct rte_mbuf *m, const uint8_t *map)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	uint8_t *ip = (uint8_t *)(eth + 1);
	struct rte_ipv4_hdr *v4 = (struct rte_ipv4_hdr *)ip;
	if (m->data_len < sizeof *eth)
		return;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && m->data_len >= sizeof *eth + sizeof *v4 &&
	    ip[0] == 0x45) {
		uint8_t tos = (uint8_t)(map[v4->type_of_service >> 2] << 2 | (v4->type_of_service & 3));
		uint16_t sum = (uint16_t)~v4->hdr_checksum;
		uint32_t next = (uint32_t)sum + (uint16_t)~RTE_BE16(v4->type_of_service) + RTE_BE16(tos);
		next = (next & UINT16_MAX) + (next >> 16);
		v4->hdr_checksum = (uint16_t) ~((next & UINT16_MAX) + (next >> 16));
		v4->type_of_service = tos;
	}
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) &&
	    m->data_len >= sizeof *eth + sizeof(struct rte_ipv6_hdr)) {
		uint8_t dscp = map[(ip[0] & 0xf) << 2 | ip[1] >> 6];
		ip[0] = (uint8_t)((ip[0] & 0xf0) | dscp >> 2);
		ip[1] = (uint8_t)((ip[1] & 0x3f) | dscp << 6);
	}
}

static bool tag_put(struct rte_mbuf *m, uint16_t tci)
{
	uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, TAG_BYTES);
	const struct rte_vlan_hdr tag = {.vlan_tci = rte_cpu_to_be_16(tci)};
	if (frame == NULL)
		return false;
	memmove(frame, frame + TAG_BYTES, MACS_BYTES);
	/* The tag's type stands where the frame's was; its own comes before the latter. */
	frame[MACS_BYTES] = RTE_ETHER_TYPE_VLAN >> 8;
	frame[MACS_BYTES + 1] = RTE_ETHER_TYPE_VLAN & 0xff;
	memcpy(frame + MACS_BYTES + 2, &tag.vlan_tci, sizeof tag.vlan_tci);
	return true;
}

static void tag_take(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	assert(m->data_len >= MACS_BYTES + TAG_BYTES);
	memmove(frame + TAG_BYTES, frame, MACS_BYTES);
	rte_pktmbuf_adj(m, TAG_BYTES);
}

uint16_t edge_out(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	const struct edge *e = d->edge;
	for (uint16_t i = 0; i < n; i++) {
		if (e->tci != 0 && rte_pktmbuf_headroom(m[i]) < TAG_BYTES) {
			d->stats.tx_no_headroom++;
			return i;
		}
		if (e->has_dscps)
			dscp_translate(m[i], e->out);
		if (e->tci != 0)
			tag_put(m[i], e->tci);
	}
	return n;
}

void edge_take_back(const struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		if (d->edge->tci != 0)
			tag_take(m[i]);
		if (d->edge->has_dscps)
			dscp_translate(m[i], d->edge->in);
	}
}

/* The device may have taken the tag off already. A tag with number 0 is a priority, and no VLAN. */
static bool vlan_fits(struct rte_mbuf *m, uint16_t want)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)(eth + 1);
	uint16_t vid = 0;
	if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) {
		vid = m->vlan_tci & VID_MASK;
	} else if (m->data_len >= sizeof *eth + sizeof *tag && eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		vid = rte_be_to_cpu_16(tag->vlan_tci) & VID_MASK;
		tag_take(m);
	}
	return vid == want;
}

uint16_t edge_in(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	const struct edge *e = d->edge;
	uint16_t kept = 0;
	for (uint16_t i = 0; i < n; i++) {
		if (e->tci != 0 && !vlan_fits(m[i], e->tci & VID_MASK)) {
			d->stats.rx_bad_vlan++;
			rte_pktmbuf_free(m[i]);
			continue;
		}
		if (e->has_dscps)
			dscp_translate(m[i], e->in);
		m[kept++] = m[i];
	}
	return kept;
}
