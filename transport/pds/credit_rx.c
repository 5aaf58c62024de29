/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of receiver-driven congestion control: connections that want credit are in one list, and one
 * pacer for the whole host serves them in turn. Connections without demand cost nothing. */
#include "credit_rx.h"

#include "credit_sched_rx.h"
#include "validate.h"

enum { RETRY_NS = 1000 };

size_t credit_rx_more_bytes(const struct pds *pds)
{
	return pds->credit.sched ? sched_rx_bytes(&pds->credit) : 0;
}

void credit_rx_start(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	p->credit.rcc.ops = pds->credit.rcc;
	p->credit.rcc.params = &pds->credit.params;
	if (pds->credit.sched)
		sched_rx_start(pds, p);
	pds->credit.rcc->init(&p->credit.rcc, now);
}

void credit_rx_stop(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if (!pds->credit.rcc)
		return;
	if (pds->credit.sched) {
		sched_rx_stop(pds, p, now);
		return;
	}
	list_del(&p->credit.link);
	if (list_empty(&pds->credit.wanting))
		pds->credit.due_ns = WEFT_NEVER;
}

/* The first in the list starts the pacer; what it did not give while nobody wanted anything is gone. */
static void enlist(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if (!p->credit.rcc.wanted_bytes || !list_empty(&p->credit.link) || validate_holds_credit(p))
		return;
	if (list_empty(&pds->credit.wanting)) {
		if (pds->credit.free_ns < now)
			pds->credit.free_ns = now;
		pds->credit.due_ns = pds->credit.free_ns;
	}
	list_add_tail(&pds->credit.wanting, &p->credit.link);
}

static void take_demand(struct pds *pds, struct pdc_rx *p, uint32_t total, weft_ns now)
{
	int64_t bytes = credit_diff(total, p->credit.granted);
	if (p->closed || bytes <= 0)
		return;
	if (bytes > WEFT_RCC_MAX_BYTES) {
		pds->stats.rx_credit_stale++;
		return;
	}
	pds->credit.rcc->on_demand(&p->credit.rcc, (uint32_t)bytes, now);
	enlist(pds, p, now);
}

/* Payload that a trimmed packet had. */
static uint32_t sent_payload(const struct wire_view *v)
{
	switch (v->next_hdr) {
	case WIRE_NH_STD:
		return wire_req_som(v->req) ? wire_std_request_length(v->std) : wire_std_payload_length(v->std);
	case WIRE_NH_RSP_DATA:
		return wire_rsp_data_payload_length(v->rsp_data);
	case WIRE_NH_RSP:
		return 0;
	default: /* at the same place in all others */
		return wire_small_length(v->small);
	}
}

/* A trimmed packet as it was sent: how long it was is in the SES header, if that is all there. The first packet of a
 * message tells the message's length alone; it counts as a full one of ours, although its sender's may be smaller (path
 * MTU): too much credit is left over, too little would have to be asked for again. */
static uint32_t sent_bytes(const struct pds *pds, const struct wire_view *v)
{
	uint32_t payload = v->payload_bytes;
	if (v->kind == WIRE_KIND_TRIMMED && !v->ses_bytes)
		return pds->conf.full_wire_bytes;
	if (v->kind == WIRE_KIND_TRIMMED)
		payload = sent_payload(v);
	return pds->conf.overhead_bytes +
	       (payload < pds->conf.tune.payload_bytes ? payload : pds->conf.tune.payload_bytes);
}

void credit_rx_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	struct weft_rcc_data ev = {.bytes = sent_bytes(pds, v),
				   .trimmed = v->kind == WIRE_KIND_TRIMMED,
				   .ce = wire_view_ecn(v) == WEFT_ECN_CE};
	p->credit.unproven = 0;
	if (p->closed)
		return;
	if (pds->credit.sched) {
		sched_rx_data(pds, p, v, ev.bytes, now);
		return;
	}
	if (pds->credit.rcc->on_data)
		pds->credit.rcc->on_data(&p->credit.rcc, &ev, now);
	if (wire_view_has_credit(v))
		take_demand(pds, p, wire_view_credit(v), now);
	enlist(pds, p, now);
}

static bool send(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	struct weft_pkt *pkt = out_get(&pds->out);
	if (!pkt)
		return false;
	uint16_t ev = (uint16_t)((rng_next(&pds->rng) >> 32) * pds->conf.tune.evs_size >> 32);
	const struct wire_control credit = {.ctl = WIRE_CTL_CREDIT,
					    .psn = pds->has_secret ? p->start_psn : 0,
					    .spdcid = p->pdc.id,
					    .dpdcid = p->remote_id,
					    .payload = p->credit.granted};
	const uint8_t *end = wire_build_control(out_pds(&pds->out, pkt, p->pdc.encap), &credit);
	out_send_control(&pds->out, pkt, pdc_rx_way(p, ev), end, now);
	validate_note_credit(pds, p);
	return true;
}

/* All that was asked for is granted already: our answer was lost, so it is repeated. Otherwise its turn will come. */
void credit_rx_request(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.rx_credit_req++;
	if (pds->credit.rcc)
		p->credit.unproven = 0;
	if (pds->credit.sched && !p->closed)
		sched_rx_request(pds, p, v, now);
	else if (!pds->credit.rcc || p->closed || wire_cp_payload(v->cp) > CREDIT_MASK)
		pds->stats.rx_credit_stale++;
	else if (credit_diff(wire_cp_payload(v->cp), p->credit.granted) <= 0)
		send(pds, p, now);
	else
		take_demand(pds, p, wire_cp_payload(v->cp), now);
}

static void spend_time(struct pds *pds, uint32_t bytes)
{
	uint64_t busy = pds->credit.free_frac + bytes * pds->credit.limits.pace;
	pds->credit.free_ns += busy >> PACE_SHIFT;
	pds->credit.free_frac = busy & ((1 << PACE_SHIFT) - 1);
}

/* Grants credit to the first in the list, which then goes to its end. False: no packet to send it in. */
static bool grant_next(struct pds *pds, weft_ns now)
{
	struct pdc_rx *p = list_entry(pds->credit.wanting.next, struct pdc_rx, credit.link);
	struct weft_rcc *rcc = &p->credit.rcc;
	struct weft_rcc before = *rcc;
	assert(rcc->wanted_bytes > 0);
	uint32_t bytes = pds->credit.rcc->next_credit(rcc, now);
	assert(bytes > 0 && bytes % WEFT_RCC_UNIT_BYTES == 0);
	p->credit.granted = credit_plus(p->credit.granted, credit_units(bytes));
	if (!send(pds, p, now)) {
		p->credit.granted = credit_plus(p->credit.granted, CREDIT_MASK + 1 - credit_units(bytes));
		*rcc = before;
		return false;
	}
	spend_time(pds, bytes);
	list_del(&p->credit.link);
	if (rcc->wanted_bytes && !validate_holds_credit(p))
		list_add_tail(&pds->credit.wanting, &p->credit.link);
	return true;
}

void credit_rx_due(struct pds *pds, weft_ns now)
{
	if (pds->credit.sched) {
		sched_rx_due(pds, now);
		return;
	}
	/* Polled late, it makes up for one bandwidth-delay product: less would starve hosts that share a processor,
	 * more would leave in one burst. */
	if (pds->credit.free_ns + pds->conf.cc_params.brtt_ns < now)
		pds->credit.free_ns = now - pds->conf.cc_params.brtt_ns;
	while (!list_empty(&pds->credit.wanting) && pds->credit.free_ns <= now) {
		if (grant_next(pds, now))
			continue;
		pds->credit.due_ns = now + RETRY_NS;
		return;
	}
	pds->credit.due_ns = list_empty(&pds->credit.wanting) ? WEFT_NEVER : pds->credit.free_ns;
}
