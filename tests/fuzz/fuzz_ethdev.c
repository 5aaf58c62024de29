/* SPDX-License-Identifier: BSD-3-Clause */
/* What a DPDK port makes of frames: ARP, neighbour and router discovery, VLAN tags, code points, IPv4 and IPv6. The
 * input is a program: what the port is, then frames made of samples or of anything, altered, in pieces or with the
 * device's findings, and packets that it is given to send meanwhile. What must hold: nobody reads beyond a frame
 * (sanitizers), what is received lies within its frame, every frame is received or answered or counted, frames that are
 * sent are whole, and buffers come home. */
#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "ethdev_fixture.h"
#include "ethdev_priv.h"
#include "program.h"

enum { FRAME_MAX = 256, FRAMES_MAX = 200, ME = 0x0a000001 };

static const uint8_t arp_request[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0,    1,    2,  3, 8, 6,
				      0,    1,    8,    0,    6,    4,    0,    1,    0x52, 0x54, 0,  1, 2, 3,
				      10,   0,    0,    2,    0,    0,    0,    0,    0,    0,    10, 0, 0, 1};
/* Neighbour solicitation from fd00:77::2 for fd00:77::1 with its link-layer address; its checksum is right. */
static const uint8_t solicit[] = {
	0x33, 0x33, 0xff, 0,    0, 1, 0x52, 0x54, 0, 1, 2,   3, 0x86, 0xdd, 0x60, 0,    0,    0, 0,    32, 58, 255,
	0xfd, 0,    0,    0x77, 0, 0, 0,    0,    0, 0, 0,   0, 0,    0,    0,    2,    0xff, 2, 0,    0,  0,  0,
	0,    0,    0,    0,    0, 1, 0xff, 0,    0, 1, 135, 0, 0,    0,    0,    0,    0,    0, 0xfd, 0,  0,  0x77,
	0,    0,    0,    0,    0, 0, 0,    0,    0, 0, 0,   1, 1,    1,    0x52, 0x54, 0,    1, 2,    3};
static const uint8_t udp4[] = {0x52, 0x54, 0,    9,  9,  9,  0x52, 0x54, 0,  1, 2, 3, 8,  0, 0x45, 0x22, 0,    40,
			       0,    0,    0x40, 0,  64, 17, 0,    0,    10, 0, 0, 2, 10, 0, 0,    1,    0xab, 0xcd,
			       0x12, 0xb9, 0,    20, 0,  0,  1,    2,    3,  4, 5, 6, 7,  8, 9,    10,   11,   12};

static const struct {
	const uint8_t *bytes;
	uint8_t len;
} samples[] = {{arp_request, sizeof arp_request}, {solicit, sizeof solicit}, {udp4, sizeof udp4}};

struct fuzz {
	struct program in;
	struct fixture f;
	struct rte_mempool *pool;
	struct rte_mbuf_ext_shared_info shared[FRAMES_MAX];
	unsigned frames, exact_live;
};

static void free_exact(void *bytes, void *arg)
{
	((struct fuzz *)arg)->exact_live--;
	free(bytes);
}

/* Exactly as large as the frame, in memory of its own, so that sanitizers see who reads beyond. */
static struct rte_mbuf *exact_mbuf(struct fuzz *f, const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->pool);
	struct rte_mbuf_ext_shared_info *shared = &f->shared[f->frames];
	uint8_t *own = malloc(len ? len : 1);
	assert_true(m && own);
	memcpy(own, frame, len);
	shared->free_cb = free_exact;
	shared->fcb_opaque = f;
	f->exact_live++;
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, own, RTE_BAD_IOVA, len, shared);
	m->data_len = len;
	m->pkt_len = len;
	return m;
}

static struct rte_mbuf *plain_mbuf(const struct fuzz *f, const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	return m;
}

/* In two pieces. */
static struct rte_mbuf *chained_mbuf(const struct fuzz *f, const uint8_t *frame, uint16_t len, uint8_t cut)
{
	uint16_t first = len ? cut % len : 0;
	struct rte_mbuf *m = plain_mbuf(f, frame, first), *rest = plain_mbuf(f, frame + first, (uint16_t)(len - first));
	assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
	return m;
}

static uint16_t draw_frame(struct fuzz *f, uint8_t *frame)
{
	enum { EDITS = 7, RESIZE = 8, TAG = 16, TO_US = 32, TAG_BYTES = 4 };
	uint8_t which = program_u8(&f->in), how = program_u8(&f->in);
	uint16_t len = FRAME_MAX / 4;
	if (which % 4 < 3) {
		len = samples[which % 4].len;
		memcpy(frame, samples[which % 4].bytes, len);
	} else {
		for (int i = 0; i < len; i++)
			frame[i] = program_u8(&f->in);
	}
	if (how & TO_US)
		memcpy(frame, &to_ethdev(f->f.host)->mac, RTE_ETHER_ADDR_LEN);
	for (int i = 0; i < (how & EDITS); i++) {
		uint8_t at = program_u8(&f->in);
		frame[at % len] = program_u8(&f->in);
	}
	if (how & TAG) {
		memmove(frame + 12 + TAG_BYTES, frame + 12, len - 12u);
		memcpy(frame + 12, (const uint8_t[TAG_BYTES]){0x81, 0, 0, how >> 6 ? 5 : 0}, TAG_BYTES);
		len += TAG_BYTES;
	}
	if (how & RESIZE)
		len = program_u8(&f->in) % (len + 1);
	return len;
}

static uint64_t accounted(const struct weft_ethdev_stats *s)
{
	return s->rx_pkts + s->rx_foreign + s->rx_bad_vlan + s->rx_bad_checksum + s->rx_nombuf;
}

static void check_received(const struct weft_pkt *pkt, uint16_t len)
{
	volatile uint8_t sum = 0;
	assert_true(pkt->head && pkt->head_len + RTE_ETHER_HDR_LEN <= len);
	for (uint16_t i = 0; i < pkt->head_len; i++)
		sum ^= pkt->head[i];
}

static void drain_sent(struct fuzz *f)
{
	struct rte_mbuf *m;
	while (rte_ring_dequeue(to_ethdev(f->f.sw)->rx_ring, (void **)&m) == 0) {
		assert_true(m->nb_segs == 1 && m->data_len == m->pkt_len && m->data_len >= RTE_ETHER_HDR_LEN + 20);
		rte_pktmbuf_free(m);
	}
}

static void bring_frame(struct fuzz *f)
{
	enum { EXACT = 1, CHAIN = 2, STRIPPED = 4, BAD_SUM = 8 };
	uint8_t frame[FRAME_MAX], how = program_u8(&f->in);
	uint16_t len = draw_frame(f, frame);
	struct weft_port *host = f->f.host;
	struct weft_pkt *pkt;
	struct weft_ethdev_stats before = port_stats(host);
	struct rte_mbuf *m = how & EXACT   ? exact_mbuf(f, frame, len)
			     : how & CHAIN ? chained_mbuf(f, frame, len, how)
					   : plain_mbuf(f, frame, len);
	if (how & STRIPPED) {
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = how >> 4;
	}
	if (how & BAD_SUM)
		m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
	assert_int_equal(rte_ring_enqueue(to_ethdev(f->f.sw)->tx_ring, m), 0);
	f->frames++;
	uint16_t got = host->ops->rx(host, &pkt, 1);
	struct weft_ethdev_stats after = port_stats(host);
	assert_true(accounted(&after) - accounted(&before) <= 1 && after.rx_pkts - before.rx_pkts == got);
	if (!got)
		return;
	check_received(pkt, len);
	host->ops->free(host, &pkt, 1);
}

/* To whom it may concern: known, to be asked for, or without a route. */
static void send_packet(struct fuzz *f)
{
	struct weft_port *host = f->f.host;
	struct weft_pkt *pkt;
	uint8_t to = program_u8(&f->in);
	if (host->ops->alloc(host, &pkt, 1) != 1)
		return;
	memcpy(pkt->head, udp4 + RTE_ETHER_HDR_LEN, sizeof udp4 - RTE_ETHER_HDR_LEN);
	pkt->head[19] = to & 7;
	pkt->head_len = sizeof udp4 - RTE_ETHER_HDR_LEN;
	if (host->ops->tx(host, &pkt, 1) == 0)
		host->ops->free(host, &pkt, 1);
}

static void open_port(struct fuzz *f)
{
	enum { V6 = 1, SWITCH = 2, VLAN = 4, DSCP = 8 };
	static const struct weft_ip me6 = {{0xfd, 0, 0, 0x77, [15] = 1}};
	uint8_t how = program_u8(&f->in);
	struct weft_ethdev_net net = {.vlan = how & VLAN ? 5 : 0};
	if (how & DSCP)
		net.dscp = (struct weft_dscp){1, 2, 3, 4, 5, 6, 7};
	if (how & SWITCH)
		fixture_open(&f->f, (struct weft_ip){{0}}, false);
	else
		fixture_open_net(&f->f, how & V6 ? me6 : weft_ip_v4(ME), &net);
	f->pool = to_ethdev(f->f.host)->pool;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz f;
	static bool started;
	setenv("CMOCKA_TEST_ABORT", "1", 0);
	if (!started)
		assert_int_equal(fixture_eal(NULL), 0);
	started = true;
	memset(&f, 0, sizeof f);
	f.in = (struct program){data, size};
	open_port(&f);
	while (f.in.left && f.frames < FRAMES_MAX) {
		if (program_u8(&f.in) < 200)
			bring_frame(&f);
		else
			send_packet(&f);
		drain_sent(&f);
	}
	fixture_close(&f.f);
	assert_int_equal(f.exact_live, 0);
	return 0;
}
