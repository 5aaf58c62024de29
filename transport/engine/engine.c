/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop. */
#include "engine_state.h"

static weft_ns __attribute__((noinline))
work(struct weft_engine *e, struct weft_pkt **pkts, uint16_t received, weft_ns now)
{
	struct pds *pds = &e->pds;
	struct ses *ses = &e->ses;
	pds->out.short_of_pkts = ses->short_of_mem = false;
	ses->polled_ns = now;
	pds_note_lateness(pds, e->due_ns, now);
	engine_rx(e, pkts, received, now);
	pds_poll_timers(pds, now);
	if (ses->fetch_later || !list_empty(&ses->stuck))
		ses_poll_retry(ses);
	ses_poll_submissions(ses, now);
	if (ses->rudi.due_ns <= now)
		ses_poll_idempotent(ses, now);
	pds_poll_acks(pds, now);
	pds_poll_tx(pds, now);
	ses_poll_sent(ses);
	ses->kicked = false;
	bool again = received == ENGINE_BURST || ses->more_submissions;
	weft_ns due_ns = again ? now : pds_next(pds, ses->short_of_mem, now);
	due_ns = ses->rudi.due_ns < due_ns ? ses->rudi.due_ns : due_ns;
	e->due_ns = due_ns > now ? due_ns : now;
	return e->due_ns;
}

/* Nothing arrived, nothing is due and nobody wants anything: what the last poll found still holds. */
weft_ns weft_engine_poll(struct weft_engine *e, weft_ns now)
{
	struct weft_pkt *pkts[ENGINE_BURST];
	struct weft_port *port = e->pds.out.port;
	uint16_t received = port->ops->rx(port, pkts, ENGINE_BURST);
	assert(received <= ENGINE_BURST);
	if (!received && now < e->due_ns && !ses_wants_poll(&e->ses))
		return e->due_ns;
	return work(e, pkts, received, now);
}

weft_ns weft_engine_xmit(struct weft_engine *e, weft_ns now)
{
	return work(e, NULL, 0, now);
}

void weft_engine_shutdown(struct weft_engine *e, weft_ns now)
{
	e->ses.shutting_down = true;
	e->due_ns = now;
	pds_shutdown(&e->pds, now);
}
