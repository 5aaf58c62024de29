/* SPDX-License-Identifier: BSD-3-Clause */
/* Bursts of a DPDK port: Ethernet framing, payload by reference gathered at transmit. */
#include <assert.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ip.h>

#include "ethdev_frame.h"
#include "ethdev_priv.h"

enum {
	IP_BYTES_MIN = 24,   /* nothing for us is shorter, and neigh_is_learned reads so far, whatever the family */
	RX_AHEAD = 4,        /* frames whose headers are fetched early */
	RUN_BYTES = 16384,   /* of a burst: a driver that copies shows the packets of a burst all at once */
	REFERENCE_MIN = 512, /* payload up to this is copied behind the headers: cheaper than a second segment */
};

static uint16_t burst_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	if (unlikely(d->is_special))
		return ethdev_special_rx(d, m, n);
	return rte_eth_rx_burst(d->id, d->queue, m, n);
}

static uint32_t pkt_ip_bytes(const struct weft_pkt *pkt)
{
	return (uint32_t)pkt->head_len + pkt->payload_len + (pkt->flags & WEFT_PKT_TRAILER ? ETHDEV_CRC_BYTES : 0);
}

static bool pkt_fits(const struct ethdev *d, struct weft_pkt *pkt)
{
	const struct rte_mbuf *m = pkt_mbuf(pkt);
	const uint8_t *buf = m->buf_addr;
	uint32_t bytes = pkt_ip_bytes(pkt);
	return bytes <= d->port.max_ip_bytes && pkt->head >= buf + RTE_ETHER_HDR_LEN &&
	       pkt->head + bytes <= buf + m->buf_len;
}

/* Copies what follows the headers behind them. Nothing in `pkt` changes, so a refused packet can be framed again. */
static void pkt_gather(const struct weft_pkt *pkt)
{
	uint8_t *p = pkt->head + pkt->head_len;
	if (pkt->payload != NULL)
		memcpy(p, pkt->payload, pkt->payload_len);
	else
		memset(p, 0, pkt->payload_len);
	p += pkt->payload_len;
	if (pkt->flags & WEFT_PKT_TRAILER)
		memcpy(p, &pkt->trailer, ETHDEV_CRC_BYTES); /* little endian, as every CPU DPDK's x86 build runs on */
}

/* Chains payload where it lies. It is the sender's memory, which stays only until the driver has its copy. */
static bool pkt_chain(struct ethdev *d, const struct weft_pkt *pkt, struct rte_mbuf *m)
{
	struct rte_mbuf *seg;
	if (!d->copies || pkt->payload == NULL || pkt->payload_len < REFERENCE_MIN || pkt->flags & WEFT_PKT_TRAILER)
		return false;
	seg = rte_pktmbuf_alloc(d->pool);
	if (seg == NULL)
		return false;
	assert(m->nb_segs == 1 && m->next == NULL);
	rte_mbuf_ext_refcnt_update(&d->elsewhere, 1);
	rte_pktmbuf_attach_extbuf(seg, (void *)(uintptr_t)pkt->payload, RTE_BAD_IOVA, pkt->payload_len, &d->elsewhere);
	seg->data_len = pkt->payload_len;
	m->next = seg;
	m->nb_segs = 2;
	return true;
}

/* The driver did not take it: the packet may change before it is framed again. */
static void pkt_unchain(struct rte_mbuf *m)
{
	if (m->nb_segs == 1)
		return;
	assert(m->nb_segs == 2 && m->next != NULL);
	rte_pktmbuf_free_seg(m->next);
	m->next = NULL;
	m->nb_segs = 1;
}

/* `passing`: a burst follows at once. */
static struct rte_mbuf *pkt_frame(struct ethdev *d, struct weft_pkt *pkt, const struct rte_ether_addr *dst,
				  bool passing)
{
	struct rte_mbuf *m = pkt_mbuf(pkt);
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)(pkt->head - RTE_ETHER_HDR_LEN);

	bool chained = passing && pkt_chain(d, pkt, m);
	if (!chained && (pkt->payload_len > 0 || (pkt->flags & WEFT_PKT_TRAILER)))
		pkt_gather(pkt);
	eth->dst_addr = *dst;
	eth->src_addr = d->mac;
	eth->ether_type = pkt->head[0] >> 4 == 6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4);
	assert((uint8_t *)eth >= (uint8_t *)m->buf_addr && rte_mbuf_refcnt_read(m) == 1);
	m->data_off = (uint16_t)((uint8_t *)eth - (uint8_t *)m->buf_addr);
	m->pkt_len = RTE_ETHER_HDR_LEN + pkt_ip_bytes(pkt);
	m->data_len = (uint16_t)(m->pkt_len - (chained ? pkt->payload_len : 0));
	return m;
}

/* Frames packets up to the first one that cannot go now, and no more bytes than the other side may wait for. */
static uint16_t run_frame(struct ethdev *d, struct weft_pkt **pkts, uint16_t n, struct rte_mbuf **m)
{
	struct rte_ether_addr dst;
	uint32_t bytes = 0;
	uint16_t i;
	for (i = 0; i < n && bytes < RUN_BYTES && pkt_fits(d, pkts[i]) && neigh_mac(d, pkts[i]->head, &dst); i++) {
		m[i] = pkt_frame(d, pkts[i], &dst, true);
		bytes += m[i]->pkt_len;
	}
	return i;
}

static __attribute__((noinline)) void pkt_queue_or_drop(struct ethdev *d, struct weft_pkt *pkt)
{
	static const struct rte_ether_addr unknown;
	if (pkt_fits(d, pkt)) {
		neigh_queue(d, pkt_frame(d, pkt, &unknown, false), pkt->head);
		return;
	}
	d->stats.tx_oversize++;
	rte_pktmbuf_free(pkt_mbuf(pkt));
}

/* Bytes are counted before the burst: what was sent belongs to others afterwards. */
static uint16_t run_send(struct ethdev *d, struct rte_mbuf **m, uint16_t run)
{
	uint16_t segments = 0;
	for (uint16_t i = 0; i < run; i++) {
		d->stats.tx_bytes += m[i]->pkt_len;
		segments = (uint16_t)(segments + m[i]->nb_segs);
	}
	uint16_t sent = ethdev_burst_tx(d, m, run);
	assert(sent <= run);
	d->stats.tx_pkts += sent;
	d->stats.tx_segments += (uint64_t)(segments - run);
	d->tx_run = RTE_MIN((uint16_t)(2 * d->tx_run), (uint16_t)ETHDEV_BURST);
	if (likely(sent == run))
		return sent;
	for (uint16_t i = sent; i < run; i++) {
		d->stats.tx_bytes -= m[i]->pkt_len;
		d->stats.tx_segments -= (uint64_t)(m[i]->nb_segs - 1);
		pkt_unchain(m[i]);
	}
	d->stats.tx_ring_full += (uint64_t)(run - sent);
	d->tx_run = 1;
	return sent;
}

uint16_t ethdev_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ethdev *d = to_ethdev(port);
	struct rte_mbuf *m[ETHDEV_BURST];
	uint16_t done = 0;

	while (done < n) {
		assert(d->tx_run >= 1 && d->tx_run <= ETHDEV_BURST);
		uint16_t run = run_frame(d, pkts + done, RTE_MIN((uint16_t)(n - done), d->tx_run), m);
		if (run == 0) {
			pkt_queue_or_drop(d, pkts[done++]);
			continue;
		}
		uint16_t sent = run_send(d, m, run);
		done = (uint16_t)(done + sent);
		if (sent < run)
			break;
	}
	ethdev_burst_flush(d);
	return done;
}

static bool mac_is_ours(const struct ethdev *d, const struct rte_ether_hdr *eth)
{
	/* A device that sees what the kernel sends on the same interface must not take it for the network's. */
	if (d->is_switch)
		return d->id == RTE_MAX_ETHPORTS || !rte_is_same_ether_addr(&eth->src_addr, &d->mac);
	return rte_is_same_ether_addr(&eth->dst_addr, &d->mac) || rte_is_same_ether_addr(&eth->dst_addr, &d->mac_too);
}

/* Bytes of the IP packet according to its header; frames may be padded. 0: no IP header. `there`: bytes at `ip`, which
 * are enough for one of IPv4. */
static uint32_t ip_bytes(const uint8_t *ip, uint16_t type, uint32_t there)
{
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && ip[0] >> 4 == 4)
		return (uint32_t)ip[2] << 8 | ip[3];
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && ip[0] >> 4 == 6 && there >= sizeof(struct rte_ipv6_hdr))
		return ((uint32_t)ip[4] << 8 | ip[5]) + (uint32_t)sizeof(struct rte_ipv6_hdr);
	return 0;
}

static struct weft_pkt *pkt_fill(struct rte_mbuf *m, uint8_t *ip, uint32_t bytes, weft_ns now)
{
	struct weft_pkt *pkt = mbuf_pkt(m);
	assert(rte_pktmbuf_priv_size(m->pool) >= sizeof *pkt && bytes <= m->data_len);
	uint32_t wire = bytes + WEFT_L1_OVERHEAD_BYTES;
	*pkt = (struct weft_pkt){
		.head = ip,
		.head_len = (uint16_t)bytes,
		.arrived_ns = now,
		.wire_bytes = (uint16_t)RTE_MAX(wire, (uint32_t)WEFT_WIRE_MIN_BYTES),
	};
	return pkt;
}

static bool checksum_is_bad(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

/* As most frames come. */
static bool mbuf_is_plain(const struct rte_mbuf *m)
{
	return rte_pktmbuf_priv_size(m->pool) >= sizeof(struct weft_pkt) && m->nb_segs == 1 && !checksum_is_bad(m);
}

/* A copy in one buffer of ours; NULL: there is none. */
static struct rte_mbuf *mbuf_copy(struct ethdev *d, struct rte_mbuf *m)
{
	struct rte_mbuf *own = d->pool != NULL ? rte_pktmbuf_copy(m, d->pool, 0, UINT32_MAX) : NULL;
	rte_pktmbuf_free(m);
	if (own == NULL || own->nb_segs == 1)
		return own;
	rte_pktmbuf_free(own);
	return NULL;
}

/* One contiguous buffer with our metadata; NULL: dropped. Rings may bring packets of other pools. */
static __attribute__((noinline)) struct rte_mbuf *mbuf_adopt(struct ethdev *d, struct rte_mbuf *m)
{
	if (checksum_is_bad(m) && (d->offloads & WEFT_OFFLOAD_RX_CHECKSUM)) {
		d->stats.rx_bad_checksum++;
		rte_pktmbuf_free(m);
		return NULL;
	}
	bool is_ours = rte_pktmbuf_priv_size(m->pool) >= sizeof(struct weft_pkt);
	d->stats.rx_joined += m->nb_segs > 1;
	if (!is_ours || (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0))
		m = mbuf_copy(d, m);
	assert(m == NULL || (m->nb_segs == 1 && m->data_len == m->pkt_len));
	d->stats.rx_nombuf += m == NULL;
	return m;
}

/* The IP packet in a frame; NULL: the frame was none for the caller. The mbuf is consumed either way. */
static struct weft_pkt *frame_take(struct ethdev *d, struct rte_mbuf *m, weft_ns now)
{
	if (unlikely(!mbuf_is_plain(m)) && (m = mbuf_adopt(d, m)) == NULL)
		return NULL;
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	uint8_t *ip = (uint8_t *)(eth + 1);

	if (m->data_len < RTE_ETHER_HDR_LEN + IP_BYTES_MIN) {
		frame_drop(d, m);
		return NULL;
	}
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP)) {
		neigh_arp_input(d, m);
		return NULL;
	}
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && ip[6] == IPPROTO_ICMPV6 && neigh_nd_input(d, m))
		return NULL;
	uint32_t there = m->data_len - (uint32_t)RTE_ETHER_HDR_LEN, bytes = ip_bytes(ip, eth->ether_type, there);
	if (bytes == 0 || !mac_is_ours(d, eth)) {
		frame_drop(d, m);
		return NULL;
	}
	if (d->is_switch)
		neigh_learn_ip(d, ip, &eth->src_addr);
	else if (unlikely(!neigh_is_learned(d, ip)))
		neigh_learn_sender(d, ip, &eth->src_addr);
	return pkt_fill(m, ip, RTE_MIN(bytes, there), now);
}

uint16_t ethdev_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ethdev *d = to_ethdev(port);
	struct rte_mbuf *m[ETHDEV_BURST];
	uint16_t got = burst_rx(d, m, RTE_MIN(n, (uint16_t)ETHDEV_BURST)), out = 0;
	weft_ns now = weft_clock_ns();

	if (unlikely(now >= d->periodic_at))
		ethdev_periodic(d, now);
	for (int i = 0; i < RTE_MIN((int)got, RX_AHEAD); i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *)); // NOLINT(clang-analyzer-core.NullDereference)
	for (uint16_t i = 0; i < got; i++) {
		if (i + RX_AHEAD < got)
			rte_prefetch0(rte_pktmbuf_mtod(m[i + RX_AHEAD], void *));
		uint32_t bytes = m[i]->pkt_len;
		struct weft_pkt *pkt = frame_take(d, m[i], now);
		if (pkt == NULL)
			continue;
		d->stats.rx_pkts++;
		d->stats.rx_bytes += bytes;
		pkts[out++] = pkt;
	}
	return out;
}

uint16_t ethdev_rx_parked(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ethdev *d = to_ethdev(port);
	weft_ns now = weft_clock_ns();
	if (now >= d->periodic_at)
		ethdev_periodic(d, now);
	return 0;
}

uint16_t ethdev_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct ethdev *d = to_ethdev(port);
	struct rte_mbuf *m[ETHDEV_BURST];
	uint16_t got = 0;

	if (d->pool == NULL)
		return 0;
	while (got < n) {
		uint16_t want = RTE_MIN((uint16_t)(n - got), (uint16_t)ETHDEV_BURST);
		/* All or nothing: near the end of the pool single packets may still be had. */
		if (rte_pktmbuf_alloc_bulk(d->pool, m, want) != 0) {
			m[0] = rte_pktmbuf_alloc(d->pool);
			want = m[0] != NULL;
		}
		if (want == 0)
			break;
		for (uint16_t i = 0; i < want; i++)
			*(pkts[got++] = mbuf_pkt(m[i])) = (struct weft_pkt){.head = rte_pktmbuf_mtod(m[i], uint8_t *)};
	}
	return got;
}

void ethdev_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct rte_mbuf *m[ETHDEV_BURST];
	while (n > 0) {
		uint16_t k = RTE_MIN(n, (uint16_t)ETHDEV_BURST);
		for (uint16_t i = 0; i < k; i++)
			m[i] = pkt_mbuf(pkts[i]);
		rte_pktmbuf_free_bulk(m, k);
		pkts += k;
		n = (uint16_t)(n - k);
	}
}

uint16_t ethdev_tx_down(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	to_ethdev(port)->stats.tx_link_down += n;
	ethdev_free(port, pkts, n);
	return n;
}
