/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a packet must be true before anybody looks at its connection. */
#include "ses.h"

/* READ, some atomics, and messages that are announced: the length is of something else. */
static bool may_lack_payload(uint8_t opcode)
{
	return opcode == WIRE_OP_READ || opcode == WIRE_OP_ATOMIC || opcode == WIRE_OP_FETCHING_ATOMIC ||
	       opcode == WIRE_OP_RENDEZVOUS_SEND || opcode == WIRE_OP_RENDEZVOUS_TSEND;
}

/* A request we can place: within its message, and all of its payload. */
static inline bool request_fits(const struct wire_pkt *w)
{
	if (!w->ses.message_id || w->ses.request_length == UINT32_MAX)
		return false;
	bool som = w->ses.flags & WIRE_SES_SOM;
	if (!som && w->ses.payload_length != w->payload_bytes)
		return false;
	uint64_t offset = som ? 0 : w->ses.message_offset;
	return offset + w->payload_bytes <= w->ses.request_length &&
	       (w->payload_bytes || !w->ses.request_length || may_lack_payload(w->ses.opcode));
}

static bool answer_fits(const struct wire_pkt *w)
{
	return w->pds.next_hdr == WIRE_NH_RSP_DATA && w->ses.opcode == WIRE_RSP_W_DATA &&
	       w->ses.payload_length == w->payload_bytes;
}

bool ses_is_sane(const struct wire_pkt *w)
{
	return w->trimmed || (w->has_ses && ((w->pds.next_hdr == WIRE_NH_STD && request_fits(w)) || answer_fits(w)));
}
