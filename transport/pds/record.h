/* SPDX-License-Identifier: BSD-3-Clause */
/* What the flight recorder hears of. Inline where every packet passes; the rest asks whether there is one. */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H

#include "pds.h"

static inline bool is_recorded(const struct pds *pds)
{
	return unlikely(pds->recorded);
}

/* Of what every packet brings: only while is_recorded. inflight_bytes counts the packet already. */
static inline __attribute__((always_inline)) void
record_sent(const struct pds *pds, const struct pdc_tx *p, uint32_t psn, const struct sent *s, bool again, weft_ns now)
{
	uint64_t at = recorder_at(&pds->recorder);
	struct event *e = recorder_begin(&pds->recorder, at, again ? WEFT_EVENT_SENT_AGAIN : WEFT_EVENT_SENT,
					 p->pdc.id | (again ? (uint32_t)s->tries << 16 : 0), now);
	e->psn = psn;
	e->ev_and_bytes = s->ev_and_bytes;
	e->cwnd_bytes = p->cc.cwnd_bytes;
	e->inflight_bytes = (uint32_t)p->inflight_bytes;
	recorder_end(&pds->recorder, at);
}

/* The last ACK that said something new; `ev`: what congestion control was told of it. */
static inline __attribute__((always_inline)) void record_ack(const struct pds *pds, const struct pdc_tx *p,
							     const struct weft_cc_ack *ev, weft_ns now)
{
	uint64_t at = recorder_at(&pds->recorder);
	struct event *e =
		recorder_begin(&pds->recorder, at, (uint32_t)WEFT_EVENT_ACK_RECEIVED + ev->ce, p->pdc.id, now);
	e->psn = p->last_ack_psn;
	e->ev_and_bytes = (uint32_t)ev->rtt_ns;
	e->cwnd_bytes = p->cc.cwnd_bytes;
	recorder_end(&pds->recorder, at);
}

/* The packet that the newest ACK answers, or the next. */
static inline __attribute__((always_inline)) void record_received(const struct pds *pds, const struct pdc_rx *p,
								  weft_ns now)
{
	uint64_t at = recorder_at(&pds->recorder);
	struct event *e = recorder_begin(&pds->recorder, at, WEFT_EVENT_RECEIVED, p->pdc.id, now);
	e->psn = p->trigger_psn;
	e->ev_and_bytes = p->trigger_ev;
	recorder_end(&pds->recorder, at);
}

/* Only while is_recorded. */
void record_ack_sent(const struct pds *pds, const struct pdc_rx *p, weft_ns now);

/* Of rare events, each harmless without a recorder. */
void record_lost(const struct pds *pds, const struct pdc_tx *p, uint32_t psn, enum weft_cc_loss_kind kind, weft_ns now);
void record_nack(const struct pds *pds, const struct wire_view *v, uint16_t conn, uint8_t code, bool sent, weft_ns now);
/* A packet with a PSN at its target: data, or for WEFT_EVENT_CONTROL a control packet. */
void record_arrival(const struct pds *pds, const struct pdc_rx *p, const struct wire_view *v, enum weft_event_kind kind,
		    weft_ns now);
void record_opened(const struct pds *pds, const struct pdc *pdc, const struct weft_ip *ip, bool by_peer, weft_ns now);
/* A connection of ours; `err`: 0 or an errno. */
void record_closed(const struct pds *pds, const struct pdc_tx *p, int err);

#endif
