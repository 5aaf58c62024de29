/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of what an engine is doing (weft/view.h). A cursor names a place in the table of PDCIDs, and beyond those, for
 * operations, what belongs to no connection and then the endpoints. */
#include <assert.h>

#include "engine_state.h"
#include "weft/view.h"

enum {
	PLACES_MAX = 2048, /* looked at in one call */
	NO_CONN = PDC_IDS, /* operations without connection */
	FIRST_EP,
};

static weft_ns since(weft_ns now, weft_ns then)
{
	return now > then ? now - then : 0;
}

static void fill_tx(struct weft_conn_row *row, const struct pdc_tx *p)
{
	struct weft_lb_view lb = {0};
	if (p->lb.ops->view)
		p->lb.ops->view(&p->lb, &lb);
	row->sends = true;
	row->background = p->background;
	row->has_ops = !list_empty(&p->runs);
	row->cwnd_bytes = p->cc.cwnd_bytes;
	row->inflight_bytes = p->inflight_bytes;
	row->inflight_pkts = p->q.inflight.count;
	row->lost_pkts = p->q.lost.count;
	row->payload_bytes = p->pdc.payload_bytes;
	row->brtt_ns = p->brtt_ns;
	row->srtt_ns = p->srtt_ns;
	row->timeouts = p->rto_backoff;
	row->marked_acks = p->remote->marked_acks;
	row->trimmed_pkts = p->remote->trimmed_pkts;
	row->retx_pkts = p->remote->retx_pkts;
	row->cached_evs = lb.cached_evs;
}

static void fill_rx(struct weft_conn_row *row, const struct pdc_rx *p)
{
	row->receives = true;
	row->received_bytes = p->rcvd_bytes;
	row->unfinished = p->unfinished;
}

/* Latest word of the peer, in either direction. */
static weft_ns heard_ns(const struct pdc_tx *tx, const struct pdc_rx *rx)
{
	weft_ns by_tx = tx ? tx->last_heard_ns : 0, by_rx = rx ? rx->last_heard_ns : 0;
	return by_tx > by_rx ? by_tx : by_rx;
}

static uint8_t state_of(const struct pdc *pdc)
{
	if (pdc->is_rx)
		return list_entry(pdc, struct pdc_rx, pdc)->closed ? WEFT_CONN_CLOSING : WEFT_CONN_OPEN;
	uint8_t state = list_entry(pdc, struct pdc_tx, pdc)->state;
	return state == PDC_TX_SYN ? WEFT_CONN_UNANSWERED : state == PDC_TX_OPEN ? WEFT_CONN_OPEN : WEFT_CONN_CLOSING;
}

static struct weft_conn_row conn_row(const struct pds *pds, const struct pdc *pdc, weft_ns now)
{
	const struct pdc_tx *tx = pdc_tx_by_id(&pds->ids, pdc->id);
	const struct pdc_rx *rx = pdc_rx_by_id(&pds->ids, pdc->id);
	struct weft_conn_row row = {.id = pdc->id, .state = state_of(pdc), .by_peer = pdc->is_rx};
	assert(tx || rx);
	row.ip = tx ? tx->ip : rx->ip;
	row.silent_ns = since(now, heard_ns(tx, rx));
	if (tx)
		fill_tx(&row, tx);
	if (rx)
		fill_rx(&row, rx);
	return row;
}

unsigned weft_engine_conns(const struct weft_engine *e, weft_ns now, uint32_t *cursor, struct weft_conn_row *rows,
			   unsigned n)
{
	const struct pdc_ids *ids = &e->pds.ids;
	unsigned count = 0, looked = 0;
	uint32_t at = *cursor;
	for (; at <= ids->mask && count < n && looked < PLACES_MAX; at++, looked++)
		if (ids->slots[at])
			rows[count++] = conn_row(&e->pds, ids->slots[at], now);
	*cursor = at <= ids->mask ? at : 0;
	return count;
}

static unsigned conn_ops(const struct weft_engine *e, const struct pdc *pdc, weft_ns now, struct weft_op_row *rows)
{
	const struct pdc_tx *tx = pdc_tx_by_id(&e->pds.ids, pdc->id);
	const struct pdc_rx *rx = pdc_rx_by_id(&e->pds.ids, pdc->id);
	weft_ns silent_ns = since(now, heard_ns(tx, rx));
	unsigned count = tx ? ses_pending_tx(&e->ses, tx, now, rows) : 0;
	count += rx ? ses_pending_rx(&e->ses, rx, now, rows + count) : 0;
	for (unsigned i = 0; i < count; i++) {
		rows[i].conn = pdc->id;
		rows[i].silent_ns = silent_ns;
	}
	return count;
}

static const struct weft_ep *ep_at(const struct ses *ses, uint32_t n)
{
	list_for_each (l, &ses->eps)
		if (!n--)
			return ses_ep_at(l);
	return NULL;
}

static unsigned place_ops(const struct weft_engine *e, uint32_t at, weft_ns now, struct weft_op_row *rows)
{
	if (at == NO_CONN)
		return ses_pending_loose(&e->ses, now, rows);
	if (at >= FIRST_EP)
		return ses_pending_ep(&e->ses, ep_at(&e->ses, at - FIRST_EP), now, rows);
	const struct pdc *pdc = e->pds.ids.slots[at];
	return pdc ? conn_ops(e, pdc, now, rows) : 0;
}

/* 0: there are no more. */
static uint32_t place_after(const struct weft_engine *e, uint32_t at)
{
	if (at < e->pds.ids.mask)
		return at + 1;
	if (at < NO_CONN)
		return NO_CONN;
	return ep_at(&e->ses, at + 1 - FIRST_EP) ? at + 1 : 0;
}

unsigned weft_engine_ops(const struct weft_engine *e, weft_ns now, uint32_t *cursor, struct weft_op_row *rows,
			 unsigned n)
{
	unsigned count = 0, looked = 0;
	uint32_t at = *cursor;
	assert(n >= WEFT_OP_ROWS_MIN);
	if (at > e->pds.ids.mask && at < NO_CONN)
		at = NO_CONN;
	do {
		count += place_ops(e, at, now, rows + count);
		at = place_after(e, at);
	} while (at && n - count >= WEFT_OP_ROWS_MIN && ++looked < PLACES_MAX);
	*cursor = at;
	return count;
}
