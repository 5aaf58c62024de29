/* SPDX-License-Identifier: BSD-3-Clause */
/* What an answer must be. */
#include "conform.h"

#include <string.h>

const struct conform_free conform_free_fields[] = {
	{"spdcid of answers", "each host numbers its own connections; it must be the same in all answers of one"},
	{"type of an acknowledgement", "ACK, ACK_CC and ACK_CCX are all legal"},
	{"cc_type, mpr, sack_psn_offset, sack_bitmap, ack_cc_state", "only in ACK_CC; they are the receiver's state"},
	{"Start_PSN", "random"},
	{"which packets without AR are acknowledged", "acknowledgements may be coalesced"},
	{"nack payload and vendor_code", "only code NEW_START_PSN defines a payload"},
	{"response to a repeated packet", "the one that was given, or return code NULL, which has no job and length"},
	{"DSCP", "configured by the operator"},
	{"IPv4 identification, TTL, flow label", "not part of UET"},
	{"entropy of requests", "chosen by the sender; answers carry that of the packet they answer"},
	{NULL, NULL},
};

const char *conform_result_name(enum conform_result result)
{
	static const char *const names[CONFORM_RESULTS] = {"pass", "departs", "refused", "silent", "skipped"};
	return names[result];
}

const char *conform_need_name(enum conform_need need)
{
	static const char *const names[] = {"AI Base", "AI Full", "HPC", "optional"};
	return names[need];
}

static void take(struct uet_pkt *to, const struct uet_pkt *from, const uint8_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to->f[fields[i]] = from->f[fields[i]];
}

void conform_wanted_ack(const struct uet_pkt *pkt, const struct uet_frame *got, uint32_t rc, uint32_t cack,
			struct uet_pkt *want)
{
	static const uint8_t taken[] = {UET_TYPE,        UET_SPDCID, UET_CC_TYPE, UET_MPR,
					UET_SACK_OFFSET, UET_SACK,   UET_CC_STATE};
	bool control = pkt->f[UET_TYPE] == UET_CP, ok = rc == UET_RC_OK;

	*want = (struct uet_pkt){.payload = NULL};
	take(want, &got->pkt, taken, sizeof taken);
	want->f[UET_NEXT] = control ? UET_NONE : UET_RSP;
	want->f[UET_FLAGS] = (pkt->f[UET_FLAGS] & UET_RETX) | (ok ? 0 : UET_CLEAR);
	want->f[UET_CACK] = cack;
	want->f[UET_ACK_OFFSET] = (uint16_t)(pkt->f[UET_PSN] - cack);
	want->f[UET_DPDCID] = pkt->f[UET_SPDCID];
	if (control)
		return;
	want->f[UET_RSP_OPCODE] = ok ? UET_DEFAULT : UET_RESPONSE;
	want->f[UET_RETURN_CODE] = rc;
	want->f[UET_MESSAGE] = pkt->f[UET_MESSAGE];
	want->f[UET_GENERATION] = pkt->f[UET_GENERATION];
	want->f[UET_JOB] = pkt->f[UET_JOB];
	want->f[UET_MODIFIED_LENGTH] = ok ? pkt->f[UET_REQUEST_LENGTH] : 0;
}

/* What holds for each packet of the endpoint. */
static enum conform_result judge_outside(struct conform_peer *p, const struct conform_pdc *pdc)
{
	static const char *const encaps[] = {"native", "UDP"};
	const struct uet_frame *got = &p->got;

	if (got->encap != p->link.encap && !(p->excused & CONFORM_ENCAPSULATION))
		return conform_say(p, "asked over %s, answered over %s", encaps[p->link.encap], encaps[got->encap]);
	if (got->encap == UET_UDP && got->udp_port != p->link.udp_port)
		return conform_say(p, "answered to UDP port %u", got->udp_port);
	if (!got->crc_ok)
		return conform_say(p, "the trailer is no CRC32C, most significant byte first");
	if (!got->reserved_clear && !(p->excused & CONFORM_RESERVED))
		return conform_say(p, "reserved bits are set");
	if (got->entropy != pdc->entropy && !(p->excused & CONFORM_ENTROPY))
		return conform_say(p, "entropy %u instead of the packet's %u", got->entropy, pdc->entropy);
	return CONFORM_PASS;
}

/* The endpoint's PDCID: learnt from its first acknowledgement, the same ever after. */
static enum conform_result judge_pdcid(struct conform_peer *p, struct conform_pdc *pdc)
{
	uint16_t id = (uint16_t)p->got.pkt.f[UET_SPDCID];

	if (!id)
		return conform_say(p, "spdcid 0 in an acknowledgement");
	if (pdc->dpdcid && pdc->dpdcid != id)
		return conform_say(p, "spdcid %u, was %u before", id, pdc->dpdcid);
	pdc->dpdcid = id;
	return CONFORM_PASS;
}

static bool is_ack(const struct uet_pkt *pkt)
{
	return pkt->f[UET_TYPE] == UET_ACK || pkt->f[UET_TYPE] == UET_ACK_CC || pkt->f[UET_TYPE] == UET_ACK_CCX;
}

/* The acknowledgement that is wanted; where the endpoint does not serve the operation, its refusal. */
static void want_answer(const struct conform_peer *p, const struct uet_pkt *pkt, uint32_t rc, uint32_t cack,
			struct uet_pkt *want)
{
	static const uint8_t nothing_new[] = {UET_RETURN_CODE, UET_JOB, UET_MODIFIED_LENGTH};
	const struct uet_pkt *got = &p->got.pkt;

	if (rc == UET_RC_OK && got->f[UET_RETURN_CODE] == UET_RC_UNSUPPORTED_OP)
		conform_wanted_ack(pkt, &p->got, UET_RC_UNSUPPORTED_OP, (uint32_t)got->f[UET_CACK], want);
	else
		conform_wanted_ack(pkt, &p->got, rc, cack, want);
	if (rc == UET_RC_OK && pkt->f[UET_FLAGS] & UET_RETX && got->f[UET_RETURN_CODE] == UET_RC_NULL)
		take(want, got, nothing_new, sizeof nothing_new);
	if (p->repeated)
		want->f[UET_FLAGS] = (want->f[UET_FLAGS] & ~(uint64_t)UET_RETX) | (got->f[UET_FLAGS] & UET_RETX);
	if (p->excused & CONFORM_JOB)
		want->f[UET_JOB] = got->f[UET_JOB];
	if (p->excused & CONFORM_LENGTH)
		want->f[UET_MODIFIED_LENGTH] = got->f[UET_MODIFIED_LENGTH];
}

enum conform_result conform_judge_ack(struct conform_peer *p, struct conform_pdc *pdc, const struct uet_pkt *pkt,
				      uint32_t rc, uint32_t cack)
{
	const struct uet_pkt *got = &p->got.pkt;
	struct uet_pkt want;

	if (!is_ack(got))
		return conform_say(p, "NACK 0x%02x instead of an acknowledgement", (unsigned)got->f[UET_NACK_CODE]);
	if (judge_outside(p, pdc) != CONFORM_PASS || judge_pdcid(p, pdc) != CONFORM_PASS)
		return CONFORM_DEPARTS;
	want_answer(p, pkt, rc, cack, &want);
	enum uet_field field =
		got->f[UET_NEXT] == want.f[UET_NEXT] && got->f[UET_RETURN_CODE] != want.f[UET_RETURN_CODE]
			? UET_RETURN_CODE
			: uet_difference(got, &want, 0);
	if (field != UET_FIELDS)
		return conform_say(p, "%s is 0x%llx instead of 0x%llx", uet_field_name(field),
				   (unsigned long long)got->f[field], (unsigned long long)want.f[field]);
	if (got->payload_bytes)
		return conform_say(p, "%u bytes behind the headers", got->payload_bytes);
	bool refused = rc == UET_RC_OK && want.f[UET_RETURN_CODE] == UET_RC_UNSUPPORTED_OP;
	return refused ? CONFORM_REFUSED : CONFORM_PASS;
}

enum conform_result conform_judge_nack(struct conform_peer *p, const struct conform_pdc *pdc, const struct uet_pkt *pkt,
				       uint8_t code, uint8_t other)
{
	const struct uet_pkt *got = &p->got.pkt;

	if (is_ack(got))
		return conform_say(p, "acknowledged, NACK 0x%02x expected", code);
	if (judge_outside(p, pdc) != CONFORM_PASS)
		return CONFORM_DEPARTS;
	if (got->f[UET_NACK_CODE] != code && got->f[UET_NACK_CODE] != other)
		return conform_say(p, "NACK 0x%02x instead of 0x%02x", (unsigned)got->f[UET_NACK_CODE], code);
	if (got->f[UET_NEXT] != UET_NONE)
		return conform_say(p, "a NACK with next header %u", (unsigned)got->f[UET_NEXT]);
	uint64_t retx = (p->repeated ? got->f[UET_FLAGS] : pkt->f[UET_FLAGS]) & UET_RETX;
	if (got->f[UET_FLAGS] != retx)
		return conform_say(p, "flags 0x%02x in a NACK", (unsigned)got->f[UET_FLAGS]);
	return CONFORM_PASS;
}
