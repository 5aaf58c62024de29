/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of receiver-driven congestion control: who wants credit stands in one list, and one pacer for the
 * whole host gives the next of them his turn. Nobody without demand is ever looked at. */
#include "engine_int.h"

enum { PACE_SHIFT = 20, RETRY_NS = 1000 };

void credit_rx_start(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	p->credit.rcc.ops = e->rcc;
	p->credit.rcc.params = &e->rcc_params;
	if (e->sched)
		sched_rx_start(e, p, now);
	e->rcc->init(&p->credit.rcc, now);
}

void credit_rx_stop(struct weft_engine *e, struct pdc_rx *p)
{
	if (!e->rcc)
		return;
	if (e->sched) {
		sched_rx_stop(e, p);
		return;
	}
	list_del(&p->credit.link);
	if (list_empty(&e->credit_wanting))
		e->credit_due_ns = WEFT_NEVER;
}

/* The first in the list starts the pacer; what it did not give while nobody wanted anything is gone. */
static void enlist(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	if (!p->credit.rcc.wanted_bytes || !list_empty(&p->credit.link))
		return;
	if (list_empty(&e->credit_wanting)) {
		if (e->credit_free_ns < now)
			e->credit_free_ns = now;
		e->credit_due_ns = e->credit_free_ns;
	}
	list_add_tail(&e->credit_wanting, &p->credit.link);
}

void credit_rx_demand(struct weft_engine *e, struct pdc_rx *p, uint32_t total, weft_ns now)
{
	int64_t bytes = credit_ahead(total, p->credit.granted);
	if (p->closed || bytes <= 0)
		return;
	if (bytes > WEFT_RCC_MAX_BYTES) {
		e->stats.rx_credit_stale++;
		return;
	}
	e->rcc->on_demand(&p->credit.rcc, (uint32_t)bytes, now);
	enlist(e, p, now);
}

/* A trimmed packet as it was sent: how long it was is in the SES header, if that is all there. */
static uint32_t sent_bytes(const struct weft_engine *e, const struct wire_pkt *w)
{
	uint32_t payload = w->payload_bytes;
	if (w->trimmed && !w->has_ses)
		return e->full_wire_bytes;
	if (w->trimmed)
		payload = w->ses.flags & WIRE_SES_SOM ? w->ses.request_length : w->ses.payload_length;
	return e->overhead_bytes + (payload < e->tune.payload_bytes ? payload : e->tune.payload_bytes);
}

void credit_rx_data(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	struct weft_rcc_data ev = {.bytes = sent_bytes(e, w), .trimmed = w->trimmed, .ce = w->net.ecn == WEFT_ECN_CE};
	if (p->closed)
		return;
	if (e->sched) {
		sched_rx_data(e, p, w, ev.bytes, now);
		return;
	}
	if (e->rcc->on_data)
		e->rcc->on_data(&p->credit.rcc, &ev, now);
	if (w->pds.type == WIRE_PDS_RUD_CC_REQ || w->pds.type == WIRE_PDS_ROD_CC_REQ)
		credit_rx_demand(e, p, w->pds.credit, now);
	enlist(e, p, now);
}

static bool send(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = engine_pkt(e);
	if (!pkt)
		return false;
	struct wire_pkt *w = &e->ack_scratch;
	w->net.dst = p->ip;
	w->net.entropy = (uint16_t)((rng_next(&e->rng) >> 32) * e->tune.evs_size >> 32);
	w->pds = (struct wire_pds){.type = WIRE_PDS_CP,
				   .ctl = WIRE_CTL_CREDIT,
				   .spdcid = p->pdc.id,
				   .dpdcid = p->remote_id,
				   .payload = p->credit.granted};
	engine_send_control(e, pkt, now);
	e->stats.tx_credit++;
	return true;
}

/* All that was asked for is granted already: our answer was lost, so it is repeated. Otherwise his turn will come. */
void credit_rx_request(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	e->stats.rx_credit_req++;
	if (e->sched && !p->closed)
		sched_rx_request(e, p, w, now);
	else if (!e->rcc || p->closed || w->pds.payload > CREDIT_MASK)
		e->stats.rx_credit_stale++;
	else if (credit_ahead(w->pds.payload, p->credit.granted) <= 0)
		send(e, p, now);
	else
		credit_rx_demand(e, p, w->pds.payload, now);
}

static void spend_time(struct weft_engine *e, uint32_t bytes)
{
	uint64_t busy = e->credit_free_frac + bytes * e->credit_limits.pace;
	e->credit_free_ns += busy >> PACE_SHIFT;
	e->credit_free_frac = busy & ((1 << PACE_SHIFT) - 1);
}

static bool turn(struct weft_engine *e, weft_ns now)
{
	struct pdc_rx *p = list_entry(e->credit_wanting.next, struct pdc_rx, credit.link);
	struct weft_rcc *rcc = &p->credit.rcc;
	struct weft_rcc before = *rcc;
	uint32_t bytes = e->rcc->next_credit(rcc, now);
	p->credit.granted = credit_plus(p->credit.granted, credit_units(bytes));
	if (!send(e, p, now)) {
		p->credit.granted = credit_plus(p->credit.granted, CREDIT_MASK + 1 - credit_units(bytes));
		*rcc = before;
		return false;
	}
	spend_time(e, bytes);
	list_del(&p->credit.link);
	if (rcc->wanted_bytes)
		list_add_tail(&e->credit_wanting, &p->credit.link);
	return true;
}

void credit_rx_due(struct weft_engine *e, weft_ns now)
{
	if (e->sched) {
		sched_rx_due(e, now);
		return;
	}
	/* Polled late, it makes up for one bandwidth-delay product: less would starve hosts that share a processor,
	 * more would leave in one burst. */
	if (e->credit_free_ns + e->cc_params.brtt_ns < now)
		e->credit_free_ns = now - e->cc_params.brtt_ns;
	while (!list_empty(&e->credit_wanting) && e->credit_free_ns <= now) {
		if (turn(e, now))
			continue;
		e->credit_due_ns = now + RETRY_NS;
		return;
	}
	e->credit_due_ns = list_empty(&e->credit_wanting) ? WEFT_NEVER : e->credit_free_ns;
}
