/* SPDX-License-Identifier: BSD-3-Clause */
/* No congestion control and no window of the target's rule these packets: no more are in flight than IN_FLIGHT_*. */
#include <errno.h>
#include <string.h>

#include "completion.h"
#include "endpoint.h"
#include "rma.h"
#include "rudi.h"
#include "wire_build.h"

enum { IN_FLIGHT_PKTS = 512, IN_FLIGHT_BYTES = 1 << 20, WAIT_RTOS = 2, ENTROPY_FIRST = 0xc000 };

/* An operation. */
struct rudi_op {
	struct list link; /* in rudi.ops */
	struct weft_ep *ep;
	struct cqe_node *node;
	struct weft_op op;
	weft_ns since_ns;         /* when it was taken up */
	uint32_t cut_bytes;       /* in packets so far */
	uint32_t most_bytes;      /* of its packets: ours, or what the target's answers hold if that is less */
	uint32_t unanswered_pkts; /* without a response */
	uint16_t message_id;
	bool cut; /* no more packets */
	int err;  /* the first */
};

/* A packet that waits for its response. */
struct rudi_pkt {
	struct list link; /* in rudi.sent, by due_ns */
	struct rudi_op *op;
	uint32_t id, at, bytes; /* packet id; what it is about */
	weft_ns first_ns;       /* when it was sent for the first time */
	weft_ns due_ns;         /* when it is sent again */
	bool unsent;            /* under this id */
};

static struct rudi_op *op_at(struct list *l)
{
	return list_entry(l, struct rudi_op, link);
}

static struct rudi_pkt *pkt_at(struct list *l)
{
	return list_entry(l, struct rudi_pkt, link);
}

void rudi_init(struct ses *ses)
{
	struct rudi *r = &ses->rudi;
	list_init(&r->ops);
	list_init(&r->sent);
	u64map_init(&r->by_id, ses->mem);
	pool_init(&r->op_pool, ses->mem, sizeof(struct rudi_op), 8);
	pool_init(&r->pkt_pool, ses->mem, sizeof(struct rudi_pkt), 64);
	r->due_ns = WEFT_NEVER;
}

void rudi_fini(struct ses *ses)
{
	struct rudi *r = &ses->rudi;
	assert(list_empty(&r->ops) && list_empty(&r->sent) && !r->by_id.count);
	u64map_fini(&r->by_id);
	pool_fini(&r->op_pool);
	pool_fini(&r->pkt_pool);
}

bool rudi_start(struct ses *ses, struct weft_ep *ep, const struct weft_op *op, struct cqe_node *node)
{
	struct rudi *r = &ses->rudi;
	struct rudi_op *o = pool_get(&r->op_pool);
	assert(op->kind == WEFT_OP_WRITE || op->kind == WEFT_OP_READ);
	if (!o)
		return false;
	r->next_message_id = r->next_message_id == UINT16_MAX ? 1 : r->next_message_id + 1;
	*o = (struct rudi_op){.ep = ep,
			      .node = node,
			      .op = *op,
			      .since_ns = ses->polled_ns,
			      .most_bytes = ses->pds->conf.tune.payload_bytes,
			      .message_id = r->next_message_id};
	list_add_tail(&r->ops, &o->link);
	r->due_ns = 0;
	return true;
}

/* ---- sending ---- */

/* Each packet of a READ is a message of its own: the first of several would not say how much it asks for. */
static uint8_t *build_header(const struct ses *ses, const struct rudi_pkt *p, uint8_t *at)
{
	const struct weft_op *op = &p->op->op;
	const struct peer *to = peer_get(&ses->peers, op->peer);
	bool reads = op->kind == WEFT_OP_READ, som = reads || !p->at, eom = reads || p->at + p->bytes == op->len;
	struct wire_std *h = (struct wire_std *)at;
	uint8_t *end = wire_build_ses(at, WIRE_NH_STD, reads ? WIRE_OP_READ : WIRE_OP_WRITE,
				      WIRE_SES_REL | (som ? WIRE_SES_SOM : 0) | (eom ? WIRE_SES_EOM : 0));
	wire_std_set_message_id(h, p->op->message_id);
	wire_req_set_job_id(&h->req, ses->pds->conf.tune.job_id);
	wire_req_set_pid_on_fep(&h->req, to->addr.port >> 4);
	wire_req_set_resource_index(&h->req, to->addr.port & 15);
	wire_std_set_initiator(h, p->op->ep->port);
	wire_std_set_match(h, op->rkey);
	wire_std_set_buffer_offset(h, op->raddr + (reads ? p->at : 0));
	wire_std_set_request_length(h, reads ? p->bytes : (uint32_t)op->len);
	if (!som) {
		wire_std_set_payload_length(h, (uint16_t)p->bytes);
		wire_std_set_message_offset(h, p->at);
	}
	return end;
}

/* Each transmission takes a path of its own. False: there is no room for it now. */
static bool transmit(struct ses *ses, const struct rudi_pkt *p, bool again, weft_ns now)
{
	struct pds *pds = ses->pds;
	const struct weft_op *op = &p->op->op;
	const struct peer *to = peer_get(&ses->peers, op->peer);
	struct weft_pkt *pkt = pds_has_room(pds) ? out_get(&pds->out) : NULL;
	if (!pkt)
		return false;
	uint16_t entropy = (uint16_t)(ENTROPY_FIRST | (rng_next(&pds->rng) & (uint16_t)~ENTROPY_FIRST));
	const struct out_to way = {&to->addr.ip, entropy, to->remote->encap};
	const struct wire_net net = out_net(&pds->out, way, WIRE_DSCP_TRIMMABLE, WEFT_ECN_ECT0);
	struct wire_hdr *h = (struct wire_hdr *)out_pds(&pds->out, pkt, way.encap);
	uint8_t *at = wire_build_pds((uint8_t *)h, WIRE_PDS_RUDI_REQ, WIRE_NH_STD, again ? WIRE_F_RETX : 0);
	bool writes = op->kind == WEFT_OP_WRITE;
	wire_hdr_set_psn(h, p->id);
	pkt->payload = writes && op->buf ? (const uint8_t *)op->buf + p->at : NULL;
	pkt->payload_len = writes ? (uint16_t)p->bytes : 0;
	out_send(&pds->out, pkt, &net, build_header(ses, p, at), now);
	ses->stats->tx_rudi++;
	ses->stats->tx_rudi_retx += again;
	return true;
}

static weft_ns wait_ns(const struct ses *ses)
{
	return WAIT_RTOS * ses->pds->conf.rto_ns;
}

static void pkt_free(struct ses *ses, struct rudi_pkt *p)
{
	struct rudi *r = &ses->rudi;
	assert(p->op->unanswered_pkts > 0 && r->sent_pkts > 0 && r->sent_bytes >= p->bytes);
	p->op->unanswered_pkts--;
	r->sent_pkts--;
	r->sent_bytes -= p->bytes;
	u64map_del(&r->by_id, p->id);
	list_del(&p->link);
	pool_put(&r->pkt_pool, p);
}

static void op_free(struct ses *ses, struct rudi_op *o)
{
	assert(!o->unanswered_pkts);
	if (o->op.kind == WEFT_OP_WRITE && o->op.buf && o->op.len)
		pds_forget(ses->pds, o->op.buf, (uint32_t)o->op.len);
	list_del(&o->link);
	pool_put(&ses->rudi.op_pool, o);
}

static void end_if_done(struct ses *ses, struct rudi_op *o)
{
	if (!o->cut || o->unanswered_pkts)
		return;
	const struct weft_cqe cqe = {.context = o->op.context,
				     .kind = o->op.kind,
				     .err = o->err,
				     .peer = o->op.peer,
				     .len = o->err ? 0 : o->op.len};
	*(o->err ? &ses->stats->msg_failed : &ses->stats->msg_sent) += 1;
	ep_complete(ses, o->ep, o->node, &cqe);
	op_free(ses, o);
}

static void fail(struct rudi_op *o, int err)
{
	o->cut = true;
	if (!o->err)
		o->err = err;
}

/* What was sent too long ago, the oldest first. False: there is no room for more. */
static bool repeat(struct ses *ses, weft_ns now)
{
	struct rudi *r = &ses->rudi;
	while (!list_empty(&r->sent) && pkt_at(r->sent.next)->due_ns <= now) {
		struct rudi_pkt *p = pkt_at(r->sent.next);
		struct rudi_op *o = p->op;
		if (o->err || now - p->first_ns >= ses->pds->conf.tune.peer_timeout_ns) {
			fail(o, ETIMEDOUT);
			pkt_free(ses, p);
			end_if_done(ses, o);
			continue;
		}
		if (!transmit(ses, p, !p->unsent, now))
			return false;
		p->unsent = false;
		p->due_ns = now + wait_ns(ses);
		list_del(&p->link);
		list_add_tail(&r->sent, &p->link);
	}
	return true;
}

/* The next packet of an operation. False: no room or memory. */
static bool cut(struct ses *ses, struct rudi_op *o, weft_ns now)
{
	struct rudi *r = &ses->rudi;
	uint32_t left = (uint32_t)o->op.len - o->cut_bytes, most = o->most_bytes;
	struct rudi_pkt *p = pool_get(&r->pkt_pool);
	if (!p)
		return false;
	assert(!o->cut && !o->err && (left || !o->op.len));
	*p = (struct rudi_pkt){.op = o,
			       .id = r->next_id,
			       .at = o->cut_bytes,
			       .bytes = left < most ? left : most,
			       .first_ns = now,
			       .due_ns = now + wait_ns(ses)};
	if (!u64map_put(&r->by_id, p->id, p) || !transmit(ses, p, false, now)) {
		u64map_del(&r->by_id, p->id);
		pool_put(&r->pkt_pool, p);
		return false;
	}
	r->next_id++;
	r->sent_pkts++;
	r->sent_bytes += p->bytes;
	list_add_tail(&r->sent, &p->link);
	o->unanswered_pkts++;
	o->cut_bytes += p->bytes;
	o->cut = o->cut_bytes == o->op.len;
	return true;
}

static struct rudi_op *first_uncut(struct rudi *r)
{
	list_for_each (l, &r->ops)
		if (!op_at(l)->cut)
			return op_at(l);
	return NULL;
}

unsigned rudi_pending(const struct ses *ses, unsigned n, weft_ns now, struct weft_op_row *rows)
{
	unsigned count = 0;
	list_for_each (l, &ses->rudi.ops) {
		const struct rudi_op *o = op_at(l);
		if (count == n) {
			rows[n - 1].more = true;
			break;
		}
		rows[count++] = (struct weft_op_row){.kind = o->op.kind,
						     .wait = o->cut ? WEFT_WAIT_ACK : WEFT_WAIT_WINDOW,
						     .ep = o->ep->port,
						     .peer = peer_get(&ses->peers, o->op.peer)->addr,
						     .bytes = o->op.len,
						     .done_bytes = o->cut_bytes,
						     .age_ns = now > o->since_ns ? now - o->since_ns : 0};
	}
	return count;
}

void rudi_poll(struct ses *ses, weft_ns now)
{
	struct rudi *r = &ses->rudi;
	struct rudi_op *o;
	bool room = repeat(ses, now);
	while (room && r->sent_pkts < IN_FLIGHT_PKTS && r->sent_bytes < IN_FLIGHT_BYTES && (o = first_uncut(r)))
		room = cut(ses, o, now);
	r->due_ns = list_empty(&r->sent) ? WEFT_NEVER : pkt_at(r->sent.next)->due_ns;
	if (!room)
		r->due_ns = now + ses->pds->conf.rto_ns / 16 + 1;
}

/* ---- responses ---- */

/* It is sent before all others. */
static void hurry(struct rudi *r, struct rudi_pkt *p)
{
	p->due_ns = r->due_ns = 0;
	list_del(&p->link);
	list_add_tail(r->sent.next, &p->link);
}

/* How much of what a READ asked for an answer has: less where the target's packets are smaller than ours. 0: it is
 * none.
 */
static uint32_t data_bytes(const struct rudi_pkt *p, const struct wire_view *v)
{
	bool fits = v->next_hdr == WIRE_NH_RSP_DATA && wire_rsp_data_fits(v->rsp_data, v->payload_bytes) &&
		    v->payload_bytes <= p->bytes && !wire_rsp_data_message_offset(v->rsp_data);
	return fits ? v->payload_bytes : 0;
}

static void place(const struct rudi_pkt *p, const uint8_t *payload, uint32_t bytes, bool retx)
{
	const struct weft_op *op = &p->op->op;
	assert(p->at <= op->len && bytes <= op->len - p->at);
	if (op->sink)
		op->sink(op->sink_arg, p->at, payload, bytes, retx);
	else if (op->buf && payload)
		memcpy((uint8_t *)op->buf + p->at, payload, bytes);
}

/* The rest has an id of its own: an answer that comes twice would be taken for one to it. */
static void ask_for_rest(struct ses *ses, struct rudi_pkt *p, uint32_t got_bytes)
{
	struct rudi *r = &ses->rudi;
	assert(got_bytes < p->bytes && r->sent_bytes >= got_bytes);
	u64map_del(&r->by_id, p->id);
	p->id = r->next_id++;
	bool put = u64map_put(&r->by_id, p->id, p); /* in the room of the former id */
	assert(put);
	(void)put;
	p->at += got_bytes;
	p->bytes -= got_bytes;
	r->sent_bytes -= got_bytes;
	p->first_ns = ses->polled_ns;
	p->unsent = true;
	p->op->most_bytes = got_bytes < p->op->most_bytes ? got_bytes : p->op->most_bytes;
	hurry(r, p);
}

static void pkt_answered(struct ses *ses, struct rudi_pkt *p)
{
	struct rudi_op *o = p->op;
	pkt_free(ses, p);
	end_if_done(ses, o);
	ses->rudi.due_ns = 0; /* there is room for more */
}

/* An answer with data. False: it is none of this packet's. */
static bool take_data(struct ses *ses, struct rudi_pkt *p, const struct wire_view *v, const uint8_t *payload)
{
	uint32_t bytes = data_bytes(p, v);
	if (!bytes)
		return false;
	place(p, payload, bytes, wire_hdr_retx(v->hdr));
	if (bytes < p->bytes)
		ask_for_rest(ses, p, bytes);
	else
		pkt_answered(ses, p);
	return true;
}

/* The same of any answer. */
static bool take(struct ses *ses, struct rudi_pkt *p, const struct wire_view *v, const uint8_t *payload)
{
	uint8_t rc = wire_rsp_return_code(v->rsp);
	if (rc > WIRE_RC_OK)
		fail(p->op, rma_errno(rc));
	else if (p->op->op.kind == WEFT_OP_READ && p->bytes)
		return take_data(ses, p, v, payload);
	pkt_answered(ses, p);
	return true;
}

/* The packet that a peer's packet is about. NULL: none of those in flight to it. */
static struct rudi_pkt *answered_by(const struct ses *ses, const struct wire_view *v)
{
	struct rudi_pkt *p = u64map_get(&ses->rudi.by_id, wire_hdr_psn(v->hdr));
	const struct peer *to = p ? peer_get(&ses->peers, p->op->op.peer) : NULL;
	return to && weft_ip_eq(&to->addr.ip, wire_view_src(v)) ? p : NULL;
}

void rudi_repeat(struct ses *ses, const struct wire_view *v)
{
	struct rudi_pkt *p = answered_by(ses, v);
	if (!p) {
		ses->pds->stats.rx_stale++;
		return;
	}
	hurry(&ses->rudi, p);
}

void rudi_response(struct ses *ses, const struct weft_pkt *pkt, const struct wire_view *v)
{
	bool known = v->ses_bytes && (v->next_hdr == WIRE_NH_RSP || v->next_hdr == WIRE_NH_RSP_DATA);
	struct rudi_pkt *p = known ? answered_by(ses, v) : NULL;
	if (!p || !take(ses, p, v, pds_payload(pkt, v)))
		ses->stats->rma_stale++;
}

/* ---- the end ---- */

static void drop_pkts(struct ses *ses, const struct rudi_op *o)
{
	list_for_each_safe (l, &ses->rudi.sent)
		if (pkt_at(l)->op == o)
			pkt_free(ses, pkt_at(l));
}

void rudi_detach(struct ses *ses, const struct weft_ep *ep)
{
	list_for_each_safe (l, &ses->rudi.ops) {
		struct rudi_op *o = op_at(l);
		if (ep && o->ep != ep)
			continue;
		drop_pkts(ses, o);
		cqe_release(ses, o->node);
		op_free(ses, o);
	}
}

void rudi_fail(struct ses *ses, int err)
{
	list_for_each_safe (l, &ses->rudi.ops) {
		struct rudi_op *o = op_at(l);
		drop_pkts(ses, o);
		fail(o, err);
		end_if_done(ses, o);
	}
}
