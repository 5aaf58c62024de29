/* SPDX-License-Identifier: BSD-3-Clause */
/* READ at its target (UE 1.0 sec. 3.4): a message of packets that each ask for a part, in any order, and get an answer
 * of their own; the turn of the message comes before any of them is answered. All packets but the last ask for equally
 * much, which only those behind the first say, so the first may have to wait for one of them. */
#include "completion.h"
#include "endpoint.h"
#include "rma.h"
#include "rma_token.h"
#include "tx_msg.h"

/* A part of the message. */
struct part {
	uint32_t at, bytes;
};

static bool is_fetch(const struct rx_rma *r)
{
	return r->generation == RMA_GEN_MESSAGE;
}

/* ---- what a packet asks for ---- */

/* Bytes that the first packet, with this PSN, asks for, if others have told; else 0. The last tells when it is the
 * second: packets of a message are sent one after the other. */
static uint32_t first_bytes(const struct rx_rma *r, uint32_t psn)
{
	if (r->piece_bytes)
		return r->piece_bytes;
	return r->has_last && r->last_psn == psn + 1 ? r->last_at : 0;
}

static void note_other(struct rx_rma *r, const struct wire_view *v, struct part part)
{
	if (!wire_req_eom(v->req)) {
		r->piece_bytes = part.bytes;
		return;
	}
	r->has_last = true;
	r->last_at = part.at;
	r->last_psn = wire_hdr_psn(v->hdr);
}

/* A message that fits the smallest Payload MTU has one packet, whatever EOM says: the reference provider forgets it. */
static bool asks_for_all(const struct ses *ses, const struct rx_msg *m, const struct wire_view *v)
{
	uint32_t least = ses->pds->conf.tune.payload_bytes < PATH_BASE_BYTES ? ses->pds->conf.tune.payload_bytes
									     : PATH_BASE_BYTES;
	return wire_req_eom(v->req) || m->bytes <= least;
}

/* ---- answers ---- */

/* Small answers are what the memory holds now (they are ordered with later writes); of large ones each packet holds
 * what was there when it was sent. */
static uint64_t copy_bytes(struct ses *ses, const struct rx_msg *m, struct part part)
{
	const struct rx_rma *r = m->rma;
	uint8_t rc;
	if (is_fetch(r))
		return 0;
	if (r->length <= WEFT_RMA_ORDERED_BYTES)
		return part.bytes;
	const struct mr_range range = {r->raddr + part.at, part.bytes};
	const struct weft_mr *mr = rma_region(ses, m, range, &rc);
	return mr && !mr_at(mr, range) ? part.bytes : 0;
}

static bool wants_event(struct ses *ses, const struct rx_msg *m)
{
	const struct rx_rma *r = m->rma;
	uint8_t rc;
	return !is_fetch(r) && m->ep &&
	       rma_wants_event(m, rma_region(ses, m, (struct mr_range){r->raddr, r->length}, &rc));
}

/* It will be sent in the turn of the message. `ends`: it is the last. NULL: no memory. */
static struct tx_msg *prepare(struct ses *ses, const struct rx_msg *m, struct part part, bool ends)
{
	struct tx_msg *a = rma_answer_new(ses, m, copy_bytes(ses, m, part));
	if (!a)
		return NULL;
	assert((uint64_t)part.at + part.bytes <= m->bytes);
	a->rma->at = part.at;
	a->run.bytes = part.bytes;
	if (!ends || !wants_event(ses, m))
		return a;
	a->rma->event = cqe_reserve(ses);
	if (a->rma->event)
		return a;
	rma_answer_drop(ses, a);
	return NULL;
}

static void refuse(struct tx_msg *a, uint8_t rc)
{
	a->rma->rc = rc;
	a->run.bytes = 0;
}

static void send_memory(struct ses *ses, const struct rx_msg *m, struct tx_msg *a)
{
	const struct mr_range range = {m->rma->raddr + a->rma->at, a->run.bytes};
	uint8_t rc;
	struct weft_mr *mr = rma_region(ses, m, range, &rc);
	if (!mr) {
		refuse(a, rc);
		return;
	}
	a->run.buf = a->copy ? a->copy : mr_at(mr, range);
	rc = a->copy ? mr_load(mr, range.raddr, a->copy, range.bytes) : WIRE_RC_OK;
	if (rc != WIRE_RC_OK) {
		refuse(a, rc);
		return;
	}
	if (!a->copy && a->run.bytes)
		a->rma->mr = mr;
	a->rma->cqe = rma_event(m, WEFT_OP_REMOTE_READ, m->rma->length, mr);
}

static void send_message(struct ses *ses, const struct rx_msg *m, struct tx_msg *a)
{
	struct tx_msg *announced = rma_announced(ses, &m->pdc->ip, m->rma->key);
	if (!announced) {
		refuse(a, WIRE_RC_BAD_MKEY);
		return;
	}
	a->run.buf = announced->run.buf ? announced->run.buf + m->rma->raddr : NULL;
	assert(!announced->rma->mate && announced->rma->role == RMA_ANNOUNCE);
	a->rma->mate = announced;
	announced->rma->mate = a;
}

void rma_read_turn(struct ses *ses, struct rx_msg *m)
{
	list_for_each_safe (l, &m->rma->answers) {
		struct tx_msg *a = tx_msg_at(l);
		list_del(l);
		if (is_fetch(m->rma))
			send_message(ses, m, a);
		else
			send_memory(ses, m, a);
		rma_answer_queue(ses, m, a);
	}
}

/* ---- packets ---- */

/* The parts are answered in this order. */
static int take_parts(struct ses *ses, struct rx_msg *m, const struct part *parts, int n)
{
	struct tx_msg *answers[2];
	uint32_t asked = m->received_bytes;
	assert(n <= 2);
	for (int i = 0; i < n; i++) {
		asked += parts[i].bytes;
		answers[i] = prepare(ses, m, parts[i], asked == m->bytes);
		if (answers[i])
			continue;
		while (i-- > 0)
			rma_answer_drop(ses, answers[i]);
		return PDS_NO_MEM;
	}
	for (int i = 0; i < n; i++)
		list_add_tail(&m->rma->answers, &answers[i]->run.link);
	ses->stats->rma_read += asked == m->bytes && !is_fetch(m->rma);
	assert(asked <= m->bytes);
	m->received_bytes = asked;
	return PDS_TAKEN;
}

/* A message of few bytes whose turn has come is answered by the acknowledgement of its only packet (Max_ACK_Data_Size).
 * False: it is not, and nothing has been done. */
static bool answer_in_ack(struct ses *ses, struct rx_msg *m, const struct wire_view *v)
{
	const struct mr_range range = {m->rma->raddr, m->bytes};
	uint8_t rc;
	if (!m->bytes || m->bytes > RXWIN_DATA_MAX || is_fetch(m->rma) || m->received_bytes)
		return false;
	struct weft_mr *mr = rma_region(ses, m, range, &rc);
	bool may = mr && !mr->attr.move && !rma_wants_event(m, mr); /* a copy that fails is told by an answer */
	uint8_t *data = may ? pdc_rx_keep_data(ses->pds, m->pdc, v, m->bytes) : NULL;
	if (!data)
		return false;
	mr_load(mr, range.raddr, data, range.bytes);
	m->received_bytes = m->bytes;
	ses->stats->rma_read++;
	return true;
}

static int take_first(struct ses *ses, struct rx_msg *m, const struct wire_view *v)
{
	uint32_t left = m->bytes - m->received_bytes;
	uint32_t bytes = asks_for_all(ses, m, v) ? m->bytes : first_bytes(m->rma, wire_hdr_psn(v->hdr));
	if (m->rma->first_waits || bytes > left || (m->bytes && !left))
		return WIRE_RC_INITIATOR_ERROR;
	if (!bytes && m->bytes) {
		m->rma->first_waits = true;
		m->rma->first_psn = wire_hdr_psn(v->hdr);
		return PDS_TAKEN;
	}
	return take_parts(ses, m, &(struct part){0, bytes}, 1);
}

static int take_other(struct ses *ses, struct rx_msg *m, const struct wire_view *v)
{
	struct rx_rma *r = m->rma;
	const struct part part = {wire_std_message_offset(v->std), wire_std_payload_length(v->std)};
	if (!part.at || !part.bytes || part.bytes > m->bytes - m->received_bytes)
		return WIRE_RC_INITIATOR_ERROR;
	note_other(r, v, part);
	uint32_t first = r->first_waits ? first_bytes(r, r->first_psn) : 0;
	const struct part parts[2] = {{0, first}, part};
	if (first > m->bytes - m->received_bytes - part.bytes)
		return WIRE_RC_INITIATOR_ERROR;
	int rc = take_parts(ses, m, first ? parts : &parts[1], first ? 2 : 1);
	if (!rc && first)
		r->first_waits = false;
	return rc;
}

int rma_read_packet(struct ses *ses, struct rx_msg *m, const struct wire_view *v, bool turn)
{
	bool som = wire_req_som(v->req);
	if (is_fetch(m->rma) && !(som && wire_req_eom(v->req)))
		return WIRE_RC_UNSUPPORTED_SIZE;
	if (som && turn && asks_for_all(ses, m, v) && answer_in_ack(ses, m, v))
		return PDS_TAKEN;
	int rc = som ? take_first(ses, m, v) : take_other(ses, m, v);
	if (!rc && turn)
		rma_read_turn(ses, m);
	return rc;
}
