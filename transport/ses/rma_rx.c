/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of requests on our memory. Large writes are placed as their packets come; everything else is
 * executed as a whole in its turn, when all earlier messages of the connection are here and all earlier requests have
 * been executed. Each packet is checked against the region as it is then. */
#include <string.h>

#include "likely.h"
#include "rma.h"
#include "rma_token.h"
#include "rx_msg.h"

bool rma_is_request(uint8_t opcode)
{
	return opcode == WIRE_OP_WRITE || opcode == WIRE_OP_READ || rma_is_atomic(opcode);
}

static uint8_t check_fetch(const struct ses *ses, const struct weft_ip *from, const struct wire_std *h)
{
	const struct tx_msg *m = rma_announced(ses, from, wire_std_match(h));
	if (!m)
		return WIRE_RC_BAD_MKEY;
	uint32_t length = m->rma->length;
	bool fits =
		wire_std_buffer_offset(h) <= length && wire_std_request_length(h) <= length - wire_std_buffer_offset(h);
	return fits ? WIRE_RC_OK : WIRE_RC_AT_OUT_OF_RANGE;
}

uint8_t rma_rx_sane(const struct wire_view *v)
{
	uint8_t rc = rma_is_atomic(wire_req_opcode(v->req)) ? rma_amo_check(v) : WIRE_RC_OK;
	return wire_req_opcode(v->req) == WIRE_OP_READ && v->payload_bytes ? WIRE_RC_INITIATOR_ERROR : rc;
}

/* Bytes of memory that a request is about. */
static uint32_t length_of(const struct wire_std *h)
{
	return rma_is_atomic(wire_req_opcode(&h->req)) ? rma_amo_length(h) : wire_std_request_length(h);
}

/* enum weft_mr_access that a request needs. */
static uint8_t access_of(const struct wire_std *h)
{
	uint8_t opcode = wire_req_opcode(&h->req);
	struct amo_request amo = {.opcode = rma_is_atomic(opcode) ? wire_amo_opcode(wire_amo_of(h)) : 0};
	return rma_access(opcode, &amo);
}

uint8_t rma_rx_check(struct ses *ses, const struct weft_ep *ep, const struct weft_ip *from, const struct wire_std *h)
{
	uint8_t rc = WIRE_RC_UNDELIVERABLE;
	if (wire_req_opcode(&h->req) == WIRE_OP_READ && wire_req_ri_generation(&h->req) == RMA_GEN_MESSAGE)
		rc = check_fetch(ses, from, h);
	else if (ep)
		mr_check(&ses->mrs, ep->scope, wire_std_match(h),
			 (struct mr_range){wire_std_buffer_offset(h), length_of(h)}, access_of(h), &rc);
	ses->stats->rma_refused += rc != WIRE_RC_OK;
	return rc;
}

static uint64_t serial_of(const struct ses *ses, const struct weft_ep *ep, const struct wire_std *h)
{
	uint8_t rc;
	const struct weft_mr *mr = ep ? mr_check(&ses->mrs, ep->scope, wire_std_match(h),
						 (struct mr_range){wire_std_buffer_offset(h), length_of(h)}, 0, &rc)
				      : NULL;
	return mr ? mr->serial : 0;
}

bool rma_rx_attach(struct ses *ses, struct rx_msg *m, const struct wire_view *v)
{
	const struct wire_std *h = v->std;
	struct rx_rma *r = m->rma = pool_get(&ses->rx_rmas);
	if (!r)
		return false;
	*r = (struct rx_rma){.opcode = wire_req_opcode(&h->req),
			     .generation = wire_req_ri_generation(&h->req),
			     .raddr = wire_std_buffer_offset(h),
			     .key = wire_std_match(h),
			     .length = length_of(h),
			     .job_id = wire_req_job_id(&h->req)};
	list_init(&r->answers);
	if (!rma_is_request(wire_req_opcode(&h->req))) {
		const struct wire_rndv *n = wire_rndv_of(h);
		r->announced = true;
		r->pdc_id = m->pdc->pdc.id;
		r->pdc_psn = m->pdc->start_psn;
		r->announcer = (uint16_t)(wire_rndv_pid_on_fep(n) << 4 | (wire_rndv_resource_index(n) & 15));
		r->generation = wire_rndv_ri_generation(n);
		r->raddr = wire_rndv_offset(n);
		r->key = wire_rndv_match(n);
		return true;
	}
	r->serial = serial_of(ses, m->ep, h);
	r->ordered = wire_req_opcode(&h->req) != WIRE_OP_WRITE || r->length <= WEFT_RMA_ORDERED_BYTES;
	m->bytes = r->length;
	if (!rma_is_atomic(wire_req_opcode(&h->req)))
		return true;
	rma_amo_take(&r->amo, h);
	m->bytes = v->payload_bytes;
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
	rc = mr_store(mr, at->raddr, payload, at->bytes);
	return rc == WIRE_RC_OK ? PDS_TAKEN : rc;
}

static int keep(struct ses *ses, struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	if (!len || !payload)
		return PDS_TAKEN;
	if (!bounce_reserve(ses, m, offset, len))
		return PDS_NO_MEM;
	bounce_store(m, offset, payload, len);
	return PDS_TAKEN;
}

int rma_rx_packet(struct ses *ses, struct rx_msg *m, const struct wire_view *v, const uint8_t *payload, bool turn)
{
	struct rx_rma *r = m->rma;
	bool som = wire_req_som(v->req);
	uint32_t offset = som ? 0 : wire_std_message_offset(v->std), len = v->payload_bytes;
	int rc = PDS_TAKEN;
	if (som && wire_req_hd(v->req)) {
		m->has_data = true;
		m->data = wire_std_header_data(v->std);
	}
	if (r->opcode == WIRE_OP_READ)
		return rma_read_packet(ses, m, v, turn);
	if (!r->ordered)
		rc = place(ses, m, &(struct mr_range){r->raddr + offset, len}, payload);
	else if (turn && len == m->bytes && (rma_fetch_in_ack(ses, m, v, payload) || rma_rx_execute(ses, m, payload)))
		r->done = true;
	else
		rc = keep(ses, m, offset, payload, len);
	if (unlikely(r->broke))
		rc = WIRE_RC_HOST_UNSUCCESS_CMPL;
	if (!rc)
		m->received_bytes += len;
	return rc;
}
