/* SPDX-License-Identifier: BSD-3-Clause */
#include "ev_probe.h"

#include "ctl_tx.h"
#include "loss.h"
#include "ready.h"

enum { BACKOFF_MIN = 2 }; /* one timeout may be of packets that were all on one dead path */

/* Any of those in use: the load balancer's own choice is among entropies that were good. */
static uint16_t draw(struct pds *pds, const struct pdc_tx *p)
{
	return (uint16_t)((rng_next(&pds->rng) >> 32) * p->lb.params->evs_size >> 32);
}

void ev_probe_start(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (p->rto_backoff < BACKOFF_MIN || p->state != PDC_TX_OPEN || p->probes_refused)
		return;
	assert(p->backoff_at_ns == now);
	for (uint32_t i = 0; i < pds->conf.tune.timeout_probes && pds_has_room(pds); i++) {
		ctl_send_by(pds, p, EV_OPAQUE, draw(pds, p), now);
		pds->stats.ev_probes++;
	}
}

/* The next packet that timed out, and was sent before the probes, goes by a path that is known to work. */
void ev_probe_answered(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.ev_answers++;
	lb_feedback(pds, p, wire_view_entropy(v), WEFT_LB_OK, now);
	if (!p->q.inflight.count)
		return;
	uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
	const struct sent *s = sendq_at(&p->q, psn);
	if (!s->timed_out || s->sent_at > p->backoff_at_ns)
		return;
	loss_resend(pds, p, psn, CAUSE_RTO);
	ready_add(pds, p);
}
