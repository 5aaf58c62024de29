/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_turn.h"

#include "match.h"
#include "rma.h"
#include "rndv.h"
#include "rx_order.h"

/* Hand over, throw away, or keep for a later receive. */
static void __attribute__((noinline)) finish(struct ses *ses, struct rx_msg *m)
{
	assert(m->in_turn);
	rx_msg_leave_pdc(ses, m);
	if (m->req)
		rx_msg_hand_over(ses, m);
	else if (m->discard || !m->ep)
		rx_msg_free(ses, m);
}

/* There is one packet of an announced message, and this is it. */
static void __attribute__((noinline)) announced(struct ses *ses, struct rx_msg *m)
{
	assert(m->rma->announced);
	rx_msg_leave_pdc(ses, m);
	rndv_fetch(ses, m);
}

void rx_turn_finish(struct ses *ses, struct rx_msg *m)
{
	if (!m->in_turn)
		return;
	if (unlikely(m->rma != NULL))
		announced(ses, m);
	else if (unlikely(m->received_bytes >= m->bytes))
		finish(ses, m);
}

void rx_turn_discard(struct ses *ses, struct rx_msg *m)
{
	assert(m->in_turn && !m->req);
	list_del(&m->link);
	bounce_free(ses, m);
	m->discard = true;
	rx_turn_finish(ses, m);
}

static void unexpected(struct ses *ses, struct rx_msg *m)
{
	assert(m->ep && list_empty(&m->link));
	ses->stats->msg_unexpected++;
	list_add_tail(&m->ep->rx->unexpected[m->tagged], &m->link);
}

void rx_turn_match(struct ses *ses, struct rx_msg *m)
{
	assert(!m->in_turn && !m->req);
	m->in_turn = true;
	if (!match_posted(ses, m))
		unexpected(ses, m);
}

/* Somebody will try again (rx_turns_retry). */
static void note_stuck(struct ses *ses, struct pdc_rx *p)
{
	struct ses_rx *r = ses_rx_of(p);
	ses->short_of_mem = true;
	if (list_empty(&r->stuck_link))
		list_add_tail(&ses->stuck, &r->stuck_link);
}

/* A request is executed when all of it is here; false: not yet, or there was no memory for it. */
static bool execute_request(struct ses *ses, struct pdc_rx *p, struct rx_msg *m)
{
	assert(rx_msg_is_request(m));
	if (m->rma->opcode == WIRE_OP_READ)
		rma_read_turn(ses, m);
	if (m->received_bytes < m->bytes)
		return false;
	if (rma_rx_execute(ses, m, bounce_flat(m)))
		return true;
	note_stuck(ses, p);
	return false;
}

static void begin_turn(struct ses *ses, struct pdc_rx *p, struct rx_msg *m)
{
	rx_order_turned(ses_rx_of(p), m);
	if (m->ep) {
		rx_turn_match(ses, m);
		rx_turn_finish(ses, m);
	} else if (m->rma) {
		announced(ses, m);
	} else {
		rx_msg_free(ses, m);
	}
}

/* It waits no more, if it is no request that can't be carried out yet: false. */
static bool take_turn(struct ses *ses, struct pdc_rx *p, struct rx_msg *m)
{
	if (rx_msg_is_request(m) && !execute_request(ses, p, m))
		return false;
	if (m->rc)
		rx_order_refused(ses_rx_of(p), m->wait.psn);
	if (m->rc || rx_msg_is_request(m))
		rx_msg_free(ses, m);
	else
		begin_turn(ses, p, m);
	return true;
}

static void turns_by_id(struct ses *ses, struct pdc_rx *p)
{
	struct ses_rx *r = ses_rx_of(p);
	struct rx_msg *m;
	while ((m = u64map_get(&ses->rx_msgs, rx_msg_key(p, r->next_match_id))) && !m->in_turn) {
		if (!take_turn(ses, p, m))
			return;
		r->next_match_id = rx_id_after(r->next_match_id);
	}
}

/* A message whose first packet was refused does not begin any more. */
static void turns_by_psn(struct ses *ses, struct pdc_rx *p, uint32_t psn)
{
	struct rx_msg *m;
	while ((m = rx_order_first(ses_rx_of(p))) && psn_before(m->wait.psn, psn)) {
		if (!m->wait.has_begun)
			rx_msg_free(ses, m);
		else if (!take_turn(ses, p, m))
			return;
	}
}

void rx_turns(struct ses *ses, struct pdc_rx *p, uint32_t psn)
{
	if (rx_order_is_by_psn(ses_rx_of(p)))
		turns_by_psn(ses, p, psn);
	else
		turns_by_id(ses, p);
}

void rx_turns_hole_closed(void *ses, struct pdc_rx *p)
{
	if (!rx_order_first(ses_rx_of(p)))
		return;
	rx_order_find_gap(ses, p, p->win.next_expected);
	rx_turns(ses, p, p->win.next_expected);
}

bool rx_turn_has_come(const struct pdc_rx *p, const struct rx_msg *m)
{
	const struct ses_rx *r = ses_rx_of(p);
	if (!rx_order_is_by_psn(r))
		return m->message_id == r->next_match_id;
	return m->wait.has_begun && rx_order_first(r) == m && !psn_after(m->wait.psn, p->win.next_expected);
}

void rx_turns_retry(struct ses *ses)
{
	struct list again;
	list_init(&again);
	while (!list_empty(&ses->stuck)) {
		struct list *l = ses->stuck.next;
		list_del(l);
		list_add_tail(&again, l);
	}
	while (!list_empty(&again)) {
		struct ses_rx *r = list_entry(again.next, struct ses_rx, stuck_link);
		list_del(&r->stuck_link);
		rx_turns(ses, ses_rx_pdc(r), ses_rx_pdc(r)->win.next_expected);
	}
}
