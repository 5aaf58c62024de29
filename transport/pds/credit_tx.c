/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of receiver-driven congestion control: credit spent, demand announced in every data packet, and
 * asked for when there is none left to send one with. */
#include "credit_tx.h"

#include "credit_sched_tx.h"
#include "ctl_tx.h"
#include "ready.h"

enum {
	ASK_BRTTS = 2,     /* without credit for this long, ask; doubles */
	ASK_MAX_RTOS = 8,  /* ceiling of that; a target silent for so long gets a packet without credit */
	ASK_SHIFT_MAX = 8, /* doublings */
	ASKS_IN_VAIN = 3,  /* then what the target says of its total is believed */
};

bool credit_tx_open(struct pds *pds, struct pdc_tx *p)
{
	return !pds->credit.sched || sched_tx_open(pds, p);
}

void credit_tx_close(struct pds *pds, struct pdc_tx *p)
{
	if (p->credit.sched)
		sched_tx_close(pds, p);
}

void credit_tx_start(const struct pds *pds, struct pdc_tx *p)
{
	p->credit = (struct credit_tx){
		.first_bytes = pds->credit.limits.first_bytes, .ask_at_ns = WEFT_NEVER, .sched = p->credit.sched};
	if (pds->credit.sched)
		sched_tx_start(p);
}

void credit_tx_idle(const struct pds *pds, struct pdc_tx *p)
{
	p->credit.first_bytes = pds->credit.limits.first_bytes;
	if (pds->credit.sched)
		return; /* credits come until they are stopped */
	p->credit.balance_bytes = 0;
	p->credit.ask_at_ns = WEFT_NEVER;
	p->credit.asks = 0;
}

/* Of a run's part that has not been cut. */
static uint64_t wire_bytes_left(const struct pds *pds, const struct pdc_tx *p, const struct tx_run *run)
{
	uint32_t left = run->bytes - run->cut_bytes, piece = run->ask_bytes ? run->ask_bytes : p->pdc.payload_bytes;
	uint32_t pkts = left ? (left - 1) / piece + 1 : 1;
	return run->cut ? 0 : (run->ask_bytes ? 0 : left) + (uint64_t)pkts * pds->conf.overhead_bytes;
}

void credit_tx_queued(const struct pds *pds, struct pdc_tx *p, const struct tx_run *run)
{
	p->credit.unsent_bytes += wire_bytes_left(pds, p, run);
}

void credit_tx_dropped(const struct pds *pds, struct pdc_tx *p, const struct tx_run *run)
{
	assert(p->credit.unsent_bytes >= wire_bytes_left(pds, p, run));
	p->credit.unsent_bytes -= wire_bytes_left(pds, p, run);
}

void credit_tx_recount(const struct pds *pds, struct pdc_tx *p)
{
	p->credit.unsent_bytes = 0;
	list_for_each (l, &p->runs)
		credit_tx_queued(pds, p, list_entry(l, struct tx_run, link));
}

/* Bytes we lack credit for: all that waits, as far as the window would let it go (SMaRTT sec. VI: the sender's
 * algorithm caps what is in flight, so more credit would only be kept from others). */
static int64_t lacking(const struct pds *pds, const struct pdc_tx *p)
{
	const struct credit_tx *c = &p->credit;
	uint64_t demand = c->unsent_bytes + (uint64_t)p->q.lost.count * pds->conf.full_wire_bytes;
	uint64_t window = (uint64_t)p->cc.cwnd_bytes + pds->conf.full_wire_bytes;
	if (demand > pds->credit.limits.credit_bytes)
		demand = pds->credit.limits.credit_bytes;
	if (demand > window)
		demand = window;
	return (int64_t)demand - c->balance_bytes - c->first_bytes;
}

static uint32_t target(const struct pds *pds, const struct pdc_tx *p)
{
	int64_t bytes = lacking(pds, p);
	return bytes > 0 ? credit_plus(p->credit.granted, credit_units((uint64_t)bytes)) : p->credit.granted;
}

static uint32_t announce(const struct pds *pds, struct pdc_tx *p)
{
	uint32_t total = target(pds, p);
	assert(total <= CREDIT_MASK && p->credit.announced <= CREDIT_MASK);
	if (credit_diff(total, p->credit.announced) > 0)
		p->credit.announced = total;
	return total;
}

static uint32_t spend(const struct pds *pds, struct pdc_tx *p, const struct sent *s)
{
	struct credit_tx *c = &p->credit;
	uint32_t bytes = s->wire_bytes;
	assert(s->tries || c->unsent_bytes >= bytes);
	if (!s->tries)
		c->unsent_bytes -= bytes;
	uint32_t first = bytes < c->first_bytes ? bytes : c->first_bytes;
	c->first_bytes -= first;
	c->balance_bytes -= bytes - first;
	assert(c->balance_bytes > -(int64_t)pds->conf.full_wire_bytes);
	return announce(pds, p);
}

void credit_tx_fill(struct pds *pds, struct pdc_tx *p, struct sent *s, struct wire_net *net, struct wire_request_cc *r,
		    weft_ns now)
{
	if (pds->credit.sched)
		sched_tx_fill(pds, p, s, net, r, now);
	else
		wire_request_cc_set_credit_target(r, spend(pds, p, s));
}

static bool has_balance(const struct pdc_tx *p)
{
	return p->credit.balance_bytes + p->credit.first_bytes > 0;
}

bool credit_tx_draw(struct pdc_tx *p, uint32_t bytes)
{
	return p->credit.sched ? sched_tx_draw(p, bytes) : has_balance(p);
}

static weft_ns ask_interval(const struct pds *pds, const struct pdc_tx *p)
{
	weft_ns most = ASK_MAX_RTOS * pds->conf.rto_ns;
	unsigned doublings = p->credit.asks < ASK_SHIFT_MAX ? p->credit.asks : ASK_SHIFT_MAX;
	weft_ns interval = ASK_BRTTS * p->brtt_ns << doublings;
	return interval < most ? interval : most;
}

static void ask(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	p->credit.ask_at_ns = now + ask_interval(pds, p);
	p->credit.asks += p->credit.asks < UINT8_MAX;
	if (p->state == PDC_TX_SYN)
		return; /* the target knows us by our first packet only; its loss is repaired by the timer */
	ctl_send(pds, p, WIRE_CTL_CREDIT_REQ, 0, announce(pds, p), now);
	pds->stats.tx_credit_req++;
}

void credit_tx_blocked(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (pds->credit.sched)
		sched_tx_blocked(pds, p, now);
	else if (credit_diff(p->credit.announced, p->credit.granted) <= 0)
		ask(pds, p, now);
	else if (p->credit.ask_at_ns == WEFT_NEVER)
		p->credit.ask_at_ns = now + ask_interval(pds, p);
}

void credit_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (pds->credit.sched) {
		sched_tx_expire(pds, p, now);
		return;
	}
	if (has_balance(p) || (!p->cutting && !p->q.lost.count)) {
		p->credit.ask_at_ns = WEFT_NEVER;
		return;
	}
	pds->stats.tx_credit_req_again += p->state != PDC_TX_SYN;
	ask(pds, p, now);
	/* A target that never grants anything must not hold us up for ever, nor keep a dead one from being noticed. */
	if (now - p->last_heard_ns >= ASK_MAX_RTOS * pds->conf.rto_ns)
		p->credit.first_bytes = pds->conf.full_wire_bytes;
}

void credit_tx_lost(const struct pds *pds, struct pdc_tx *p, const struct sent *s, enum weft_cc_loss_kind kind)
{
	struct credit_tx *c = &p->credit;
	if (pds->credit.sched) {
		c->first_bytes = 0;
		return;
	}
	if (kind == WEFT_CC_LOSS_TRIM)
		c->announced = credit_plus(c->announced, credit_units(s->wire_bytes)); /* the target counted it, too */
	if (p->state != PDC_TX_SYN || kind == WEFT_CC_LOSS_TRIM)
		c->first_bytes = 0;
	else if (c->first_bytes < pds->conf.full_wire_bytes)
		c->first_bytes = pds->conf.full_wire_bytes; /* nobody to ask for credit: one packet per timeout */
}

/* A CREDIT is believed when it is ahead of the last one and not further than we asked; one may overtake the NACK that
 * tells us of a trimmed packet the target has counted. */
static bool is_plausible(const struct pds *pds, const struct credit_tx *c, uint32_t payload)
{
	return payload <= CREDIT_MASK && credit_diff(payload, c->granted) > 0 &&
	       credit_diff(payload, c->announced) <= (int64_t)pds->credit.limits.credit_bytes + WEFT_RCC_UNIT_BYTES;
}

/* Who answers before the target is known has seen our first packet, and so our Start_PSN, which nobody guesses. */
static bool tells_target(const struct pds *pds, const struct pdc_tx *p, const struct wire_view *v)
{
	return !pds->has_secret || p->state != PDC_TX_SYN || wire_hdr_psn(v->hdr) == p->start_psn;
}

/* Trimmed packets whose NACKs were lost or late took the target's total further than ours may follow, and it would stay
 * there for ever. Its total becomes ours, which by itself is no credit: a forged one gains nothing, and is mended
 * alike.
 */
static void take_total(struct pds *pds, struct pdc_tx *p, uint32_t total, weft_ns now)
{
	struct credit_tx *c = &p->credit;
	if (c->asks < ASKS_IN_VAIN || total > CREDIT_MASK || total == c->granted)
		return;
	c->granted = c->announced = total;
	ask(pds, p, now);
}

void credit_tx_granted(struct pds *pds, const struct wire_view *v, weft_ns now)
{
	struct pdc_tx *p = pdc_tx_of(&pds->ids, v);
	pds->stats.rx_credit++;
	bool known =
		pds->credit.rcc && p && !wire_hdr_syn(v->hdr) && tells_target(pds, p, v) && pdc_tx_learn_target(p, v);
	if (known && pds->credit.sched) {
		sched_tx_credit(pds, p, v, now);
		return;
	}
	if (!known || !is_plausible(pds, &p->credit, wire_cp_payload(v->cp))) {
		pds->stats.rx_credit_stale++;
		if (known)
			take_total(pds, p, wire_cp_payload(v->cp), now);
		return;
	}
	struct credit_tx *c = &p->credit;
	c->balance_bytes += credit_diff(wire_cp_payload(v->cp), c->granted);
	if (c->balance_bytes > pds->credit.limits.credit_bytes)
		c->balance_bytes = pds->credit.limits.credit_bytes;
	c->granted = wire_cp_payload(v->cp);
	c->first_bytes = 0;
	c->asks = 0;
	c->ask_at_ns = WEFT_NEVER;
	p->last_heard_ns = now;
	ready_add(pds, p);
}
