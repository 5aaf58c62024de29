/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that arrive for requests of ours, in the return direction of the connection. */
#include <string.h>

#include "rma.h"
#include "rx_msg.h"
#include "tx_done.h"

/* The request this is about; NULL: it has ended, or never was. Answers come about in the order of requests, so it is
 * one of the oldest. */
static struct tx_msg *asker(const struct pdc_tx *p, uint16_t message_id)
{
	list_for_each (l, &p->runs) {
		struct tx_msg *m = tx_msg_at(l);
		if (!m->message_id)
			break;
		if (m->message_id == message_id && m->rma && m->rma->role == RMA_ASK)
			return m->err || m->rma->answered ? NULL : m;
	}
	return NULL;
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
	assert(r->answered_bytes <= r->answer_bytes);
	r->answered = r->answered_bytes == r->answer_bytes;
	return true;
}

void answer_rx_in_ack(void *arg, struct tx_run *run, const struct wire_view *v, const uint8_t *payload)
{
	struct ses *ses = arg;
	struct tx_msg *m = tx_msg_of(run);
	bool awaited = m->rma && m->rma->role == RMA_ASK && !m->err && !m->rma->answered;
	if (!awaited || m->message_id != wire_rsp_data_read_message_id(v->rsp_data) || !take(m, v, payload))
		ses->stats->rma_stale++;
}

void answer_rx(struct ses *ses, struct pdc_rx *p, const struct wire_view *v, const uint8_t *payload)
{
	assert(p->pdc.is_return && p->other);
	struct pdc_tx *tx = p->other;
	struct tx_msg *m = asker(tx, wire_rsp_data_read_message_id(v->rsp_data));
	if (!m || !take(m, v, payload)) {
		ses->stats->rma_stale++;
		return;
	}
	if (m->err && !m->run.cut)
		pdc_tx_abandon(ses->pds, tx, &m->run);
	if (!m->rma->answered || m->run.unacked_pkts || !m->run.cut)
		return;
	tx_done_complete(ses, tx, m);
	pdc_tx_settle(ses->pds, tx, ses->polled_ns);
}
