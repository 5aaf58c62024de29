/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive path of an engine on any packets. The engine has an open connection with messages in flight, requests
 * that wait for answers, accepted connections with messages half received, posted receives, and a region of memory in
 * two pieces. Input: steps of a length (16 bits, big endian; the lower 11 bits count), options (the upper 5 bits) and
 * that many bytes. Most options put into the packet what only a peer could know, so that changes get deep. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine_state.h"
#include "plain_pkt.h"
#include "rma.h"
#include "weft/engine.h"

enum option {
	REPAIR = 1,   /* IP header, addresses and UDP header are made right */
	TO_TX = 2,    /* destination PDCID: our open connection */
	TO_RX = 4,    /* destination PDCID: the connection we accepted last */
	NEAR_PSN = 8, /* the PSN counts from where that connection is */
	LATER = 16,   /* time goes on, by the packet's first byte squared, in microseconds */
};

enum { REGION_KEY = 7, PIECE_BYTES = 700, ANSWER_BYTES = 5000 };
enum { US = 0x0a000001, PEER = 0x0a000002, MESSAGE_BYTES = 30000, RECV_BYTES = 5000, STEPS_MAX = 200 };
enum { ROOM = WEFT_PKT_HEAD_MAX + 2048, IP_BYTES = 20, PDS_AT = 28 };

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

struct fuzz_port {
	struct weft_port port;
	struct weft_pkt *rx; /* the one packet to receive, or NULL */
	uint32_t live;
	uint32_t checksum; /* of what is sent: every byte must be readable */
};

static struct weft_pkt *pkt_new(struct fuzz_port *p, size_t room)
{
	struct weft_pkt *pkt = calloc(1, sizeof *pkt);
	CHECK(pkt);
	pkt->head = malloc(room ? room : 1);
	CHECK(pkt->head);
	p->live++;
	return pkt;
}

static uint16_t port_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct fuzz_port *p = (struct fuzz_port *)port;
	if (!p->rx)
		return 0;
	pkts[0] = p->rx;
	p->rx = NULL;
	return 1;
}

static void port_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		((struct fuzz_port *)port)->live--;
		free(pkts[i]->head);
		free(pkts[i]);
	}
}

static uint16_t port_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct fuzz_port *p = (struct fuzz_port *)port;
	struct plain_pkt w;
	for (uint16_t i = 0; i < n; i++) {
		CHECK(plain_decode(pkts[i]->head, pkts[i]->head_len, pkts[i]->payload_len, WIRE_UDP_PORT, false, &w) ==
		      WIRE_OK);
		p->checksum = wire_crc32c(p->checksum, pkts[i]->payload, pkts[i]->payload ? pkts[i]->payload_len : 0);
	}
	port_free(port, pkts, n);
	return n;
}

static uint16_t port_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		pkts[i] = pkt_new((struct fuzz_port *)port, WEFT_PKT_HEAD_MAX);
	return n;
}

static void port_close(struct weft_port *port)
{
}

static const struct weft_port_ops ops = {port_rx, port_tx, port_alloc, port_free, port_close};

struct fuzz {
	struct fuzz_port port;
	struct weft_engine *e;
	struct weft_ep *ep;
	weft_ns now;
	uint8_t *out, *in[3], *pieces[2], *answer;
	struct weft_op_atomic atomic;
	uint32_t seen_bytes;
};

static void sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	struct fuzz *f = arg;
	CHECK(offset + len <= RECV_BYTES);
	for (uint32_t i = 0; data && i < len; i++)
		f->seen_bytes += data[i];
}

static void receive(struct fuzz *f, uint8_t kind, int i)
{
	struct weft_op op = {.kind = kind,
			     .peer = WEFT_PEER_ANY,
			     .buf = f->in[i],
			     .len = RECV_BYTES,
			     .ignore = i ? UINT64_MAX : 0,
			     .context = f->in[i]};
	if (i == 2)
		op.sink = sink, op.sink_arg = f;
	weft_submit(f->ep, &op);
}

static void poll(struct fuzz *f)
{
	struct weft_cqe cqe;
	weft_engine_poll(f->e, f->now);
	while (weft_cq_take(f->ep, &cqe, 1))
		if (cqe.kind == WEFT_OP_RECV || cqe.kind == WEFT_OP_TRECV)
			receive(f, cqe.kind, cqe.context == f->in[0] ? 0 : cqe.context == f->in[1] ? 1 : 2);
}

static void reach(struct fuzz *f, uint32_t peer)
{
	for (int i = 0; i < 2; i++)
		f->pieces[i] = calloc(1, PIECE_BYTES);
	const struct weft_mr_seg segs[] = {{f->pieces[0], PIECE_BYTES}, {f->pieces[1], PIECE_BYTES}};
	const struct weft_mr_attr attr = {.key = REGION_KEY,
					  .segs = segs,
					  .seg_count = 2,
					  .access = WEFT_MR_READ | WEFT_MR_WRITE | WEFT_MR_EVENTS};
	struct weft_mr *mr;
	CHECK(weft_mr_add(f->e, &attr, &mr) == 0);
	f->answer = malloc(ANSWER_BYTES);
	f->atomic = (struct weft_op_atomic){.op = WEFT_AMO_SUM, .type = WEFT_AMO_UINT64, .result = f->answer};
	const struct weft_op ops[] = {
		{.kind = WEFT_OP_READ, .peer = peer, .buf = f->answer, .len = ANSWER_BYTES},
		{.kind = WEFT_OP_FETCH_ATOMIC, .peer = peer, .buf = f->out, .len = 64, .atomic = &f->atomic}};
	weft_submit(f->ep, &ops[0]);
	weft_submit(f->ep, &ops[1]);
}

/* `credit`: packets need it, and we grant it. `announce`: our messages are. `ack_every`: packets. */
static void start(struct fuzz *f, bool credit, bool announce, uint32_t ack_every)
{
	struct weft_engine_conf conf = {.ip = weft_ip_v4(US),
					.cc = weft_cc_find("smartt"),
					.lb = weft_lb_find("reps"),
					.rcc = credit ? weft_rcc_find("eqds") : NULL};
	struct weft_addr peer = {weft_ip_v4(PEER), 0x30};
	uint32_t id;
	f->port.port = (struct weft_port){.ops = &ops, .link_bps = 100000000000, .max_ip_bytes = 9000};
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	conf.tune.unexpected_bytes = 100000;
	conf.tune.ack_every = ack_every;
	conf.tune.rndv_bytes = announce ? MESSAGE_BYTES - 1 : 0;
	f->now = WEFT_S(1);
	CHECK(weft_engine_create(&conf, &f->port.port, f->now, &f->e, NULL) == 0);
	CHECK(weft_ep_open(f->e, 0x20, 64, 64, &f->ep, NULL) == 0);
	CHECK(weft_peer_add(f->e, &peer, &id) == 0);
	f->out = calloc(1, MESSAGE_BYTES);
	for (int i = 0; i < 3; i++) {
		f->in[i] = malloc(RECV_BYTES);
		receive(f, i == 1 ? WEFT_OP_RECV : WEFT_OP_TRECV, i);
	}
	reach(f, id);
	for (int i = 0; i < 4; i++) {
		struct weft_op op = {.kind = WEFT_OP_TSEND, .peer = id, .buf = f->out, .len = MESSAGE_BYTES};
		weft_submit(f->ep, &op);
	}
	poll(f);
}

static void stop(struct fuzz *f)
{
	weft_engine_shutdown(f->e, f->now);
	for (int i = 0; i < 3; i++) {
		f->now += WEFT_S(20);
		poll(f);
	}
	weft_engine_destroy(f->e);
	CHECK(f->port.live == 0);
	free(f->out);
	free(f->answer);
	free(f->pieces[0]);
	free(f->pieces[1]);
	for (int i = 0; i < 3; i++)
		free(f->in[i]);
}

static void put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

static void put32(uint8_t *b, uint32_t v)
{
	put16(b, v >> 16);
	put16(b + 2, v);
}

static void repair(uint8_t *b, size_t len)
{
	uint32_t sum = 0;
	if (len < PDS_AT)
		return;
	b[0] = 0x45;
	put16(b + 2, (uint32_t)len);
	put16(b + 6, 0x4000);
	b[9] = 17;
	put32(b + 12, PEER);
	put32(b + 16, US);
	put16(b + 22, WIRE_UDP_PORT);
	put16(b + 24, (uint32_t)len - IP_BYTES);
	put16(b + 10, 0);
	for (int i = 0; i < IP_BYTES; i += 2)
		sum += (uint32_t)b[i] << 8 | b[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(b + 10, ~(sum + (sum >> 16)));
}

/* The n-th of our requests that want an answer, or NULL. */
static const struct tx_msg *nth_ask(const struct fuzz *f, uint32_t n)
{
	list_for_each (l, &f->e->pds.txs) {
		list_for_each (r, &list_entry(l, struct pdc_tx, link)->runs) {
			const struct tx_msg *m = list_entry(list_entry(r, struct tx_run, link), struct tx_msg, run);
			if (m->rma && m->rma->role == RMA_ASK && m->message_id && !n--)
				return m;
		}
	}
	return NULL;
}

/* A response with data is for our request with the number in its lowest byte of the job id, and a packet near the
 * begin of the return direction of its connection. */
static void answer(const struct fuzz *f, uint8_t *b, size_t len)
{
	uint8_t *pds = b + PDS_AT, *ses = pds + 12;
	if (len < PDS_AT + 12 + 20 || ((pds[0] << 8 | pds[1]) >> 7 & 15) != WIRE_NH_RSP_DATA)
		return;
	const struct tx_msg *m = nth_ask(f, ses[7] & 3);
	if (!m)
		return;
	const struct pdc_tx *p = m->rma->pdc;
	pds[1] &= (uint8_t)~WIRE_F_SYN;
	put32(pds + 4, p->start_psn + pds[7]);
	put16(pds + 8, p->remote_id ? p->remote_id : 77);
	put16(pds + 10, p->pdc.id);
	put16(ses + 8, m->message_id);
}

/* A READ of an announced message is for ours with the number in the lowest byte of its token. */
static void fetch(const struct fuzz *f, uint8_t *b, size_t len)
{
	uint8_t *ses = b + PDS_AT + 12;
	if (len < PDS_AT + 12 + 44 || (ses[0] & 63) != WIRE_OP_READ || ses[4] != RMA_GEN_MESSAGE)
		return;
	uint32_t i = ses[31];
	const struct tx_msg *m = i < f->e->ses.asks.room ? f->e->ses.asks.msgs[i] : NULL;
	if (!m)
		return;
	put32(ses + 24, (uint32_t)(m->rma->token >> 32));
	put32(ses + 28, (uint32_t)m->rma->token);
}

/* Where the connection an ACK or a request would be for is now, and its ids. */
static void aim(const struct fuzz *f, uint8_t *b, size_t len, uint8_t options)
{
	uint32_t psn = 0;
	if (len < PDS_AT + 12)
		return;
	uint8_t *pds = b + PDS_AT;
	if (options & TO_TX && !list_empty(&f->e->pds.txs)) {
		const struct pdc_tx *p = list_entry(f->e->pds.txs.next, struct pdc_tx, link);
		put16(pds + 10, p->pdc.id);
		if (p->remote_id)
			put16(pds + 8, p->remote_id);
		psn = p->q.una;
	} else if (options & TO_RX && !list_empty(&f->e->pds.rxs)) {
		const struct pdc_rx *p = list_entry(f->e->pds.rxs.prev, struct pdc_rx, link);
		put16(pds + 10, p->pdc.id);
		put16(pds + 8, p->remote_id);
		psn = p->win.next_expected;
		answer(f, b, len);
		fetch(f, b, len);
	}
	if (options & NEAR_PSN)
		put32(pds + 4, psn + (uint32_t)(int8_t)pds[7]);
}

static void step(struct fuzz *f, const uint8_t *data, size_t len, uint8_t options)
{
	struct weft_pkt *pkt = pkt_new(&f->port, len);
	memcpy(pkt->head, data, len);
	if (options & (TO_TX | TO_RX))
		aim(f, pkt->head, len, options);
	if (options & REPAIR)
		repair(pkt->head, len);
	pkt->head_len = (uint16_t)len;
	pkt->arrived_ns = f->now;
	f->port.rx = pkt;
	if (options & LATER && len)
		f->now += WEFT_US((uint64_t)data[0] * data[0]);
	poll(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {0};
	start(&f, size & 1, size & 2, size & 4 ? 1 : 4);
	for (int i = 0; i < STEPS_MAX && size >= 2; i++) {
		uint8_t options = data[0] >> 3;
		size_t len = (size_t)(data[0] & 7) << 8 | data[1];
		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		step(&f, data, len, options);
		data += len;
		size -= len;
	}
	stop(&f);
	return 0;
}
