/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints and regions that close while messages use them. */
#include <errno.h>
#include <string.h>

#include "dgram.h"
#include "doorbell.h"
#include "match.h"
#include "recv.h"
#include "rma.h"
#include "rndv.h"
#include "rudi.h"
#include "rx_turn.h"
#include "tx_msg.h"

/* ---- what was received ---- */

/* NULL: of all endpoints that share the list. */
static void msgs_discard(struct ses *ses, const struct weft_ep *ep, struct list *msgs)
{
	list_for_each_safe (l, msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (!ep || m->ep == ep)
			rx_turn_discard(ses, m);
	}
}

/* Receives and messages in `side` end, those of one endpoint or all. */
static void side_empty(struct ses *ses, const struct weft_ep *ep, struct rx_side *side)
{
	for (int i = 0; i < 2; i++) {
		if (!ep)
			match_drop(ses, &side->posted[i]);
		msgs_discard(ses, ep, &side->unexpected[i]);
	}
	msgs_discard(ses, ep, &side->claimed);
}

static void forget_sender(struct rx_side *side, const struct weft_ep *ep)
{
	for (int i = 0; i < 2; i++)
		rx_msgs_forget_sender(&side->unexpected[i], ep);
	rx_msgs_forget_sender(&side->claimed, ep);
}

/* Who shared with the endpoint has receives of its own again. */
static void unshare(struct ses *ses, struct weft_ep *with)
{
	list_for_each (l, &ses->eps) {
		struct weft_ep *ep = list_entry(l, struct weft_ep, link);
		if (ep->rx == &with->own)
			ep->rx = &ep->own;
	}
}

/* Its initiator waits for an answer, which comes with the turn: a refusal, or what an announced message holds. */
static bool wants_answer(const struct rx_rma *r)
{
	return r->opcode == WIRE_OP_READ || r->opcode == WIRE_OP_FETCHING_ATOMIC;
}

/* Messages already matched or waiting for their turn lose their destination. */
static void detach_rx(struct ses *ses, struct weft_ep *ep)
{
	list_for_each (r, &ses->pds->rxs) {
		struct pdc_rx *p = list_entry(r, struct pdc_rx, link);
		list_for_each (l, &ses_rx_of(p)->msgs) {
			struct rx_msg *m = list_entry(l, struct rx_msg, pdc_link);
			if (!match_detach(ses, m, ep))
				continue;
			m->direct = false;
			if (m->rma && !m->rma->announced && !wants_answer(m->rma))
				m->rc = WIRE_RC_UNDELIVERABLE;
		}
		rx_turns(ses, p, p->win.next_expected);
	}
}

/* ---- what is being sent ---- */

/* Bytes that are not sent yet, or may be needed again, come from a copy: the buffer changes hands. False: no memory. */
static bool copy_bytes(struct ses *ses, struct tx_msg *m, uint32_t bytes)
{
	assert(!m->copy);
	m->copy = weft_mem_alloc(ses->mem, bytes);
	if (!m->copy)
		return false;
	memcpy(m->copy, m->run.buf, bytes);
	pds_forget(ses->pds, m->run.buf, bytes);
	return true;
}

/* The answer to an ASK is not wanted any more, but its operands are. What is being fetched from an announced message
 * comes from the copy. ANSWERs are no memory of the endpoint's. */
static bool detach_rma(struct ses *ses, struct tx_msg *m)
{
	struct tx_rma *r = m->rma;
	r->buf = NULL;
	r->sink = NULL;
	uint32_t bytes = r->role == RMA_ANNOUNCE ? r->length : m->run.bytes;
	if (r->role == RMA_ANSWER || !m->run.buf || !bytes)
		return true; /* answers are not sent from what belongs to an endpoint */
	if (!copy_bytes(ses, m, bytes))
		return false;
	if (r->mate)
		r->mate->run.buf = m->copy + (r->mate->run.buf - m->run.buf);
	m->run.buf = m->copy;
	return true;
}

static bool detach_msg(struct ses *ses, struct tx_msg *m)
{
	m->ep = NULL;
	if (m->rma && m->rma->role != RMA_REQUEST)
		return detach_rma(ses, m);
	if (!m->run.buf || !m->run.bytes)
		return true;
	if (!copy_bytes(ses, m, m->run.bytes))
		return false;
	m->run.buf = m->copy;
	return true;
}

static bool detach_msgs(struct ses *ses, struct pdc_tx *p, struct weft_ep *ep)
{
	list_for_each (l, &p->runs) {
		struct tx_msg *m = tx_msg_at(l);
		if (m->ep == ep && !detach_msg(ses, m))
			return false;
	}
	return true;
}

/* A connection of which something could not be copied, or NULL. */
static struct pdc_tx *detach_tx(struct ses *ses, struct weft_ep *ep)
{
	list_for_each (t, &ses->pds->txs) {
		struct pdc_tx *p = list_entry(t, struct pdc_tx, link);
		if (!detach_msgs(ses, p, ep))
			return p;
	}
	return NULL;
}

/* Without memory for copies the connection ends, and perhaps others with it: better a lost message than bytes of a
 * buffer that means something else. */
static void detach_all_tx(struct ses *ses, struct weft_ep *ep)
{
	struct pdc_tx *p;
	while ((p = detach_tx(ses, ep)))
		pdc_tx_fail(ses->pds, p, ENOMEM);
}

/* Others that were rung are seen by the next poll only if something is due. */
static void leave_ready(struct ses *ses, struct weft_ep *ep)
{
	doorbells_collect(ses);
	list_del(&ep->ready_link);
	ses->kicked |= !list_empty(&ses->ready);
}

struct ses *ses_ep_close(struct weft_ep *ep)
{
	struct ses *ses = ep->ses;
	if (ep->rx != &ep->own)
		side_empty(ses, ep, ep->rx);
	side_empty(ses, NULL, &ep->own);
	unshare(ses, ep);
	list_for_each (l, &ses->eps)
		forget_sender(&list_entry(l, struct weft_ep, link)->own, ep);
	detach_rx(ses, ep);
	rndv_detach(ses, ep);
	if (ep->rx != &ep->own)
		recv_match_again(ses, ep);
	detach_all_tx(ses, ep);
	dgram_detach(ses, ep);
	rudi_detach(ses, ep);
	leave_ready(ses, ep);
	ep_free(ep);
	return ses;
}

/* ---- regions ---- */

static bool detach_answer(struct ses *ses, struct tx_msg *a)
{
	a->rma->mr = NULL;
	if (!copy_bytes(ses, a, a->run.bytes))
		return false;
	a->run.buf = a->copy;
	return true;
}

static bool detach_answers(struct ses *ses, struct pdc_tx *p, const struct weft_mr *mr)
{
	list_for_each (l, &p->runs) {
		struct tx_msg *a = tx_msg_at(l);
		if (a->rma && a->rma->mr == mr && !detach_answer(ses, a))
			return false;
	}
	return true;
}

/* Responses to idempotent READs that wait for the port are not sent: the initiator asks again. */
static void forget_region(struct ses *ses, const struct weft_mr *mr)
{
	if (!mr->attr.segs)
		pds_forget(ses->pds, mr->attr.base, mr->attr.bytes);
	for (uint32_t i = 0; mr->attr.segs && i < mr->attr.seg_count; i++)
		pds_forget(ses->pds, mr->attr.segs[i].base, mr->attr.segs[i].bytes);
}

/* What is being sent from the region is sent from copies. Without memory for them the connection ends, as when an
 * endpoint closes. */
void weft_mr_del(struct weft_mr *mr)
{
	struct ses *ses = mr->ses;
	mr_forget(&ses->mrs, mr);
	if (mr->attr.key & WEFT_MR_KEY_IDEMPOTENT)
		forget_region(ses, mr);
	list_for_each_safe (l, &ses->pds->txs) {
		struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		if (ses->answers && !detach_answers(ses, p, mr))
			pdc_tx_fail(ses->pds, p, ENOMEM);
	}
	weft_mem_free(ses->mem, mr);
}
