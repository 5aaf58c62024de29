/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams: UET's unreliable unordered delivery (UUD, UE 1.0 sec. 3.5) of messages of at most one packet. No
 * connection, no acknowledgement, no congestion control: a datagram is sent when it leaves, and lost when nobody waits
 * for it. */
#include "dgram.h"

#include <errno.h>

#include "completion.h"
#include "ip_key.h"
#include "msg_local.h"

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

/* ---- sending ---- */

/* What is known not to arrive is not sent; before the path has been searched nothing is known. */
static uint32_t bytes_max(const struct ses *ses, const struct remote *to)
{
	bool known = to->path.payload_bytes && to->path.raise_at_ns;
	return known ? to->path.payload_bytes : ses->pds->conf.tune.payload_bytes;
}

static int check(const struct ses *ses, const struct weft_ep *ep, const struct peer *to, const struct weft_op *op)
{
	if (ses->shutting_down)
		return ESHUTDOWN;
	if (!(ep->is_dgram || ep->hidden) || !to || weft_ip_is_v4(&to->addr.ip) != ses->pds->conf.is_v4)
		return EINVAL;
	return op->len > bytes_max(ses, to->remote) ? EMSGSIZE : 0;
}

static void complete(struct ses *ses, struct weft_ep *ep, struct cqe_node *node, const struct weft_op *op, int err)
{
	const struct weft_cqe cqe = {.context = op->context,
				     .kind = op->kind,
				     .err = err,
				     .peer = op->peer,
				     .len = err ? 0 : op->len,
				     .tag = op->tag};
	if (err)
		ses->stats->msg_failed++;
	else
		ses->stats->tx_dgram++;
	ep_complete(ses, ep, node, &cqe);
}

static uint8_t *build_header(const struct weft_ep *ep, const struct peer *to, const struct weft_op *op, uint8_t *at)
{
	struct wire_medium *h = (struct wire_medium *)at;
	bool has_data = op->flags & WEFT_OP_HAS_DATA;
	uint8_t *end = wire_build_ses(at, WIRE_NH_MEDIUM, WIRE_OP_DATAGRAM_SEND,
				      WIRE_SES_SOM | WIRE_SES_EOM | (has_data ? WIRE_SES_HD : 0));
	wire_medium_set_length(h, (uint16_t)op->len);
	wire_req_set_pid_on_fep(&h->req, to->addr.port >> 4);
	wire_req_set_resource_index(&h->req, to->addr.port & 15);
	wire_medium_set_initiator(h, ep->port);
	wire_medium_set_match(h, op->tag);
	if (has_data)
		wire_medium_set_header_data(h, op->data);
	return end;
}

/* All datagrams between two endpoints take one path, so that they rarely overtake each other. */
static uint16_t entropy_of(const struct weft_ep *ep, const struct peer *to)
{
	uint64_t mixed = rng_mix(ip_mix(&to->addr.ip, (uint64_t)ep->port << 16 | to->addr.port));
	return (uint16_t)(ENTROPY_FIRST + mixed % (UINT16_MAX - ENTROPY_FIRST));
}

static void build(struct ses *ses, const struct weft_ep *ep, const struct peer *to, const struct weft_op *op,
		  struct weft_pkt *pkt, weft_ns now)
{
	struct out_batch *o = &ses->pds->out;
	const struct out_to way = {&to->addr.ip, entropy_of(ep, to), to->remote->encap};
	const struct wire_net net = out_net(o, way, WIRE_DSCP_TRIMMABLE, WEFT_ECN_ECT0);
	uint8_t *at = wire_build_pds(out_pds(o, pkt, way.encap), WIRE_PDS_UUD_REQ, WIRE_NH_MEDIUM, 0);
	pkt->payload = op->buf;
	pkt->payload_len = (uint16_t)op->len;
	out_send(o, pkt, &net, build_header(ep, to, op, at), now);
}

static bool send_packet(struct ses *ses, struct weft_ep *ep, const struct peer *to, const struct weft_op *op,
			struct cqe_node *node, weft_ns now)
{
	struct dgram *d = pds_has_room(ses->pds) ? pool_get(&ses->dgram_pool) : NULL;
	struct weft_pkt *pkt = d ? out_get(&ses->pds->out) : NULL;
	if (!pkt) {
		if (d)
			pool_put(&ses->dgram_pool, d);
		return false;
	}
	*d = (struct dgram){.ep = ep, .node = node, .pkt = pkt, .op = *op};
	build(ses, ep, to, op, pkt, now);
	list_init(&d->link);
	list_add_tail(&ses->dgrams, &d->link);
	return true;
}

static void deliver(struct ses *ses, struct weft_ep *to, uint32_t peer, const struct weft_op *op);

static void send_local(struct ses *ses, struct weft_ep *ep, const struct peer *to, const struct weft_op *op)
{
	const struct weft_addr us = {ses->pds->conf.ip, ep->port};
	struct weft_ep *dst = ep_find(ses, to->addr.port, true);
	uint32_t peer;
	if (dst && !peer_add(&ses->peers, &us, &peer))
		deliver(ses, dst, peer, op);
	else
		ses->stats->rx_dgram_drop++;
}

bool dgram_send(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	const struct peer *to = peer_get(&ses->peers, op->peer);
	int err = check(ses, ep, to, op);
	struct cqe_node *node = cqe_reserve(ses);
	if (!node)
		return false;
	if (!err && !weft_ip_eq(&to->addr.ip, &ses->pds->conf.ip)) {
		if (send_packet(ses, ep, to, op, node, now))
			return true;
		cqe_release(ses, node);
		return false;
	}
	if (!err)
		send_local(ses, ep, to, op);
	complete(ses, ep, node, op, err);
	return true;
}

/* The port takes packets in order, so the first one that waits ends it. */
void dgram_flushed(struct ses *ses)
{
	list_for_each_safe (l, &ses->dgrams) {
		struct dgram *d = list_entry(l, struct dgram, link);
		if (pds_is_queued(ses->pds, d->pkt))
			return;
		list_del(l);
		complete(ses, d->ep, d->node, &d->op, 0);
		pool_put(&ses->dgram_pool, d);
	}
}

void dgram_detach(struct ses *ses, const struct weft_ep *ep)
{
	list_for_each_safe (l, &ses->dgrams) {
		struct dgram *d = list_entry(l, struct dgram, link);
		if (d->ep != ep)
			continue;
		list_del(l);
		if (d->op.buf && d->op.len)
			pds_forget(ses->pds, d->op.buf, (uint32_t)d->op.len);
		cqe_release(ses, d->node);
		pool_put(&ses->dgram_pool, d);
	}
}

/* ---- receiving ---- */

static bool is_whole(const struct wire_view *v)
{
	const uint8_t whole = WIRE_SES_SOM | WIRE_SES_EOM;
	return (v->req->flags & whole) == whole && !v->outer->trimmed;
}

/* The medium form is what AI Base asks for; the reference provider sends a SEND in the standard form. */
static bool is_sane(const struct wire_view *v)
{
	uint8_t opcode = v->ses_bytes ? wire_req_opcode(v->req) : WIRE_OP_NO_OP;
	if (opcode == WIRE_OP_DATAGRAM_SEND && v->next_hdr == WIRE_NH_MEDIUM)
		return wire_medium_length(v->medium) == v->payload_bytes && is_whole(v);
	return (opcode == WIRE_OP_DATAGRAM_SEND || opcode == WIRE_OP_SEND) && v->next_hdr == WIRE_NH_STD &&
	       wire_std_request_length(v->std) == v->payload_bytes && is_whole(v);
}

/* What both forms say, in different places. */
struct dgram_fields {
	uint32_t initiator;
	uint64_t match, data;
};

static struct dgram_fields read_fields(const struct wire_view *v)
{
	if (v->next_hdr == WIRE_NH_STD)
		return (struct dgram_fields){wire_std_initiator(v->std), wire_std_match(v->std),
					     wire_std_header_data(v->std)};
	return (struct dgram_fields){wire_medium_initiator(v->medium), wire_medium_match(v->medium),
				     wire_medium_header_data(v->medium)};
}

static bool backlog_full(const struct weft_ep *ep)
{
	uint32_t n = 0;
	list_for_each (l, &ep->rx->unexpected[0])
		n++;
	return n >= BACKLOG;
}

static void deliver(struct ses *ses, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	if (!list_empty(&to->rx->unexpected[0]) && backlog_full(to))
		ses->stats->rx_dgram_drop++;
	else if (msg_local_whole(ses, to, peer, op))
		ses->stats->rx_dgram++;
	else
		ses->stats->rx_dgram_drop++;
}

void ses_rx_dgram(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v)
{
	if (!is_sane(v)) {
		ses->stats->rx_bad_ses++;
		return;
	}
	const struct dgram_fields fields = read_fields(v);
	const struct weft_addr from = {*wire_view_src(v), (uint16_t)fields.initiator};
	struct weft_ep *ep = ep_find(ses, ep_port_of(v->req), true);
	const struct weft_op op = {.kind = WEFT_OP_SEND,
				   .flags = wire_req_hd(v->req) ? WEFT_OP_HAS_DATA : 0,
				   .buf = (void *)pds_payload(pkt, v),
				   .len = v->payload_bytes,
				   .tag = fields.match,
				   .data = wire_req_hd(v->req) ? fields.data : 0};
	uint32_t peer;
	if (!ep || peer_add_unproven(&ses->peers, &from, &peer)) { /* nothing is kept of where it came from */
		ses->stats->rx_dgram_drop++;
		return;
	}
	pds_heard(ses->pds, &from.ip, v->outer->encap);
	deliver(ses, ep, peer, &op);
}

void dgram_fini(struct ses *ses)
{
	pool_fini(&ses->dgram_pool);
}

void dgram_init(struct ses *ses)
{
	list_init(&ses->dgrams);
	pool_init(&ses->dgram_pool, ses->mem, sizeof(struct dgram), 32);
}
