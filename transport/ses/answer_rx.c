/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that arrive for requests of ours, over the peer's own connection. */
#include <string.h>

#include "rma.h"
#include "rma_token.h"
#include "rx_msg.h"
#include "tx_done.h"

/* The request this is about; NULL: it has ended, or never was. */
static struct tx_msg *asker(const struct ses *ses, const struct pdc_rx *p, const struct wire_rsp_data *h)
{
	struct tx_msg *m = rma_token_find(ses, wire_rsp_job_id((const struct wire_rsp *)h), RMA_JOB_ID);
	bool ours = m && m->rma->role == RMA_ASK && m->message_id &&
		    m->message_id == wire_rsp_data_read_message_id(h) && weft_ip_eq(&m->rma->pdc->ip, &p->ip);
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

static bool take(struct tx_msg *m, const struct wire_view *v, const uint8_t *payload)
{
	struct tx_rma *r = m->rma;
	uint64_t offset = wire_rsp_data_message_offset(v->rsp_data), len = v->payload_bytes;
	if (wire_rsp_return_code(v->rsp) != WIRE_RC_OK) {
		m->err = rma_errno(wire_rsp_return_code(v->rsp));
		r->answered = true;
		return true;
	}
	if (offset + len > r->answer_bytes || len > r->answer_bytes - r->answered_bytes || (!len && r->answer_bytes))
		return false;
	place(r, (uint32_t)offset, payload, (uint32_t)len, wire_hdr_retx(v->hdr));
	r->answered_bytes += (uint32_t)len;
	r->answered = r->answered_bytes == r->answer_bytes;
	return true;
}

void answer_rx(struct ses *ses, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload)
{
	struct tx_msg *m = asker(ses, p, v->rsp_data);
	if (!m || !take(m, v, payload)) {
		ses->stats->rma_stale++;
		return;
	}
	struct pdc_tx *tx = m->rma->pdc;
	if (!m->rma->answered || m->run.unacked_pkts || !m->run.cut)
		return;
	tx_done_complete(ses, tx, m);
	pdc_tx_settle(ses->pds, tx, ses->polled_ns);
}
