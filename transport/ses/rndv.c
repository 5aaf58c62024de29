/* SPDX-License-Identifier: BSD-3-Clause */
/* Announced messages (rendezvous) at their receiver: once there is a buffer, it READs what fits from the sender's, by
 * the key in the announcement. Nothing is kept meanwhile but the announcement. The sender's part ends with our
 * acknowledgement of the last byte, so a message to be thrown away is fetched, too: none of its bytes. */
#include "rndv.h"

#include "match.h"
#include "rma.h"
#include "rx_msg.h"

/* Bytes that the receive takes. */
static uint32_t fetch_bytes(const struct rx_msg *m)
{
	if (!m->req)
		return 0;
	uint64_t room = m->req->op.len - m->into;
	return room < m->bytes ? (uint32_t)room : m->bytes;
}

static struct tx_msg *ask(struct ses *ses, struct rx_msg *m)
{
	struct rx_rma *r = m->rma;
	const struct weft_op op = {
		.kind = WEFT_OP_READ, .rkey = r->key, .raddr = r->raddr, .len = fetch_bytes(m), .peer = m->src_peer};
	const struct peer *from = peer_get(&ses->peers, m->src_peer);
	struct pdc_tx *p = pdc_tx_get(ses->pds, from->remote, false, ses->polled_ns);
	struct tx_msg *t = p ? pool_get(&ses->tx_msgs) : NULL;
	if (!t)
		return NULL;
	*t = (struct tx_msg){.kind = WEFT_OP_READ,
			     .since_ns = ses->polled_ns,
			     .src_port = m->ep ? m->ep->port : 0,
			     .dst_port = r->announcer,
			     .job_id = ses->pds->conf.tune.job_id};
	if (!rma_tx_attach(ses, p, t, &op)) {
		pool_put(&ses->tx_msgs, t);
		return NULL;
	}
	t->rma->fetch = m;
	t->rma->generation = r->generation;
	t->run.ask_bytes = UINT32_MAX; /* who announces so takes one request for all */
	t->run.ahead = true; /* no operation of ours may hold it up, nor a fence of ours, or both sides wait */
	pdc_tx_queue(ses->pds, p, &t->run, ses->polled_ns);
	return t;
}

void rndv_fetch(struct ses *ses, struct rx_msg *m)
{
	assert(m->rma->announced && !m->rma->ask);
	if (m->ep && !m->req && !m->discard)
		return; /* no buffer yet */
	if (ses->destroying || ses->failed) {
		rx_msg_free(ses, m);
		return;
	}
	if (list_empty(&m->link))
		list_add_tail(&ses->fetches, &m->link);
	ses->kicked = true; /* an endpoint may be closing: nobody polls for that */
	m->rma->ask = ask(ses, m);
	if (m->rma->ask) {
		ses->stats->rndv_fetched++;
		return;
	}
	ses->stats->alloc_fail++;
	ses->fetch_later = ses->short_of_mem = true;
}

void rndv_retry(struct ses *ses)
{
	ses->fetch_later = false;
	list_for_each_safe (l, &ses->fetches) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (!m->rma->ask)
			rndv_fetch(ses, m);
	}
}

void rndv_detach(struct ses *ses, struct weft_ep *ep)
{
	list_for_each (l, &ses->fetches)
		match_detach(ses, list_entry(l, struct rx_msg, link), ep);
}
