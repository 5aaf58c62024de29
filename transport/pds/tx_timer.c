/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx_timer.h"

#include "rto.h"

enum { ALIVE_ASKS = 4, OUTAGE_PARTS = 8 };
#define OUTAGE_NS WEFT_MS(4) /* until then the timeouts of data are dense enough */

static weft_ns earliest(weft_ns a, weft_ns b)
{
	return a < b ? a : b;
}

weft_ns tx_close_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	if (p->state != PDC_TX_OPEN || p->pdc.is_return || !pdc_tx_is_idle(p))
		return WEFT_NEVER;
	if (pds->shutting_down || p->close_wanted)
		return p->idle_since_ns + pds->conf.rto_ns;
	return pds->conf.tune.idle_close_ns ? p->idle_since_ns + pds->conf.tune.idle_close_ns : WEFT_NEVER;
}

/* Nothing is on its way, but an answer is due: is the target still there? What comes next may wait for that answer,
 * too, behind a fence. */
weft_ns tx_ask_alive_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	if (!p->awaiting || p->probes_refused || sendq_len(&p->q) || p->state != PDC_TX_OPEN)
		return WEFT_NEVER;
	return p->last_heard_ns + pds->conf.tune.peer_timeout_ns / ALIVE_ASKS;
}

/* Nothing is in flight, and the PSN of what comes next is beyond the window: of a new packet, or of one that was
 * numbered in place of a withdrawn one, or of a control packet behind a full window. */
static bool waits_for_window(const struct pdc_tx *p)
{
	uint32_t psn = p->q.nxt;
	if (p->q.inflight.count || p->state == PDC_TX_SYN)
		return false;
	if (p->q.lost.count) {
		psn = sendq_psn(&p->q, p->q.lost.head);
		if (sendq_at(&p->q, psn)->sent_at != WEFT_NEVER)
			return false;
	} else if (!p->cutting) {
		return false;
	}
	return psn_diff(psn, p->cack_psn) > (int32_t)p->window_pkts;
}

/* The target's CACK has moved since its last ACK, or its responses are not cleared because our CLEAR_CMD was lost. No
 * ACK would come by itself. */
weft_ns tx_ask_window_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	return waits_for_window(p) ? p->window_asked_ns + pds->conf.rto_ns : WEFT_NEVER;
}

bool tx_is_out(const struct pdc_tx *p)
{
	return p->rto_backoff && !p->outage_ended && p->backoff_at_ns >= p->last_heard_ns + OUTAGE_NS &&
	       p->state == PDC_TX_OPEN && !p->probes_refused;
}

/* While nothing is heard, probes ask again much sooner than data is repeated: an outage is over an eighth of its length
 * after its end. */
weft_ns tx_probe_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	weft_ns wait = pds->conf.rto_ns;
	if (p->probe_sent_ns == WEFT_NEVER)
		return WEFT_NEVER;
	if (!tx_is_out(p))
		return p->probe_sent_ns + wait;
	weft_ns part = p->probe_sent_ns > p->last_heard_ns ? (p->probe_sent_ns - p->last_heard_ns) / OUTAGE_PARTS : 0;
	wait = wait > OUTAGE_NS ? wait : OUTAGE_NS;
	return p->probe_sent_ns + (wait > part ? wait : part);
}

bool tx_searches(const struct pds *pds, const struct pdc_tx *p)
{
	return p->rto_backoff >= SEARCH_BACKOFFS && pds->conf.tune.timeout_probes && p->state == PDC_TX_OPEN &&
	       !p->probes_refused;
}

weft_ns tx_search_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	return tx_searches(pds, p) ? p->ev_probe_at_ns : WEFT_NEVER;
}

/* Data that was never sent, for want of credit or because the port takes nothing, does not wait for ever either; nor do
 * answers of a target that can't be asked. */
weft_ns tx_silence_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	return sendq_len(&p->q) || p->cutting || (p->awaiting && p->probes_refused)
		       ? p->last_heard_ns + pds->conf.tune.peer_timeout_ns
		       : WEFT_NEVER;
}

static weft_ns deadline(const struct pds *pds, const struct pdc_tx *p, weft_ns now)
{
	weft_ns at = rto_deadline(pds, p);
	if (p->hold_until_ns > now)
		at = earliest(at, p->hold_until_ns);
	if (p->pace_at_ns > now && (p->cutting || p->q.lost.count))
		at = earliest(at, p->pace_at_ns);
	at = earliest(at, p->credit.ask_at_ns);
	at = earliest(at, tx_probe_deadline(pds, p));
	at = earliest(at, tx_search_deadline(pds, p));
	weft_ns silent_at = tx_silence_deadline(pds, p);
	at = earliest(at, silent_at > pds->timers.grace_ns ? silent_at : pds->timers.grace_ns);
	at = earliest(at, tx_ask_alive_deadline(pds, p));
	at = earliest(at, tx_ask_window_deadline(pds, p));
	return earliest(at, tx_close_deadline(pds, p));
}

void tx_timer_arm_at(struct pds *pds, struct pdc_tx *p, weft_ns at)
{
	assert(p->pdc.id && !p->pdc.is_rx);
	if (at < p->pdc.timer.at)
		wheel_set(&pds->timers.wheel, &p->pdc.timer, at);
}

void tx_timer_arm(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	tx_timer_arm_at(pds, p, deadline(pds, p, now));
}
