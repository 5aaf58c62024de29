/* SPDX-License-Identifier: BSD-3-Clause */
#include "duo.h"

#include "cmocka_all.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 128 + 9216 };

/* Packets that arrive are as large as their bytes, so that sanitizers see who reads beyond. */
static struct weft_pkt *pkt_new(struct duo *d, size_t room)
{
	struct weft_pkt *p = calloc(1, sizeof *p + room);
	assert_non_null(p);
	p->head = (uint8_t *)(p + 1);
	d->pkts++;
	return p;
}

static void pkt_free(struct duo *d, struct weft_pkt *p)
{
	d->pkts--;
	free(p);
}

static uint16_t port_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct duo_port *dp = (struct duo_port *)port;
	uint16_t got = 0;
	while (got < n && dp->rx && dp->rx->arrived_ns <= dp->duo->now) {
		pkts[got++] = dp->rx;
		dp->rx = dp->rx->next;
		dp->rx_len--;
	}
	return got;
}

/* Sets the IPv4 identification and mends the checksum (RFC 1624, equation 3). */
static void set_ip_id(uint8_t *ip, uint16_t id)
{
	uint32_t old = (uint32_t)ip[4] << 8 | ip[5], sum = (uint32_t)ip[10] << 8 | ip[11];
	sum = (~sum & 0xffff) + (~old & 0xffff) + id;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[4] = (uint8_t)(id >> 8);
	ip[5] = (uint8_t)id;
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Arrivals stay sorted by time; equal times keep their order. */
void duo_arrives(struct duo_port *to, struct weft_pkt *pkt, weft_ns at)
{
	struct weft_pkt **pos = to->rx && to->rx_last->arrived_ns <= at ? &to->rx_last->next : &to->rx;
	while (*pos && (*pos)->arrived_ns <= at)
		pos = &(*pos)->next;
	pkt->arrived_ns = at;
	pkt->next = *pos;
	*pos = pkt;
	if (!pkt->next)
		to->rx_last = pkt;
	to->rx_len++;
}

static void deliver(struct duo_port *to, struct weft_pkt *pkt, weft_ns at)
{
	if (to->duo->numbers_packets && pkt->head[0] >> 4 == 4)
		set_ip_id(pkt->head, ++to->duo->ip_id);
	duo_arrives(to, pkt, at);
}

/* Payload is gathered behind the headers, as a NIC would. */
static struct weft_pkt *gather(struct duo *d, const struct weft_pkt *in)
{
	size_t bytes = in->head_len + in->payload_len + (in->flags & WEFT_PKT_TRAILER ? 4u : 0);
	assert_true(bytes <= ROOM);
	struct weft_pkt *out = pkt_new(d, bytes);
	uint8_t *head = out->head;
	*out = *in;
	out->head = head;
	memcpy(head, in->head, in->head_len);
	if (in->payload) {
		memcpy(head + in->head_len, in->payload, in->payload_len);
		out->head_len = (uint16_t)(in->head_len + in->payload_len);
		out->payload_len = 0;
	}
	out->payload = NULL;
	if (in->flags & WEFT_PKT_TRAILER) {
		for (int i = 0; i < 4; i++)
			head[out->head_len + i] = (uint8_t)(in->trailer >> 8 * i);
		out->head_len += 4;
	}
	return out;
}

static void apply(struct duo *d, struct duo_port *to, struct weft_pkt *pkt, enum duo_fate fate)
{
	weft_ns at = d->now + d->latency_ns;
	switch (fate) {
	case DUO_DROP:
		pkt_free(d, pkt);
		return;
	case DUO_DUP:
		deliver(to, gather(d, pkt), at);
		break;
	case DUO_TRIM:
	case DUO_TRIM_LASTHOP:
		wire_trim(pkt, fate == DUO_TRIM_LASTHOP);
		break;
	case DUO_MARK:
		wire_mark_ce(pkt);
		break;
	case DUO_LATE:
		at += d->late_ns;
		break;
	default:
		break;
	}
	deliver(to, pkt, at);
}

static void record(struct duo *d, int from, const struct plain_pkt *w, enum duo_fate fate)
{
	if (d->log_len == d->log_room) {
		d->log_room = d->log_room ? 2 * d->log_room : 256;
		d->log = realloc(d->log, d->log_room * sizeof *d->log);
		assert_non_null(d->log);
	}
	d->log[d->log_len++] = (struct duo_rec){d->now, from, fate, *w};
}

static void transmit(struct duo_port *from, struct weft_pkt *pkt)
{
	struct duo *d = from->duo;
	struct weft_pkt *copy = gather(d, pkt);
	struct plain_pkt w;
	enum duo_fate fate = DUO_PASS;
	assert_int_equal(plain_decode(copy->head, copy->head_len, copy->payload_len, WIRE_UDP_PORT, false, &w),
			 WIRE_OK);
	if (d->tap)
		d->tap(d->tap_arg, from->side, copy->head, copy->head_len);
	if (d->fate)
		fate = d->fate(d->fate_arg, from->side, &w, d->sent[from->side]);
	d->sent[from->side]++;
	if (d->logging)
		record(d, from->side, &w, fate);
	apply(d, &d->port[!from->side], copy, fate);
	pkt_free(d, pkt);
}

static uint16_t port_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct duo_port *dp = (struct duo_port *)port;
	uint16_t take = n < dp->tx_room ? n : (uint16_t)dp->tx_room;
	for (uint16_t i = 0; i < take; i++)
		transmit(dp, pkts[i]);
	return take;
}

static uint16_t port_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct duo_port *dp = (struct duo_port *)port;
	if (dp->alloc_fail) {
		dp->alloc_fail--;
		return 0;
	}
	for (uint16_t i = 0; i < n; i++)
		pkts[i] = pkt_new(dp->duo, ROOM);
	return n;
}

static void port_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct duo_port *dp = (struct duo_port *)port;
	for (uint16_t i = 0; i < n; i++)
		pkt_free(dp->duo, pkts[i]);
}

static void port_close(struct weft_port *port)
{
}

static const struct weft_port_ops duo_ops = {port_rx, port_tx, port_alloc, port_free, port_close};

static void *mem_alloc(void *arg, size_t bytes)
{
	struct duo_mem *m = arg;
	if (++m->calls == m->fail_at || (m->fail_rest && m->fail_at && m->calls > m->fail_at))
		return NULL;
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	assert_non_null(p);
	m->live++;
	return memset(p, 0, bytes);
}

static void mem_free(void *arg, void *p)
{
	struct duo_mem *m = arg;
	m->live -= p != NULL;
	if (p)
		memset(p, 0xdd, malloc_usable_size(p)); /* whoever reads it still reads something else */
	free(p);
}

void duo_conf_init(struct duo_conf *conf)
{
	*conf = (struct duo_conf){.cc = "fixed", .lb = "ops", .seed = 1, .ring_entries = 1024};
	weft_param_defaults(weft_engine_tunes, &conf->tune);
	conf->tune.validate = WEFT_VALIDATE_NEVER;
	conf->tune.link_bps = 100000000000;
	conf->tune.brtt_ns = WEFT_US(10);
}

static struct weft_ip side_ip(const struct duo_conf *conf, int side)
{
	struct weft_ip ip = weft_ip_v4(0x0a000001 + (uint32_t)side);
	if (conf->ipv6)
		ip.b[0] = 0xfd;
	return ip;
}

static void open_port(struct duo *d, int side)
{
	struct duo_port *dp = &d->port[side];
	*dp = (struct duo_port){
		.port = {.ops = &duo_ops, .max_ip_bytes = 9000}, .duo = d, .side = side, .tx_room = UINT32_MAX};
}

static int open_engine(struct duo *d, const struct duo_conf *conf, int side, struct weft_err *err)
{
	const char *cc = side && conf->cc_1 ? conf->cc_1 : conf->cc;
	struct weft_cc_choice choice;
	uint64_t cc_tune[32];
	assert_int_equal(weft_cc_select(cc, &choice, err), 0);
	assert_true(choice.cc->tune_size <= sizeof cc_tune);
	weft_cc_select_defaults(cc, &choice, cc_tune);
	struct weft_engine_conf ec = {.ip = side_ip(conf, side),
				      .cc = choice.cc,
				      .rcc = choice.rcc,
				      .cc_tune = cc_tune,
				      .lb = weft_lb_find(conf->lb),
				      .lb_background = conf->lb_background ? weft_lb_find(conf->lb_background) : NULL,
				      .tune = side && conf->tune_1 ? *conf->tune_1 : conf->tune,
				      .seed = conf->seed,
				      .ids_by_seed = conf->ids_by_seed,
				      .mem = {mem_alloc, mem_free, &d->mem[side]}};
	if (conf->adjust)
		conf->adjust(&ec, &d->port[side].port);
	return weft_engine_create(&ec, &d->port[side].port, d->now, &d->e[side], err);
}

static int open_side(struct duo *d, const struct duo_conf *conf, int side, struct weft_err *err)
{
	struct weft_addr other = {side_ip(conf, !side), (uint16_t)(200 - 100 * side)};
	d->e[side] = NULL;
	int rc = open_engine(d, conf, side, err);
	if (!rc)
		rc = weft_ep_open(d->e[side], (uint16_t)(100 + 100 * side), conf->ring_entries,
				  conf->cq_entries ? conf->cq_entries : conf->ring_entries, &d->ep[side], err);
	if (!rc && (rc = weft_peer_add(d->e[side], &other, &d->peer[side])) != 0)
		weft_err_set(err, rc, "no memory for a peer");
	return rc;
}

void duo_init(struct duo *d)
{
	*d = (struct duo){.now = WEFT_MS(1), .latency_ns = WEFT_US(4), .late_ns = WEFT_US(5)};
	open_port(d, 0);
	open_port(d, 1);
}

void duo_open(struct duo *d, const struct duo_conf *conf)
{
	struct weft_err err = {""};
	duo_init(d);
	for (int i = 0; i < 2; i++)
		assert_int_equal(open_side(d, conf, i, &err), 0);
}

static void drop_arrived(struct duo *d, int side)
{
	struct weft_pkt *pkt;
	while (port_rx(&d->port[side].port, &pkt, 1))
		pkt_free(d, pkt);
}

void duo_crash(struct duo *d, int side)
{
	if (d->e[side])
		weft_engine_destroy(d->e[side]);
	d->e[side] = NULL;
	d->ep[side] = NULL;
	d->due[side] = WEFT_NEVER;
	drop_arrived(d, side);
	assert_int_equal(d->mem[side].live, 0);
}

int duo_boot(struct duo *d, const struct duo_conf *conf, int side, struct weft_err *err)
{
	drop_arrived(d, side);
	int rc = open_side(d, conf, side, err);
	if (rc)
		duo_crash(d, side);
	else
		d->due[side] = d->now;
	return rc;
}

/* No counter says less than those that are part of it. */
static void expect_counters_agree(const struct weft_stats *s)
{
	assert_int_equal(s->tx_retx, s->tx_retx_trim + s->tx_retx_gap + s->tx_retx_rto + s->tx_retx_path +
					     s->tx_retx_rewind + s->tx_retx_nack);
	assert_true(s->tx_rudi_retx <= s->tx_rudi);
	assert_true(s->tx_credit_req_again <= s->tx_credit_req);
	assert_true(s->pmtu_lost <= s->pmtu_probes); /* a probe that the wire repeats is answered twice */
	assert_true(s->rx_ack_ce <= s->rx_ack);
	assert_true(s->rx_ce <= s->rx_data + s->rx_dup + s->rx_dgram + s->rx_rudi + s->rx_withdrawn);
}

void duo_close(struct duo *d)
{
	for (int i = 0; i < 2; i++) {
		expect_counters_agree(weft_engine_stats(d->e[i]));
		weft_engine_destroy(d->e[i]);
		while (d->port[i].rx) {
			struct weft_pkt *p = d->port[i].rx;
			d->port[i].rx = p->next;
			pkt_free(d, p);
		}
		assert_int_equal(d->mem[i].live, 0);
	}
	assert_int_equal(d->pkts, 0);
	free(d->log);
}

void duo_poll(struct duo *d, int side)
{
	d->due[side] = weft_engine_poll(d->e[side], d->now);
	assert_true(d->due[side] >= d->now);
}

weft_ns duo_next(const struct duo *d, int side)
{
	weft_ns at = d->due[side];
	if (d->port[side].rx && d->port[side].rx->arrived_ns < at)
		at = d->port[side].rx->arrived_ns;
	return at;
}

void duo_run(struct duo *d, weft_ns until)
{
	duo_poll(d, 0);
	duo_poll(d, 1);
	for (;;) {
		weft_ns a = duo_next(d, 0), b = duo_next(d, 1);
		weft_ns at = a < b ? a : b;
		if (at > until || at == WEFT_NEVER)
			break;
		if (at > d->now)
			d->now = at;
		duo_poll(d, a <= b ? 0 : 1);
	}
	if (until != WEFT_NEVER && d->now < until)
		d->now = until;
}

void duo_send(struct duo *d, int side, const void *buf, uint64_t len, uint64_t tag, const void *context)
{
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .peer = d->peer[side],
			     .buf = (void *)buf,
			     .len = len,
			     .tag = tag,
			     .context = (void *)context};
	assert_int_equal(weft_submit(d->ep[side], &op), 0);
	d->due[side] = d->now;
}

void duo_recv(struct duo *d, int side, void *buf, uint64_t len, uint64_t tag, uint64_t ignore, const void *context)
{
	struct weft_op op = {.kind = WEFT_OP_TRECV,
			     .peer = WEFT_PEER_ANY,
			     .buf = buf,
			     .len = len,
			     .tag = tag,
			     .ignore = ignore,
			     .context = (void *)context};
	assert_int_equal(weft_submit(d->ep[side], &op), 0);
	d->due[side] = d->now;
}

bool duo_cqe(struct duo *d, int side, struct weft_cqe *cqe)
{
	return weft_cq_take(d->ep[side], cqe, 1) == 1;
}

struct weft_cqe duo_expect(struct duo *d, int side, const void *context, int err)
{
	struct weft_cqe cqe;
	assert_true(duo_cqe(d, side, &cqe));
	assert_ptr_equal(cqe.context, context);
	assert_int_equal(cqe.err, err);
	return cqe;
}

void duo_transfer(struct duo *d, int side, uint64_t len)
{
	uint8_t *out = duo_pattern(len, len), *in = calloc(1, len + 1);
	duo_recv(d, !side, in, len, 7, 0, in);
	duo_send(d, side, out, len, 7, out);
	duo_run(d, d->now + WEFT_MS(500));
	struct weft_cqe sent = duo_expect(d, side, out, 0), cqe = duo_expect(d, !side, in, 0);
	assert_int_equal(sent.len, len);
	assert_int_equal(cqe.len, len);
	assert_int_equal(cqe.tag, 7);
	assert_memory_equal(in, out, len);
	free(in);
	free(out);
}

uint32_t duo_count(const struct duo *d, int side, uint8_t type, const uint32_t *psn)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->log_len; i++)
		n += d->log[i].from == side && d->log[i].w.pds.type == type && (!psn || d->log[i].w.pds.psn == *psn);
	return n;
}

const struct weft_stats *duo_stats(const struct duo *d, int side)
{
	return weft_engine_stats(d->e[side]);
}

const struct duo_rec *duo_nth_ctl(const struct duo *d, int side, uint8_t ctl, uint32_t n)
{
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pds *pds = &d->log[i].w.pds;
		if (d->log[i].from == side && pds->type == WIRE_PDS_CP && pds->ctl == ctl && !n--)
			return &d->log[i];
	}
	return NULL;
}

uint8_t *duo_pattern(uint64_t len, uint64_t seed)
{
	uint8_t *p = malloc(len ? len : 1);
	assert_non_null(p);
	for (uint64_t i = 0; i < len; i++)
		p[i] = (uint8_t)((i * 31 + (i >> 8) * 7 + seed * 131) & 0xff);
	return p;
}

void duo_inject(struct duo *d, int to, const uint8_t *bytes, uint16_t len)
{
	assert_true(len <= ROOM);
	struct weft_pkt *p = pkt_new(d, len);
	memcpy(p->head, bytes, len);
	p->head_len = len;
	deliver(&d->port[to], p, d->now);
}

void duo_inject_pkt(struct duo *d, int to, struct plain_pkt *w, const uint8_t *payload)
{
	uint8_t buf[ROOM];
	const struct weft_ip *ours = &weft_peer_addr(d->e[!to], d->peer[!to])->ip;
	const struct weft_ip *theirs = &weft_peer_addr(d->e[to], d->peer[to])->ip;
	w->net.src = *theirs;
	w->net.dst = *ours;
	w->net.dst_port = WIRE_UDP_PORT;
	size_t head = plain_encode(w, buf);
	assert_true(head > 0);
	if (w->payload_bytes)
		memcpy(buf + head, payload, w->payload_bytes);
	duo_inject(d, to, buf, (uint16_t)(head + w->payload_bytes));
}

struct plain_pkt duo_syn(int to, uint16_t payload_bytes)
{
	uint16_t port = (uint16_t)(100 + 100 * to);
	return (struct plain_pkt){
		.net = {.dscp = WIRE_DSCP_TRIMMABLE, .ecn = WEFT_ECN_ECT0, .entropy = 5},
		.pds = {.type = WIRE_PDS_RUD_REQ,
			.next_hdr = WIRE_NH_STD,
			.flags = WIRE_F_SYN,
			.spdcid = 9,
			.psn = 1000,
			.offset = -1},
		.ses = {.opcode = WIRE_OP_TAGGED_SEND,
			.flags = WIRE_SES_REL | WIRE_SES_SOM | WIRE_SES_EOM,
			.message_id = 1,
			.pid_on_fep = port >> 4,
			.resource_index = port & 15,
			.initiator = (uint32_t)(200 - 100 * to),
			.match = 7,
			.payload_length = payload_bytes,
			.request_length = payload_bytes},
		.payload_bytes = payload_bytes,
		.has_ses = true,
	};
}
