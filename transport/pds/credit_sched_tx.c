/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of scheduled credit: asks, keeps what cannot be used at once for a while, says when it has no
 * data any more. */
#include "credit_sched_tx.h"

#include "bitmap.h"
#include "credit_sched_state.h"
#include "ctl_tx.h"
#include "ready.h"

enum {
	ASK_BRTTS = 2,        /* without a credit for this long, ask again; doubles */
	ASK_GAPS = 4,         /* ... or for so many times what lay between the last two */
	ASK_MAX_RTOS = 8,     /* ceiling of that; a target silent for so long gets a packet without credit */
	ASK_SHIFT_MAX = 8,    /* doublings */
	UNPACED_PKTS = 64,    /* more data than the link carries is asked for by so much: credits are not limited */
	LATE_CREDIT_BRTTS = 4 /* credits were on their way when we said stop; later ones nobody asked for */
};

bool sched_tx_open(struct pds *pds, struct pdc_tx *p)
{
	assert(!p->credit.sched);
	p->credit.sched = pool_get(&pds->credit.sched->txs);
	return p->credit.sched;
}

void sched_tx_close(struct pds *pds, struct pdc_tx *p)
{
	pool_put(&pds->credit.sched->txs, p->credit.sched);
}

void sched_tx_start(struct pdc_tx *p)
{
	*p->credit.sched = (struct sched_tx){.gap_ns = 0};
}

static bool has_data(const struct pdc_tx *p)
{
	return p->cutting || p->q.lost.count;
}

/* What is left of one credit is added to the next, so that small packets and tails waste nothing; all that is sent was
 * called for. */
bool sched_tx_draw(struct pdc_tx *p, uint32_t bytes)
{
	struct sched_tx *t = p->credit.sched;

	assert(t->head < SCHED_RING && t->count <= SCHED_RING);
	while (t->left_bytes < bytes && t->count) {
		t->now = t->ring[t->head];
		t->head = t->head + 1 < SCHED_RING ? t->head + 1 : 0;
		t->count--;
		t->left_bytes += t->now.bytes;
	}
	return t->left_bytes >= bytes || p->credit.first_bytes;
}

static void ask(struct pds *pds, struct pdc_tx *p, weft_ns now);

/* Credit for the rest is asked for meanwhile. */
static void fill_unscheduled(struct pds *pds, struct pdc_tx *p, const struct sent *s, struct wire_net *net, weft_ns now)
{
	uint32_t first = p->credit.first_bytes;

	p->credit.first_bytes = s->wire_bytes < first ? first - s->wire_bytes : 0;
	net->dscp = WIRE_DSCP_UNSCHEDULED;
	pds->stats.tx_unscheduled++;
	if (!p->credit.sched->asked && p->credit.unsent_bytes > p->credit.first_bytes)
		ask(pds, p, now);
}

void sched_tx_fill(struct pds *pds, struct pdc_tx *p, struct sent *s, struct wire_net *net, struct wire_request_cc *r,
		   weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	assert(s->tries || p->credit.unsent_bytes >= s->wire_bytes);
	if (!s->tries)
		p->credit.unsent_bytes -= s->wire_bytes;
	if (t->left_bytes < s->wire_bytes) {
		fill_unscheduled(pds, p, s, net, now);
		return;
	}
	t->left_bytes -= s->wire_bytes;
	s->ev = t->now.ev;
	net->entropy = s->ev;
	net->ecn = t->now.marked ? WEFT_ECN_CE : WEFT_ECN_ECT0;
	wire_request_cc_set_ccc_id(r, (uint8_t)(SCHED_SYNCED | (t->now.marked ? SCHED_MARKED : 0)));
	wire_request_cc_set_credit_target(r, t->now.number);
	t->lingering = !has_data(p);
	if (t->lingering)
		p->credit.ask_at_ns = now + pds->credit.limits.linger_ns;
}

/* Units of all that waits; 0 says stop. */
static uint32_t demand(const struct pds *pds, const struct pdc_tx *p)
{
	uint64_t bytes = p->credit.unsent_bytes + (uint64_t)p->q.lost.count * pds->conf.full_wire_bytes;

	if (!has_data(p))
		return 0;
	if (bytes > WEFT_RCC_MAX_BYTES)
		bytes = WEFT_RCC_MAX_BYTES;
	return bytes ? credit_units(bytes) : 1;
}

static void tell(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	t->serial = t->serial < UINT16_MAX ? t->serial + 1 : 1;
	ctl_send(pds, p, WIRE_CTL_CREDIT_REQ, t->serial, demand(pds, p), now);
	pds->stats.tx_credit_req++;
}

static weft_ns ask_interval(const struct pds *pds, const struct pdc_tx *p)
{
	weft_ns most = ASK_MAX_RTOS * pds->conf.rto_ns, gaps = (weft_ns)ASK_GAPS * p->credit.sched->gap_ns;
	unsigned doublings = p->credit.asks < ASK_SHIFT_MAX ? p->credit.asks : ASK_SHIFT_MAX;
	weft_ns interval = ASK_BRTTS * p->brtt_ns << doublings;

	if (interval < gaps)
		interval = gaps;
	return interval < most ? interval : most;
}

static void ask(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	p->credit.ask_at_ns = now + ask_interval(pds, p);
	p->credit.asks += p->credit.asks < UINT8_MAX;
	t->numbered = t->numbered && p->credit.asks < ASK_SHIFT_MAX; /* perhaps it was a forged one we believed */
	t->asked = true;
	t->stopped = false;
	tell(pds, p, now);
}

/* Every poll may call it while we wait: what is waited for comes no later for that. */
void sched_tx_blocked(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (!t->asked)
		ask(pds, p, now);
	else if (p->credit.ask_at_ns == WEFT_NEVER || t->lingering)
		p->credit.ask_at_ns = now + ask_interval(pds, p);
	t->lingering = false;
}

static void stop(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	pds->stats.credit_unused += t->count;
	t->count = 0;
	t->left_bytes = 0;
	t->asked = false;
	t->stopped = true;
	t->stopped_ns = now;
	p->credit.asks = 0;
	p->credit.ask_at_ns = WEFT_NEVER;
	tell(pds, p, now);
}

void sched_tx_expire(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	p->credit.ask_at_ns = WEFT_NEVER;
	if (!has_data(p)) {
		if (t->asked)
			stop(pds, p, now);
		return;
	}
	if (t->count || t->left_bytes >= pds->conf.full_wire_bytes || p->credit.first_bytes)
		return; /* something else holds us up */
	pds->stats.tx_credit_req_again++;
	ask(pds, p, now);
	/* A target that never sends any must not hold us up for ever, nor keep a dead one from being noticed. */
	if (now - p->last_heard_ns >= ASK_MAX_RTOS * pds->conf.rto_ns)
		p->credit.first_bytes = pds->conf.full_wire_bytes;
}

/* False: the number was seen before, or is too old to know: a copy, the network's or a forger's. */
static bool note_number(const struct sched *sched, struct sched_tx *t, uint32_t number)
{
	int32_t ahead = (int32_t)((number - t->newest) << 8) >> 8;

	if (t->numbered && (ahead > (int32_t)sched->numbers_ahead || ahead <= -SCHED_SEEN))
		return false;
	if (!t->numbered || ahead >= SCHED_SEEN)
		bitmap_clear_range(t->seen, SCHED_SEEN - 1, 0, SCHED_SEEN);
	else if (ahead > 0)
		bitmap_clear_range(t->seen, SCHED_SEEN - 1, t->newest + 1, (uint32_t)ahead);
	else if (bitmap_test(t->seen, SCHED_SEEN - 1, number))
		return false;
	bitmap_set(t->seen, SCHED_SEEN - 1, number);
	t->newest = !t->numbered || ahead > 0 ? number : t->newest;
	t->numbered = true;
	return true;
}

/* Credits that went through credit queues call for no more than the link carries. False: this one does. */
static bool pace_credit(struct pds *pds, uint32_t bytes, weft_ns now)
{
	struct sched *sched = pds->credit.sched;
	weft_ns slack = ((uint64_t)UNPACED_PKTS * pds->conf.full_wire_bytes * pds->credit.limits.pace >> 20) +
			pds->conf.cc_params.brtt_ns;

	if (sched->free_ns < now)
		sched->free_ns = now;
	if (sched->free_ns > now + slack) {
		pds->stats.rx_credit_unpaced++;
		sched_alarm(pds);
		sched->free_ns = now;
		return false;
	}
	sched->free_ns += bytes * (8 * WEFT_S(1) / (pds->conf.cc_params.link_bps / 1000 + 1)) / 1000;
	return true;
}

static void keep(struct pds *pds, struct sched_tx *t, const struct wire_view *v)
{
	if (t->count == SCHED_RING) {
		pds->stats.credit_unused++;
		return;
	}
	uint32_t at = t->head + t->count++;
	t->ring[at < SCHED_RING ? at : at - SCHED_RING] =
		(struct sched_credit){.number = wire_cp_payload(v->cp),
				      .ev = wire_view_entropy(v),
				      .bytes = wire_hdr_opaque(v->hdr),
				      .marked = wire_view_ecn(v) == WEFT_ECN_CE};
}

/* Nobody asked for it. Shortly after a stop that is the normal course; when they go on, the stop was lost. */
static void unasked(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (t->stopped && now - t->stopped_ns < LATE_CREDIT_BRTTS * p->brtt_ns) {
		pds->stats.credit_unused++;
		return;
	}
	pds->stats.rx_credit_stale++;
	if (t->stopped && !has_data(p))
		stop(pds, p, now);
}

void sched_tx_credit(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (wire_cp_payload(v->cp) > SCHED_NUMBER_MASK || !wire_hdr_opaque(v->hdr) ||
	    wire_hdr_opaque(v->hdr) > pds->conf.full_wire_bytes ||
	    !note_number(pds->credit.sched, t, wire_cp_payload(v->cp))) {
		pds->stats.rx_credit_stale++;
		return;
	}
	p->last_heard_ns = now;
	if (!t->asked) {
		unasked(pds, p, now);
		return;
	}
	if (!pace_credit(pds, wire_hdr_opaque(v->hdr), now))
		return;
	t->gap_ns = t->heard_ns && now - t->heard_ns < UINT32_MAX ? (uint32_t)(now - t->heard_ns) : 0;
	t->heard_ns = now;
	p->credit.asks = 0;
	p->credit.first_bytes = 0;
	if (has_data(p))
		p->credit.ask_at_ns = WEFT_NEVER;
	keep(pds, t, v);
	ready_add(pds, p);
}
