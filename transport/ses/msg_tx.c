/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages we send: queued per connection, cut by reference, completed when the target has acknowledged every packet.
 */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

static int check(const struct weft_engine *e, const struct peer *to, const struct weft_op *op)
{
	if (e->shutting_down)
		return ESHUTDOWN;
	if (e->sched && sched_refuses(e))
		return ENOTSUP;
	if (!to || weft_ip_is_v4(&to->addr.ip) != e->is_v4)
		return EINVAL;
	if ((op->kind == WEFT_OP_ATOMIC || op->kind == WEFT_OP_FETCH_ATOMIC) && !rma_amo_valid(e, op))
		return EINVAL;
	return op->len > WEFT_MSG_BYTES_MAX ? EMSGSIZE : 0;
}

static void refuse(struct weft_engine *e, struct weft_ep *ep, struct cqe_node *node, const struct weft_op *op, int err)
{
	e->stats.msg_failed++;
	ep_complete(e, ep, node,
		    &(struct weft_cqe){.context = op->context, .kind = op->kind, .err = err, .peer = op->peer});
}

static void fill(struct tx_msg *m, struct weft_ep *ep, const struct weft_op *op, struct cqe_node *node,
		 uint16_t dst_port)
{
	*m = (struct tx_msg){.ep = ep,
			     .buf = op->buf,
			     .context = op->context,
			     .node = node,
			     .tag = op->tag,
			     .data = op->data,
			     .bytes = (uint32_t)op->len,
			     .src_port = ep->port,
			     .dst_port = dst_port,
			     .kind = op->kind,
			     .has_data = op->flags & WEFT_OP_HAS_DATA,
			     .fenced = op->flags & WEFT_OP_FENCE};
}

/* More than a plain message: for memory, announced, or completed by a receive. */
static bool needs_rma(const struct weft_engine *e, const struct weft_op *op)
{
	if (op->kind != WEFT_OP_SEND && op->kind != WEFT_OP_TSEND)
		return true;
	bool large = e->tune.rndv_bytes && op->len > e->tune.rndv_bytes;
	return (large || op->flags & WEFT_OP_MATCHED) && !(op->flags & WEFT_OP_BACKGROUND);
}

static bool is_answer(const struct tx_msg *m)
{
	return m->rma && m->rma->role == RMA_ANSWER;
}

static struct tx_msg *next_of_kind(const struct pdc_tx *p, const struct tx_msg *m)
{
	struct tx_msg *next = m->link.next == &p->msgs ? NULL : list_entry(m->link.next, struct tx_msg, link);
	return next == p->answers ? NULL : next;
}

/* An answer has no place in the order of messages and may be long. Messages do not wait behind it, nor it behind them,
 * or two hosts that fetch from each other would do so one after the other: the request of the one would be stuck behind
 * its answer to the other. */
void msg_tx_take_turns(struct pdc_tx *p)
{
	struct tx_msg *m = p->waiting;
	p->waiting = p->cutting;
	p->cutting = m;
}

static void add(struct pdc_tx *p, struct tx_msg *m)
{
	bool answer = is_answer(m);
	list_add_tail(!answer && p->answers ? &p->answers->link : &p->msgs, &m->link);
	if (answer && !p->answers)
		p->answers = m;
	if (!p->cutting)
		p->cutting = m;
	else if (!p->waiting && is_answer(p->cutting) != answer)
		p->waiting = m;
}

void msg_tx_queue(struct weft_engine *e, struct pdc_tx *p, struct tx_msg *m)
{
	pdc_tx_wanted(e, p);
	add(p, m);
	if (e->rcc)
		credit_tx_queued(e, p, m);
	pdc_tx_ready(e, p);
}

static bool queue(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, const struct peer *to,
		  struct cqe_node *node, weft_ns now)
{
	struct pdc_tx *p = pdc_tx_get(e, to->remote, op->flags & WEFT_OP_BACKGROUND, now);
	struct tx_msg *m = p ? pool_get(&e->tx_msgs) : NULL;
	if (!m)
		return false;
	fill(m, ep, op, node, to->addr.port);
	if (needs_rma(e, op) && !rma_tx_attach(e, p, m, op)) {
		pool_put(&e->tx_msgs, m);
		return false;
	}
	msg_tx_queue(e, p, m);
	return true;
}

static bool local(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, const struct weft_addr *to)
{
	bool message = op->kind == WEFT_OP_SEND || op->kind == WEFT_OP_TSEND;
	return message ? msg_rx_local(e, ep, op, to) : rma_local(e, ep, op, to);
}

bool msg_tx_start(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	const struct peer *to = peer_get(e, op->peer);
	int err = check(e, to, op);
	if (!err && weft_ip_eq(&to->addr.ip, &e->ip))
		return local(e, ep, op, &to->addr);
	struct cqe_node *node = ep_reserve(e);
	if (!node)
		return false;
	if (err) {
		refuse(e, ep, node, op, err);
		return true;
	}
	if (queue(e, ep, op, to, node, now))
		return true;
	pool_put(&e->cqe_nodes, node);
	return false;
}

uint16_t msg_tx_room(const struct weft_engine *e, const struct tx_msg *m)
{
	uint32_t left = m->bytes - m->cut_bytes;
	return (uint16_t)(left < e->tune.payload_bytes ? left : e->tune.payload_bytes);
}

/* Messages never interleave with each other on a PDC, and their ids count up in the order they start (matching needs
 * it). */
void msg_tx_cut(struct pdc_tx *p, struct tx_msg *m, struct sent *s, uint16_t payload_len)
{
	if (unlikely(!m->cut_bytes) && !m->unacked_pkts && !is_answer(m)) {
		m->message_id = p->next_message_id++;
		if (!p->next_message_id)
			p->next_message_id = 1;
	}
	s->msg = m;
	s->offset = m->cut_bytes;
	s->payload_len = payload_len;
	m->cut_bytes += payload_len;
	m->unacked_pkts++;
	if (unlikely(m->cut_bytes >= m->bytes)) {
		m->cut = true;
		p->cutting = next_of_kind(p, m);
	}
	if (unlikely(p->waiting != NULL))
		msg_tx_take_turns(p);
}

void msg_tx_ses(const struct tx_msg *m, const struct sent *s, struct wire_ses *ses)
{
	bool som = s->offset == 0, eom = s->offset + s->payload_len == m->bytes;
	ses->opcode = m->kind == WEFT_OP_TSEND ? WIRE_OP_TAGGED_SEND : WIRE_OP_SEND;
	ses->flags = (uint8_t)(WIRE_SES_REL | (som ? WIRE_SES_SOM : 0) | (eom ? WIRE_SES_EOM : 0) |
			       (som && m->has_data ? WIRE_SES_HD : 0));
	ses->message_id = m->message_id;
	ses->pid_on_fep = m->dst_port >> 4;
	ses->resource_index = m->dst_port & 15;
	ses->job_id = 0;
	ses->ri_generation = 0;
	ses->buffer_offset = 0;
	ses->initiator = m->src_port;
	ses->match = m->tag;
	ses->header_data = m->data;
	ses->payload_length = s->payload_len;
	ses->message_offset = s->offset;
	ses->request_length = m->bytes;
}

static void tell(struct weft_engine *e, struct tx_msg *m)
{
	if (m->err)
		e->stats.msg_failed++;
	else
		e->stats.msg_sent++;
	struct weft_cqe cqe = {.context = m->context,
			       .kind = m->kind,
			       .err = m->err,
			       .len = m->err   ? 0
				      : m->rma ? m->rma->length
					       : m->bytes,
			       .flags = m->kind == WEFT_OP_TSEND ? WEFT_OP_TAGGED : 0,
			       .tag = m->tag};
	ep_complete(e, m->ep, m->node, &cqe);
}

void msg_tx_complete(struct weft_engine *e, struct tx_msg *m)
{
	if (e->out_refused && m->buf)
		engine_forget(e, m->buf, m->bytes);
	if (m->node)
		tell(e, m);
	if (is_answer(m) && m->rma->pdc->answers == m)
		m->rma->pdc->answers = next_of_kind(m->rma->pdc, m);
	list_del(&m->link);
	if (m->rma)
		rma_tx_end(e, m);
	weft_mem_free(&e->mem, m->copy);
	pool_put(&e->tx_msgs, m);
}

bool msg_tx_detach(struct weft_engine *e, struct tx_msg *m)
{
	if (m->rma && m->rma->role != RMA_REQUEST)
		return rma_tx_detach(e, m);
	m->ep = NULL;
	if (!m->buf || !m->bytes)
		return true;
	m->copy = weft_mem_alloc(&e->mem, m->bytes);
	if (!m->copy)
		return false;
	memcpy(m->copy, m->buf, m->bytes);
	if (e->out_refused)
		engine_forget(e, m->buf, m->bytes);
	m->buf = m->copy;
	return true;
}

void msg_tx_all_acked(struct weft_engine *e, struct tx_msg *m)
{
	if (m->rma)
		rma_tx_acked(e, m);
	else
		msg_tx_complete(e, m);
}

void msg_tx_abort(struct weft_engine *e, struct pdc_tx *p, struct tx_msg *m, int err)
{
	if (m->err)
		return; /* the first refusal decides */
	if (e->rcc)
		credit_tx_dropped(e, p, m);
	m->err = err;
	m->cut = true;
	if (p->waiting == m)
		p->waiting = next_of_kind(p, m);
	if (p->cutting != m)
		return;
	p->cutting = next_of_kind(p, m);
	if (!p->cutting)
		msg_tx_take_turns(p);
}

void msg_tx_drop(struct weft_engine *e, struct tx_msg *m, int err)
{
	m->err = err;
	msg_tx_complete(e, m);
}
