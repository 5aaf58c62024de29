/* SPDX-License-Identifier: BSD-3-Clause */
/* Announced messages (rendezvous) at their receiver: once there is a buffer, it READs what fits from the sender's, by
 * the key in the announcement. Nothing is kept meanwhile but the announcement. The sender's part ends with our
 * acknowledgement of the last byte, so a message to be thrown away is fetched, too: none of its bytes. */
#include <errno.h>
#include <string.h>

#include "engine_int.h"

/* Bytes that the receive takes. */
static uint32_t wanted(const struct rx_msg *m)
{
	if (!m->req)
		return 0;
	uint64_t room = m->req->op.len - m->into;
	return room < m->bytes ? (uint32_t)room : m->bytes;
}

static struct tx_msg *ask(struct weft_engine *e, struct rx_msg *m)
{
	struct rx_rma *r = m->rma;
	const struct weft_op op = {
		.kind = WEFT_OP_READ, .rkey = r->key, .raddr = r->raddr, .len = wanted(m), .peer = m->src_peer};
	const struct peer *from = peer_get(e, m->src_peer);
	struct pdc_tx *p = pdc_tx_get(e, from->remote, false, e->now_ns);
	struct tx_msg *t = p ? pool_get(&e->tx_msgs) : NULL;
	if (!t)
		return NULL;
	*t = (struct tx_msg){.kind = WEFT_OP_READ, .src_port = m->ep ? m->ep->port : 0, .dst_port = r->announcer};
	if (!rma_tx_attach(e, p, t, &op)) {
		pool_put(&e->tx_msgs, t);
		return NULL;
	}
	t->rma->fetch = m;
	t->rma->generation = r->generation;
	msg_tx_queue(e, p, t);
	return t;
}

void rndv_fetch(struct weft_engine *e, struct rx_msg *m)
{
	if (m->ep && !m->req && !m->discard)
		return; /* no buffer yet */
	if (e->destroying) {
		msg_rx_free(e, m);
		return;
	}
	if (list_empty(&m->link))
		list_add_tail(&e->fetches, &m->link);
	e->due_ns = e->now_ns; /* an endpoint may be closing: nobody polls for that */
	m->rma->ask = ask(e, m);
	if (m->rma->ask) {
		e->stats.rndv_fetched++;
		return;
	}
	e->stats.alloc_fail++;
	e->fetch_later = e->left_over = e->short_of_mem = true;
}

void rndv_retry(struct weft_engine *e)
{
	e->fetch_later = false;
	list_for_each_safe (l, &e->fetches) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (!m->rma->ask)
			rndv_fetch(e, m);
	}
}

void rndv_detach(struct weft_engine *e, struct weft_ep *ep)
{
	list_for_each (l, &e->fetches)
		match_detach(e, list_entry(l, struct rx_msg, link), ep);
}
