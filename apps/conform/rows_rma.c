/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows about memory. */
#include "conform_rows.h"

#include <string.h>

enum {
	BYTES = 64,
	ACK_DATA_BYTES = 16, /* Max_ACK_Data_Size */
	WORD = 8,
	AMO_BYTES = 4,
	CSWAP_BYTES = 36,
	AMO_SUM = 2,
	AMO_CSWAP = 0x0d,
	AMO_UINT64 = 7,
	PARTS_MAX = 8,
};
#define BAD_KEY UINT64_C(0x0000123456789abc)

static struct uet_pkt rma(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, uint32_t bytes)
{
	struct uet_pkt pkt = conform_request(p, pdc, op, bytes);

	pkt.f[UET_MATCH] = p->target.key;
	pkt.payload_bytes = op == UET_READ ? 0 : bytes;
	return pkt;
}

static enum conform_result bad_key(struct conform_peer *p, enum uet_op op)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	conform_open(p, &pdc, UET_RUD_REQ);
	pkt = rma(p, &pdc, op, BYTES);
	pkt.f[UET_MATCH] = p->target.key ^ BAD_KEY;
	return conform_done(p, &pdc, conform_asked(p, &pdc, &pkt, UET_RC_BAD_MKEY));
}

enum conform_result row_bad_key_write(struct conform_peer *p)
{
	return bad_key(p, UET_WRITE);
}

enum conform_result row_bad_key_read(struct conform_peer *p)
{
	return bad_key(p, UET_READ);
}

static enum conform_result write_bytes(struct conform_peer *p, struct conform_pdc *pdc, uint32_t id, uint32_t bytes)
{
	conform_open(p, pdc, UET_RUD_REQ);
	return conform_message(p, pdc, UET_WRITE, id, bytes);
}

static enum conform_result wrote(struct conform_peer *p, uint32_t bytes)
{
	struct conform_pdc pdc;

	if (p->target.key_bytes < bytes)
		return CONFORM_SKIPPED;
	return conform_done(p, &pdc, write_bytes(p, &pdc, p->message, bytes));
}

enum conform_result row_write(struct conform_peer *p)
{
	return wrote(p, BYTES);
}

enum conform_result row_write_parts(struct conform_peer *p)
{
	return wrote(p, 3 * p->target.mtu - 72);
}

enum conform_result row_write_data(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	if (p->target.key_bytes < BYTES)
		return CONFORM_SKIPPED;
	conform_open(p, &pdc, UET_RUD_REQ);
	pkt = rma(p, &pdc, UET_WRITE, BYTES);
	pkt.f[UET_SES_FLAGS] |= UET_HD;
	pkt.f[UET_HEADER_DATA] = UINT64_C(0x0102030405060708);
	return conform_done(p, &pdc, conform_asked(p, &pdc, &pkt, UET_RC_OK));
}

/* What is read is what the last WRITE left: message `id` wrote it. */
static enum conform_result judge_data(struct conform_peer *p, const struct uet_pkt *read, uint32_t id, uint32_t at)
{
	const struct uet_pkt *got = &p->got.pkt;

	if (got->f[UET_RSP_OPCODE] != UET_RESPONSE_DATA || got->f[UET_RETURN_CODE] != UET_RC_OK)
		return conform_say(p, "response opcode %u, return_code 0x%02x with data",
				   (unsigned)got->f[UET_RSP_OPCODE], (unsigned)got->f[UET_RETURN_CODE]);
	if (got->f[UET_READ_MESSAGE] != read->f[UET_MESSAGE] || got->f[UET_JOB] != read->f[UET_JOB])
		return conform_say(p, "read_request_message_id %u and job_id %u of no READ of ours",
				   (unsigned)got->f[UET_READ_MESSAGE], (unsigned)got->f[UET_JOB]);
	if (got->f[UET_MESSAGE_OFFSET] != at || got->f[UET_PAYLOAD_LENGTH] != got->payload_bytes)
		return conform_say(p, "message_offset %u, payload_length %u, %u bytes of data",
				   (unsigned)got->f[UET_MESSAGE_OFFSET], (unsigned)got->f[UET_PAYLOAD_LENGTH],
				   got->payload_bytes);
	for (uint32_t i = 0; i < got->payload_bytes; i++)
		if (got->payload[i] != conform_byte(id, at + i))
			return conform_say(p, "byte %u of what was read is wrong", at + i);
	return CONFORM_PASS;
}

/* Acknowledges what came in the return direction. */
static void acknowledge(struct conform_peer *p, struct conform_pdc *pdc, uint32_t cack)
{
	const struct uet_pkt *got = &p->got.pkt;
	struct uet_pkt ack = {.payload = NULL};

	ack.f[UET_TYPE] = UET_ACK;
	ack.f[UET_CACK] = cack;
	ack.f[UET_ACK_OFFSET] = (uint16_t)(got->f[UET_PSN] - cack);
	ack.f[UET_SPDCID] = pdc->spdcid;
	ack.f[UET_DPDCID] = pdc->dpdcid;
	conform_send(p, pdc, &ack);
}

/* READ requests of one message, a packet of data for each; they arrive as requests of the connection's other
 * direction, which begins at the same Start_PSN. */
static enum conform_result read_parts(struct conform_peer *p, struct conform_pdc *pdc, uint32_t id, uint32_t bytes)
{
	uint32_t mtu = p->target.mtu, parts = bytes > mtu ? (bytes + mtu - 1) / mtu : 1, have = 0, start = pdc->start;
	struct uet_pkt read = rma(p, pdc, UET_READ, bytes);
	bool seen[PARTS_MAX] = {false};
	uint64_t left_ns = p->target.timeout_ns;

	for (uint32_t i = 0; i < parts; i++) {
		struct uet_pkt pkt = read;
		uint32_t at = i * mtu;
		pkt.f[UET_PSN] += i;
		pkt.f[UET_FLAGS] |= i + 1 == parts ? UET_AR : 0;
		pkt.f[UET_SES_FLAGS] = UET_REL | (i ? 0 : UET_SOM) | (i + 1 == parts ? UET_EOM : 0);
		pkt.f[UET_PAYLOAD_LENGTH] = i ? (bytes - at < mtu ? bytes - at : mtu) : 0;
		pkt.f[UET_MESSAGE_OFFSET] = at;
		conform_send(p, pdc, &pkt);
	}
	pdc->psn += parts - 1;
	while (have < parts && conform_wait(p, &left_ns)) {
		const struct uet_pkt *got = &p->got.pkt;
		if (got->f[UET_TYPE] != UET_RUD_REQ || got->f[UET_NEXT] != UET_RSP_DATA)
			continue;
		if (got->f[UET_FLAGS] & UET_SYN || got->f[UET_DPDCID] != pdc->spdcid)
			return conform_say(p, "data comes on another connection, not in the return direction");
		uint32_t part = (uint32_t)got->f[UET_PSN] - start;
		if (part >= parts)
			return conform_say(p, "PSN %u in the return direction", (unsigned)got->f[UET_PSN]);
		if (judge_data(p, &read, id, (uint32_t)got->f[UET_MESSAGE_OFFSET]) != CONFORM_PASS)
			return CONFORM_DEPARTS;
		if (!seen[part])
			left_ns = p->target.timeout_ns;
		have += !seen[part];
		seen[part] = true;
		acknowledge(p, pdc, start + have - 1);
	}
	return have == parts ? CONFORM_PASS : CONFORM_SILENT;
}

/* Writes, then reads on the same connection. */
static enum conform_result wrote_and_read(struct conform_peer *p, uint32_t bytes)
{
	struct conform_pdc pdc;
	uint32_t id = p->message;

	if (p->target.key_bytes < bytes)
		return CONFORM_SKIPPED;
	enum conform_result result = write_bytes(p, &pdc, id, bytes);
	if (result == CONFORM_PASS)
		result = read_parts(p, &pdc, id, bytes);
	return conform_done(p, &pdc, result);
}

enum conform_result row_read(struct conform_peer *p)
{
	return wrote_and_read(p, 1000);
}

enum conform_result row_read_parts(struct conform_peer *p)
{
	return wrote_and_read(p, 3 * p->target.mtu - 72);
}

/* Data of up to 16 bytes comes in the acknowledgement, which is kept until it is cleared. */
static enum conform_result judge_ack_data(struct conform_peer *p, const struct conform_pdc *pdc)
{
	const struct uet_pkt *got = &p->got.pkt;

	if (got->f[UET_NEXT] != UET_RSP_DATA)
		return conform_say(p, "next header %u in an acknowledgement that should have data",
				   (unsigned)got->f[UET_NEXT]);
	if (!(got->f[UET_FLAGS] & UET_CLEAR) || got->f[UET_CACK] != pdc->psn - 2)
		return conform_say(p, "data in an acknowledgement that is not kept until it is cleared");
	return CONFORM_PASS;
}

enum conform_result row_read_ack(struct conform_peer *p)
{
	struct conform_pdc pdc;
	uint32_t id = p->message;

	if (p->target.key_bytes < ACK_DATA_BYTES)
		return CONFORM_SKIPPED;
	enum conform_result result = write_bytes(p, &pdc, id, ACK_DATA_BYTES);
	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = rma(p, &pdc, UET_READ, ACK_DATA_BYTES);
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	result = judge_ack_data(p, &pdc);
	if (result == CONFORM_PASS)
		result = judge_data(p, &pkt, id, 0);
	conform_clear(p, &pdc);
	return conform_done(p, &pdc, result);
}

/* Either form of an answer without data. */
enum conform_result row_read_empty(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	if (!p->target.key_bytes)
		return CONFORM_SKIPPED;
	conform_open(p, &pdc, UET_RUD_REQ);
	pkt = rma(p, &pdc, UET_READ, 0);
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	enum conform_result result = CONFORM_PASS;
	if (p->got.pkt.f[UET_NEXT] == UET_RSP_DATA) {
		result = judge_data(p, &pkt, 0, 0);
		conform_clear(p, &pdc);
	} else {
		result = conform_judge_ack(p, &pdc, &pkt, UET_RC_OK, pdc.psn - 1);
	}
	return conform_done(p, &pdc, result);
}

/* An atomic on the region's first word. `bytes`: extension and operands. The word that comes back is *old. */
static enum conform_result atomic(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, const uint8_t *bytes,
				  uint32_t len, uint64_t request_length)
{
	struct uet_pkt pkt = rma(p, pdc, op, len);

	pkt.payload = bytes;
	pkt.f[UET_REQUEST_LENGTH] = request_length;
	if (op == UET_ATOMIC)
		return conform_asked(p, pdc, &pkt, UET_RC_OK);
	if (!conform_ask(p, pdc, &pkt))
		return CONFORM_SILENT;
	if (p->got.pkt.f[UET_NEXT] == UET_RSP && p->got.pkt.f[UET_RETURN_CODE] != UET_RC_OK)
		return conform_judge_ack(p, pdc, &pkt, UET_RC_OK, pdc->psn - 2);
	enum conform_result result = judge_ack_data(p, pdc);
	if (result == CONFORM_PASS && p->got.pkt.payload_bytes != WORD)
		result = conform_say(p, "%u bytes fetched", p->got.pkt.payload_bytes);
	conform_clear(p, pdc);
	return result;
}

static enum conform_result with_word(struct conform_peer *p, struct conform_pdc *pdc, uint32_t *id)
{
	if (p->target.key_bytes < WORD)
		return CONFORM_SKIPPED;
	*id = p->message;
	return write_bytes(p, pdc, *id, WORD);
}

static enum conform_result sum(struct conform_peer *p, enum uet_op op)
{
	static const uint8_t add_one[AMO_BYTES + WORD] = {AMO_SUM, AMO_UINT64, [AMO_BYTES + WORD - 1] = 1};
	struct conform_pdc pdc;
	uint32_t id;
	enum conform_result result = with_word(p, &pdc, &id);

	if (result != CONFORM_PASS)
		return result;
	return conform_done(p, &pdc, atomic(p, &pdc, op, add_one, sizeof add_one, WORD));
}

enum conform_result row_atomic(struct conform_peer *p)
{
	return sum(p, UET_ATOMIC);
}

enum conform_result row_fetch(struct conform_peer *p)
{
	return sum(p, UET_FETCH_ATOMIC);
}

/* Comparand and operand are in the extension; the request counts their 32 bytes. */
enum conform_result row_cswap(struct conform_peer *p)
{
	uint8_t bytes[CSWAP_BYTES] = {AMO_CSWAP, AMO_UINT64, [CSWAP_BYTES - 1] = 6};
	struct conform_pdc pdc;
	uint32_t id;
	enum conform_result result = with_word(p, &pdc, &id);

	if (result != CONFORM_PASS)
		return result;
	return conform_done(p, &pdc, atomic(p, &pdc, UET_FETCH_ATOMIC, bytes, sizeof bytes, CSWAP_BYTES - AMO_BYTES));
}

enum conform_result row_small_read(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	if (!p->target.key_bytes)
		return CONFORM_SKIPPED;
	conform_open(p, &pdc, UET_RUD_REQ);
	pkt = rma(p, &pdc, UET_READ, ACK_DATA_BYTES);
	pkt.f[UET_NEXT] = UET_SMALL;
	pkt.f[UET_SHORT_LENGTH] = ACK_DATA_BYTES;
	pkt.f[UET_INDEX] = p->target.key & 0xfff;
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	enum conform_result result = CONFORM_PASS;
	if (p->got.pkt.f[UET_RETURN_CODE] == UET_RC_UNSUPPORTED_OP)
		result = CONFORM_REFUSED;
	else if (p->got.pkt.f[UET_NEXT] != UET_RSP_SMALL)
		result = conform_say(p, "next header %u", (unsigned)p->got.pkt.f[UET_NEXT]);
	conform_clear(p, &pdc);
	return conform_done(p, &pdc, result);
}
