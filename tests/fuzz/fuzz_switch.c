/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch between DPDK ports, fed with frames: UDP over IPv4 with any headers, altered, cut, trimmed, from addresses
 * that are the port's or not. The input is a program of frames and of time. What must hold: nobody reads beyond a frame
 * (sanitizers), what leaves is an IP packet no longer than what came, with assigned addresses nothing comes from an
 * address that is another port's, and buffers come home. */
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "cmocka_all.h"
#include "ethdev_priv.h"
#include "program.h"
#include "rtnet_lab.h"

enum { UPLINK = HOSTS - 1 }; /* with assigned addresses: who else there is, is behind it */
enum { BASE = 0x0a000001, FRAME_BYTES = 100, FRAMES_MAX = 150, SRC_AT = 14 + 12, DST_AT = 14 + 16 };

struct fuzz {
	struct program in;
	struct lab lab;
	struct rte_mbuf_ext_shared_info shared[FRAMES_MAX];
	unsigned frames, live;
	bool assigned;
	weft_ns now;
};

static void free_exact(void *bytes, void *arg)
{
	((struct fuzz *)arg)->live--;
	free(bytes);
}

/* As large as the frame, in memory of its own. */
static void bring(struct fuzz *f, unsigned port, const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(to_ethdev(f->lab.host[port])->pool);
	struct rte_mbuf_ext_shared_info *shared = &f->shared[f->frames++];
	uint8_t *own = malloc(len ? len : 1);
	assert_true(m && own);
	memcpy(own, frame, len);
	*shared = (struct rte_mbuf_ext_shared_info){.free_cb = free_exact, .fcb_opaque = f};
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, own, RTE_BAD_IOVA, len, shared);
	m->data_len = len;
	m->pkt_len = len;
	f->live++;
	assert_int_equal(rte_ring_enqueue(to_ethdev(f->lab.sw[port])->rx_ring, m), 0);
}

static void set_sum(uint8_t *ip)
{
	uint32_t sum = 0;
	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* The lowest byte of an address tells which port's it is, and the first byte behind UDP who sent it. */
static void bring_frame(struct fuzz *f)
{
	enum { EDITS = 3, CUT = 4, SUM = 8, TRIMMED = 16 };
	uint8_t frame[FRAME_BYTES] = {
		2,  0,  10, 0, 0,  1, 2, 0, 10, 0, 0, 2, 8,    0,    0x45, 0x22, 0, FRAME_BYTES - 14, 0, 0, 0x40, 0,
		64, 17, 0,  0, 10, 0, 0, 1, 10, 0, 0, 1, 0xab, 0xcd, 0x12, 0xb9, 0, FRAME_BYTES - 34};
	uint8_t which = program_u8(&f->in), how = program_u8(&f->in);
	unsigned port = which % HOSTS;
	uint16_t len = FRAME_BYTES;
	frame[SRC_AT + 3] = (uint8_t)(1 + (which & 0x40 ? which >> 2 : which) % HOSTS);
	frame[DST_AT + 3] = (uint8_t)(1 + (which >> 4) % (HOSTS + 1));
	for (int i = 42; i < FRAME_BYTES; i++)
		frame[i] = (uint8_t)i;
	frame[42] = (uint8_t)port;
	if (how & TRIMMED)
		frame[15] = 16 << 2;
	for (int i = 0; i < (how & EDITS); i++) {
		uint8_t at = program_u8(&f->in) % FRAME_BYTES;
		frame[at == 42 ? 43 : at] = program_u8(&f->in);
	}
	if (how & SUM)
		set_sum(frame + 14);
	if (how & CUT)
		len = program_u8(&f->in) % (FRAME_BYTES + 1);
	bring(f, port, frame, len);
}

static void check_left(const struct fuzz *f, const struct weft_pkt *pkt)
{
	assert_true(pkt->head_len <= FRAME_BYTES - 14 && pkt->head_len >= 20);
	if (!f->assigned || pkt->head_len <= 28 || pkt->head[0] != 0x45 || memcmp(pkt->head + 12, "\12\0\0", 3) != 0)
		return;
	unsigned port = pkt->head[28], owner = pkt->head[15] - 1u;
	assert_true(port == UPLINK ? owner >= UPLINK : owner == port);
}

static void pass_time(struct fuzz *f)
{
	f->now += WEFT_US(1) + WEFT_US(program_u8(&f->in));
	for (int i = 0; i < 20; i++)
		rtnet_poll(f->lab.rtnet, f->now);
	for (unsigned h = 0; h < HOSTS; h++) {
		struct weft_pkt *pkts[32];
		uint16_t n;
		while ((n = f->lab.host[h]->ops->rx(f->lab.host[h], pkts, 32)) > 0) {
			for (uint16_t i = 0; i < n; i++)
				check_left(f, pkts[i]);
			f->lab.host[h]->ops->free(f->lab.host[h], pkts, n);
		}
	}
}

static void open_lab(struct fuzz *f)
{
	static struct rtnet_addr addrs[HOSTS];
	static const struct rtnet_assigned assigned = {.uplink = UPLINK, .addrs = addrs, .count = HOSTS};
	struct rtnet_conf conf = {0};
	for (uint32_t h = 0; h < HOSTS; h++)
		addrs[h] = (struct rtnet_addr){weft_ip_v4(BASE + h), h};
	f->assigned = program_u8(&f->in) & 1;
	conf.assigned = f->assigned ? &assigned : NULL;
	lab_open(&f->lab, BASE, &conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz f;
	static bool started;
	setenv("CMOCKA_TEST_ABORT", "1", 0);
	if (!started)
		assert_int_equal(lab_setup(NULL), 0);
	started = true;
	memset(&f, 0, sizeof f);
	f.in = (struct program){data, size};
	open_lab(&f);
	while (f.in.left && f.frames < FRAMES_MAX) {
		bring_frame(&f);
		if (f.frames % 8 == 0 || program_u8(&f.in) < 64)
			pass_time(&f);
	}
	pass_time(&f);
	lab_close(&f.lab);
	assert_int_equal(f.live, 0);
	return 0;
}
