/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows about connections, packets and control packets. */
#include "conform_rows.h"

enum { BYTES = 64, TOS_CE = 3, FAR = 40000, STRANGE_ID = 0xfffe, OPAQUE = 0x4321 };

/* Opens a connection by one SEND. */
static enum conform_result begin(struct conform_peer *p, struct conform_pdc *pdc, uint8_t type)
{
	struct uet_pkt pkt;

	conform_open(p, pdc, type);
	pkt = conform_request(p, pdc, UET_SEND, BYTES);
	return conform_asked(p, pdc, &pkt, UET_RC_OK);
}

static enum conform_result asked_nack(struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt,
				      uint8_t code, uint8_t other)
{
	return conform_ask(p, pdc, pkt) ? conform_judge_nack(p, pdc, pkt, code, other) : CONFORM_SILENT;
}

enum conform_result row_syn(struct conform_peer *p)
{
	struct conform_pdc pdc;
	return conform_done(p, &pdc, begin(p, &pdc, UET_RUD_REQ));
}

/* Two packets leave before the first answer. */
static enum conform_result two_syns(struct conform_peer *p, bool swapped)
{
	struct conform_pdc pdc;
	struct uet_pkt first, second;

	conform_open(p, &pdc, UET_RUD_REQ);
	first = conform_request(p, &pdc, UET_SEND, BYTES);
	second = conform_request(p, &pdc, UET_SEND, BYTES);
	struct uet_pkt *early = swapped ? &second : &first, *late = swapped ? &first : &second;
	if (!conform_ask(p, &pdc, early))
		return CONFORM_SILENT;
	uint32_t cack = swapped ? pdc.start - 1 : pdc.start;
	enum conform_result result = conform_judge_ack(p, &pdc, early, UET_RC_OK, cack);
	if (result == CONFORM_PASS && !conform_ask(p, &pdc, late))
		return CONFORM_SILENT;
	if (result == CONFORM_PASS)
		result = conform_judge_ack(p, &pdc, late, UET_RC_OK, pdc.start + 1);
	return conform_done(p, &pdc, result);
}

enum conform_result row_syn_join(struct conform_peer *p)
{
	return two_syns(p, false);
}

enum conform_result row_syn_late(struct conform_peer *p)
{
	return two_syns(p, true);
}

enum conform_result row_duplicate(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	conform_open(p, &pdc, UET_RUD_REQ);
	pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	enum conform_result result = conform_asked(p, &pdc, &pkt, UET_RC_OK);
	pkt.f[UET_FLAGS] |= UET_RETX;
	if (result == CONFORM_PASS)
		result = conform_asked(p, &pdc, &pkt, UET_RC_OK);
	return conform_done(p, &pdc, result);
}

enum conform_result row_ecn(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	p->link.data_tos = TOS_CE;
	bool answered = conform_ask(p, &pdc, &pkt);
	p->link.data_tos = 0;
	if (!answered)
		return CONFORM_SILENT;
	if (p->got.pkt.f[UET_FLAGS] & UET_M)
		p->got.pkt.f[UET_FLAGS] &= ~(uint64_t)UET_M;
	else
		result = conform_say(p, "no M in the acknowledgement");
	if (result == CONFORM_PASS)
		result = conform_judge_ack(p, &pdc, &pkt, UET_RC_OK, pdc.psn - 1);
	return conform_done(p, &pdc, result);
}

enum conform_result row_rod(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result;

	conform_open(p, &pdc, UET_ROD_REQ);
	result = conform_message(p, &pdc, UET_SEND, p->message, 3 * p->target.mtu - 100);
	return conform_done(p, &pdc, result);
}

enum conform_result row_rod_gap(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt first, second;
	enum conform_result result = begin(p, &pdc, UET_ROD_REQ);

	if (result != CONFORM_PASS)
		return result;
	first = conform_request(p, &pdc, UET_SEND, BYTES);
	second = conform_request(p, &pdc, UET_SEND, BYTES);
	result = asked_nack(p, &pdc, &second, UET_NACK_ROD_OOO, UET_NACK_ROD_OOO);
	if (!conform_ask(p, &pdc, &first) || !conform_ask(p, &pdc, &second))
		return CONFORM_SILENT;
	return conform_done(p, &pdc, result);
}

enum conform_result row_window(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct conform_pdc ahead = pdc;
	ahead.psn += FAR;
	struct uet_pkt pkt = conform_request(p, &ahead, UET_SEND, BYTES);
	result = asked_nack(p, &ahead, &pkt, UET_NACK_OUT_OF_WINDOW, UET_NACK_OUT_OF_WINDOW);
	return conform_done(p, &pdc, result);
}

enum conform_result row_unknown_pdc(struct conform_peer *p)
{
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	conform_open(p, &pdc, UET_RUD_REQ);
	pdc.dpdcid = STRANGE_ID;
	pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	enum conform_result result = asked_nack(p, &pdc, &pkt, UET_NACK_INV_DPDCID, UET_NACK_INV_DPDCID);
	if (result == CONFORM_PASS && p->got.pkt.f[UET_SPDCID] != 0)
		return conform_say(p, "spdcid %u of a connection that is not there",
				   (unsigned)p->got.pkt.f[UET_SPDCID]);
	return result;
}

enum conform_result row_other_syn(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct conform_pdc other = pdc;
	other.dpdcid = 0;
	other.psn = other.start = pdc.start + FAR * 2;
	struct uet_pkt pkt = conform_request(p, &other, UET_SEND, BYTES);
	result = asked_nack(p, &other, &pkt, UET_NACK_INVALID_SYN, UET_NACK_INVALID_SYN);
	return conform_done(p, &pdc, result);
}

enum conform_result row_other_mode(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct conform_pdc ordered = pdc;
	ordered.type = UET_ROD_REQ;
	struct uet_pkt pkt = conform_request(p, &ordered, UET_SEND, BYTES);
	result = asked_nack(p, &ordered, &pkt, UET_NACK_MODE_MISMATCH, UET_NACK_HDR_MISMATCH);
	return conform_done(p, &pdc, result);
}

enum conform_result row_close(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result == CONFORM_PASS)
		result = conform_close(p, &pdc);
	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	return p->got.pkt.f[UET_TYPE] == UET_NACK ? CONFORM_PASS : conform_say(p, "data was taken after CLOSE_CMD");
}

enum conform_result row_probe(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_control(p, &pdc, UET_PROBE);
	pkt.f[UET_OPAQUE] = OPAQUE;
	pkt.f[UET_CP_PAYLOAD] = pdc.psn;
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	if (p->got.pkt.f[UET_TYPE] == UET_NACK)
		result = conform_say(p, "NACK 0x%02x", (unsigned)p->got.pkt.f[UET_NACK_CODE]);
	else if (p->got.pkt.f[UET_NEXT] != UET_NONE || p->got.pkt.f[UET_CACK] != pdc.psn - 1)
		result = conform_say(p, "next header %u, CACK %u", (unsigned)p->got.pkt.f[UET_NEXT],
				     (unsigned)p->got.pkt.f[UET_CACK]);
	return conform_done(p, &pdc, result);
}

enum conform_result row_ack_req(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_control(p, &pdc, UET_ACK_REQ);
	pkt.f[UET_PSN] = pdc.start;
	if (!conform_ask(p, &pdc, &pkt))
		return CONFORM_SILENT;
	if (p->got.pkt.f[UET_TYPE] == UET_NACK)
		result = conform_say(p, "NACK 0x%02x", (unsigned)p->got.pkt.f[UET_NACK_CODE]);
	return conform_done(p, &pdc, result);
}

/* A control packet that counts as a PSN. */
static enum conform_result counted(struct conform_peer *p, enum uet_ctl ctl, uint32_t payload)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_control(p, &pdc, ctl);
	pkt.f[UET_CP_PAYLOAD] = payload;
	return conform_done(p, &pdc, conform_asked(p, &pdc, &pkt, UET_RC_OK));
}

enum conform_result row_noop(struct conform_peer *p)
{
	return counted(p, UET_NOOP, 0);
}

enum conform_result row_negotiation(struct conform_peer *p)
{
	return counted(p, UET_NEGOTIATION, 0x01020000); /* on or off, two words; the mask is 0 */
}

/* After the refusal is cleared the next packet moves CACK over it. */
enum conform_result row_clear(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_request(p, &pdc, UET_OP_RESERVED, 0);
	result = conform_asked(p, &pdc, &pkt, UET_RC_UNSUPPORTED_OP);
	pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	if (result == CONFORM_PASS)
		result = conform_asked(p, &pdc, &pkt, UET_RC_OK);
	return conform_done(p, &pdc, result);
}

/* Every length of a request's headers short of the whole; then the packet itself. */
enum conform_result row_short_packets(struct conform_peer *p)
{
	struct conform_pdc pdc;
	enum conform_result result = begin(p, &pdc, UET_RUD_REQ);

	if (result != CONFORM_PASS)
		return result;
	struct uet_pkt pkt = conform_request(p, &pdc, UET_SEND, BYTES);
	for (p->link.cut = 1; p->link.cut < uet_header_bytes(&pkt) + BYTES; p->link.cut += 5)
		conform_send(p, &pdc, &pkt);
	p->link.cut = 0;
	return conform_done(p, &pdc, conform_asked(p, &pdc, &pkt, UET_RC_OK));
}

/* In a key: the region may be used by idempotent operations. A target may have no such region. */
#define IDEMPOTENT (UINT64_C(1) << 63)

static bool refuses_rudi(uint64_t rc)
{
	return rc == UET_RC_UNSUPPORTED_OP || rc == UET_RC_BAD_MKEY || rc == UET_RC_PERM_VIOLATION;
}

enum conform_result row_rudi(struct conform_peer *p)
{
	uint64_t left_ns = p->target.timeout_ns;
	struct conform_pdc pdc;
	struct uet_pkt pkt;

	if (!p->target.key_bytes)
		return CONFORM_SKIPPED;
	conform_open(p, &pdc, UET_RUDI_REQ);
	pkt = conform_request(p, &pdc, UET_WRITE, BYTES);
	pkt.f[UET_FLAGS] = 0;
	pkt.f[UET_MATCH] = p->target.key | IDEMPOTENT;
	conform_send(p, &pdc, &pkt);
	while (conform_wait(p, &left_ns)) {
		const struct uet_pkt *got = &p->got.pkt;
		if (got->f[UET_TYPE] != UET_RUDI_RESP || got->f[UET_PSN] != pkt.f[UET_PSN])
			continue;
		if (got->f[UET_RETURN_CODE] == UET_RC_OK)
			return CONFORM_PASS;
		return refuses_rudi(got->f[UET_RETURN_CODE])
			       ? CONFORM_REFUSED
			       : conform_say(p, "return_code 0x%02x", (unsigned)got->f[UET_RETURN_CODE]);
	}
	return CONFORM_SILENT;
}
