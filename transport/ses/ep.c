/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: a number on this engine, a ring of submissions, a ring of completions. */
#include <errno.h>

#include "dgram.h"

enum { EP_PORT_FIRST_FREE = 0xC000, EP_RING_MIN = 16, EP_RING_MAX = 1 << 20 };

struct weft_ep *ep_find(struct weft_engine *e, uint16_t port)
{
	list_for_each (l, &e->eps) {
		struct weft_ep *ep = list_entry(l, struct weft_ep, link);
		if (ep->port == port && !ep->hidden && !ep->is_dgram)
			return ep;
	}
	return NULL;
}

static bool in_use(struct weft_engine *e, uint16_t port)
{
	return ep_find(e, port) || dgram_ep(e, port);
}

static uint16_t free_port(struct weft_engine *e)
{
	for (uint32_t port = EP_PORT_FIRST_FREE; port <= UINT16_MAX; port++)
		if (!in_use(e, (uint16_t)port))
			return (uint16_t)port;
	return 0;
}

static uint32_t ring_entries(uint32_t wanted)
{
	uint32_t n = EP_RING_MIN;
	while (n < wanted && n < EP_RING_MAX)
		n *= 2;
	return n;
}

static bool ring_open(struct weft_engine *e, struct spsc *r, void **slots, uint32_t wanted, uint32_t elem_bytes)
{
	uint32_t entries = ring_entries(wanted);
	*slots = weft_mem_alloc(&e->mem, spsc_bytes(entries, elem_bytes));
	if (*slots)
		spsc_init(r, *slots, entries, elem_bytes);
	return *slots;
}

static struct weft_ep *ep_alloc(struct weft_engine *e, uint32_t sq_entries, uint32_t cq_entries)
{
	struct weft_ep *ep = weft_mem_alloc(&e->mem, sizeof *ep);
	if (!ep)
		return NULL;
	ep->e = e;
	list_init(&ep->link);
	for (int i = 0; i < 2; i++) {
		list_init(&ep->own.posted[i]);
		list_init(&ep->own.unexpected[i]);
	}
	list_init(&ep->own.claimed);
	ep->rx = &ep->own;
	ep->overflow_tail = &ep->overflow;
	if (ring_open(e, &ep->sq, &ep->sq_slots, sq_entries, sizeof(struct weft_op)) &&
	    ring_open(e, &ep->cq, &ep->cq_slots, cq_entries, sizeof(struct weft_cqe)))
		return ep;
	ep_free(ep);
	return NULL;
}

int weft_ep_open_hidden(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
			struct weft_ep **out, struct weft_err *err)
{
	struct weft_ep *ep = ep_alloc(e, sq_entries, cq_entries);
	if (!ep)
		return weft_err_set(err, -ENOMEM, "endpoint %u: no memory for its rings", port);
	ep->port = port;
	ep->hidden = true;
	list_add_tail(&e->eps, &ep->link);
	*out = ep;
	return 0;
}

int weft_ep_open(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		 struct weft_err *err)
{
	if (port && in_use(e, port))
		return weft_err_set(err, -EADDRINUSE, "endpoint %u is open already", port);
	if (!port && !(port = free_port(e)))
		return weft_err_set(err, -EADDRINUSE, "all endpoint numbers from %u up are open", EP_PORT_FIRST_FREE);
	int ret = weft_ep_open_hidden(e, port, sq_entries, cq_entries, out, err);
	if (!ret)
		(*out)->hidden = false;
	return ret;
}

int weft_ep_open_dgram(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
		       struct weft_ep **out, struct weft_err *err)
{
	int ret = weft_ep_open(e, port, sq_entries, cq_entries, out, err);
	if (!ret)
		(*out)->is_dgram = true;
	return ret;
}

void weft_ep_share(struct weft_ep *ep, struct weft_ep *with)
{
	ep->rx = &with->own;
}

/* NULL: of all endpoints that share the list. */
static void msgs_discard(struct weft_engine *e, const struct weft_ep *ep, struct list *msgs)
{
	list_for_each_safe (l, msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (!ep || m->ep == ep)
			msg_rx_discard(e, m);
	}
}

/* Receives and messages in `side` end, those of one endpoint or all. */
static void side_empty(struct weft_engine *e, const struct weft_ep *ep, struct rx_side *side)
{
	for (int i = 0; i < 2; i++) {
		if (!ep)
			match_drop(e, &side->posted[i]);
		msgs_discard(e, ep, &side->unexpected[i]);
	}
	msgs_discard(e, ep, &side->claimed);
}

static void forget_sender(struct rx_side *side, const struct weft_ep *ep)
{
	for (int i = 0; i < 2; i++)
		msg_rx_sender_closes(&side->unexpected[i], ep);
	msg_rx_sender_closes(&side->claimed, ep);
}

/* Who shared with the endpoint has receives of its own again. */
static void unshare(struct weft_engine *e, struct weft_ep *with)
{
	list_for_each (l, &e->eps) {
		struct weft_ep *ep = list_entry(l, struct weft_ep, link);
		if (ep->rx == &with->own)
			ep->rx = &ep->own;
	}
}

/* Messages already matched or waiting for their turn lose their destination. */
static void detach_rx(struct weft_engine *e, struct weft_ep *ep)
{
	list_for_each (r, &e->rxs) {
		struct pdc_rx *p = list_entry(r, struct pdc_rx, link);
		list_for_each (l, &p->msgs) {
			struct rx_msg *m = list_entry(l, struct rx_msg, pdc_link);
			if (!match_detach(e, m, ep))
				continue;
			m->direct = false;
			if (m->rma && !m->rma->announced)
				m->rc = WIRE_RC_UNDELIVERABLE;
		}
		msg_rx_turns(e, p);
	}
}

static bool detach_msgs(struct weft_engine *e, struct pdc_tx *p, struct weft_ep *ep)
{
	list_for_each (l, &p->msgs) {
		struct tx_msg *m = list_entry(l, struct tx_msg, link);
		if (m->ep == ep && !msg_tx_detach(e, m))
			return false;
	}
	return true;
}

/* Without memory for copies the connection ends: better a lost message than bytes of a buffer that means something
 * else. */
static void detach_tx(struct weft_engine *e, struct weft_ep *ep)
{
	list_for_each_safe (t, &e->txs) {
		struct pdc_tx *p = list_entry(t, struct pdc_tx, link);
		if (!detach_msgs(e, p, ep))
			pdc_tx_fail(e, p, ENOMEM);
	}
}

void ep_free(struct weft_ep *ep)
{
	struct weft_engine *e = ep->e;
	while (ep->overflow) {
		struct cqe_node *n = ep->overflow;
		ep->overflow = n->next;
		pool_put(&e->cqe_nodes, n);
	}
	list_del(&ep->link);
	weft_mem_free(&e->mem, ep->sq_slots);
	weft_mem_free(&e->mem, ep->cq_slots);
	weft_mem_free(&e->mem, ep);
}

void weft_ep_close(struct weft_ep *ep)
{
	struct weft_engine *e = ep->e;
	if (ep->rx != &ep->own)
		side_empty(e, ep, ep->rx);
	side_empty(e, NULL, &ep->own);
	unshare(e, ep);
	list_for_each (l, &e->eps)
		forget_sender(&list_entry(l, struct weft_ep, link)->own, ep);
	detach_rx(e, ep);
	rndv_detach(e, ep);
	detach_tx(e, ep);
	dgram_detach(e, ep);
	ep_free(ep);
}

uint16_t weft_ep_port(const struct weft_ep *ep)
{
	return ep->port;
}

void weft_ep_scope(struct weft_ep *ep, uint32_t scope, bool events)
{
	ep->scope = scope;
	ep->events = events;
}

int weft_submit(struct weft_ep *ep, const struct weft_op *op)
{
	if (!spsc_push(&ep->sq, op))
		return -EAGAIN;
	atomic_store_explicit(&ep->e->rung, true, memory_order_release);
	return 0;
}

unsigned weft_sq_space(const struct weft_ep *ep)
{
	return spsc_space(&ep->sq);
}

unsigned weft_cq_take(struct weft_ep *ep, struct weft_cqe *cqes, unsigned n)
{
	unsigned taken = 0;
	while (taken < n && spsc_pop(&ep->cq, &cqes[taken]))
		taken++;
	return taken;
}

struct cqe_node *ep_reserve(struct weft_engine *e)
{
	struct cqe_node *n = pool_get(&e->cqe_nodes);
	e->stats.alloc_fail += !n;
	return n;
}

/* Completions stay in order: none overtakes one that waits. */
void ep_complete(struct weft_engine *e, struct weft_ep *ep, struct cqe_node *node, const struct weft_cqe *cqe)
{
	if (!ep || (!ep->overflow && spsc_push(&ep->cq, cqe))) {
		pool_put(&e->cqe_nodes, node);
		return;
	}
	e->stats.cq_overflow++;
	e->left_over = true;
	node->cqe = *cqe;
	node->next = NULL;
	*ep->overflow_tail = node;
	ep->overflow_tail = &node->next;
}

void ep_complete_recv(struct weft_engine *e, struct weft_ep *ep, struct rx_req *req, struct weft_cqe cqe)
{
	cqe.context = req->op.context;
	cqe.kind = req->op.kind;
	ep_complete(e, ep, req->node, &cqe);
	pool_put(&e->rx_reqs, req);
}

void ep_flush_cq(struct weft_engine *e, struct weft_ep *ep)
{
	while (ep->overflow && spsc_push(&ep->cq, &ep->overflow->cqe)) {
		struct cqe_node *n = ep->overflow;
		ep->overflow = n->next;
		pool_put(&e->cqe_nodes, n);
	}
	if (!ep->overflow)
		ep->overflow_tail = &ep->overflow;
	else
		e->short_of_mem = e->left_over = true;
}

static bool perform(struct weft_engine *e, struct weft_ep *ep, const struct weft_op *op, weft_ns now)
{
	switch (op->kind) {
	case WEFT_OP_SEND:
	case WEFT_OP_TSEND:
	case WEFT_OP_WRITE:
	case WEFT_OP_READ:
	case WEFT_OP_ATOMIC:
	case WEFT_OP_FETCH_ATOMIC:
		return msg_tx_start(e, ep, op, now);
	case WEFT_OP_RECV:
	case WEFT_OP_TRECV:
		return match_recv(e, ep, op);
	case WEFT_OP_DGRAM:
		return dgram_send(e, ep, op, now);
	case WEFT_OP_PEEK:
		return match_peek(e, ep, op);
	case WEFT_OP_CANCEL:
		match_cancel(e, ep, op);
		return true;
	default: {
		struct cqe_node *node = ep_reserve(e);
		if (node)
			ep_complete(e, ep, node,
				    &(struct weft_cqe){.context = op->context, .kind = op->kind, .err = EINVAL});
		return node;
	}
	}
}

void ep_submissions(struct weft_engine *e, struct weft_ep *ep, weft_ns now)
{
	if (ep->overflow)
		ep_flush_cq(e, ep);
	for (int i = 0; i < ENGINE_SUBMIT; i++) {
		if (!ep->has_pending && !spsc_pop(&ep->sq, &ep->pending))
			return;
		ep->has_pending = !perform(e, ep, &ep->pending, now);
		if (ep->has_pending) {
			e->short_of_mem = e->left_over = true;
			return;
		}
	}
	e->more_submissions = true;
}
