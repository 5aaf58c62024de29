/* SPDX-License-Identifier: BSD-3-Clause */
/* What the next poll will touch, brought into the cache while a simulator still does something else. */
#include "engine_state.h"

/* `bytes` from `at` on. Always inline: GCC drops a call that has no visible effect. */
static inline __attribute__((always_inline)) void prefetch(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)at + i, 1);
}

static void prefetch_engine(const struct weft_engine *e)
{
	const struct weft_stats *s = &e->pds.stats;
	prefetch(&e->pds, offsetof(struct pds, conf.tune));
	prefetch(s, sizeof(s->tx_data));
	prefetch(&s->tx_ack, sizeof(s->tx_ack));
	prefetch(&s->rx_ack, sizeof(s->rx_ack));
	prefetch(&e->pds.out, offsetof(struct out_batch, spare));
	prefetch(&e->pds.timers.wheel, 1);
	prefetch(&e->ses, offsetof(struct ses, peers));
}

/* The connection of the packet, or the one that is to send next. */
static const struct pdc *concerned(const struct weft_engine *e, const struct weft_pkt *pkt)
{
	if (pkt)
		return pdc_by_id(&e->pds.ids, wire_peek_dpdcid(pkt));
	return list_empty(&e->pds.ready) ? NULL : &list_entry(e->pds.ready.next, struct pdc_tx, ready_link)->pdc;
}

static void prefetch_record(const struct weft_engine *e, const struct pdc *pdc, const struct weft_pkt *pkt)
{
	if (pdc->is_rx) {
		const struct pdc_rx *p = list_entry(pdc, struct pdc_rx, pdc);
		ses_prefetch_rx(p);
		if (p->win.received)
			prefetch(p->win.received, 2 * (e->pds.win.mask + 1) / 8);
		return;
	}
	const struct pdc_tx *p = list_entry(pdc, struct pdc_tx, pdc);
	if (!p->q.ring)
		return;
	prefetch(sendq_at(&p->q, p->q.nxt), 1);
	if (pkt)
		prefetch(sendq_at(&p->q, wire_peek_acked_psn(pkt)), 1);
}

void weft_engine_prefetch(const struct weft_engine *e, const struct weft_pkt *pkt, unsigned stage)
{
	if (stage == 0) {
		prefetch_engine(e);
		return;
	}
	const struct pdc *pdc = concerned(e, pkt);
	if (pdc && stage == 1)
		prefetch(pdc, pdc->is_rx ? sizeof(struct pdc_rx) : offsetof(struct pdc_tx, cc) + 2 * 64);
	else if (pdc)
		prefetch_record(e, pdc, pkt);
}
