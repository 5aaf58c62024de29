/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop. */
#include "weft/engine.h"

#include "dgram.h"

/* Polled much later than asked: whatever arrived meanwhile must be looked at before anything counts as lost. What was
 * put off once is not put off again, or nothing would ever count as lost with somebody who always polls late. */
static void note_lateness(struct weft_engine *e, weft_ns now)
{
	if (now > e->due_ns && now - e->due_ns > e->rto_ns / 4 && !e->put_off)
		e->grace_ns = now + e->rto_ns / 2;
}

static void timers(struct weft_engine *e, weft_ns now)
{
	struct wheel_node *n;
	while ((n = wheel_expire(&e->wheel, now))) {
		struct pdc *pdc = list_entry(n, struct pdc, timer);
		if (pdc->is_rx)
			pdc_rx_timer(e, list_entry(pdc, struct pdc_rx, pdc), now);
		else
			pdc_tx_timer(e, list_entry(pdc, struct pdc_tx, pdc), now);
	}
}

/* One flag for all endpoints: a poll that nobody wants anything of does not look at their rings. */
static void submissions(struct weft_engine *e, weft_ns now)
{
	bool rung = atomic_load_explicit(&e->rung, memory_order_relaxed) &&
		    atomic_exchange_explicit(&e->rung, false, memory_order_acq_rel);
	if (!rung && !e->more_submissions && !e->left_over)
		return;
	e->more_submissions = e->left_over = false;
	list_for_each (l, &e->eps) {
		struct weft_ep *ep = list_entry(l, struct weft_ep, link);
		if (ep->has_pending || ep->overflow || !spsc_empty(&ep->sq))
			ep_submissions(e, ep, now);
	}
}

static void __attribute__((noinline)) retry(struct weft_engine *e)
{
	if (e->fetch_later)
		rndv_retry(e);
	msg_rx_retry(e);
}

static weft_ns __attribute__((noinline))
work(struct weft_engine *e, struct weft_pkt **pkts, uint16_t received, weft_ns now)
{
	e->short_of_pkts = e->short_of_mem = false;
	e->now_ns = now;
	note_lateness(e, now);
	engine_rx(e, pkts, received, now);
	timers(e, now);
	if (e->fetch_later || !list_empty(&e->stuck))
		retry(e);
	submissions(e, now);
	ack_due(e, now);
	if (e->credit_due_ns <= now)
		credit_rx_due(e, now);
	engine_tx(e, now);
	engine_flush(e);
	if (!list_empty(&e->dgrams))
		dgram_flushed(e);
	weft_ns at = wheel_next(&e->wheel), tx_at = engine_tx_next(e, now);
	if (tx_at < at)
		at = tx_at;
	if (e->credit_due_ns < at)
		at = e->credit_due_ns;
	e->due_ns = received == ENGINE_BURST || e->more_submissions ? now : at;
	return e->due_ns;
}

/* Nothing arrived, nothing is due and nobody wants anything: what the last poll found still holds. */
weft_ns weft_engine_poll(struct weft_engine *e, weft_ns now)
{
	struct weft_pkt *pkts[ENGINE_BURST];
	uint16_t received = e->port->ops->rx(e->port, pkts, ENGINE_BURST);
	if (!received && now < e->due_ns && !e->short_of_mem && !atomic_load_explicit(&e->rung, memory_order_relaxed))
		return e->due_ns;
	return work(e, pkts, received, now);
}

weft_ns weft_engine_xmit(struct weft_engine *e, weft_ns now)
{
	return work(e, NULL, 0, now);
}

/* `bytes` from `at` on. Inlined, for the compiler takes a call without visible effects to be useless. */
static inline __attribute__((always_inline)) void fetch(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)at + i, 1);
}

static void fetch_engine(const struct weft_engine *e)
{
	fetch(e, offsetof(struct weft_engine, tune));
	fetch(&e->stats, sizeof(e->stats.tx_data));
	fetch(&e->stats.tx_ack, sizeof(e->stats.tx_ack));
	fetch(&e->stats.rx_ack, sizeof(e->stats.rx_ack));
	fetch(&e->wheel, 1);
}

/* The connection of the packet, or the one that is to send next. */
static const struct pdc *concerned(const struct weft_engine *e, const struct weft_pkt *pkt)
{
	if (pkt)
		return pdc_by_id(e, wire_peek_dpdcid(pkt));
	return list_empty(&e->ready) ? NULL : &list_entry(e->ready.next, struct pdc_tx, ready_link)->pdc;
}

static void fetch_record(const struct weft_engine *e, const struct pdc *pdc, const struct weft_pkt *pkt)
{
	if (pdc->is_rx) {
		const struct pdc_rx *p = list_entry(pdc, struct pdc_rx, pdc);
		if (p->recent)
			fetch(p->recent, sizeof *p->recent);
		if (p->received)
			fetch(p->received, 2 * (e->rx_mask + 1) / 8);
		return;
	}
	const struct pdc_tx *p = list_entry(pdc, struct pdc_tx, pdc);
	if (!p->q.ring)
		return;
	fetch(sendq_at(&p->q, p->q.next), 1);
	if (pkt)
		fetch(sendq_at(&p->q, wire_peek_acked_psn(pkt)), 1);
}

void weft_engine_prefetch(const struct weft_engine *e, const struct weft_pkt *pkt, unsigned stage)
{
	if (stage == 0) {
		fetch_engine(e);
		return;
	}
	const struct pdc *pdc = concerned(e, pkt);
	if (pdc && stage == 1)
		fetch(pdc, pdc->is_rx ? sizeof(struct pdc_rx) : offsetof(struct pdc_tx, cc) + 2 * 64);
	else if (pdc)
		fetch_record(e, pdc, pkt);
}

void weft_engine_shutdown(struct weft_engine *e, weft_ns now)
{
	e->shutting_down = true;
	e->due_ns = now;
	list_for_each_safe (l, &e->txs)
		pdc_tx_shutdown(e, list_entry(l, struct pdc_tx, link), now);
}

bool weft_engine_idle(const struct weft_engine *e)
{
	return list_empty(&e->txs) && !e->out_count && list_empty(&e->ack_due);
}

const struct weft_stats *weft_engine_stats(const struct weft_engine *e)
{
	return &e->stats;
}

bool weft_engine_rx_again(const struct weft_engine *e)
{
	return e->rx_flags & WIRE_F_RETX;
}

static int32_t newest_ev(const struct sendq *q)
{
	return q->inflight.count ? sendq_at(q, sendq_psn(q, q->inflight.tail))->ev : -1;
}

void weft_engine_view(const struct weft_engine *e, void (*fn)(void *arg, const struct weft_conn_view *view), void *arg)
{
	list_for_each (l, &e->txs) {
		const struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		struct weft_conn_view v = {.ip = &p->ip,
					   .cwnd_bytes = p->cc.cwnd_bytes,
					   .inflight_bytes = p->inflight_bytes,
					   .brtt_ns = p->brtt_ns,
					   .srtt_ns = p->srtt_ns,
					   .ev = newest_ev(&p->q),
					   .background = p->background};
		if (e->cc->view)
			e->cc->view(&p->cc, &v.cc);
		if (p->lb.ops->view)
			p->lb.ops->view(&p->lb, &v.lb);
		fn(arg, &v);
	}
}

void weft_engine_credit_view(const struct weft_engine *e,
			     void (*fn)(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *view),
			     void *arg)
{
	if (!e->rcc || !e->rcc->view)
		return;
	list_for_each (l, &e->rxs) {
		const struct pdc_rx *p = list_entry(l, struct pdc_rx, link);
		struct weft_rcc_view v = {0};
		e->rcc->view(&p->credit.rcc, &v);
		fn(arg, &p->ip, &v);
	}
}

void weft_engine_trace(struct weft_engine *e, const struct weft_trace_ops *trace)
{
	e->trace = trace ? *trace : (struct weft_trace_ops){0};
}
