/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive side of the port that encrypts. The input is a program: packets are sealed, and come to the other port as
 * they are, again, altered, cut or made up, many in one burst, while keys change. What must hold: every packet that
 * comes is counted in one row; what is delivered was sealed, is as it was before, and comes once; only what a switch
 * has trimmed is handed on unproven. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "program.h"
#include "tss_pair.h"
#include "wire.h"

enum { KEPT = 32, BURST_MAX = 40, V6_BYTES = 40, V4_BYTES = 20, TRIMMED_AT = 1 };

struct exact_pkt {
	struct weft_pkt pkt;
	uint8_t *bytes;
};

/* A port whose packets are as large as their bytes, so that sanitizers see who reads beyond. */
struct exact_port {
	struct weft_port port;
	struct weft_pkt *arrived[BURST_MAX];
	uint16_t count;
	uint32_t live;
};

struct fuzz {
	struct program in;
	struct tss_pair pair;
	struct exact_port wire;
	bool v6;
	bool delivered[256]; /* by mark */
	uint8_t sent;        /* marks used, from 0 */
	uint64_t brought;
	struct {
		uint8_t bytes[256];
		uint32_t len;
	} kept[KEPT]; /* sealed */
	uint32_t kept_count;
};

static uint16_t exact_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct exact_port *e = (struct exact_port *)port;
	uint16_t got = n < e->count ? n : e->count;
	memcpy(pkts, e->arrived, got * sizeof *pkts);
	e->count -= got;
	memmove(e->arrived, e->arrived + got, e->count * sizeof *pkts);
	return got;
}

static void exact_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		((struct exact_port *)port)->live--;
		free(((struct exact_pkt *)pkts[i])->bytes);
		free(pkts[i]);
	}
}

static uint16_t exact_none(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	return 0;
}

static void exact_close(struct weft_port *port)
{
}

static const struct weft_port_ops exact_ops = {
	.rx = exact_rx, .tx = exact_none, .alloc = exact_none, .free = exact_free, .close = exact_close};

static void bring(struct fuzz *f, const uint8_t *bytes, uint32_t len)
{
	struct exact_pkt *p = calloc(1, sizeof *p);
	assert_true(p && f->wire.count < BURST_MAX);
	p->bytes = malloc(len ? len : 1);
	assert_non_null(p->bytes);
	memcpy(p->bytes, bytes, len);
	p->pkt.head = p->bytes;
	p->pkt.head_len = (uint16_t)len;
	f->wire.live++;
	f->wire.arrived[f->wire.count++] = &p->pkt;
	f->brought++;
}

/* Without the headers that switches may change. */
static uint32_t inner_at(const struct fuzz *f)
{
	return f->v6 ? V6_BYTES + 4 : V4_BYTES + 8;
}

static void check_delivered(struct fuzz *f, const struct weft_pkt *pkt)
{
	uint8_t want[256];
	uint32_t at = inner_at(f);
	assert_int_equal(pkt->head_len, at + PAIR_INNER_BYTES);
	uint8_t mark = pkt->head[pkt->head_len - 1];
	assert_int_equal(pair_plain(f->v6, mark, want), pkt->head_len);
	assert_memory_equal(pkt->head + at, want + at, PAIR_INNER_BYTES);
	assert_true(mark < f->sent && !f->delivered[mark]);
	f->delivered[mark] = true;
}

static void receive(struct fuzz *f)
{
	struct weft_pkt *pkts[BURST_MAX];
	struct weft_port *port = f->pair.ports[1];
	while (f->wire.count) {
		uint64_t trimmed = pair_stats(&f->pair, 1).tss_trimmed;
		uint16_t n = port->ops->rx(port, pkts, BURST_MAX);
		uint64_t hints = pair_stats(&f->pair, 1).tss_trimmed - trimmed;
		assert_true(hints <= n);
		for (uint16_t i = 0; i < n && !hints; i++)
			check_delivered(f, pkts[i]);
		port->ops->free(port, pkts, n);
	}
	assert_int_equal(pair_counted(&f->pair, 1), f->brought);
	assert_int_equal(f->wire.live, 0);
}

static void seal(struct fuzz *f)
{
	struct wire_end *e = &f->pair.ends[0];
	if (f->sent == UINT8_MAX)
		return;
	pair_send(&f->pair, 0, f->v6, f->sent++);
	struct weft_pkt *pkt = pair_sent(&f->pair, 0, 0);
	uint32_t i = f->kept_count++ % KEPT;
	f->kept[i].len = pkt->head_len;
	memcpy(f->kept[i].bytes, pkt->head, pkt->head_len);
	e->port.ops->free(&e->port, e->sent, (uint16_t)e->sent_n);
	e->sent_n = 0;
}

static uint32_t choose(struct fuzz *f)
{
	uint8_t back = program_u8(&f->in);
	uint32_t among = f->kept_count < KEPT ? f->kept_count : KEPT;
	return (f->kept_count - 1 - back % among) % KEPT;
}

static void set_lengths(const struct fuzz *f, uint8_t *bytes, uint32_t len)
{
	if (f->v6 && len >= V6_BYTES) {
		bytes[4] = (uint8_t)((len - V6_BYTES) >> 8);
		bytes[5] = (uint8_t)(len - V6_BYTES);
	} else if (!f->v6 && len >= V4_BYTES) {
		bytes[2] = (uint8_t)(len >> 8);
		bytes[3] = (uint8_t)len;
	}
}

static void set_trimmed(const struct fuzz *f, uint8_t *bytes)
{
	enum { DSCP = WIRE_DSCP_TRIMMED << 2 };
	if (f->v6) {
		bytes[0] = 0x60 | DSCP >> 4;
		bytes[1] = (uint8_t)(DSCP << 4);
	} else {
		bytes[TRIMMED_AT] = DSCP;
	}
}

static void bring_altered(struct fuzz *f)
{
	enum { EDITS = 3, CUT = 4, LENGTHS = 8, TRIMMED = 16 };
	uint8_t bytes[256], how = program_u8(&f->in);
	uint32_t i = choose(f), len = f->kept[i].len;
	memcpy(bytes, f->kept[i].bytes, len);
	for (int k = 0; k < (how & EDITS); k++) {
		uint8_t at = program_u8(&f->in);
		bytes[at % len] ^= program_u8(&f->in);
	}
	if (how & CUT)
		len = program_u8(&f->in) % (len + 1);
	if (how & LENGTHS)
		set_lengths(f, bytes, len);
	if (how & TRIMMED && len > TRIMMED_AT)
		set_trimmed(f, bytes);
	bring(f, bytes, len);
}

static void bring_anything(struct fuzz *f)
{
	uint8_t bytes[256], len = program_u8(&f->in);
	for (int i = 0; i < len; i++)
		bytes[i] = program_u8(&f->in);
	bring(f, bytes, len);
}

/* Of one port only, or of both. A key that went and of which packets came may not come back. */
static void change_keys(struct fuzz *f)
{
	uint8_t how = program_u8(&f->in);
	static const unsigned long allowed[] = {0, (unsigned long)-EKEYREVOKED};
	struct weft_tss_keys keys = f->pair.keys;
	keys.current = how & 1;
	keys.count = how & 2 || keys.current ? 2 : 1;
	keys.key[how >> 2 & 1].secret[0] = how >> 3 & 1;
	for (int end = 0; end < 2; end++)
		if (how & 16 << end)
			assert_in_set(weft_tss_set_keys(f->pair.ports[end], &keys, NULL), allowed, 2);
}

static void step(struct fuzz *f)
{
	uint8_t what = program_u8(&f->in);
	if (what < 64 || !f->kept_count)
		seal(f);
	else if (what < 128)
		bring(f, f->kept[choose(f)].bytes, f->kept[choose(f)].len);
	else if (what < 208)
		bring_altered(f);
	else if (what < 216)
		bring_anything(f);
	else if (what < 224)
		change_keys(f);
	else
		receive(f);
	if (f->wire.count == BURST_MAX)
		receive(f);
}

static void open_ports(struct fuzz *f, uint8_t how)
{
	static const uint64_t numbers[] = {5, PAIR_FIRST, (UINT64_C(7) << 48) - 3, UINT64_MAX - 300};
	f->v6 = how & 1;
	pair_open(&f->pair, f->v6, true, numbers[how >> 1 & 3]);
	f->pair.ports[1]->ops->close(f->pair.ports[1]);
	f->wire.port = (struct weft_port){.ops = &exact_ops, .max_ip_bytes = PAIR_IP_BYTES};
	const struct weft_tss_conf conf = {.ip = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}},
					   .first_number = 1,
					   .keys = &f->pair.keys,
					   .sources_max = 1 + (how >> 3 & 3u),
					   .no_cryptodev = 1};
	assert_int_equal(weft_tss_open(&conf, &f->wire.port, &f->pair.ports[1], NULL), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz f;
	setenv("CMOCKA_TEST_ABORT", "1", 0);
	memset(&f, 0, sizeof f);
	f.in = (struct program){data, size};
	open_ports(&f, program_u8(&f.in));
	while (f.in.left)
		step(&f);
	receive(&f);
	for (int end = 0; end < 2; end++)
		f.pair.ports[end]->ops->close(f.pair.ports[end]);
	return 0;
}
