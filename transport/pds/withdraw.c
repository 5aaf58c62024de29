/* SPDX-License-Identifier: BSD-3-Clause */
#include "withdraw.h"

#include "ready.h"

void withdraw(const struct pds *pds, struct sent *s)
{
	uint32_t wire_bytes = pds->conf.overhead_bytes;
	assert(s->run && sent_is_lost(s) && !sent_is_withdrawn(s));
	s->payload_len |= SENT_WITHDRAWN;
	s->wire_bytes = (uint16_t)(wire_bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : wire_bytes);
}

/* They leave like retransmissions, when the window allows. */
static void number(struct pds *pds, struct pdc_tx *p, struct tx_run *run, uint32_t offset, uint16_t bytes)
{
	uint32_t psn = p->q.nxt;
	struct sent *s = sendq_add(&p->q, WEFT_NEVER);
	s->run = run;
	s->offset = offset;
	s->payload_len = bytes;
	s->wire_bytes = (uint16_t)(pds->conf.overhead_bytes + bytes);
	s->tries = 1; /* these bytes were sent before */
	sendq_lose(&p->q, psn, CAUSE_PATH);
	run->unacked_pkts++;
}

static bool reserve(struct pds *pds, struct pdc_tx *p, uint32_t pkts)
{
	while (!p->q.ring || sendq_len(&p->q) + pkts > p->q.mask + 1)
		if (!sendq_grow(&p->q, &pds->sendq_mem)) {
			pds->stats.alloc_fail++;
			return false;
		}
	return true;
}

bool withdraw_refused(struct pds *pds, struct pdc_tx *p, uint32_t psn)
{
	const struct sent old = *sendq_at(&p->q, psn);
	uint32_t at = old.offset, end = old.offset + sent_payload_bytes(&old);
	assert(old.run && sent_is_withdrawn(&old) && end > at);
	if (!reserve(pds, p, (end - at + p->pdc.payload_bytes - 1) / p->pdc.payload_bytes))
		return false;
	for (; at < end; at += p->pdc.payload_bytes)
		number(pds, p, old.run, at,
		       (uint16_t)(end - at < p->pdc.payload_bytes ? end - at : p->pdc.payload_bytes));
	ready_add(pds, p);
	return true;
}
