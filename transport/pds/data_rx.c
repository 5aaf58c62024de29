/* SPDX-License-Identifier: BSD-3-Clause */
/* Data at the target: the way of a packet from its connection through the window to SES, and what is answered. */
#include "ack_tx.h"
#include "credit_rx.h"
#include "pdc_rx.h"
#include "wire_hot.h"

enum { SES_AT = HOT_PDS_AT + 12 }; /* in a RUD_REQ over IPv4 */

static void __attribute__((noinline))
refuse(struct pds *pds, struct pdc_rx *p, const struct wire_pkt *w, uint8_t code, uint64_t *counter, weft_ns now)
{
	(*counter)++;
	nack_send(pds, w, p->pdc.id, code, now);
}

/* Returns whether an open wish of the sender is to be met now: it was for everything up to its packet, so what that one
 * overtook is answered when the last of it arrives, instead of after ack_delay_ns. */
static bool note_wish(struct pdc_rx *p, const struct wire_pkt *w)
{
	bool closed = p->asked && !p->win.ooo_pkts;
	p->asked = (p->asked || (w->pds.flags & WIRE_F_AR)) && p->win.ooo_pkts;
	return closed;
}

/* Also after a trigger is set: CE is reported at once (ACK_On_ECN), as are the sender's wishes and a connection's first
 * packet. Of marks that credits brought the sender has no use. */
static bool take_wishes(const struct pds *pds, struct pdc_rx *p, const struct wire_pkt *w, bool first)
{
	return note_wish(p, w) || first || (w->pds.flags & WIRE_F_AR) ||
	       ((p->trigger_flags & WIRE_F_ACK_M) && !pds->credit.sched);
}

static bool keep_response(struct pds *pds, struct pdc_rx *p, const struct wire_pkt *w, uint8_t rc)
{
	if (!rxwin_keep_response(&p->win, (struct gtd_rsp){w->pds.psn, w->ses.message_id, rc}))
		return false;
	if (rc == WIRE_RC_UNDELIVERABLE)
		pds->stats.rx_no_ep++;
	else
		pds->stats.rx_bad_ses++;
	return true;
}

/* Something new has arrived and is where it belongs, or was refused for good. Returns whether it was the first. */
static inline bool count_in(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	bool first = !p->rcvd_bytes;
	pds->stats.rx_data++;
	pds->stats.rx_ce += w->net.ecn == WEFT_ECN_CE;
	p->rcvd_bytes += pds->conf.overhead_bytes + w->payload_bytes;
	rxwin_mark(&p->win, &pds->win, w->pds.psn);
	pdc_rx_trigger(p, pkt, w);
	return first;
}

static void new_data(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w,
		     const uint8_t *payload, weft_ns now)
{
	if (!rxwin_reserve(&p->win, &pds->win, w->pds.psn)) {
		refuse(pds, p, w, WIRE_NACK_NO_BITMAP, &pds->stats.rx_no_mem, now);
		return;
	}
	int rc = pds->events->on_data(pds->ses, p, w, payload);
	if (rc == PDS_NO_MEM) {
		refuse(pds, p, w, WIRE_NACK_NO_SES_MSG_AVAIL, &pds->stats.rx_no_mem, now);
		return;
	}
	if (rc && !keep_response(pds, p, w, (uint8_t)rc)) {
		refuse(pds, p, w, WIRE_NACK_NO_GTD_DEL_AVAIL, &pds->stats.rx_no_gtd, now);
		return;
	}
	bool first = count_in(pds, p, pkt, w);
	ack_note(pds, p, take_wishes(pds, p, w, first) || rc, now);
}

static bool is_ordered(const struct wire_pkt *w)
{
	return w->pds.type == WIRE_PDS_ROD_REQ || w->pds.type == WIRE_PDS_ROD_CC_REQ;
}

/* Go-back-N (UE 1.0 sec. 3.5, ROD): the packet is dropped, and the gap reported once, behind the ACK for all before it.
 */
static void __attribute__((noinline))
out_of_order(struct pds *pds, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	pds->stats.rx_ooo++;
	if (p->gap_psn == p->win.next_expected)
		return;
	p->gap_psn = p->win.next_expected;
	ack_flush(pds, p, now);
	nack_send(pds, w, p->pdc.id, WIRE_NACK_ROD_OOO, now);
}

static void __attribute__((noinline))
duplicate(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	pds->stats.rx_dup++;
	pdc_rx_trigger(p, pkt, w);
	ack_now(pds, p, now);
}

static void __attribute__((noinline))
refuse_trimmed(struct pds *pds, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	pds->stats.rx_trimmed++;
	uint8_t code = w->net.dscp == WIRE_DSCP_TRIMMED_LASTHOP ? WIRE_NACK_TRIMMED_LASTHOP : WIRE_NACK_TRIMMED;
	nack_send(pds, w, p ? p->pdc.id : 0, code, now);
}

static const uint8_t *payload_of(const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	return pkt->head_len > w->header_bytes ? pkt->head + w->header_bytes : pkt->payload;
}

/* A trimmed packet opens nothing, unless credit is needed to send it again: then there must be a place for it. */
static bool may_accept(const struct pds *pds, const struct wire_pkt *w)
{
	return !w->trimmed || (pds->credit.rcc && (w->pds.flags & WIRE_F_SYN));
}

void pds_rx_request(struct pds *pds, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_find(pds, w, may_accept(pds, w), now);
	if (p)
		p->last_heard_ns = now;
	if (p && pds->credit.rcc)
		credit_rx_data(pds, p, w, now);
	if (w->trimmed) {
		refuse_trimmed(pds, p, w, now);
		return;
	}
	if (!p) {
		pds->stats.rx_no_pdc++;
		return;
	}
	rxwin_clear(&p->win, w->pds.psn + (uint32_t)w->pds.offset);
	if (!rxwin_takes(&p->win, &pds->win, w->pds.psn))
		refuse(pds, p, w, WIRE_NACK_PSN_OOR_WINDOW, &pds->stats.rx_window, now);
	else if (rxwin_has(&p->win, &pds->win, w->pds.psn))
		duplicate(pds, p, pkt, w, now);
	else if (p->closed)
		nack_send(pds, w, p->pdc.id, p->given_up ? WIRE_NACK_CLOSING_IN_ERR : WIRE_NACK_CLOSING, now);
	else if (is_ordered(w) && w->pds.psn != p->win.next_expected)
		out_of_order(pds, p, w, now);
	else
		new_data(pds, p, pkt, w, payload_of(pkt, w), now);
}

/* ---- the ordinary course ---- */

/* pdc_rx_find for an engine with has_hot. */
static inline struct pdc_rx *find_hot(const struct pds *pds, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	struct pdc_rx *p = pdc_rx_by_id(&pds->ids, w->pds.dpdcid);
	return likely(p && p->remote_id == w->pds.spdcid && wire_hot_is_from(pkt->head, &p->ip)) ? p : NULL;
}

/* Makes sure that nothing of this PSN has arrived, and that there is room to note that it has. */
static inline bool reserve_new(struct pds *pds, struct pdc_rx *p, uint32_t psn)
{
	return likely(psn == p->win.next_expected) ||
	       (rxwin_takes(&p->win, &pds->win, psn) && !rxwin_has(&p->win, &pds->win, psn) &&
		rxwin_reserve(&p->win, &pds->win, psn));
}

/* Inline wherever files are optimised together. */
inline __attribute__((always_inline)) bool pds_rx_hot_data(struct pds *pds, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt w; /* in registers, as long as nothing here needs its address */
	if (unlikely(!wire_decode_hot_middle(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, &pds->conf.ip,
					     &pds->seen[0], &w)))
		return false;
	struct pdc_rx *p = find_hot(pds, pkt, &w);
	if (unlikely(!p || p->win.gtd_count || !reserve_new(pds, p, w.pds.psn)))
		return false;
	if (unlikely(!pds->events->on_more_data(pds->ses, p, pkt->head + SES_AT, payload_of(pkt, &w), w.payload_bytes,
						w.pds.flags)))
		return false;
	p->last_heard_ns = now;
	bool first = count_in(pds, p, pkt, &w);
	if (likely(pds->conf.ack_each))
		ack_note_hot(pds, p, now);
	else
		ack_note(pds, p, take_wishes(pds, p, &w, first), now);
	return true;
}
