/* SPDX-License-Identifier: BSD-3-Clause */
/* Data at the target: the way of a packet from its connection through the window to SES, and what is answered. */
#include "ack_tx.h"
#include "credit_rx.h"
#include "pdc_rx.h"
#include "record.h"
#include "wire_check.h"

static void __attribute__((noinline))
refuse(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint8_t code, uint64_t *counter, weft_ns now)
{
	(*counter)++;
	nack_send(pds, v, p->pdc.id, code, now);
}

/* Remembers the packet's request for an ACK (AR) while there is a hole. Returns whether an earlier request must be
 * answered now: it was for everything up to its packet, so the ACK is sent when the last hole below it closes, instead
 * of after ack_delay_ns. */
static bool note_ack_request(struct pdc_rx *p, const struct wire_view *v)
{
	bool closed = p->asked && !p->win.ooo_pkts;
	p->asked = (p->asked || (wire_hdr_flags(v->hdr) & WIRE_F_AR)) && p->win.ooo_pkts;
	return closed;
}

/* Notes the packet's request for an ACK, and returns whether an ACK is due at once: for that, for a connection's first
 * packet and for CE (ACK_On_ECN). With scheduled credit the sender has no use for marks. The trigger is set. */
static bool take_ack_requests(const struct pds *pds, struct pdc_rx *p, const struct wire_view *v, bool first)
{
	return note_ack_request(p, v) || first || (wire_hdr_flags(v->hdr) & WIRE_F_AR) ||
	       ((p->trigger_flags & WIRE_F_ACK_M) && !pds->credit.sched);
}

static bool keep_response(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint8_t rc)
{
	if (!rxwin_keep_response(
		    &p->win, &pds->win,
		    (struct gtd_rsp){.head = wire_head(v->std), .psn = wire_hdr_psn(v->hdr), .return_code = rc}))
		return false;
	if (rc == WIRE_RC_UNDELIVERABLE)
		pds->stats.rx_no_ep++;
	else if (wire_req_opcode(v->req) == WIRE_OP_WITHDRAW)
		pds->stats.rx_withdrawn++;
	else
		pds->stats.rx_bad_ses++;
	return true;
}

static inline enum sharers_pkt sharers_pkt_of(const struct pdc_rx *p)
{
	return likely(pdc_rx_has_msgs(p)) ? SHARERS_MORE : p->pdc.is_return ? SHARERS_ANSWER : SHARERS_END;
}

/* Something new has arrived and is where it belongs, or was refused for good. Returns whether it was the first. */
static inline bool count_in(struct pds *pds, struct pdc_rx *p, const struct arrival *a, uint32_t payload_bytes)
{
	bool first = !p->rcvd_bytes;
	pds->stats.rx_data++;
	pds->stats.rx_ce += a->ce;
	p->rcvd_bytes += pds->conf.overhead_bytes + payload_bytes;
	sharers_add(&pds->sharers, &p->sharer, pds->conf.overhead_bytes + payload_bytes, sharers_pkt_of(p), a->at_ns);
	pdc_rx_mark(pds, p, a->psn);
	pdc_rx_trigger(p, a);
	return first;
}

static void new_data(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *v,
		     const uint8_t *payload, weft_ns now)
{
	if (!rxwin_reserve(&p->win, &pds->win, wire_hdr_psn(v->hdr))) {
		refuse(pds, p, v, WIRE_NACK_NO_BITMAP, &pds->stats.rx_no_mem, now);
		return;
	}
	int rc = pds->events->on_data(pds->ses, p, v, payload);
	if (rc == PDS_UNPROVEN_ADDRESS) {
		refuse(pds, p, v, WIRE_NACK_PKT_NOT_RCVD, &pds->stats.rx_unproven, now);
		return;
	}
	if (rc == PDS_NO_MEM) {
		refuse(pds, p, v, WIRE_NACK_NO_SES_MSG_AVAIL, &pds->stats.rx_no_mem, now);
		return;
	}
	if (rc && !keep_response(pds, p, v, (uint8_t)rc)) {
		refuse(pds, p, v, WIRE_NACK_NO_GTD_DEL_AVAIL, &pds->stats.rx_no_gtd, now);
		return;
	}
	const struct arrival a = read_arrival(pkt, v);
	bool first = count_in(pds, p, &a, v->payload_bytes);
	bool kept = rc || (p->win.gtd_count && rxwin_response(&p->win, a.psn));
	ack_data(pds, p, take_ack_requests(pds, p, v, first) || kept, now);
	if (is_recorded(pds))
		record_received(pds, p, now);
}

static bool is_ordered(const struct wire_view *v)
{
	return v->type == WIRE_PDS_ROD_REQ || v->type == WIRE_PDS_ROD_CC_REQ;
}

/* Go-back-N (UE 1.0 sec. 3.5, ROD): the packet is dropped, and the gap reported once, behind the ACK for all before it.
 */
static void __attribute__((noinline))
out_of_order(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_ooo++;
	if (p->gap_psn == p->win.next_expected)
		return;
	p->gap_psn = p->win.next_expected;
	ack_send_all(pds, p, now);
	nack_send(pds, v, p->pdc.id, WIRE_NACK_ROD_OOO, now);
}

static void __attribute__((noinline))
duplicate(struct pds *pds, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_dup++;
	const struct arrival a = read_arrival(pkt, v);
	record_arrival(pds, p, v, WEFT_EVENT_DUPLICATE, now);
	pdc_rx_trigger(p, &a);
	ack_at_once(pds, p, now);
}

static uint32_t stranger_hash(const struct wire_view *v)
{
	uint64_t h = ((uint64_t)weft_ip_low32(wire_view_src(v)) << 16 | wire_hdr_spdcid(v->hdr)) *
		     UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 40);
}

static void __attribute__((noinline))
refuse_trimmed(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_trimmed++;
	if (p)
		record_arrival(pds, p, v, WEFT_EVENT_TRIMMED, now);
	uint8_t code = wire_view_dscp(v) == WIRE_DSCP_TRIMMED_LASTHOP ? WIRE_NACK_TRIMMED_LASTHOP : WIRE_NACK_TRIMMED;
	if (code == WIRE_NACK_TRIMMED_LASTHOP)
		sharers_overrun(&pds->sharers, !p || !p->rcvd_bytes, stranger_hash(v));
	nack_send(pds, v, p ? p->pdc.id : 0, code, now);
}

/* A trimmed packet opens nothing, unless credit is needed to send it again: then there must be a place for it. Where
 * packets have to have trailers it does not: it has none. */
static bool may_accept(const struct pds *pds, const struct wire_view *v)
{
	return v->kind != WIRE_KIND_TRIMMED || (pds->credit.rcc && !pds->conf.tune.crc);
}

/* Answers tell that the target lives as much as acknowledgements do. */
static void note_heard(struct pdc_rx *p, weft_ns now)
{
	p->last_heard_ns = now;
	if (p->pdc.is_return)
		p->other->last_heard_ns = now;
}

/* Answers are wrapped as the request was. Who sends trailers sends none without: false, it is damaged. But an initiator
 * that has not heard from us may wrap otherwise what it sends again (remote_heard): it goes on as the first answer that
 * reaches it was wrapped, and there one without a trailer is not followed by one with. */
static bool __attribute__((noinline)) note_encap(struct pds *pds, struct pdc_rx *p, const struct wire_view *v)
{
	bool had = p->pdc.encap & WIRE_ENCAP_CRC, has = v->outer->encap & WIRE_ENCAP_CRC, syn = wire_hdr_syn(v->hdr);
	if (v->outer->trimmed || (syn && has && !had))
		return true;
	if (had && !has && !syn) {
		pds->stats.rx_bad_crc++;
		return false;
	}
	p->pdc.encap = v->outer->encap;
	return true;
}

void pds_rx_request(struct pds *pds, const struct weft_pkt *pkt, const struct wire_view *v, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_find(pds, v, may_accept(pds, v), now);
	if (p) {
		note_heard(p, now);
		if (unlikely(p->pdc.encap != v->outer->encap) && !note_encap(pds, p, v))
			return;
	}
	if (p && pds->credit.rcc)
		credit_rx_data(pds, p, v, now);
	if (v->kind == WIRE_KIND_TRIMMED) {
		refuse_trimmed(pds, p, v, now);
		return;
	}
	if (!p) {
		pds->stats.rx_no_pdc++;
		return;
	}
	rxwin_clear(&p->win, wire_hdr_psn(v->hdr) + (uint32_t)wire_hdr_clear_offset(v->hdr));
	if (!p->rcvd_bytes)
		p->pdc.marks = (uint8_t)((p->pdc.marks & ~PDC_ORDERED) | (is_ordered(v) ? PDC_ORDERED : 0));
	if (!(p->pdc.marks & PDC_ORDERED) == is_ordered(v))
		refuse(pds, p, v, WIRE_NACK_PDC_MODE_MISMATCH, &pds->stats.rx_mode, now);
	else if (!rxwin_takes(&p->win, &pds->win, wire_hdr_psn(v->hdr)))
		refuse(pds, p, v, WIRE_NACK_PSN_OOR_WINDOW, &pds->stats.rx_window, now);
	else if (rxwin_has(&p->win, &pds->win, wire_hdr_psn(v->hdr)))
		duplicate(pds, p, pkt, v, now);
	else if (p->closed)
		nack_send(pds, v, p->pdc.id, p->given_up ? WIRE_NACK_CLOSING_IN_ERR : WIRE_NACK_CLOSING, now);
	else if (is_ordered(v) && wire_hdr_psn(v->hdr) != p->win.next_expected)
		out_of_order(pds, p, v, now);
	else
		new_data(pds, p, pkt, v, pds_payload(pkt, v), now);
}

/* ---- the ordinary course ---- */

/* Makes sure that nothing of this PSN has arrived, and that there is room to note that it has. */
static inline bool reserve_new(struct pds *pds, struct pdc_rx *p, uint32_t psn)
{
	return likely(psn == p->win.next_expected) ||
	       (rxwin_takes(&p->win, &pds->win, psn) && !rxwin_has(&p->win, &pds->win, psn) &&
		rxwin_reserve(&p->win, &pds->win, psn));
}

/* Takes a usual packet, if its message is under way and has a place for it, over an open connection whose sender needs
 * no credit. False: it is not such a packet, and nothing has been done. */
static inline __attribute__((always_inline)) bool take_more(struct pds *pds, const struct weft_pkt *pkt,
							    const struct wire_view *v, weft_ns now)
{
	assert(v->usual && v->kind == WIRE_KIND_DATA);
	if (unlikely(pds->credit.rcc != NULL))
		return false;
	struct pdc_rx *p = pdc_rx_plain_by_id(&pds->ids, wire_hdr_dpdcid(v->hdr));
	if (unlikely(!p || !pdc_rx_is_from(p, v) || p->win.gtd_count || !reserve_new(pds, p, wire_hdr_psn(v->hdr))))
		return false;
	if (unlikely(!pds->events->on_more_data(pds->ses, p, v->std, pds_payload(pkt, v), v->payload_bytes,
						wire_hdr_flags(v->hdr))))
		return false;
	const struct arrival a = read_arrival(pkt, v);
	p->last_heard_ns = now;
	bool first = count_in(pds, p, &a, v->payload_bytes);
	if (likely(pds->conf.ack_policy == PDS_ACK_EACH))
		ack_data_each(pds, p, now);
	else
		ack_data(pds, p, take_ack_requests(pds, p, v, first), now);
	if (is_recorded(pds))
		record_received(pds, p, now);
	return true;
}

/* The view is made once more, so that the other one stays in registers as long as the course is the ordinary one. */
static void __attribute__((noinline))
take_any(struct pds *pds, const struct weft_pkt *pkt, const struct wire_outer *outer, weft_ns now)
{
	struct wire_view v;
	wire_view_set_usual(&v, pkt->head, outer, WIRE_KIND_DATA);
	pds_rx_request(pds, pkt, &v, now);
}

/* Inline wherever files are optimised together. */
inline __attribute__((always_inline)) void pds_rx_data(struct pds *pds, const struct weft_pkt *pkt,
						       const struct wire_view *v, weft_ns now)
{
	if (unlikely(!take_more(pds, pkt, v, now)))
		take_any(pds, pkt, v->outer, now);
}
