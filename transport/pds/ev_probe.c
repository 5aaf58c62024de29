/* SPDX-License-Identifier: BSD-3-Clause */
#include "ev_probe.h"

#include "ctl_tx.h"
#include "loss.h"
#include "ready.h"
#include "tx_timer.h"

enum {
	ROUNDS_PER_RTO = 32, /* at most */
	SEARCH_PARTS = 128,  /* each interval between rounds is longer than the last by such a part */
	PAUSE_SEARCHES = 8,  /* a search goes on with the last one if it begins within so many times its length */
};

/* Any of those in use: the load balancer's own choice is among entropies that were good. */
static uint16_t draw(struct pds *pds, const struct pdc_tx *p)
{
	return (uint16_t)((rng_next(&pds->rng) >> 32) * p->lb.params->evs_size >> 32);
}

static weft_ns first_interval(const struct pds *pds)
{
	weft_ns interval = pds->conf.rto_ns / ROUNDS_PER_RTO;
	return interval > SEARCH_PARTS ? interval : SEARCH_PARTS;
}

static void set_next(const struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	weft_ns shortest = first_interval(pds), last = p->ev_interval_ns, interval = last + last / SEARCH_PARTS;
	interval = interval < pds->conf.tune.rto_max_ns ? interval : pds->conf.tune.rto_max_ns;
	interval = interval > shortest ? interval : shortest;
	p->ev_interval_ns = interval < UINT32_MAX ? (uint32_t)interval : UINT32_MAX;
	p->ev_probe_at_ns = now + p->ev_interval_ns;
}

/* Where timeouts come again and again, e.g. because the balancer learns nothing from answers, rounds stay rare. Since
 * intervals grow with it, a search has lasted for at most SEARCH_PARTS of its last interval. */
static bool begins_anew(const struct pdc_tx *p, weft_ns now)
{
	return now >= p->ev_probe_at_ns + (weft_ns)p->ev_interval_ns * SEARCH_PARTS * PAUSE_SEARCHES;
}

static void probe(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	for (uint32_t i = 0; i < pds->conf.tune.timeout_probes && pds_has_room(pds); i++) {
		ctl_send_by(pds, p, EV_OPAQUE, draw(pds, p), now);
		pds->stats.ev_probes++;
	}
	set_next(pds, p, now);
}

void ev_probe_timeout(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (!tx_searches(pds, p))
		return;
	assert(p->backoff_at_ns == now);
	if (begins_anew(p, now))
		p->ev_interval_ns = 0;
	probe(pds, p, now);
}

void ev_probe_expire(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	if (now < pds->timers.ev_probes_ns) {
		set_next(pds, p, now);
		return;
	}
	pds->timers.ev_probes_ns = now + first_interval(pds);
	probe(pds, p, now);
}

/* Whether it was sent before the last round of probes, and not again since the last timeout: that sends it behind the
 * timeout's own round. Sent more often, it would not time out, and a balancer that goes by timeouts alone would keep a
 * dead path. */
static bool may_resend(const struct pds *pds, const struct pdc_tx *p, const struct sent *s)
{
	return s->timed_out && s->sent_at <= p->ev_probe_at_ns - p->ev_interval_ns &&
	       s->sent_at < p->backoff_at_ns + first_interval(pds);
}

/* The next packet that timed out goes by a path that is known to work. */
void ev_probe_answered(struct pds *pds, struct pdc_tx *p, const struct wire_view *v, weft_ns now)
{
	pds->stats.ev_answers++;
	lb_feedback(pds, p, wire_view_entropy(v), WEFT_LB_OK, now);
	if (!p->q.inflight.count)
		return;
	uint32_t psn = sendq_psn(&p->q, p->q.inflight.head);
	if (!may_resend(pds, p, sendq_at(&p->q, psn)))
		return;
	loss_resend(pds, p, psn, CAUSE_RTO);
	ready_add(pds, p);
}
