/* SPDX-License-Identifier: BSD-3-Clause */
/* What encryption costs: packets of 4 KiB through a port that seals or opens them, over AES-GCM alone on as many bytes
 * by the same driver, in one run on one core. Each is the best of some batches, in turn. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tss_cipher.h"
#include "weft/ethdev.h"
#include "weft/tss.h"

enum {
	PKTS = 64,
	PAYLOAD_BYTES = 4096,
	HEADER_BYTES = 84, /* IPv4, UDP, PDS and SES */
	INNER_BYTES = HEADER_BYTES - 28 + PAYLOAD_BYTES,
	AAD_BYTES = 24,
	ROUNDS = 200, /* of all packets, in a batch */
	BATCHES = 15,
};

/* A port whose wire is the end of its array. */
struct end {
	struct weft_port port;
	struct weft_pkt pkts[PKTS], *ready[PKTS];
	uint8_t bytes[PKTS][5120];
	uint16_t n;
};

static struct end ends[2]; /* one sends to the other */
static uint8_t payloads[PKTS][PAYLOAD_BYTES], texts[PKTS][5120];

static void fail(const char *what)
{
	fprintf(stderr, "perf_tss: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint16_t end_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct end *e = (struct end *)port;
	memcpy(e->ready + e->n, pkts, n * sizeof *pkts);
	e->n = (uint16_t)(e->n + n);
	return n;
}

static uint16_t end_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct end *e = (struct end *)port;
	uint16_t got = n < e->n ? n : e->n;
	memcpy(pkts, e->ready, got * sizeof *pkts);
	e->n = (uint16_t)(e->n - got);
	memmove(e->ready, e->ready + got, e->n * sizeof *pkts);
	return got;
}

static void end_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
}

static void end_close(struct weft_port *port)
{
}

static const struct weft_port_ops end_ops = {.rx = end_rx, .tx = end_tx, .free = end_free, .close = end_close};

static struct weft_port *port_make(struct end *e, uint32_t ip)
{
	static const struct weft_tss_keys keys = {.key = {{.id = 1, .secret = {1}}}, .count = 1};
	struct weft_tss_conf conf = {.ip = weft_ip_v4(ip), .first_number = 1, .keys = &keys};
	struct weft_port *port;
	struct weft_err err;
	e->port = (struct weft_port){.ops = &end_ops, .max_ip_bytes = 5000};
	if (weft_tss_open(&conf, &e->port, &port, &err))
		fail(err.msg);
	return port;
}

/* As the engine gives it: headers in the packet, payload where the application has it. */
static struct weft_pkt *pkt_make(uint32_t i)
{
	static const uint8_t head[HEADER_BYTES] = {0x45,
						   0,
						   (HEADER_BYTES + PAYLOAD_BYTES) >> 8,
						   (HEADER_BYTES + PAYLOAD_BYTES) & 0xff,
						   [9] = 17,
						   [12] = 10,
						   [15] = 1,
						   10,
						   [19] = 2,
						   [22] = 0x12,
						   0xb9,
						   (HEADER_BYTES - 20 + PAYLOAD_BYTES) >> 8,
						   (HEADER_BYTES - 20 + PAYLOAD_BYTES) & 0xff};
	struct weft_pkt *pkt = &ends[0].pkts[i];
	*pkt = (struct weft_pkt){.head = ends[0].bytes[i],
				 .head_len = HEADER_BYTES,
				 .payload = payloads[i],
				 .payload_len = PAYLOAD_BYTES};
	memcpy(pkt->head, head, sizeof head);
	return pkt;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t seal_all(struct weft_port *port)
{
	struct weft_pkt *pkts[PKTS];
	ends[0].n = 0;
	for (uint32_t i = 0; i < PKTS; i++)
		pkts[i] = pkt_make(i);
	uint64_t begin = now_ns();
	if (port->ops->tx(port, pkts, PKTS) != PKTS)
		fail("packets were not taken");
	return now_ns() - begin;
}

static uint64_t open_all(struct weft_port *port)
{
	struct weft_pkt *pkts[PKTS];
	uint16_t n = 0;
	for (uint32_t i = 0; i < PKTS; i++) {
		ends[1].pkts[i] = (struct weft_pkt){.head = ends[1].bytes[i], .head_len = ends[0].ready[i]->head_len};
		memcpy(ends[1].bytes[i], ends[0].ready[i]->head, ends[0].ready[i]->head_len);
		ends[1].ready[i] = &ends[1].pkts[i];
	}
	ends[1].n = PKTS;
	uint64_t begin = now_ns();
	while (ends[1].n)
		n = (uint16_t)(n + port->ops->rx(port, pkts + n, (uint16_t)(PKTS - n)));
	uint64_t took = now_ns() - begin;
	if (n != PKTS)
		fail("packets were refused");
	return took;
}

static uint64_t raw_all(struct tss_cipher *c, void *session)
{
	struct tss_job jobs[TSS_BURST];
	uint64_t begin = now_ns();
	for (uint32_t at = 0; at < PKTS; at += TSS_BURST) {
		for (uint32_t i = 0; i < TSS_BURST; i++) {
			uint8_t *text = texts[at + i];
			jobs[i].text = text;
			jobs[i].text_bytes = INNER_BYTES;
			jobs[i].tag = text + INNER_BYTES;
		}
		c->ops->run(c, session, jobs, TSS_BURST);
	}
	return now_ns() - begin;
}

static double gbps(uint64_t best_ns)
{
	return 8.0 * INNER_BYTES * PKTS * ROUNDS / (double)best_ns;
}

static void better(uint64_t *best_ns, uint64_t ns)
{
	if (*best_ns == 0 || ns < *best_ns)
		*best_ns = ns;
}

int main(void)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err))
		fail(err.msg);
	struct weft_port *from = port_make(&ends[0], 0x0a000001), *to = port_make(&ends[1], 0x0a000002);
	struct tss_cipher *c = tss_cipher_dpdk(1);
	const uint8_t key[TSS_KEY_BYTES] = {1};
	if (!c && !(c = tss_cipher_libcrypto()))
		fail("no cipher");
	void *session = c->ops->session_new(c, key, TSS_SEAL, AAD_BYTES);
	uint64_t best[3] = {0};
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t ns[3] = {0};
		for (int round = 0; round < ROUNDS; round++) {
			ns[0] += raw_all(c, session);
			ns[1] += seal_all(from);
			ns[2] += open_all(to);
		}
		for (int i = 0; i < 3; i++)
			better(&best[i], ns[i]);
	}
	printf("%s, packets of %d bytes: alone %.1f Gb/s; sealed %.1f Gb/s, %.2f of it; opened %.1f Gb/s, %.2f of it\n",
	       weft_tss_cipher(from), PAYLOAD_BYTES, gbps(best[0]), gbps(best[1]), gbps(best[1]) / gbps(best[0]),
	       gbps(best[2]), gbps(best[2]) / gbps(best[0]));
	c->ops->session_free(c, session);
	c->ops->close(c);
	from->ops->close(from);
	to->ops->close(to);
	return EXIT_SUCCESS;
}
