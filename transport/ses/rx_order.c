/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_order.h"

/* Packets of one message may overtake each other: the first counts, and until it is here the lowest. */
static void note_packet(struct rx_msg *m, const struct wire_view *v)
{
	uint32_t psn = wire_hdr_psn(v->hdr);
	bool som = wire_req_som(v->req);
	assert(!m->in_turn);
	if (som || (!m->wait.has_begun && psn_before(psn, m->wait.psn)))
		m->wait.psn = psn;
	m->wait.has_begun |= som;
}

/* Most come in order: the search begins at the end. */
static void put_in_line(struct ses_rx *r, struct rx_msg *m)
{
	struct list *at = &r->msgs;
	while (at->prev != &r->msgs) {
		const struct rx_msg *before = list_entry(at->prev, struct rx_msg, pdc_link);
		if (before->in_turn || !psn_after(before->wait.psn, m->wait.psn))
			break;
		at = at->prev;
	}
	list_add_tail(at, &m->pdc_link);
}

void rx_order_wait(struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v)
{
	m->wait = (struct rx_wait){.psn = wire_hdr_psn(v->hdr)};
	note_packet(m, v);
	put_in_line(ses_rx_of(p), m);
}

void rx_order_more(struct pdc_rx *p, struct rx_msg *m, const struct wire_view *v)
{
	uint32_t psn = m->wait.psn;
	note_packet(m, v);
	if (m->wait.psn == psn)
		return;
	list_del(&m->pdc_link);
	put_in_line(ses_rx_of(p), m);
}

void rx_order_turned(struct ses_rx *r, struct rx_msg *m)
{
	list_del(&m->pdc_link);
	list_add_tail(r->msgs.next, &m->pdc_link);
}

/* No walk over those that do not wait, when none does. */
struct rx_msg *rx_order_first(const struct ses_rx *r)
{
	if (list_empty(&r->msgs) || list_entry(r->msgs.prev, struct rx_msg, pdc_link)->in_turn)
		return NULL;
	list_for_each (l, &r->msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, pdc_link);
		if (!m->in_turn)
			return m;
	}
	return NULL;
}

/* ---- who sends here ---- */

void rx_order_refused(struct ses_rx *r, uint32_t psn)
{
	if (!r->has_refused || psn_after(psn, r->refused_psn))
		r->refused_psn = psn;
	r->has_refused = true;
}

void rx_order_is_ours(struct ses_rx *r)
{
	if (!rx_order_is_by_psn(r))
		r->is_ours = true;
}

/* Of our own initiator only messages that we refused come back under an id that has had its turn, and the first packet
 * of such a message is no later than the one that we refused. */
static bool was_refused(const struct ses_rx *r, const struct wire_view *v)
{
	return r->has_refused && (!wire_req_som(v->req) || !psn_after(wire_hdr_psn(v->hdr), r->refused_psn));
}

bool rx_order_is_stale(struct pdc_rx *p, const struct wire_view *v)
{
	struct ses_rx *r = ses_rx_of(p);
	if (!rx_order_is_by_psn(r)) {
		if ((int16_t)(wire_std_message_id(v->std) - r->next_match_id) >= 0)
			return false;
		if (r->is_ours || was_refused(r, v))
			return true;
		r->next_match_id = 0;
	}
	return !wire_req_som(v->req) && wire_hdr_psn(v->hdr) == p->win.next_expected;
}

void rx_order_find_gap(const struct ses *ses, struct pdc_rx *p, uint32_t psn)
{
	struct ses_rx *r = ses_rx_of(p);
	const struct rx_msg *first = rx_order_first(r);
	if (rx_order_is_by_psn(r) || r->is_ours || !first || !psn_before(first->wait.psn, psn) ||
	    u64map_get(&ses->rx_msgs, rx_msg_key(p, r->next_match_id)))
		return;
	r->next_match_id = 0;
}
