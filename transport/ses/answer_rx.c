/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that arrive for requests of ours, over the peer's own connection. */
#include <string.h>

#include "rma.h"
#include "rma_token.h"
#include "rx_msg.h"
#include "tx_done.h"

/* The request this is about; NULL: it has ended, or never was. */
static struct tx_msg *asker(const struct ses *ses, const struct pdc_rx *p, const struct wire_ses *h)
{
	struct tx_msg *m = rma_token_find(ses, h->job_id, RMA_JOB_ID);
	bool ours = m && m->rma->role == RMA_ASK && m->message_id && m->message_id == h->read_message_id &&
		    weft_ip_eq(&m->rma->pdc->ip, &p->ip);
	return ours && !m->err && !m->rma->answered ? m : NULL;
}

static void place(const struct tx_rma *r, uint32_t offset, const uint8_t *payload, uint32_t len, bool retx)
{
	if (r->fetch)
		rx_msg_place_fetched(r->fetch, offset, payload, len, retx);
	else if (r->sink)
		r->sink(r->sink_arg, offset, payload, len, retx);
	else if (r->buf && payload && len)
		memcpy((uint8_t *)r->buf + offset, payload, len);
}

static bool take(struct tx_msg *m, const struct wire_pkt *w, const uint8_t *payload)
{
	struct tx_rma *r = m->rma;
	uint64_t offset = w->ses.message_offset, len = w->payload_bytes;
	if (w->ses.return_code != WIRE_RC_OK) {
		m->err = rma_errno(w->ses.return_code);
		r->answered = true;
		return true;
	}
	if (offset + len > r->answer_bytes || len > r->answer_bytes - r->answered_bytes || (!len && r->answer_bytes))
		return false;
	place(r, (uint32_t)offset, payload, (uint32_t)len, w->pds.flags & WIRE_F_RETX);
	r->answered_bytes += (uint32_t)len;
	r->answered = r->answered_bytes == r->answer_bytes;
	return true;
}

void answer_rx(struct ses *ses, struct pdc_rx *p, const struct wire_pkt *w, const uint8_t *payload)
{
	struct tx_msg *m = asker(ses, p, &w->ses);
	if (!m || !take(m, w, payload)) {
		ses->stats->rma_stale++;
		return;
	}
	struct pdc_tx *tx = m->rma->pdc;
	if (!m->rma->answered || m->run.unacked_pkts || !m->run.cut)
		return;
	tx_done_complete(ses, tx, m);
	pdc_tx_settle(ses->pds, tx, ses->now_ns);
}
