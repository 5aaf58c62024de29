/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

/* Any event: as it is stored, but for its place, where its kind is. */
static void add(const struct pds *pds, uint32_t kind, struct event e)
{
	uint64_t at = recorder_at(&pds->recorder);
	struct event *to = recorder_begin(&pds->recorder, at, kind, e.conn, e.time_ns);
	e.place = to->place;
	*to = e;
	recorder_end(&pds->recorder, at);
}

static uint32_t conn_and_detail(const struct pdc *pdc, uint32_t detail)
{
	return pdc->id | (detail & 0xff) << 16;
}

/* Where we send. */
static void add_tx(const struct pds *pds, uint32_t kind, const struct pdc_tx *p, uint32_t detail, struct event e)
{
	e.conn = conn_and_detail(&p->pdc, detail);
	e.cwnd_bytes = p->cc.cwnd_bytes;
	e.inflight_bytes = (uint32_t)p->inflight_bytes;
	add(pds, kind, e);
}

/* Where we receive. */
static void add_rx(const struct pds *pds, uint32_t kind, const struct pdc_rx *p, uint32_t detail, struct event e)
{
	e.conn = conn_and_detail(&p->pdc, detail);
	add(pds, kind, e);
}

void record_lost(const struct pds *pds, const struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now)
{
	if (is_recorded(pds))
		add_tx(pds, WEFT_EVENT_LOST, p, (uint32_t)kind,
		       (struct event){.time_ns = now, .psn = psn, .ev_and_bytes = sendq_at(&p->q, psn)->ev_and_bytes});
}

void record_nack(const struct pds *pds, const struct wire_view *v, uint16_t conn, uint8_t code, bool sent, weft_ns now)
{
	if (is_recorded(pds))
		add(pds, sent ? WEFT_EVENT_NACK_SENT : WEFT_EVENT_NACK_RECEIVED,
		    (struct event){.time_ns = now,
				   .conn = conn | (uint32_t)code << 16,
				   .psn = wire_hdr_psn(v->hdr),
				   .ev_and_bytes = wire_view_entropy(v)});
}

void record_arrival(const struct pds *pds, const struct pdc_rx *p, const struct wire_view *v, enum weft_event_kind kind,
		    weft_ns now)
{
	if (is_recorded(pds))
		add_rx(pds, (uint32_t)kind, p, kind == WEFT_EVENT_CONTROL ? wire_hdr_ctl(v->hdr) : 0,
		       (struct event){
			       .time_ns = now, .psn = wire_hdr_psn(v->hdr), .ev_and_bytes = wire_view_entropy(v)});
}

void record_ack_sent(const struct pds *pds, const struct pdc_rx *p, weft_ns now)
{
	add_rx(pds, WEFT_EVENT_ACK_SENT, p, 0,
	       (struct event){.time_ns = now, .psn = p->trigger_psn, .ev_and_bytes = p->trigger_ev});
}

void record_opened(const struct pds *pds, const struct pdc *pdc, const struct weft_ip *ip, bool by_peer, weft_ns now)
{
	if (!is_recorded(pds))
		return;
	recorder_name(&pds->recorder, pdc->id, ip);
	add(pds, WEFT_EVENT_OPENED, (struct event){.time_ns = now, .conn = conn_and_detail(pdc, by_peer)});
}

/* Nobody tells the time of an end; the newest event's is near. */
void record_closed(const struct pds *pds, const struct pdc_tx *p, int err)
{
	if (is_recorded(pds))
		add_tx(pds, WEFT_EVENT_CLOSED, p, (uint32_t)err,
		       (struct event){.time_ns = recorder_newest_ns(&pds->recorder), .psn = p->q.una});
}
