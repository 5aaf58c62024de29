/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_msg.h"

#include <errno.h>
#include <string.h>

#include "completion.h"
#include "match.h"
#include "rma.h"
#include "tx_msg.h"

void rx_msg_leave_pdc(struct ses *ses, struct rx_msg *m)
{
	if (!m->pdc)
		return;
	u64map_del(&ses->rx_msgs, rx_msg_key(m->pdc, m->message_id));
	struct ses_rx *r = ses_rx_of(m->pdc);
	if (r->recent == m)
		r->recent = NULL;
	pdc_rx_end_msg(ses->pds, m->pdc);
	m->pdc = NULL;
	list_del(&m->pdc_link);
}

/* A sender on this engine wanted to know when the message is matched. */
static void tell_sender(struct ses *ses, struct rx_msg *m)
{
	assert(m->sent);
	struct weft_ep *ep = m->sent->ep;
	struct weft_cqe cqe = m->sent->cqe;
	ep_complete(ses, ep, m->sent, &cqe);
}

void rx_msgs_forget_sender(struct list *msgs, const struct weft_ep *ep)
{
	list_for_each (l, msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->sent && m->sent->ep == ep)
			m->sent->ep = NULL;
	}
}

static void free_rma(struct ses *ses, struct rx_msg *m)
{
	struct rx_rma *r = m->rma;
	if (r->event)
		cqe_release(ses, r->event);
	list_for_each_safe (l, &r->answers)
		rma_answer_drop(ses, tx_msg_at(l));
	if (r->ask) {
		assert(r->ask->rma->fetch == m);
		r->ask->rma->fetch = NULL;
	}
	pool_put(&ses->rx_rmas, r);
	m->rma = NULL;
}

void rx_msg_free(struct ses *ses, struct rx_msg *m)
{
	bounce_free(ses, m);
	if (m->sent)
		tell_sender(ses, m);
	list_del(&m->link);
	rx_msg_leave_pdc(ses, m);
	if (m->rma)
		free_rma(ses, m);
	bounce_record_free(ses, m);
}

/* ---- the end ---- */

static struct weft_cqe cqe_of(const struct rx_msg *m)
{
	return (struct weft_cqe){
		.flags = (uint8_t)((m->has_data ? WEFT_OP_HAS_DATA : 0) | (m->tagged ? WEFT_OP_TAGGED : 0)),
		.peer = m->src_peer,
		.len = m->bytes,
		.tag = m->tag,
		.data = m->data};
}

void rx_msg_hand_over(struct ses *ses, struct rx_msg *m)
{
	assert(m->req && m->into <= m->req->op.len);
	bool bounced = !m->direct && m->bytes && !m->rma;
	/* Lengths of packets are added up as they come. A peer whose packets overlap gets to the message's length while
	 * whole chunks of it are missing. */
	if (unlikely(bounced && m->bounce && !bounce_has(m, 0, m->bytes))) {
		rx_msg_fail(ses, m, EIO);
		return;
	}
	const struct weft_op *op = &m->req->op;
	uint64_t room = op->len - m->into;
	struct weft_cqe cqe = cqe_of(m);
	if (bounced)
		bounce_hand_over(m);
	if (m->bytes > room) {
		ses->stats->msg_truncated++;
		cqe.err = EMSGSIZE;
		cqe.olen = m->bytes - room;
		cqe.len = room;
	}
	ses->stats->msg_received++;
	match_done(ses, m, cqe);
	rx_msg_free(ses, m);
}

void rx_msg_fail(struct ses *ses, struct rx_msg *m, int err)
{
	if (m->req) {
		struct weft_cqe cqe = cqe_of(m);
		cqe.err = err;
		cqe.len = 0;
		ses->stats->msg_failed++;
		match_done(ses, m, cqe);
	}
	rx_msg_free(ses, m);
}

void rx_msg_place_fetched(struct rx_msg *m, uint64_t offset, const uint8_t *payload, uint32_t len, bool retx)
{
	if (m->req)
		rx_place_in(&m->req->op, m->into + offset, payload, len, retx);
}

/* The sender's host was restarted. The connection was one to its former life, but the message may be of the present
 * one: the READ is tried once more, on a new connection. A sender of the former life is not there to answer it. So is
 * one whose connection ended because memory was short. */
static bool ask_again(struct ses *ses, struct rx_msg *m, int err)
{
	bool may = err == ENOMEM || (err == ECONNRESET && !m->rma->asked_again);
	if (!may || ses->destroying || ses->failed)
		return false;
	m->rma->asked_again |= err == ECONNRESET;
	ses->fetch_later = ses->kicked = true;
	return true;
}

/* The sender may well reach us, and would wait for the end of a fetch that never comes. One that was restarted has
 * other connections by now, which bring what it sends in its present life. */
static void give_up_sender(struct ses *ses, const struct rx_msg *m, int err)
{
	if (err == ECONNRESET)
		pdc_rx_give_up_id(ses->pds, m->rma->pdc_id, m->rma->pdc_psn, ses->polled_ns);
	else if (err == ENETUNREACH || err == ETIMEDOUT)
		pdc_rx_give_up_host(ses->pds, &peer_get(&ses->peers, m->src_peer)->addr.ip, ses->polled_ns);
}

/* The sender's key is dead when the sender that knew it is. */
void rx_msg_fetched(struct ses *ses, struct rx_msg *m, int err)
{
	assert(m->rma && m->rma->ask);
	m->rma->ask = NULL;
	if (ask_again(ses, m, err))
		return;
	if (err)
		give_up_sender(ses, m, err);
	if (err)
		rx_msg_fail(ses, m, err == EACCES || err == EHOSTUNREACH ? ECONNRESET : err);
	else if (m->req)
		rx_msg_hand_over(ses, m);
	else
		rx_msg_free(ses, m);
}
