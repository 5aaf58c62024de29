/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of requests on our memory. Large writes are placed as their packets come; everything else is
 * executed as a whole in its turn, when all earlier messages of the connection are here and all earlier requests have
 * been executed. Each packet is checked against the region as it is then. */
#include <string.h>

#include "rma.h"
#include "rma_token.h"
#include "rx_msg.h"

bool rma_is_request(uint8_t opcode)
{
	return opcode == WIRE_OP_WRITE || opcode == WIRE_OP_READ || rma_is_atomic(opcode);
}

static uint8_t check_fetch(const struct ses *ses, const struct weft_ip *from, const struct wire_ses *h)
{
	const struct tx_msg *m = rma_announced(ses, from, h->match);
	if (!m)
		return WIRE_RC_BAD_MKEY;
	uint32_t length = m->rma->length;
	bool fits = h->buffer_offset <= length && h->request_length <= length - h->buffer_offset;
	return fits ? WIRE_RC_OK : WIRE_RC_AT_OUT_OF_RANGE;
}

uint8_t rma_rx_sane(const struct wire_pkt *w)
{
	uint8_t rc = rma_is_atomic(w->ses.opcode) ? rma_amo_check(w) : WIRE_RC_OK;
	return w->ses.opcode == WIRE_OP_READ && w->payload_bytes ? WIRE_RC_INITIATOR_ERROR : rc;
}

/* Bytes of memory that a request is about. */
static uint32_t length_of(const struct wire_ses *h)
{
	return rma_is_atomic(h->opcode) ? rma_amo_length(h) : h->request_length;
}

uint8_t rma_rx_check(struct ses *ses, const struct weft_ep *ep, const struct weft_ip *from, const struct wire_ses *h)
{
	uint8_t rc = WIRE_RC_UNDELIVERABLE;
	if (h->opcode == WIRE_OP_READ && h->ri_generation == RMA_GEN_MESSAGE)
		rc = check_fetch(ses, from, h);
	else if (ep)
		mr_check(&ses->mrs, ep->scope, h->match, (struct mr_range){h->buffer_offset, length_of(h)},
			 rma_access(h->opcode, &(struct amo_request){.opcode = h->amo_opcode}), &rc);
	ses->stats->rma_refused += rc != WIRE_RC_OK;
	return rc;
}

static uint64_t serial_of(const struct ses *ses, const struct weft_ep *ep, const struct wire_ses *h)
{
	uint8_t rc;
	const struct weft_mr *mr =
		ep ? mr_check(&ses->mrs, ep->scope, h->match, (struct mr_range){h->buffer_offset, length_of(h)}, 0, &rc)
		   : NULL;
	return mr ? mr->serial : 0;
}

bool rma_rx_attach(struct ses *ses, struct rx_msg *m, const struct wire_pkt *w)
{
	const struct wire_ses *h = &w->ses;
	struct rx_rma *r = m->rma = pool_get(&ses->rx_rmas);
	if (!r)
		return false;
	*r = (struct rx_rma){.opcode = h->opcode,
			     .generation = h->ri_generation,
			     .raddr = h->buffer_offset,
			     .key = h->match,
			     .length = length_of(h),
			     .job_id = h->job_id};
	if (!rma_is_request(h->opcode)) {
		r->announced = true;
		r->announcer = (uint16_t)(h->rndv_pid_on_fep << 4 | (h->rndv_resource_index & 15));
		r->generation = h->rndv_ri_generation;
		r->raddr = h->rndv_offset;
		r->key = h->rndv_match;
		return true;
	}
	r->serial = serial_of(ses, m->ep, h);
	r->ordered = h->opcode != WIRE_OP_WRITE || r->length <= WEFT_RMA_ORDERED_BYTES;
	m->bytes = h->opcode == WIRE_OP_READ ? 0 : r->length;
	if (!rma_is_atomic(h->opcode))
		return true;
	rma_amo_take(&r->amo, h);
	m->bytes = w->payload_bytes;
	return true;
}

/* ---- packets ---- */

static int place(struct ses *ses, struct rx_msg *m, const struct mr_range *at, const uint8_t *payload)
{
	uint8_t rc;
	struct weft_mr *mr = rma_region(ses, m, *at, &rc);
	if (!mr)
		return rc;
	if (!rma_event_reserve(ses, m, mr))
		return PDS_NO_MEM;
	mr_store(mr, at->raddr, payload, at->bytes);
	return PDS_TAKEN;
}

static int keep(struct ses *ses, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	if (!len || !payload)
		return PDS_TAKEN;
	if (!m->bounce && !rx_msg_bounce(ses, m))
		return PDS_NO_MEM;
	memcpy(m->bounce + offset, payload, len);
	return PDS_TAKEN;
}

int rma_rx_packet(struct ses *ses, struct rx_msg *m, const struct wire_pkt *w, const uint8_t *payload, bool turn)
{
	struct rx_rma *r = m->rma;
	bool som = w->ses.flags & WIRE_SES_SOM;
	uint32_t offset = som ? 0 : w->ses.message_offset, len = w->payload_bytes;
	int rc = PDS_TAKEN;
	if (som && w->ses.flags & WIRE_SES_HD) {
		m->has_data = true;
		m->data = w->ses.header_data;
	}
	if (!r->ordered)
		rc = place(ses, m, &(struct mr_range){r->raddr + offset, len}, payload);
	else if (turn && len == m->bytes && rma_rx_execute(ses, m, payload))
		r->done = true;
	else
		rc = keep(ses, m, offset, payload, len);
	if (!rc)
		m->received_bytes += len;
	return rc;
}
