/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams: UET's unreliable unordered delivery (UUD, UE 1.0 sec. 3.5) of messages of at most one packet. No
 * connection, no acknowledgement, no congestion control: a datagram is sent when it leaves, and lost when nobody waits
 * for it. */
#include "dgram.h"

#include <errno.h>

#include "engine_out.h"

enum {
	ENTROPY_FIRST = 0xC000, /* the ephemeral ports */
	BACKLOG = 64,           /* datagrams an endpoint keeps that came before their receive */
};

/* One datagram that was built and whose packet the port has not taken yet. Lives in the engine's pool. */
struct dgram {
	struct list link; /* in weft_engine.dgrams, order of building */
	struct weft_ep *ep;
	struct cqe_node *node;
	const struct weft_pkt *pkt;
	struct weft_op op;
};

uint32_t weft_dgram_bytes_max(const struct weft_engine *e)
{
	return e->tune.payload_bytes;
}

struct weft_ep *dgram_ep(const struct weft_engine *e, uint16_t port)
{
	list_for_each (l, &e->eps) {
		struct weft_ep *ep = list_entry(l, struct weft_ep, link);
		if (ep->port == port && ep->is_dgram)
			return ep;
	}
	return NULL;
}

/* ---- sending ---- */

static int check(const struct weft_engine *e, const struct weft_ep *ep, const struct peer *to, const struct weft_op *op)
{
	if (e->shutting_down)
		return ESHUTDOWN;
	if (!ep->is_dgram || !to || weft_ip_is_v4(&to->addr.ip) != e->is_v4)
		return EINVAL;
	return op->len > e->tune.payload_bytes ? EMSGSIZE : 0;
}

static void complete(struct weft_engine *e, struct weft_ep *ep, struct cqe_node *node, const struct weft_op *op,
		     int err)
{
	const struct weft_cqe cqe = {.context = op->context,
				     .kind = op->kind,
				     .err = err,
				     .peer = op->peer,
				     .len = err ? 0 : op->len,
				     .tag = op->tag};
	if (err)
		e->stats.msg_failed++;
	else
		e->stats.tx_dgram++;
	ep_complete(e, ep, node, &cqe);
}

static void fill_ses(struct wire_ses *ses, const struct weft_ep *ep, const struct peer *to, const struct weft_op *op)
{
	bool has_data = op->flags & WEFT_OP_HAS_DATA;
	*ses = (struct wire_ses){
		.opcode = WIRE_OP_DATAGRAM_SEND,
		.flags = (uint8_t)(WIRE_SES_SOM | WIRE_SES_EOM | (has_data ? WIRE_SES_HD : 0)),
		.pid_on_fep = to->addr.port >> 4,
		.resource_index = to->addr.port & 15,
		.initiator = ep->port,
		.match = op->tag,
		.header_data = has_data ? op->data : 0,
		.payload_length = (uint32_t)op->len,
		.request_length = (uint32_t)op->len,
	};
}

/* All datagrams between two endpoints take one path, so that they rarely overtake each other. */
static uint16_t entropy_of(const struct weft_ep *ep, const struct peer *to)
{
	uint64_t mixed = rng_mix(ip_key(&to->addr.ip, (uint64_t)ep->port << 16 | to->addr.port));
	return (uint16_t)(ENTROPY_FIRST + mixed % (UINT16_MAX - ENTROPY_FIRST));
}

static void build(struct weft_engine *e, const struct weft_ep *ep, const struct peer *to, const struct weft_op *op,
		  struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt w = {.net = e->data_scratch.net,
			     .pds = {.type = WIRE_PDS_UUD_REQ, .next_hdr = WIRE_NH_MEDIUM},
			     .payload_bytes = (uint16_t)op->len};
	w.net.dst = to->addr.ip;
	w.net.entropy = entropy_of(ep, to);
	fill_ses(&w.ses, ep, to, op);
	pkt->payload = op->buf;
	pkt->payload_len = (uint16_t)op->len;
	engine_send(e, pkt, &w, now);
}

static bool send_packet(struct weft_engine *e, struct weft_ep *ep, const struct peer *to, const struct weft_op *op,
			struct cqe_node *node, weft_ns now)
{
	struct dgram *d = e->out_count < ENGINE_OUT_DATA ? pool_get(&e->dgram_pool) : NULL;
	struct weft_pkt *pkt = d ? engine_pkt(e) : NULL;
	if (!pkt) {
		if (d)
			pool_put(&e->dgram_pool, d);
		return false;
	}
	*d = (struct dgram){.ep = ep, .node = node, .pkt = pkt, .op = *op};
	build(e, ep, to, op, pkt, now);
	list_init(&d->link);
	list_add_tail(&e->dgrams, &d->link);
	return true;
}

static void deliver(struct weft_engine *e, struct weft_ep *to, uint32_t peer, const struct weft_op *op);

static void send_local(struct weft_engine *e, struct weft_ep *ep, const struct peer *to, const struct weft_op *op)
{
	const struct weft_addr us = {e->ip, ep->port};
	struct weft_ep *dst = dgram_ep(e, to->addr.port);
	uint32_t peer;
	if (dst && !weft_peer_add(e, &us, &peer))
		deliver(e, dst, peer, op);
	else
		e->stats.rx_dgram_drop++;
}

bool dgram_send(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	const struct peer *to = peer_get(e, op->peer);
	int err = check(e, ep, to, op);
	struct cqe_node *node = ep_reserve(e);
	if (!node)
		return false;
	if (!err && !weft_ip_eq(&to->addr.ip, &e->ip)) {
		if (send_packet(e, ep, to, op, node, now))
			return true;
		pool_put(&e->cqe_nodes, node);
		return false;
	}
	if (!err)
		send_local(e, ep, to, op);
	complete(e, ep, node, op, err);
	return true;
}

static bool waits_for_port(const struct weft_engine *e, const struct weft_pkt *pkt)
{
	for (uint32_t i = 0; i < e->out_count; i++)
		if (e->out[i] == pkt)
			return true;
	return false;
}

/* The port takes packets in order, so the first one that waits ends it. */
void dgram_flushed(struct weft_engine *e)
{
	list_for_each_safe (l, &e->dgrams) {
		struct dgram *d = list_entry(l, struct dgram, link);
		if (e->out_count && waits_for_port(e, d->pkt))
			return;
		list_del(l);
		complete(e, d->ep, d->node, &d->op, 0);
		pool_put(&e->dgram_pool, d);
	}
}

void dgram_detach(struct weft_engine *e, const struct weft_ep *ep)
{
	list_for_each_safe (l, &e->dgrams) {
		struct dgram *d = list_entry(l, struct dgram, link);
		if (d->ep != ep)
			continue;
		list_del(l);
		if (d->op.buf && d->op.len)
			engine_forget(e, d->op.buf, (uint32_t)d->op.len);
		pool_put(&e->cqe_nodes, d->node);
		pool_put(&e->dgram_pool, d);
	}
}

/* ---- receiving ---- */

static bool is_sane(const struct wire_pkt *w)
{
	return !w->trimmed && w->has_ses && w->pds.next_hdr == WIRE_NH_MEDIUM &&
	       w->ses.opcode == WIRE_OP_DATAGRAM_SEND && w->ses.request_length == w->payload_bytes;
}

static bool backlog_full(const struct weft_ep *ep)
{
	uint32_t n = 0;
	list_for_each (l, &ep->rx->unexpected[0])
		n++;
	return n >= BACKLOG;
}

static void deliver(struct weft_engine *e, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	if (!list_empty(&to->rx->unexpected[0]) && backlog_full(to))
		e->stats.rx_dgram_drop++;
	else if (msg_rx_whole(e, to, peer, op))
		e->stats.rx_dgram++;
	else
		e->stats.rx_dgram_drop++;
}

void dgram_rx(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	if (!is_sane(w)) {
		e->stats.rx_bad_ses++;
		return;
	}
	const struct weft_addr from = {w->net.src, (uint16_t)w->ses.initiator};
	struct weft_ep *ep = dgram_ep(e, (uint16_t)(w->ses.pid_on_fep << 4 | (w->ses.resource_index & 15)));
	const uint8_t *payload = pkt->head_len > w->header_bytes ? pkt->head + w->header_bytes : pkt->payload;
	const struct weft_op op = {.kind = WEFT_OP_SEND,
				   .flags = w->ses.flags & WIRE_SES_HD ? WEFT_OP_HAS_DATA : 0,
				   .buf = (void *)payload,
				   .len = w->payload_bytes,
				   .tag = w->ses.match,
				   .data = w->ses.header_data};
	uint32_t peer;
	if (ep && !weft_peer_add(e, &from, &peer))
		deliver(e, ep, peer, &op);
	else
		e->stats.rx_dgram_drop++;
}

void dgram_fini(struct weft_engine *e)
{
	pool_fini(&e->dgram_pool);
}

void dgram_init(struct weft_engine *e)
{
	list_init(&e->dgrams);
	pool_init(&e->dgram_pool, &e->mem, sizeof(struct dgram), 32);
}
