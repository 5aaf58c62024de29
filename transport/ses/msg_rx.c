/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that arrive: packets in any order are placed by offset; messages are matched in the order they were sent
 * (FI_ORDER_SAS on an unordered wire: message ids count up, so a later message waits for the turn of an earlier one).
 */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

enum { MSGS_MIN = 4096 }; /* messages without payload that are always allowed, whatever the limit in bytes */

static uint64_t msg_key(const struct pdc_rx *p, uint16_t message_id)
{
	return (uint64_t)p->pdc.id << 16 | message_id;
}

static uint16_t id_after(uint16_t id)
{
	return id == UINT16_MAX ? 1 : id + 1;
}

static uint16_t ep_port_of(const struct wire_ses *ses)
{
	return (uint16_t)(ses->pid_on_fep << 4 | (ses->resource_index & 15));
}

/* ---- memory ---- */

static void bounce_free(struct weft_engine *e, struct rx_msg *m)
{
	if (m->bounce)
		e->unexpected_bytes -= m->bytes;
	weft_mem_free(&e->mem, m->bounce);
	m->bounce = NULL;
}

static bool bounce_alloc(struct weft_engine *e, struct rx_msg *m)
{
	m->bounce = weft_mem_alloc(&e->mem, m->bytes);
	if (!m->bounce)
		return false;
	e->unexpected_bytes += m->bytes;
	return true;
}

/* No packet finds it any more. */
static void leave_pdc(struct weft_engine *e, struct rx_msg *m)
{
	if (!m->pdc)
		return;
	u64map_del(&e->rx_msgs, msg_key(m->pdc, m->message_id));
	if (m->pdc->recent == m)
		m->pdc->recent = NULL;
	m->pdc = NULL;
	list_del(&m->pdc_link);
}

bool msg_rx_bounce(struct weft_engine *e, struct rx_msg *m)
{
	return e->unexpected_bytes + m->bytes <= e->tune.unexpected_bytes && bounce_alloc(e, m);
}

/* A sender on this engine wanted to know when the message is matched. */
static void tell_sender(struct weft_engine *e, struct rx_msg *m)
{
	struct weft_ep *ep = m->sent->ep;
	struct weft_cqe cqe = m->sent->cqe;
	ep_complete(e, ep, m->sent, &cqe);
}

void msg_rx_sender_closes(struct list *msgs, const struct weft_ep *ep)
{
	list_for_each (l, msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->sent && m->sent->ep == ep)
			m->sent->ep = NULL;
	}
}

void msg_rx_free(struct weft_engine *e, struct rx_msg *m)
{
	bounce_free(e, m);
	if (m->sent)
		tell_sender(e, m);
	list_del(&m->link);
	leave_pdc(e, m);
	if (m->rma)
		rma_rx_end(e, m);
	pool_put(&e->rx_msg_pool, m);
}

/* ---- placing and completing ---- */

/* What does not fit is thrown away. */
static inline void place_in(const struct weft_op *op, uint64_t offset, const uint8_t *payload, uint32_t len)
{
	if (unlikely(offset + len >= op->len)) {
		if (offset >= op->len)
			return;
		len = (uint32_t)(op->len - offset);
	}
	if (op->sink)
		op->sink(op->sink_arg, offset, payload, len);
	else if (op->buf && payload && len)
		memcpy((uint8_t *)op->buf + offset, payload, len);
}

/* Payload goes to the receive if that was there first, else it needs memory. Without memory the message keeps its place
 * among the unexpected ones and only its packets are refused: nothing waits behind it, and a receive lets them in. */
static bool has_room(struct weft_engine *e, struct rx_msg *m, const uint8_t *payload, uint32_t len)
{
	if (m->direct || m->bounce || m->discard || !payload || !len)
		return true;
	return msg_rx_bounce(e, m);
}

static inline void place(struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	m->received_bytes += len;
	if (m->direct)
		place_in(&m->req->op, m->into + offset, payload, len);
	else if (m->bounce && payload && len)
		memcpy(m->bounce + offset, payload, len);
}

static struct weft_cqe cqe_of(const struct rx_msg *m)
{
	return (struct weft_cqe){
		.flags = (uint8_t)((m->has_data ? WEFT_OP_HAS_DATA : 0) | (m->tagged ? WEFT_OP_TAGGED : 0)),
		.peer = m->src_peer,
		.len = m->bytes,
		.tag = m->tag,
		.data = m->data};
}

static void hand_over(struct weft_engine *e, struct rx_msg *m)
{
	const struct weft_op *op = &m->req->op;
	uint64_t room = op->len - m->into;
	struct weft_cqe cqe = cqe_of(m);
	if (!m->direct && m->bytes && !m->rma)
		place_in(op, m->into, m->bounce, m->bytes);
	if (m->bytes > room) {
		e->stats.msg_truncated++;
		cqe.err = EMSGSIZE;
		cqe.olen = m->bytes - room;
		cqe.len = room;
	}
	e->stats.msg_received++;
	match_done(e, m, cqe);
	msg_rx_free(e, m);
}

/* Hand over, throw away, or keep for a later receive. */
static void __attribute__((noinline)) finish(struct weft_engine *e, struct rx_msg *m)
{
	leave_pdc(e, m);
	if (m->req)
		hand_over(e, m);
	else if (m->discard || !m->ep)
		msg_rx_free(e, m);
}

/* There is one packet of an announced message, and this is it. */
static void __attribute__((noinline)) announced(struct weft_engine *e, struct rx_msg *m)
{
	leave_pdc(e, m);
	rndv_fetch(e, m);
}

/* Every byte is here and the turn has come. */
static inline void maybe_finish(struct weft_engine *e, struct rx_msg *m)
{
	if (!m->in_turn)
		return;
	if (unlikely(m->rma != NULL))
		announced(e, m);
	else if (unlikely(m->received_bytes >= m->bytes))
		finish(e, m);
}

void msg_rx_place(struct rx_msg *m, uint64_t offset, const uint8_t *payload, uint32_t len)
{
	if (m->req)
		place_in(&m->req->op, m->into + offset, payload, len);
}

/* The sender's key is dead when the sender that knew it is. */
void msg_rx_fetched(struct weft_engine *e, struct rx_msg *m, int err)
{
	m->rma->ask = NULL;
	if (!m->req) {
		msg_rx_free(e, m);
	} else if (!err) {
		hand_over(e, m);
	} else {
		struct weft_cqe cqe = cqe_of(m);
		cqe.err = err == EACCES || err == EHOSTUNREACH ? ECONNRESET : err;
		cqe.len = 0;
		e->stats.msg_failed++;
		match_done(e, m, cqe);
		msg_rx_free(e, m);
	}
}

void msg_rx_matched(struct weft_engine *e, struct rx_msg *m)
{
	maybe_finish(e, m);
}

void msg_rx_discard(struct weft_engine *e, struct rx_msg *m)
{
	list_del(&m->link);
	bounce_free(e, m);
	m->discard = true;
	maybe_finish(e, m);
}

/* ---- arrival ---- */

static void unexpected(struct weft_engine *e, struct rx_msg *m)
{
	e->stats.msg_unexpected++;
	list_add_tail(&m->ep->rx->unexpected[m->tagged], &m->link);
}

/* The first receive that wants the message, or a place among the unexpected ones. */
static void match(struct weft_engine *e, struct rx_msg *m)
{
	m->in_turn = true;
	if (!match_posted(e, m))
		unexpected(e, m);
}

void msg_rx_stuck(struct weft_engine *e, struct pdc_rx *p)
{
	e->left_over = e->short_of_mem = true;
	if (list_empty(&p->stuck_link))
		list_add_tail(&e->stuck, &p->stuck_link);
}

/* A request is executed when all of it is here; false: not yet, or there was no memory for it. */
static bool request_turn(struct weft_engine *e, struct pdc_rx *p, struct rx_msg *m)
{
	if (m->received_bytes < m->bytes)
		return false;
	if (rma_rx_execute(e, m, m->bounce))
		return true;
	msg_rx_stuck(e, p);
	return false;
}

static void message_turn(struct weft_engine *e, struct rx_msg *m)
{
	if (m->ep) {
		match(e, m);
		maybe_finish(e, m);
	} else if (m->rma) {
		announced(e, m);
	} else {
		msg_rx_free(e, m);
	}
}

static bool is_request(const struct rx_msg *m)
{
	return m->rma && !m->rma->announced && !m->rc;
}

/* Matches the waiting messages whose turn has come now, and executes requests. */
void msg_rx_turns(struct weft_engine *e, struct pdc_rx *p)
{
	struct rx_msg *m;
	while ((m = u64map_get(&e->rx_msgs, msg_key(p, p->next_match_id))) && !m->in_turn) {
		if (is_request(m) && !request_turn(e, p, m))
			return;
		p->next_match_id = id_after(p->next_match_id);
		if (m->rc || is_request(m))
			msg_rx_free(e, m);
		else
			message_turn(e, m);
	}
}

void msg_rx_retry(struct weft_engine *e)
{
	struct list again;
	list_init(&again);
	while (!list_empty(&e->stuck)) {
		struct list *l = e->stuck.next;
		list_del(l);
		list_add_tail(&again, l);
	}
	while (!list_empty(&again)) {
		struct pdc_rx *p = list_entry(again.next, struct pdc_rx, stuck_link);
		list_del(&p->stuck_link);
		msg_rx_turns(e, p);
	}
}

static bool is_tagged(uint8_t opcode)
{
	return opcode == WIRE_OP_TAGGED_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND;
}

static bool is_plain(uint8_t opcode)
{
	return opcode == WIRE_OP_SEND || opcode == WIRE_OP_TAGGED_SEND;
}

static bool is_announcement(uint8_t opcode)
{
	return opcode == WIRE_OP_RENDEZVOUS_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND;
}

static void fill(struct rx_msg *m, struct weft_ep *ep, struct pdc_rx *p, const struct wire_ses *ses, uint32_t peer)
{
	*m = (struct rx_msg){.ep = ep,
			     .pdc = p,
			     .tag = ses->match,
			     .bytes = ses->request_length,
			     .src_peer = peer,
			     .message_id = ses->message_id,
			     .tagged = is_tagged(ses->opcode)};
	list_init(&m->link);
	list_init(&m->pdc_link);
}

/* Messages without a receive cost memory even when they are empty. */
static struct rx_msg *msg_get(struct weft_engine *e)
{
	uint64_t limit = e->tune.unexpected_bytes / sizeof(struct rx_msg);
	if (e->rx_msg_pool.used >= (limit > MSGS_MIN ? limit : MSGS_MIN))
		return NULL;
	return pool_get(&e->rx_msg_pool);
}

static struct rx_msg *msg_open(struct weft_engine *e, struct pdc_rx *p, struct weft_ep *ep, const struct wire_pkt *w,
			       uint8_t rc)
{
	uint32_t peer;
	struct weft_addr from = {p->ip, (uint16_t)w->ses.initiator};
	struct rx_msg *m = weft_peer_add(e, &from, &peer) ? NULL : msg_get(e);
	if (!m)
		return NULL;
	fill(m, ep, p, &w->ses, peer);
	m->rc = rc;
	m->plain_op = !rc && is_plain(w->ses.opcode) ? w->ses.opcode : PLAIN_OP_NONE;
	if (!rc && !is_plain(w->ses.opcode) && !rma_rx_attach(e, m, w)) {
		pool_put(&e->rx_msg_pool, m);
		return NULL;
	}
	if (!u64map_put(&e->rx_msgs, msg_key(p, m->message_id), m)) {
		m->pdc = NULL;
		msg_rx_free(e, m);
		return NULL;
	}
	list_add_tail(&p->msgs, &m->pdc_link);
	if (m->message_id == p->next_match_id && !rc && !is_request(m)) {
		p->next_match_id = id_after(p->next_match_id);
		match(e, m);
	}
	return m;
}

/* No endpoint, or nothing we can do: nothing is kept but the message's turn, when that has not come yet. */
static int undeliverable(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, uint8_t rc)
{
	if (w->ses.message_id == p->next_match_id) {
		p->next_match_id = id_after(p->next_match_id);
		msg_rx_turns(e, p);
		return rc;
	}
	return msg_open(e, p, NULL, w, rc) ? rc : MSG_RX_NO_MEM;
}

/* Why a message can't be taken; WIRE_RC_NULL: it can. */
static uint8_t refusal(struct weft_engine *e, const struct pdc_rx *p, const struct weft_ep *ep,
		       const struct wire_pkt *w)
{
	if (rma_is_request(w->ses.opcode)) {
		uint8_t rc = rma_rx_sane(w);
		rc = rc == WIRE_RC_OK ? rma_rx_check(e, ep, &p->ip, &w->ses) : rc;
		return rc == WIRE_RC_OK ? WIRE_RC_NULL : rc;
	}
	if (is_announcement(w->ses.opcode) && (w->ses.rndv_eager_length || w->payload_bytes))
		return WIRE_RC_UNSUPPORTED_SIZE;
	if (!is_plain(w->ses.opcode) && !is_announcement(w->ses.opcode))
		return WIRE_RC_UNSUPPORTED_OP;
	return ep ? WIRE_RC_NULL : WIRE_RC_UNDELIVERABLE;
}

static bool is_ahead(const struct pdc_rx *p, uint16_t id)
{
	return (int16_t)(id - p->next_match_id) >= 0;
}

static int msg_first(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, struct rx_msg **out)
{
	struct weft_ep *ep = ep_find(e, ep_port_of(&w->ses));
	uint8_t rc = refusal(e, p, ep, w);
	if (!is_ahead(p, w->ses.message_id)) /* was refused, or its endpoint went away */
		return rc ? rc : WIRE_RC_UNDELIVERABLE;
	if (rc)
		return undeliverable(e, p, w, rc);
	*out = msg_open(e, p, ep, w, 0);
	return *out ? MSG_RX_OK : MSG_RX_NO_MEM;
}

static bool request_agrees(const struct rx_rma *r, const struct wire_pkt *w)
{
	return r->opcode == w->ses.opcode && r->key == w->ses.match && r->raddr == w->ses.buffer_offset;
}

/* Packets of one message agree on it; whatever does not was never sent by an initiator that means well. */
static int msg_next(const struct rx_msg *m, const struct wire_pkt *w)
{
	if (m->rc)
		return m->rc;
	bool tagged = w->ses.opcode == WIRE_OP_TAGGED_SEND;
	bool same = m->rma ? request_agrees(m->rma, w) : tagged == m->tagged && is_plain(w->ses.opcode);
	return w->ses.request_length == m->bytes && same ? MSG_RX_OK : WIRE_RC_INITIATOR_ERROR;
}

void msg_rx_take(struct weft_engine *e, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	place(m, offset, payload, len);
	maybe_finish(e, m);
}

static void take_packet(struct weft_engine *e, struct rx_msg *m, const struct wire_pkt *w, const uint8_t *payload)
{
	bool som = w->ses.flags & WIRE_SES_SOM;
	if (som && w->ses.flags & WIRE_SES_HD) {
		m->has_data = true;
		m->data = w->ses.header_data;
	}
	msg_rx_take(e, m, som ? 0 : w->ses.message_offset, payload, w->payload_bytes);
}

static struct rx_msg *msg_find(const struct weft_engine *e, const struct pdc_rx *p, uint16_t message_id)
{
	if (p->recent && p->recent->message_id == message_id)
		return p->recent;
	return u64map_get(&e->rx_msgs, msg_key(p, message_id));
}

/* A message that can't be placed any more keeps its turn only. */
static int __attribute__((noinline)) request_packet(struct weft_engine *e, struct pdc_rx *p, struct rx_msg *m,
						    bool opened, const struct wire_pkt *w, const uint8_t *payload)
{
	bool turn = m->message_id == p->next_match_id;
	int rc = rma_rx_packet(e, m, w, payload, turn);
	if (rc == MSG_RX_NO_MEM && opened)
		msg_rx_free(e, m);
	else if (rc != MSG_RX_NO_MEM)
		m->rc = (uint8_t)rc;
	if (turn)
		msg_rx_turns(e, p);
	return rc;
}

int msg_rx_packet(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, const uint8_t *payload)
{
	if (w->pds.next_hdr != WIRE_NH_STD) {
		rma_answer_rx(e, p, w, payload);
		return MSG_RX_OK;
	}
	struct rx_msg *m = msg_find(e, p, w->ses.message_id);
	bool opened = !m;
	int rc = m ? msg_next(m, w) : msg_first(e, p, w, &m);
	if (rc)
		return rc;
	if (is_request(m))
		return request_packet(e, p, m, opened, w, payload);
	bool turn_passed = opened && m->in_turn;
	p->recent = m;
	if (has_room(e, m, payload, w->payload_bytes))
		take_packet(e, m, w, payload);
	else
		rc = MSG_RX_NO_MEM;
	if (turn_passed)
		msg_rx_turns(e, p);
	return rc;
}

void msg_rx_fail(struct weft_engine *e, struct pdc_rx *p, int err)
{
	list_for_each_safe (l, &p->msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, pdc_link);
		if (m->req) {
			struct weft_cqe cqe = cqe_of(m);
			cqe.err = err;
			cqe.len = 0;
			e->stats.msg_failed++;
			match_done(e, m, cqe);
		}
		msg_rx_free(e, m);
	}
}

/* ---- messages to ourselves: no packets, the same matching ---- */

/* No limit on memory here: a send that waits would keep the receive behind it in the ring from freeing some. */
static struct rx_msg *whole_open(struct weft_engine *e, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	struct rx_msg *m = pool_get(&e->rx_msg_pool);
	if (!m)
		return NULL;
	*m = (struct rx_msg){.ep = to,
			     .tag = op->tag,
			     .data = op->data,
			     .bytes = (uint32_t)op->len,
			     .src_peer = peer,
			     .tagged = op->kind == WEFT_OP_TSEND,
			     .has_data = op->flags & WEFT_OP_HAS_DATA};
	list_init(&m->link);
	list_init(&m->pdc_link);
	match(e, m);
	if (m->direct || !op->buf || !m->bytes || bounce_alloc(e, m))
		return m;
	msg_rx_free(e, m);
	return NULL;
}

bool msg_rx_whole(struct weft_engine *e, struct weft_ep *to, uint32_t peer, const struct weft_op *op)
{
	struct rx_msg *m = whole_open(e, to, peer, op);
	if (!m)
		return false;
	place(m, 0, op->buf, m->bytes);
	maybe_finish(e, m);
	return true;
}

static struct rx_msg *local_open(struct weft_engine *e, struct weft_ep *from, struct weft_ep *to,
				 const struct weft_op *op)
{
	const struct weft_addr us = {e->ip, from->port};
	uint32_t peer;
	return weft_peer_add(e, &us, &peer) ? NULL : whole_open(e, to, peer, op);
}

bool msg_rx_local(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to)
{
	struct weft_cqe sent = {
		.context = op->context, .kind = op->kind, .peer = op->peer, .len = op->len, .tag = op->tag};
	struct weft_ep *dst = ep_find(e, to->port);
	struct cqe_node *node = ep_reserve(e);
	if (!node)
		return false;
	struct rx_msg *m = dst ? local_open(e, ep, dst, op) : NULL;
	if (dst && !m) {
		pool_put(&e->cqe_nodes, node);
		return false;
	}
	if (!m) {
		sent.err = EHOSTUNREACH;
		sent.len = 0;
		e->stats.msg_failed++;
	} else {
		e->stats.msg_sent++;
		place(m, 0, op->buf, m->bytes);
		if (op->flags & WEFT_OP_MATCHED) {
			node->ep = ep;
			node->cqe = sent;
			m->sent = node;
		}
		maybe_finish(e, m);
	}
	if (!m || !(op->flags & WEFT_OP_MATCHED))
		ep_complete(e, ep, node, &sent);
	return true;
}
