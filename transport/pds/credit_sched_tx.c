/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side of scheduled credit: asks, keeps what cannot be used at once for a while, says when it has no
 * data any more. */
#include "bitmap.h"
#include "engine_int.h"

enum {
	ASK_BRTTS = 2,          /* without a credit for this long, ask again; doubles */
	ASK_GAPS = 4,           /* ... or for so many times what lay between the last two */
	ASK_MAX_RTOS = 8,       /* ceiling of that; a target silent for so long gets a packet without credit */
	ASK_SHIFT_MAX = 8,      /* doublings */
	UNPACED_PKTS = 64,      /* more data than the link carries is asked for by so much: credits are not limited */
	LATE_CREDIT_BRTTS = 4,  /* credits were on their way when we said stop; later ones nobody asked for */
	NUMBERS_AHEAD = 1 << 16 /* further ahead than what a fabric loses */
};

bool sched_tx_open(struct weft_engine *e, struct pdc_tx *p)
{
	p->credit.sched = e->sched ? pool_get(&e->sched->txs) : NULL;
	return p->credit.sched || !e->sched;
}

void sched_tx_close(struct weft_engine *e, struct pdc_tx *p)
{
	if (p->credit.sched)
		pool_put(&e->sched->txs, p->credit.sched);
}

void sched_tx_start(const struct weft_engine *e, struct pdc_tx *p)
{
	*p->credit.sched = (struct sched_tx){.gap_ns = 0};
}

static bool has_data(const struct pdc_tx *p)
{
	return p->cutting || p->q.lost.count;
}

/* What is left of one credit is added to the next, so that small packets and tails waste nothing; all that is sent was
 * called for. */
bool sched_tx_allows(struct pdc_tx *p, uint32_t bytes)
{
	struct sched_tx *t = p->credit.sched;

	while (t->left_bytes < bytes && t->count) {
		t->now = t->ring[t->head];
		t->head = t->head + 1 < SCHED_RING ? t->head + 1 : 0;
		t->count--;
		t->left_bytes += t->now.bytes;
	}
	return t->left_bytes >= bytes || p->credit.first_bytes;
}

static void ask(struct weft_engine *e, struct pdc_tx *p, weft_ns now);

/* Credit for the rest is asked for meanwhile. */
static void fill_unscheduled(struct weft_engine *e, struct pdc_tx *p, const struct sent *s, struct wire_pkt *w,
			     weft_ns now)
{
	uint32_t first = p->credit.first_bytes;

	p->credit.first_bytes = s->wire_bytes < first ? first - s->wire_bytes : 0;
	w->pds.ccc_id = 0;
	w->pds.credit = 0;
	w->net.dscp = WIRE_DSCP_UNSCHEDULED;
	e->stats.tx_unscheduled++;
	if (!p->credit.sched->asked && p->credit.unsent_bytes > p->credit.first_bytes)
		ask(e, p, now);
}

void sched_tx_fill(struct weft_engine *e, struct pdc_tx *p, struct sent *s, struct wire_pkt *w, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (!s->tries)
		p->credit.unsent_bytes -= s->wire_bytes;
	if (t->left_bytes < s->wire_bytes) {
		fill_unscheduled(e, p, s, w, now);
		return;
	}
	t->left_bytes -= s->wire_bytes;
	s->ev = t->now.ev;
	w->net.entropy = s->ev;
	w->net.ecn = t->now.marked ? WEFT_ECN_CE : WEFT_ECN_ECT0;
	w->pds.ccc_id = (uint8_t)(SCHED_SYNCED | (t->now.marked ? SCHED_MARKED : 0));
	w->pds.credit = t->now.number;
	if (!has_data(p))
		p->credit.ask_at_ns = now + e->credit_limits.linger_ns;
}

/* Units of all that waits; 0 says stop. */
static uint32_t demand(const struct weft_engine *e, const struct pdc_tx *p)
{
	uint64_t bytes = p->credit.unsent_bytes + (uint64_t)p->q.lost.count * e->full_wire_bytes;

	if (!has_data(p))
		return 0;
	if (bytes > WEFT_RCC_MAX_BYTES)
		bytes = WEFT_RCC_MAX_BYTES;
	return bytes ? credit_units(bytes) : 1;
}

static void tell(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	t->serial = t->serial < UINT16_MAX ? t->serial + 1 : 1;
	pdc_tx_cp(e, p, WIRE_CTL_CREDIT_REQ, t->serial, demand(e, p), now);
	e->stats.tx_credit_req++;
}

static weft_ns ask_interval(const struct weft_engine *e, const struct pdc_tx *p)
{
	weft_ns most = ASK_MAX_RTOS * e->rto_ns, gaps = (weft_ns)ASK_GAPS * p->credit.sched->gap_ns;
	unsigned doublings = p->credit.asks < ASK_SHIFT_MAX ? p->credit.asks : ASK_SHIFT_MAX;
	weft_ns interval = ASK_BRTTS * p->brtt_ns << doublings;

	if (interval < gaps)
		interval = gaps;
	return interval < most ? interval : most;
}

static void ask(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	p->credit.ask_at_ns = now + ask_interval(e, p);
	p->credit.asks += p->credit.asks < UINT8_MAX;
	t->numbered = t->numbered && p->credit.asks < ASK_SHIFT_MAX; /* perhaps it was a forged one we believed */
	t->asked = true;
	t->stopped = false;
	tell(e, p, now);
}

void sched_tx_blocked(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	if (!p->credit.sched->asked)
		ask(e, p, now);
	else if (p->credit.ask_at_ns == WEFT_NEVER || !p->credit.asks)
		p->credit.ask_at_ns = now + ask_interval(e, p);
}

static void stop(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	e->stats.credit_unused += t->count;
	t->count = 0;
	t->left_bytes = 0;
	t->asked = false;
	t->stopped = true;
	t->stopped_ns = now;
	p->credit.asks = 0;
	p->credit.ask_at_ns = WEFT_NEVER;
	tell(e, p, now);
}

void sched_tx_timer(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	p->credit.ask_at_ns = WEFT_NEVER;
	if (!has_data(p)) {
		if (t->asked)
			stop(e, p, now);
		return;
	}
	if (t->count || t->left_bytes >= e->full_wire_bytes || p->credit.first_bytes)
		return; /* something else holds us up */
	e->stats.tx_credit_req_again++;
	ask(e, p, now);
	/* A target that never sends any must not hold us up for ever, nor keep a dead one from being noticed. */
	if (now - p->last_heard_ns >= ASK_MAX_RTOS * e->rto_ns)
		p->credit.first_bytes = e->full_wire_bytes;
}

/* Numbers seen twice, or too long ago, are copies: the network's or a forger's. */
static bool is_new(struct sched_tx *t, uint32_t number)
{
	int32_t ahead = (int32_t)((number - t->newest) << 8) >> 8;

	if (t->numbered && (ahead > NUMBERS_AHEAD || ahead <= -SCHED_SEEN))
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

/* Credits that went through credit queues call for no more than the link carries. */
static bool is_paced(struct weft_engine *e, uint32_t bytes, weft_ns now)
{
	struct sched *sched = e->sched;
	weft_ns slack =
		((uint64_t)UNPACED_PKTS * e->full_wire_bytes * e->credit_limits.pace >> 20) + e->cc_params.brtt_ns;

	if (sched->free_ns < now)
		sched->free_ns = now;
	if (sched->free_ns > now + slack) {
		e->stats.rx_credit_unpaced++;
		sched_alarm(e);
		sched->free_ns = now;
		return false;
	}
	sched->free_ns += bytes * (8 * WEFT_S(1) / (e->cc_params.link_bps / 1000 + 1)) / 1000;
	return true;
}

static void keep(struct weft_engine *e, struct sched_tx *t, const struct wire_pkt *w)
{
	if (t->count == SCHED_RING) {
		e->stats.credit_unused++;
		return;
	}
	uint32_t at = t->head + t->count++;
	t->ring[at < SCHED_RING ? at : at - SCHED_RING] = (struct sched_credit){.number = w->pds.payload,
										.ev = w->net.entropy,
										.bytes = w->pds.opaque,
										.marked = w->net.ecn == WEFT_ECN_CE};
}

/* Nobody asked for it. Shortly after a stop that is the normal course; when they go on, the stop was lost. */
static void unasked(struct weft_engine *e, struct pdc_tx *p, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (t->stopped && now - t->stopped_ns < LATE_CREDIT_BRTTS * p->brtt_ns) {
		e->stats.credit_unused++;
		return;
	}
	e->stats.rx_credit_stale++;
	if (t->stopped && !has_data(p))
		stop(e, p, now);
}

void sched_tx_credit(struct weft_engine *e, struct pdc_tx *p, const struct wire_pkt *w, weft_ns now)
{
	struct sched_tx *t = p->credit.sched;

	if (w->pds.payload > SCHED_NUMBER_MASK || !w->pds.opaque || w->pds.opaque > e->full_wire_bytes ||
	    !is_new(t, w->pds.payload)) {
		e->stats.rx_credit_stale++;
		return;
	}
	p->last_heard_ns = now;
	if (!t->asked) {
		unasked(e, p, now);
		return;
	}
	if (!is_paced(e, w->pds.opaque, now))
		return;
	t->gap_ns = t->heard_ns && now - t->heard_ns < UINT32_MAX ? (uint32_t)(now - t->heard_ns) : 0;
	t->heard_ns = now;
	p->credit.asks = 0;
	p->credit.first_bytes = 0;
	if (has_data(p))
		p->credit.ask_at_ns = WEFT_NEVER;
	keep(e, t, w);
	pdc_tx_ready(e, p);
}
