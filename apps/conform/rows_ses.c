/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows about messages and how they are refused. */
#include "conform_rows.h"

enum { BYTES = 64, UNUSED_INDEX = 0x0ff, UNUSED_PID = 0xffe, INDEX_BITS = 12 };

/* A connection with one request. */
struct asked {
	struct conform_pdc pdc;
	struct uet_pkt pkt;
};

static struct asked single(struct conform_peer *p, enum uet_op op, uint32_t bytes)
{
	struct asked a;

	conform_open(p, &a.pdc, UET_RUD_REQ);
	a.pkt = conform_request(p, &a.pdc, op, bytes);
	return a;
}

static enum conform_result finish(struct conform_peer *p, struct asked *a, uint32_t rc)
{
	return conform_done(p, &a->pdc, conform_asked(p, &a->pdc, &a->pkt, rc));
}

/* A request that is refused with one of two codes. */
static enum conform_result refused(struct conform_peer *p, struct asked *a, uint32_t rc, uint32_t other)
{
	if (!conform_ask(p, &a->pdc, &a->pkt))
		return CONFORM_SILENT;
	uint32_t got = (uint32_t)p->got.pkt.f[UET_RETURN_CODE];
	enum conform_result result =
		conform_judge_ack(p, &a->pdc, &a->pkt, got == other ? other : rc, (uint32_t)a->pkt.f[UET_PSN] - 1);
	if (p->got.pkt.f[UET_FLAGS] & UET_CLEAR)
		conform_clear(p, &a->pdc);
	return conform_done(p, &a->pdc, result);
}

/* A SEND of which only one thing counts. */
static enum conform_result general(struct conform_peer *p, enum conform_general what)
{
	uint32_t excused = p->excused;

	p->excused = CONFORM_ALL_GENERAL & ~(uint32_t)what;
	enum conform_result result = row_send(p);
	p->excused = excused | (result == CONFORM_DEPARTS ? what : 0);
	return result;
}

enum conform_result row_encapsulation(struct conform_peer *p)
{
	return general(p, CONFORM_ENCAPSULATION);
}

enum conform_result row_entropy(struct conform_peer *p)
{
	return general(p, CONFORM_ENTROPY);
}

enum conform_result row_reserved(struct conform_peer *p)
{
	return general(p, CONFORM_RESERVED);
}

enum conform_result row_job(struct conform_peer *p)
{
	return general(p, CONFORM_JOB);
}

enum conform_result row_length(struct conform_peer *p)
{
	return general(p, CONFORM_LENGTH);
}

enum conform_result row_no_op(struct conform_peer *p)
{
	struct asked a = single(p, UET_NO_OP, 0);
	return finish(p, &a, UET_RC_OK);
}

enum conform_result row_send(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	return finish(p, &a, UET_RC_OK);
}

enum conform_result row_send_empty(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, 0);
	return finish(p, &a, UET_RC_OK);
}

/* A message that needs three packets. */
static enum conform_result parts(struct conform_peer *p, enum uet_op op)
{
	struct conform_pdc pdc;

	conform_open(p, &pdc, UET_RUD_REQ);
	return conform_done(p, &pdc, conform_message(p, &pdc, op, p->message, 3 * p->target.mtu - 72));
}

enum conform_result row_send_parts(struct conform_peer *p)
{
	return parts(p, UET_SEND);
}

enum conform_result row_send_data(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_SES_FLAGS] |= UET_HD;
	a.pkt.f[UET_HEADER_DATA] = UINT64_C(0x1122334455667788);
	return finish(p, &a, UET_RC_OK);
}

enum conform_result row_tagged(struct conform_peer *p)
{
	return parts(p, UET_TSEND);
}

enum conform_result row_deferrable(struct conform_peer *p)
{
	return parts(p, UET_DEFER_SEND);
}

enum conform_result row_deferrable_tagged(struct conform_peer *p)
{
	return parts(p, UET_DEFER_TSEND);
}

/* Messages with these ids on one connection. */
static enum conform_result with_ids(struct conform_peer *p, const uint16_t *ids, uint32_t n)
{
	struct conform_pdc pdc;
	enum conform_result result = CONFORM_PASS;

	conform_open(p, &pdc, UET_RUD_REQ);
	for (uint32_t i = 0; i < n && result == CONFORM_PASS; i++)
		result = conform_message(p, &pdc, UET_SEND, ids[i], i == 1 ? 2 * p->target.mtu + 1 : BYTES);
	return conform_done(p, &pdc, result);
}

enum conform_result row_id_gaps(struct conform_peer *p)
{
	static const uint16_t ids[] = {1, 3, 4};
	return with_ids(p, ids, 3);
}

enum conform_result row_id_order(struct conform_peer *p)
{
	static const uint16_t ids[] = {7, 2, 5};
	return with_ids(p, ids, 3);
}

/* The standard names no code for it. */
enum conform_result row_id_zero(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);

	a.pkt.f[UET_MESSAGE] = 0;
	if (!conform_ask(p, &a.pdc, &a.pkt))
		return CONFORM_SILENT;
	uint32_t rc = (uint32_t)p->got.pkt.f[UET_RETURN_CODE];
	if (rc <= UET_RC_OK)
		return conform_say(p, "message id 0 was taken");
	enum conform_result result = conform_judge_ack(p, &a.pdc, &a.pkt, rc, (uint32_t)a.pkt.f[UET_PSN] - 1);
	conform_clear(p, &a.pdc);
	return conform_done(p, &a.pdc, result);
}

enum conform_result row_bad_job(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_JOB] ^= 0x800000;
	return refused(p, &a, UET_RC_BAD_JOB_ID, UET_RC_BAD_JOB_ID);
}

/* The usual value, or the one before it if that is the endpoint's own. */
static uint32_t unused(uint32_t usual, uint32_t own)
{
	return usual == own ? usual - 1 : usual;
}

enum conform_result row_bad_pid(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_PID] = unused(UNUSED_PID, p->target.pid);
	return refused(p, &a, UET_RC_UNDELIVERABLE, UET_RC_BAD_PID);
}

enum conform_result row_bad_index(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_INDEX] = unused(UNUSED_INDEX, p->target.index);
	return refused(p, &a, UET_RC_UNDELIVERABLE, UET_RC_BAD_INDEX);
}

/* Every index that differs in one bit is another one. */
enum conform_result row_index_high(struct conform_peer *p)
{
	enum conform_result result = CONFORM_PASS;

	for (uint32_t bit = 0; bit < INDEX_BITS && result == CONFORM_PASS; bit++) {
		struct asked a = single(p, UET_SEND, BYTES);
		a.pkt.f[UET_INDEX] ^= 1u << bit;
		result = refused(p, &a, UET_RC_UNDELIVERABLE, UET_RC_BAD_INDEX);
	}
	return result;
}

enum conform_result row_reserved_op(struct conform_peer *p)
{
	struct asked a = single(p, UET_OP_RESERVED, 0);
	return finish(p, &a, UET_RC_UNSUPPORTED_OP);
}

enum conform_result row_version(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_VERSION] = 1;
	return finish(p, &a, UET_RC_UNCOR);
}

enum conform_result row_initiator_error(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, BYTES);
	a.pkt.f[UET_SES_FLAGS] |= UET_IE;
	return finish(p, &a, UET_RC_INITIATOR_ERROR);
}

/* The first packet of a message of which the rest is cancelled. The code is the endpoint's choice. */
enum conform_result row_msg_error(struct conform_peer *p)
{
	struct asked a = single(p, UET_SEND, p->target.mtu);
	a.pkt.f[UET_REQUEST_LENGTH] = 3 * p->target.mtu;
	a.pkt.f[UET_SES_FLAGS] = UET_REL | UET_SOM;
	if (!conform_ask(p, &a.pdc, &a.pkt))
		return CONFORM_SILENT;
	enum conform_result result = conform_judge_ack(p, &a.pdc, &a.pkt, UET_RC_OK, (uint32_t)a.pkt.f[UET_PSN]);
	struct uet_pkt end = conform_request(p, &a.pdc, UET_MSG_ERROR, 0);
	end.f[UET_MESSAGE] = a.pkt.f[UET_MESSAGE];
	end.f[UET_REQUEST_LENGTH] = a.pkt.f[UET_REQUEST_LENGTH];
	end.f[UET_SES_FLAGS] = UET_REL | UET_EOM;
	end.f[UET_MESSAGE_OFFSET] = p->target.mtu;
	if (!conform_ask(p, &a.pdc, &end))
		return CONFORM_SILENT;
	if (p->got.pkt.f[UET_FLAGS] & UET_CLEAR)
		conform_clear(p, &a.pdc);
	if (result == CONFORM_PASS && p->got.pkt.f[UET_TYPE] == UET_NACK)
		result = conform_say(p, "NACK 0x%02x", (unsigned)p->got.pkt.f[UET_NACK_CODE]);
	return conform_done(p, &a.pdc, result);
}

/* Whoever serves it fetches the rest; what is judged is the first answer. */
enum conform_result row_rendezvous(struct conform_peer *p)
{
	enum { EXTENSION = 24, EAGER = 16 };
	uint8_t bytes[EXTENSION + EAGER] = {[3] = EAGER};
	struct asked a = single(p, UET_RNDV_SEND, sizeof bytes);

	a.pkt.payload = bytes;
	a.pkt.f[UET_REQUEST_LENGTH] = EAGER;
	return finish(p, &a, UET_RC_OK);
}
