/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of receiver-driven congestion control: credit spent, demand announced in every data packet, and
 * asked for when there is none left to send one with. */
#include "engine_int.h"

enum {
	ASK_BRTTS = 2,     /* without credit for this long, ask; doubles */
	ASK_MAX_RTOS = 8,  /* ceiling of that; a target silent for so long gets a packet without credit */
	ASK_SHIFT_MAX = 8, /* doublings */
};

void credit_tx_start(const struct weft_engine *e, struct pdc_tx *p)
{
	p->credit = (struct credit_tx){
		.first_bytes = e->credit_limits.first_bytes, .ask_at_ns = WEFT_NEVER, .sched = p->credit.sched};
	if (e->sched)
		sched_tx_start(e, p);
}

void credit_tx_idle(const struct weft_engine *e, struct pdc_tx *p)
{
	p->credit.first_bytes = e->credit_limits.first_bytes;
	if (e->sched)
		return; /* credits come until they are stopped */
	p->credit.balance_bytes = 0;
	p->credit.ask_at_ns = WEFT_NEVER;
	p->credit.asks = 0;
}

/* Of a message's part that has not been cut. */
static uint64_t wire_bytes_left(const struct weft_engine *e, const struct tx_msg *m)
{
	uint32_t left = m->bytes - m->cut_bytes;
	uint32_t pkts = left ? (left - 1) / e->tune.payload_bytes + 1 : 1;
	return m->cut ? 0 : left + (uint64_t)pkts * e->overhead_bytes;
}

void credit_tx_queued(const struct weft_engine *e, struct pdc_tx *p, const struct tx_msg *m)
{
	p->credit.unsent_bytes += wire_bytes_left(e, m);
}

void credit_tx_dropped(const struct weft_engine *e, struct pdc_tx *p, const struct tx_msg *m)
{
	p->credit.unsent_bytes -= wire_bytes_left(e, m);
}

/* Bytes we lack credit for: all that waits, as far as the window would let it go (SMaRTT sec. VI: the sender's
 * algorithm caps what is in flight, so more credit would only be kept from others). */
static int64_t lacking(const struct weft_engine *e, const struct pdc_tx *p)
{
	const struct credit_tx *c = &p->credit;
	uint64_t wanted = c->unsent_bytes + (uint64_t)p->q.lost.count * e->full_wire_bytes;
	uint64_t window = (uint64_t)p->cc.cwnd_bytes + e->full_wire_bytes;
	if (wanted > e->credit_limits.credit_bytes)
		wanted = e->credit_limits.credit_bytes;
	if (wanted > window)
		wanted = window;
	return (int64_t)wanted - c->balance_bytes - c->first_bytes;
}

static uint32_t target(const struct weft_engine *e, const struct pdc_tx *p)
{
	int64_t bytes = lacking(e, p);
	return bytes > 0 ? credit_plus(p->credit.granted, credit_units((uint64_t)bytes)) : p->credit.granted;
}

static uint32_t announce(const struct weft_engine *e, struct pdc_tx *p)
{
	uint32_t total = target(e, p);
	if (credit_ahead(total, p->credit.announced) > 0)
		p->credit.announced = total;
	return total;
}

static uint32_t spend(const struct weft_engine *e, struct pdc_tx *p, const struct sent *s)
{
	struct credit_tx *c = &p->credit;
	uint32_t bytes = s->wire_bytes;
	if (!s->tries)
		c->unsent_bytes -= bytes;
	uint32_t first = bytes < c->first_bytes ? bytes : c->first_bytes;
	c->first_bytes -= first;
	c->balance_bytes -= bytes - first;
	return announce(e, p);
}

void credit_tx_fill(struct weft_engine *e, struct pdc_tx *p, struct sent *s, struct wire_pkt *w, weft_ns now)
{
	w->pds.credit = 0;
	if (!s->msg)
		return; /* CLOSE_CMD */
	if (e->sched)
		sched_tx_fill(e, p, s, w, now);
	else
		w->pds.credit = spend(e, p, s);
}

static weft_ns ask_interval(const struct weft_engine *e, const struct pdc_tx *p)
{
	weft_ns most = ASK_MAX_RTOS * e->rto_ns;
	unsigned doublings = p->credit.asks < ASK_SHIFT_MAX ? p->credit.asks : ASK_SHIFT_MAX;
	weft_ns interval = ASK_BRTTS * p->brtt_ns << doublings;
	return interval < most ? interval : most;
}

static void ask(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	p->credit.ask_at_ns = now + ask_interval(e, p);
	p->credit.asks += p->credit.asks < UINT8_MAX;
	if (p->state == PDC_TX_SYN)
		return; /* the target knows us by our first packet only; its loss is repaired by the timer */
	pdc_tx_cp(e, p, WIRE_CTL_CREDIT_REQ, 0, announce(e, p), now);
	e->stats.tx_credit_req++;
}

void credit_tx_blocked(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (e->sched)
		sched_tx_blocked(e, p, now);
	else if (credit_ahead(p->credit.announced, p->credit.granted) <= 0)
		ask(e, p, now);
	else if (p->credit.ask_at_ns == WEFT_NEVER)
		p->credit.ask_at_ns = now + ask_interval(e, p);
}

void credit_tx_timer(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (e->sched) {
		sched_tx_timer(e, p, now);
		return;
	}
	if (credit_tx_allows(p, 0) || (!p->cutting && !p->q.lost.count)) {
		p->credit.ask_at_ns = WEFT_NEVER;
		return;
	}
	e->stats.tx_credit_req_again += p->state != PDC_TX_SYN;
	ask(e, p, now);
	/* A target that never grants anything must not hold us up for ever, nor keep a dead one from being noticed. */
	if (now - p->last_heard_ns >= ASK_MAX_RTOS * e->rto_ns)
		p->credit.first_bytes = e->full_wire_bytes;
}

void credit_tx_lost(const struct weft_engine *e, struct pdc_tx *p, const struct sent *s, enum weft_cc_loss_kind kind)
{
	struct credit_tx *c = &p->credit;
	if (e->sched) {
		c->first_bytes = 0;
		return;
	}
	if (kind == WEFT_CC_LOSS_TRIM)
		c->announced = credit_plus(c->announced, credit_units(s->wire_bytes)); /* the target counted it, too */
	if (p->state != PDC_TX_SYN || kind == WEFT_CC_LOSS_TRIM)
		c->first_bytes = 0;
	else if (c->first_bytes < e->full_wire_bytes)
		c->first_bytes = e->full_wire_bytes; /* nobody to ask for credit: one packet per timeout */
}

/* A CREDIT is believed when it is ahead of the last one and not further than we asked; one may overtake the NACK that
 * tells us of a trimmed packet the target has counted. */
static bool is_plausible(const struct weft_engine *e, const struct credit_tx *c, uint32_t payload)
{
	return payload <= CREDIT_MASK && credit_ahead(payload, c->granted) > 0 &&
	       credit_ahead(payload, c->announced) <= (int64_t)e->credit_limits.credit_bytes + WEFT_RCC_UNIT_BYTES;
}

void credit_tx_granted(struct weft_engine *e, const struct wire_pkt *w, weft_ns now)
{
	struct pdc_tx *p = pdc_tx_of(e, w);
	e->stats.rx_credit++;
	bool known = e->rcc && p && pdc_tx_learn_target(p, w);
	if (known && e->sched) {
		sched_tx_credit(e, p, w, now);
		return;
	}
	if (!known || !is_plausible(e, &p->credit, w->pds.payload)) {
		e->stats.rx_credit_stale++;
		return;
	}
	struct credit_tx *c = &p->credit;
	c->balance_bytes += credit_ahead(w->pds.payload, c->granted);
	if (c->balance_bytes > e->credit_limits.credit_bytes)
		c->balance_bytes = e->credit_limits.credit_bytes;
	c->granted = w->pds.payload;
	c->first_bytes = 0;
	c->asks = 0;
	c->ask_at_ns = WEFT_NEVER;
	p->last_heard_ns = now;
	pdc_tx_ready(e, p);
}
