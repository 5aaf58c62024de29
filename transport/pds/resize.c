/* SPDX-License-Identifier: BSD-3-Clause */
#include "resize.h"

#include "credit_tx.h"
#include "ready.h"
#include "rto.h"
#include "tx_timer.h"

/* Headers that are kept for copies tell the size. */
static void forget_heads(struct pdc_tx *p)
{
	list_for_each (l, &p->runs)
		list_entry(l, struct tx_run, link)->head_bytes = 0;
}

static void lose_larger(struct pds *pds, struct pdc_tx *p)
{
	for (uint32_t psn = p->q.una; psn != p->q.nxt; psn++) {
		const struct sent *s = sendq_at(&p->q, psn);
		if (s->state != SENT_INFLIGHT || !s->run || s->payload_len <= p->pdc.payload_bytes)
			continue;
		assert(p->inflight_bytes >= s->wire_bytes);
		p->inflight_bytes -= s->wire_bytes;
		sendq_lose(&p->q, psn, CAUSE_PATH);
	}
}

void resize(struct pds *pds, struct pdc_tx *p, uint16_t payload_bytes, weft_ns now)
{
	assert(payload_bytes > 0 && payload_bytes <= pds->conf.tune.payload_bytes);
	if (payload_bytes == p->pdc.payload_bytes)
		return;
	uint32_t before_bytes = p->pdc.payload_bytes;
	p->pdc.payload_bytes = payload_bytes;
	rto_resized(&pds->conf, p, before_bytes, now);
	forget_heads(p);
	lose_larger(pds, p);
	if (pds->credit.rcc)
		credit_tx_recount(pds, p);
	p->rto_backoff = 0;
	ready_add(pds, p);
	tx_timer_arm(pds, p, now);
}
