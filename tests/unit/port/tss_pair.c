/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_pair.h"

#include <string.h>

#include "cmocka_all.h"

static struct wire_end *end_of(struct weft_port *port)
{
	return (struct wire_end *)port;
}

static uint16_t end_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct wire_end *e = end_of(port);
	uint16_t got = n < e->arrived_n ? n : (uint16_t)e->arrived_n;
	memcpy(pkts, e->arrived, got * sizeof *pkts);
	e->arrived_n -= got;
	memmove(e->arrived, e->arrived + got, e->arrived_n * sizeof *pkts);
	return got;
}

static uint16_t end_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct wire_end *e = end_of(port);
	uint16_t took = n < e->room ? n : (uint16_t)e->room;
	for (uint16_t i = 0; i < took; i++) {
		assert_int_equal(pkts[i]->payload_len, 0);
		assert_true(pkts[i]->head_len <= PAIR_IP_BYTES);
		e->sent[e->sent_n++] = pkts[i];
	}
	e->room -= took;
	return took;
}

static uint16_t end_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct wire_end *e = end_of(port);
	uint16_t got = 0;
	while (got < n && e->unused_n) {
		struct weft_pkt *pkt = e->unused[--e->unused_n];
		*pkt = (struct weft_pkt){.head = e->bytes[pkt - e->pkts]};
		pkts[got++] = pkt;
	}
	return got;
}

static void end_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct wire_end *e = end_of(port);
	for (uint16_t i = 0; i < n; i++) {
		assert_true(pkts[i] >= e->pkts && pkts[i] < e->pkts + PAIR_PKTS);
		e->unused[e->unused_n++] = pkts[i];
	}
	assert_true(e->unused_n <= PAIR_PKTS);
}

static void end_close(struct weft_port *port)
{
	end_of(port)->is_closed = true;
}

static const struct weft_port_ops end_ops = {
	.rx = end_rx, .tx = end_tx, .alloc = end_alloc, .free = end_free, .close = end_close};

void pair_open_end(struct tss_pair *p, int end, const struct weft_tss_conf *conf)
{
	struct wire_end *e = &p->ends[end];
	struct weft_err err = {""};
	memset(e, 0, sizeof *e);
	e->port = (struct weft_port){.ops = &end_ops, .max_ip_bytes = PAIR_IP_BYTES, .link_bps = 1000};
	e->room = UINT32_MAX;
	for (uint32_t i = 0; i < PAIR_PKTS; i++)
		e->unused[e->unused_n++] = &e->pkts[i];
	if (weft_tss_open(conf, &e->port, &p->ports[end], &err))
		fail_msg("%s", err.msg);
	assert_int_equal(p->ports[end]->max_ip_bytes, PAIR_IP_BYTES - 28);
}

static struct weft_ip ip_of(bool v6, int end)
{
	struct weft_ip ip = {{0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)(end + 1)}};
	return v6 ? ip : weft_ip_v4(0x0a000001 + (uint32_t)end);
}

void pair_open(struct tss_pair *p, bool v6, bool no_cryptodev, uint64_t first_number)
{
	p->keys = (struct weft_tss_keys){.key = {{.id = 6}, {.id = 7}}, .count = 2, .current = 1};
	for (uint8_t i = 0; i < WEFT_TSS_SECRET_BYTES; i++)
		p->keys.key[0].secret[i] = p->keys.key[1].secret[i] = i;
	for (int end = 0; end < 2; end++) {
		const struct weft_tss_conf conf = {.ip = ip_of(v6, end),
						   .first_number = first_number,
						   .keys = &p->keys,
						   .sources_max = 4,
						   .no_cryptodev = no_cryptodev};
		pair_open_end(p, end, &conf);
	}
}

void pair_close(struct tss_pair *p)
{
	for (int end = 0; end < 2; end++) {
		struct wire_end *e = &p->ends[end];
		p->ports[end]->ops->close(p->ports[end]);
		assert_true(e->is_closed);
		assert_int_equal(e->unused_n + e->sent_n + e->arrived_n, PAIR_PKTS);
	}
}

static void sum_write(uint8_t *ip)
{
	uint32_t sum = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = 0xffff - (uint16_t)(sum + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static uint8_t *ip_write(bool v6, uint8_t *p, uint8_t l4_bytes)
{
	static const uint8_t v4[20] = {0x45, 0x22, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
	static const uint8_t head_v6[8] = {0x62, 0x20, 0, 0, 0, 0, 253, 64};
	if (v6) {
		const struct weft_ip src = ip_of(true, 0), dst = ip_of(true, 1);
		memcpy(p, head_v6, sizeof head_v6);
		p[5] = l4_bytes;
		memcpy(p + 8, src.b, 16);
		memcpy(p + 24, dst.b, 16);
		return p + 40;
	}
	memcpy(p, v4, sizeof v4);
	p[3] = (uint8_t)(20 + l4_bytes);
	sum_write(p);
	return p + 20;
}

uint32_t pair_plain(bool v6, uint8_t mark, uint8_t *out)
{
	uint8_t *p = ip_write(v6, out, (v6 ? 4 : 8) + PAIR_INNER_BYTES);
	memcpy(p, v6 ? (const uint8_t[8]){0x11, 0x11} : (const uint8_t[8]){0x11, 0x11, 0x12, 0xb9, 0, 68}, 8);
	p += v6 ? 4 : 8;
	for (uint8_t i = 0; i < PAIR_INNER_BYTES; i++)
		p[i] = i;
	p[0] = 0x11; /* a request with a standard header */
	p[1] = 0x84;
	p[PAIR_INNER_BYTES - 1] = mark;
	return (uint32_t)(p + PAIR_INNER_BYTES - out);
}

struct weft_pkt *pair_pkt(struct tss_pair *p, int from, bool v6, uint8_t mark)
{
	static uint8_t bytes[PAIR_PKTS][256];
	struct weft_pkt *pkt = NULL;
	assert_int_equal(p->ports[from]->ops->alloc(p->ports[from], &pkt, 1), 1);
	uint8_t *own = bytes[pkt - p->ends[from].pkts];
	uint32_t n = pair_plain(v6, mark, own);
	pkt->head_len = (uint16_t)(n - PAIR_INNER_BYTES + 20);
	memcpy(pkt->head, own, pkt->head_len);
	pkt->payload = own + pkt->head_len;
	pkt->payload_len = PAIR_INNER_BYTES - 20;
	pkt->wire_bytes = (uint16_t)(n + WEFT_L1_OVERHEAD_BYTES);
	return pkt;
}

void pair_send(struct tss_pair *p, int from, bool v6, uint8_t mark)
{
	struct weft_pkt *pkt = pair_pkt(p, from, v6, mark);
	assert_int_equal(p->ports[from]->ops->tx(p->ports[from], &pkt, 1), 1);
}

struct weft_pkt *pair_sent(struct tss_pair *p, int from, uint32_t i)
{
	assert_true(i < p->ends[from].sent_n);
	return p->ends[from].sent[i];
}

void pair_bring_bytes(struct tss_pair *p, int to, const uint8_t *bytes, uint32_t n)
{
	struct wire_end *e = &p->ends[to];
	struct weft_pkt *pkt = NULL;
	assert_int_equal(end_alloc(&e->port, &pkt, 1), 1);
	memcpy(pkt->head, bytes, n);
	pkt->head_len = (uint16_t)n;
	e->arrived[e->arrived_n++] = pkt;
}

void pair_bring(struct tss_pair *p, int to, const struct weft_pkt *pkt)
{
	pair_bring_bytes(p, to, pkt->head, pkt->head_len);
}

void pair_carry(struct tss_pair *p, int from)
{
	struct wire_end *e = &p->ends[from];
	for (uint32_t i = 0; i < e->sent_n; i++)
		pair_bring(p, !from, e->sent[i]);
	end_free(&e->port, e->sent, (uint16_t)e->sent_n);
	e->sent_n = 0;
}

void pair_expect(struct tss_pair *p, int at, bool v6, const uint8_t *marks, uint32_t n)
{
	struct weft_port *port = p->ports[at];
	struct weft_pkt *pkts[PAIR_PKTS];
	uint8_t plain[256];
	uint32_t got = 0;
	while (p->ends[at].arrived_n)
		got += port->ops->rx(port, pkts + got, (uint16_t)(PAIR_PKTS - got));
	assert_int_equal(got, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes = pair_plain(v6, marks[i], plain);
		assert_int_equal(pkts[i]->head_len, bytes);
		assert_memory_equal(pkts[i]->head, plain, bytes);
		assert_int_equal(pkts[i]->wire_bytes, bytes + WEFT_L1_OVERHEAD_BYTES);
	}
	port->ops->free(port, pkts, (uint16_t)n);
}

void pair_expect_none(struct tss_pair *p, int at)
{
	pair_expect(p, at, false, NULL, 0);
}

struct weft_tss_stats pair_stats(const struct tss_pair *p, int end)
{
	struct weft_tss_stats s;
	weft_tss_stats(p->ports[end], &s);
	return s;
}

uint64_t pair_counted(const struct tss_pair *p, int end)
{
	struct weft_tss_stats s = pair_stats(p, end);
	return s.tss_opened + s.tss_trimmed + s.tss_trimmed_refused + s.tss_bad_tag + s.tss_replayed + s.tss_late +
	       s.tss_clear + s.tss_unknown_key + s.tss_malformed + s.tss_no_room;
}
