/* SPDX-License-Identifier: BSD-3-Clause */
/* What an engine shows of itself. */
#include <assert.h>

#include "engine_state.h"

const struct weft_stats *weft_engine_stats(const struct weft_engine *e)
{
	return &e->pds.stats;
}

static int32_t newest_ev(const struct sendq *q)
{
	return q->inflight.count ? sendq_at(q, sendq_psn(q, q->inflight.tail))->ev : -1;
}

void weft_engine_view(const struct weft_engine *e, void (*fn)(void *arg, const struct weft_conn_view *view), void *arg)
{
	list_for_each (l, &e->pds.txs) {
		const struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		struct weft_conn_view v = {.ip = &p->ip,
					   .cwnd_bytes = p->cc.cwnd_bytes,
					   .inflight_bytes = p->inflight_bytes,
					   .brtt_ns = p->brtt_ns,
					   .srtt_ns = p->srtt_ns,
					   .ev = newest_ev(&p->q),
					   .payload_bytes = p->pdc.payload_bytes,
					   .background = p->background,
					   .apart = p->apart};
		assert(p->cc.ops && p->lb.ops);
		if (p->cc.ops->view)
			p->cc.ops->view(&p->cc, &v.cc);
		if (p->lb.ops->view)
			p->lb.ops->view(&p->lb, &v.lb);
		fn(arg, &v);
	}
}

void weft_engine_credit_view(const struct weft_engine *e,
			     void (*fn)(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *view),
			     void *arg)
{
	if (!e->pds.credit.rcc || !e->pds.credit.rcc->view)
		return;
	list_for_each (l, &e->pds.rxs) {
		const struct pdc_rx *p = list_entry(l, struct pdc_rx, link);
		struct weft_rcc_view v = {0};
		assert(p->credit.rcc.ops == e->pds.credit.rcc);
		e->pds.credit.rcc->view(&p->credit.rcc, &v);
		fn(arg, &p->ip, &v);
	}
}

void weft_engine_trace(struct weft_engine *e, const struct weft_trace_ops *trace)
{
	e->pds.trace = trace ? *trace : (struct weft_trace_ops){0};
}

/* Connections that are open already get their names. */
int weft_engine_record(struct weft_engine *e, void *buffer, size_t bytes)
{
	struct pds *pds = &e->pds;
	pds->recorded = false;
	if (!buffer)
		return 0;
	int rc = recorder_init(&pds->recorder, buffer, bytes, &pds->conf.ip);
	if (rc)
		return rc;
	pds->recorded = true;
	list_for_each (l, &pds->txs) {
		const struct pdc_tx *p = list_entry(l, struct pdc_tx, link);
		recorder_name(&pds->recorder, p->pdc.id, &p->ip);
	}
	list_for_each (l, &pds->rxs) {
		const struct pdc_rx *p = list_entry(l, struct pdc_rx, link);
		recorder_name(&pds->recorder, p->pdc.id, &p->ip);
	}
	return 0;
}
